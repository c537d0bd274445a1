//! Faults of the sending host that datagrams meet.

use crate::fault::{Fault, Need, Strength};
use crate::scene::{Scene, Test, apart, mbit, reverse};
use linerate_studies::run::SaturatePlan;

pub(crate) const FAULTS: &[Fault] = &[
    Fault {
        name: "cpu-quota-on-the-sender",
        expect: &["sender-cpu"],
        why: "",
        needs: &[Need::CpuQuota],
        strengths: [
            Strength {
                name: "20 % of a core",
                scene: || quota(0.2),
            },
            Strength {
                name: "10 % of a core",
                scene: || quota(0.1),
            },
            Strength {
                name: "5 % of a core",
                scene: || quota(0.05),
            },
        ],
    },
    Fault {
        name: "sender-pinned-beside-busy-loops",
        expect: &["other-programs", "sender-cpu"],
        why: "the loops take the CPU time that the thread lacks",
        needs: &[],
        strengths: [
            Strength {
                name: "3 loops",
                scene: || pinned(3),
            },
            Strength {
                name: "6 loops",
                scene: || pinned(6),
            },
            Strength {
                name: "12 loops",
                scene: || pinned(12),
            },
        ],
    },
];

/// The peer sends, so that its process alone has the quota.
fn quota(share: f64) -> Scene {
    let from_far = |plan: &mut SaturatePlan| reverse(&mut plan.spec);
    Scene::direct(Test::search_with(mbit(2000), from_far)).quota(share)
}

fn pinned(loops: usize) -> Scene {
    let pin = |plan: &mut SaturatePlan| plan.spec.pinning = apart();
    Scene::direct(Test::search_with(mbit(2000), pin)).busy(0, loops)
}

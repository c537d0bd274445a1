//! Faults of the receiving host that datagrams meet.

use crate::fault::{Fault, Need, Strength};
use crate::scene::{Scene, Step, Test, apart, kib, last_core, mbit};
use linerate_lab::run::SaturatePlan;
use linerate_model::run::Limit;
use linerate_testbed::{Link, LinkConfig};
use std::time::Duration;

pub(crate) const FAULTS: &[Fault] = &[
    Fault {
        name: "small-receive-buffer-and-a-reader-that-pauses",
        expect: &[Limit::ReceiverSocket],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "16 KiB, 5 ms",
                scene: || slow_reader(16, 5, 20),
            },
            Strength {
                name: "16 KiB, 10 ms",
                scene: || slow_reader(16, 10, 20),
            },
            Strength {
                name: "8 KiB, 10 ms",
                scene: || slow_reader(8, 10, 20),
            },
        ],
    },
    Fault {
        name: "large-receive-buffer-and-a-slow-reader",
        expect: &[Limit::ReceiverApp],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "208 KiB, 64 datagrams in 30 ms",
                scene: || slow_reader(208, 30, 50),
            },
            Strength {
                name: "208 KiB, 64 datagrams in 40 ms",
                scene: || slow_reader(208, 40, 50),
            },
            Strength {
                name: "208 KiB, 64 datagrams in 60 ms",
                scene: || slow_reader(208, 60, 50),
            },
        ],
    },
    Fault {
        name: "small-softnet-backlog-and-bursts",
        expect: &[Limit::ReceiverBacklog],
        why: "",
        needs: &[Need::RealRoot],
        strengths: [
            Strength {
                name: "16 packets",
                scene: || small_backlog(16),
            },
            Strength {
                name: "8 packets",
                scene: || small_backlog(8),
            },
            Strength {
                name: "4 packets",
                scene: || small_backlog(4),
            },
        ],
    },
    Fault {
        name: "cpu-quota-on-the-receiver",
        expect: &[Limit::ReceiverCpu],
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
        name: "receiver-pinned-beside-busy-loops",
        expect: &[Limit::ReceiverCpu],
        why: "",
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

fn slow_reader(buffer: u64, pause_ms: u64, load: u64) -> Scene {
    let test = Test::udp(mbit(load), |spec| {
        spec.receiver_pause = Some(Duration::from_millis(pause_ms));
        spec.socket.receive_buffer_bytes = Some(kib(buffer));
    });
    Scene::shaped(LinkConfig::default(), test)
}

/// Bursts that one sending call makes arrive at once, and the backlog does not hold them.
fn small_backlog(packets: u32) -> Scene {
    let test = Test::udp(mbit(100), |spec| {
        let on = ("gso".to_owned(), "true".to_owned());
        spec.datapath.params.extend([on]);
    });
    let size = packets.to_string();
    Scene::routed(test).step(Step::MachineSysctl("net.core.netdev_max_backlog", size))
}

fn quota(share: f64) -> Scene {
    Scene::direct(Test::search(mbit(400))).quota(share)
}

fn pinned(loops: usize) -> Scene {
    let pin = |plan: &mut SaturatePlan| plan.spec.pinning = apart();
    Scene::over(
        Link::Direct { mtu: 1500 },
        Test::search_with(mbit(400), pin),
    )
    .busy(last_core(), loops)
}

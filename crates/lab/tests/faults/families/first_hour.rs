//! What a new user builds in the first hour, with the kernel's own tools: shapers, policers, quotas, other tools' peers.

use crate::fault::{Fault, Need, Strength};
use crate::scene::{Place, Scene, Test, kib, line, mbit, reverse};
use linerate_model::Ratio;
use linerate_model::spec::{Pace, TestSpec};
use linerate_testbed::{HostId, LinkConfig};
use std::time::Duration;

pub(crate) const FAULTS: &[Fault] = &[
    Fault {
        name: "shaper-of-300-mbit-on-the-own-interface",
        expect: &["link"],
        why: "",
        needs: &[Need::Tc],
        strengths: [
            Strength {
                name: "saturate",
                scene: || own_shaper(Test::search(mbit(1200))),
            },
            Strength {
                name: "unpaced",
                scene: || own_shaper(Test::udp(mbit(1), |spec| spec.work.set_pace(Pace::Unpaced))),
            },
            Strength {
                name: "600 Mbit/s",
                scene: || own_shaper(Test::udp(mbit(600), |_| {})),
            },
        ],
    },
    Fault {
        name: "tcp-under-bbr-through-a-shaper",
        expect: &["link"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "20 Mbit/s",
                scene: || shaped_bbr(20),
            },
            Strength {
                name: "100 Mbit/s",
                scene: || shaped_bbr(100),
            },
            Strength {
                name: "300 Mbit/s",
                scene: || shaped_bbr(300),
            },
        ],
    },
    Fault {
        name: "tcp-through-a-policer-of-20-mbit",
        expect: &["policer"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "cubic",
                scene: || policed("cubic"),
            },
            Strength {
                name: "reno",
                scene: || policed("reno"),
            },
            Strength {
                name: "bbr",
                scene: || policed("bbr"),
            },
        ],
    },
    Fault {
        name: "tcp-towards-a-receiver-with-a-quota",
        expect: &["receiver-cpu"],
        why: "",
        needs: &[Need::CpuQuota],
        strengths: [
            Strength {
                name: "15 % of a core",
                scene: || quota(0.15),
            },
            Strength {
                name: "12 % of a core",
                scene: || quota(0.12),
            },
            Strength {
                name: "10 % of a core",
                scene: || quota(0.1),
            },
        ],
    },
    Fault {
        name: "udp-from-a-sender-with-a-quota",
        expect: &["sender-cpu"],
        why: "",
        needs: &[Need::CpuQuota],
        strengths: [
            Strength {
                name: "15 % of a core",
                scene: || datagrams_from_a_quota(0.15),
            },
            Strength {
                name: "10 % of a core",
                scene: || datagrams_from_a_quota(0.1),
            },
            Strength {
                name: "5 % of a core",
                scene: || datagrams_from_a_quota(0.05),
            },
        ],
    },
    Fault {
        name: "bare-veth",
        expect: &["sender-cpu", "receiver-cpu", "tool"],
        why: "both ends run on the cores of one machine, and either may be the first that is busy",
        needs: &[],
        strengths: [
            Strength {
                name: "TCP",
                scene: || Scene::direct(Test::tcp(|_| {})),
            },
            Strength {
                name: "TCP from the peer",
                scene: || Scene::direct(Test::tcp(reverse)),
            },
            Strength {
                name: "TCP under BBR",
                scene: || Scene::direct(Test::tcp(|spec| under(spec, "bbr"))),
            },
        ],
    },
    Fault {
        name: "iperf3-behind-a-shaper-by-udp",
        expect: &["link"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "20 Mbit/s",
                scene: || iperf3_behind(20),
            },
            Strength {
                name: "50 Mbit/s",
                scene: || iperf3_behind(50),
            },
            Strength {
                name: "100 Mbit/s",
                scene: || iperf3_behind(100),
            },
        ],
    },
    Fault {
        name: "iperf3-behind-random-loss-by-tcp",
        expect: &["path-loss"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "0.5 %",
                scene: || iperf3_with_loss(0.005),
            },
            Strength {
                name: "1 %",
                scene: || iperf3_with_loss(0.01),
            },
            Strength {
                name: "3 %",
                scene: || iperf3_with_loss(0.03),
            },
        ],
    },
];

fn under(spec: &mut TestSpec, congestion: &str) {
    spec.socket.congestion_control = Some(congestion.to_owned());
}

fn own_shaper(test: Test) -> Scene {
    Scene::direct(test).tc(
        Place::Host(HostId::A),
        "qdisc add dev eth0 root tbf rate 300mbit burst 375000 limit 300000",
    )
}

/// A path of an ordinary round-trip time.
fn short(config: LinkConfig) -> LinkConfig {
    LinkConfig {
        delay: Duration::from_millis(5),
        ..config
    }
}

fn shaped_bbr(rate: u64) -> Scene {
    let path = LinkConfig {
        queue_bytes: kib(256),
        ..line(mbit(rate))
    };
    // Left to itself, the kernel's receive window stays below what the path holds, behind packets that take far more
    // memory than they carry; then it is what limits.
    let roomy = |spec: &mut TestSpec| {
        under(spec, "bbr");
        spec.socket.receive_buffer_bytes = Some(kib(4096));
    };
    Scene::shaped(short(path), Test::tcp(roomy))
}

fn policed(congestion: &'static str) -> Scene {
    let path = LinkConfig {
        queue_bytes: kib(64),
        police: true,
        ..line(mbit(20))
    };
    Scene::shaped(short(path), Test::tcp(move |spec| under(spec, congestion)))
}

fn quota(share: f64) -> Scene {
    Scene::direct(Test::tcp(|_| {})).quota(share)
}

/// The peer sends, so that its process alone has the quota. What that lets pass comes in bursts, which would overflow a
/// socket of the usual size: then its buffer limits too.
fn datagrams_from_a_quota(share: f64) -> Scene {
    let unpaced = |spec: &mut TestSpec| {
        reverse(spec);
        spec.socket.receive_buffer_bytes = Some(kib(4096));
        spec.work.set_pace(Pace::Unpaced);
    };
    Scene::direct(Test::udp(mbit(1), unpaced)).quota(share)
}

fn iperf3_behind(rate: u64) -> Scene {
    Scene::shaped(short(line(mbit(rate))), Test::udp(mbit(rate * 2), |_| {})).foreign()
}

fn iperf3_with_loss(share: f64) -> Scene {
    let path = LinkConfig {
        loss: Ratio::clamped(share),
        ..LinkConfig::default()
    };
    Scene::shaped(short(path), Test::tcp(|_| {})).foreign()
}

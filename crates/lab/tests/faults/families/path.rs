//! Faults of the path that datagrams meet, made by the link element and by MTUs.

use crate::fault::{Fault, Strength};
use crate::scene::{Scene, Step, Test, line, mbit};
use linerate_model::{BitRate, ByteCount, Ratio};
use linerate_testbed::{HostId, Link, LinkConfig, PacketList};

pub(crate) const FAULTS: &[Fault] = &[
    Fault {
        name: "link-rate",
        expect: &["link"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "5 Mbit/s",
                scene: || link_rate(mbit(5)),
            },
            Strength {
                name: "20 Mbit/s",
                scene: || link_rate(mbit(20)),
            },
            Strength {
                name: "50 Mbit/s",
                scene: || link_rate(mbit(50)),
            },
        ],
    },
    Fault {
        name: "policer",
        expect: &["policer"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "5 Mbit/s, bucket 10 kB",
                scene: || policer(mbit(5), 10_000),
            },
            Strength {
                name: "20 Mbit/s, bucket 15 kB",
                scene: || policer(mbit(20), 15_000),
            },
            Strength {
                name: "20 Mbit/s, bucket 50 kB",
                scene: || policer(mbit(20), 50_000),
            },
        ],
    },
    Fault {
        name: "random-loss",
        expect: &["path-loss"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "1 %",
                scene: || random_loss(0.01),
            },
            Strength {
                name: "3 %",
                scene: || random_loss(0.03),
            },
            Strength {
                name: "20 %",
                scene: || random_loss(0.2),
            },
        ],
    },
    Fault {
        name: "burst-loss",
        expect: &["path-loss"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "5 of 200",
                scene: || burst_loss(5, 200),
            },
            Strength {
                name: "20 of 400",
                scene: || burst_loss(20, 400),
            },
            Strength {
                name: "50 of 500",
                scene: || burst_loss(50, 500),
            },
        ],
    },
    Fault {
        name: "mtu-black-hole",
        expect: &["path-mtu"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "1450 B",
                scene: || black_hole(1450),
            },
            Strength {
                name: "1000 B",
                scene: || black_hole(1000),
            },
            Strength {
                name: "600 B",
                scene: || black_hole(600),
            },
        ],
    },
    Fault {
        name: "mtu-mismatch",
        expect: &["path-mtu"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "1500 B to 1400 B",
                scene: || mismatch(1500, 1400),
            },
            Strength {
                name: "4000 B to 1500 B",
                scene: || mismatch(4000, 1500),
            },
            Strength {
                name: "9000 B to 1500 B",
                scene: || mismatch(9000, 1500),
            },
        ],
    },
    Fault {
        name: "load-below-all-limits",
        expect: &["intended-load"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "1 of 50 Mbit/s",
                scene: || light_load(1),
            },
            Strength {
                name: "10 of 50 Mbit/s",
                scene: || light_load(10),
            },
            Strength {
                name: "25 of 50 Mbit/s",
                scene: || light_load(25),
            },
        ],
    },
    Fault {
        name: "slow-link-that-also-loses-some",
        expect: &["link"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "10 Mbit/s and 0.2 %",
                scene: || slow_and_lossy(mbit(10), 0.002),
            },
            Strength {
                name: "20 Mbit/s and 0.5 %",
                scene: || slow_and_lossy(mbit(20), 0.005),
            },
            Strength {
                name: "20 Mbit/s and 1 %",
                scene: || slow_and_lossy(mbit(20), 0.01),
            },
        ],
    },
];

fn link_rate(rate: BitRate) -> Scene {
    let most = BitRate::from_bps(rate.bps() * 4);
    Scene::shaped(line(rate), Test::search(most))
}

fn policer(rate: BitRate, bucket: u64) -> Scene {
    let path = LinkConfig {
        police: true,
        queue_bytes: ByteCount::new(bucket),
        ..line(rate)
    };
    Scene::shaped(path, Test::search(BitRate::from_bps(rate.bps() * 4)))
}

fn random_loss(share: f64) -> Scene {
    let path = LinkConfig {
        loss: Ratio::clamped(share),
        ..LinkConfig::default()
    };
    Scene::shaped(path, Test::search(mbit(40)))
}

/// Of every `period` packets the first `lost` are dropped.
fn burst_loss(lost: u64, period: u64) -> Scene {
    /// More packets than a cell sends.
    const PACKETS: u64 = 100_000;
    let bursts = (0..PACKETS / period).map(|n| n * period + 1);
    let path = LinkConfig {
        drop: PacketList::from_numbers(bursts.flat_map(|first| first..first + lost)),
        ..LinkConfig::default()
    };
    Scene::shaped(path, Test::search(mbit(40)))
}

fn black_hole(longest: u32) -> Scene {
    let path = LinkConfig {
        mtu_cut_bytes: Some(longest),
        ..LinkConfig::default()
    };
    Scene::shaped(path, Test::udp(mbit(10), |_| {}))
}

/// The sender's interface takes packets that the receiver's does not.
fn mismatch(sender: u32, receiver: u32) -> Scene {
    let test = Test::udp(mbit(10), |spec| {
        spec.work
            .set_payload(ByteCount::new(u64::from(sender) - 28));
    });
    Scene::over(Link::Direct { mtu: sender }, test).step(Step::Mtu(HostId::B, receiver))
}

fn light_load(load: u64) -> Scene {
    Scene::shaped(line(mbit(50)), Test::udp(mbit(load), |_| {}))
}

/// Loss at every load beside a link; at four times its rate the link loses far more.
fn slow_and_lossy(rate: BitRate, share: f64) -> Scene {
    let path = LinkConfig {
        loss: Ratio::clamped(share),
        ..line(rate)
    };
    let load = BitRate::from_bps(rate.bps() * 4);
    Scene::shaped(path, Test::udp(load, |_| {}))
}

//! Faults that TCP meets.

use crate::fault::{Fault, Need, Strength};
use crate::scene::{Place, Scene, Step, Test, apart, kib, last_core, line, mbit, reverse};
use linerate_model::spec::{Imitation, Pace, TestSpec};
use linerate_model::{BitRate, ByteCount, Ratio};
use linerate_testbed::{HostId, Link, LinkConfig, Outage, PacketFilter};
use std::time::Duration;

pub(crate) const FAULTS: &[Fault] = &[
    Fault {
        name: "tcp-over-a-slow-link",
        expect: &["link"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "5 Mbit/s",
                scene: || slow_link(mbit(5)),
            },
            Strength {
                name: "20 Mbit/s",
                scene: || slow_link(mbit(20)),
            },
            Strength {
                name: "50 Mbit/s",
                scene: || slow_link(mbit(50)),
            },
        ],
    },
    Fault {
        name: "tcp-over-tbf-in-a-router",
        expect: &["link"],
        why: "",
        needs: &[Need::Tc],
        strengths: [
            Strength {
                name: "5 Mbit/s",
                scene: || router_tbf(5),
            },
            Strength {
                name: "20 Mbit/s",
                scene: || router_tbf(20),
            },
            Strength {
                name: "50 Mbit/s",
                scene: || router_tbf(50),
            },
        ],
    },
    Fault {
        name: "tcp-bufferbloat",
        expect: &["link"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "10 Mbit/s, 256 KiB",
                scene: || deep_queue(256),
            },
            Strength {
                name: "10 Mbit/s, 512 KiB",
                scene: || deep_queue(512),
            },
            Strength {
                name: "10 Mbit/s, 1024 KiB",
                scene: || deep_queue(1024),
            },
        ],
    },
    Fault {
        name: "tcp-random-loss",
        expect: &["path-loss"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "0.5 %",
                scene: || random_loss(0.005),
            },
            Strength {
                name: "2 %",
                scene: || random_loss(0.02),
            },
            Strength {
                name: "8 %",
                scene: || random_loss(0.08),
            },
        ],
    },
    Fault {
        name: "tcp-burst-loss",
        expect: &["path-loss"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "5 ms each 70 ms",
                scene: || burst_loss(5, 70),
            },
            Strength {
                name: "10 ms each 110 ms",
                scene: || burst_loss(10, 110),
            },
            Strength {
                name: "10 ms each 170 ms",
                scene: || burst_loss(10, 170),
            },
        ],
    },
    Fault {
        name: "tcp-mtu-black-hole",
        expect: &["path-mtu"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "1450 B",
                scene: || black_hole(1450),
            },
            Strength {
                name: "1200 B",
                scene: || black_hole(1200),
            },
            Strength {
                name: "1000 B",
                scene: || black_hole(1000),
            },
        ],
    },
    Fault {
        name: "tcp-reordering",
        expect: &["congestion"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "5 % by 150",
                scene: || reordering(0.05, 150),
            },
            Strength {
                name: "10 % by 150",
                scene: || reordering(0.1, 150),
            },
            Strength {
                name: "10 % by 200",
                scene: || reordering(0.1, 200),
            },
        ],
    },
    Fault {
        name: "small-send-buffer-at-long-rtt",
        expect: &["sender-buffer"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "64 KiB at 40 ms",
                scene: || small_send_buffer(64, 20),
            },
            Strength {
                name: "32 KiB at 40 ms",
                scene: || small_send_buffer(32, 20),
            },
            Strength {
                name: "16 KiB at 80 ms",
                scene: || small_send_buffer(16, 40),
            },
        ],
    },
    Fault {
        name: "small-receive-window-at-long-rtt",
        expect: &["receiver-window"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "64 KiB at 40 ms",
                scene: || small_window(64, 20),
            },
            Strength {
                name: "32 KiB at 40 ms",
                scene: || small_window(32, 20),
            },
            Strength {
                name: "16 KiB at 80 ms",
                scene: || small_window(16, 40),
            },
        ],
    },
    Fault {
        name: "application-that-writes-in-bursts",
        expect: &["sender-app"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "64 KiB each 20 ms",
                scene: || bursts(64, 20),
            },
            Strength {
                name: "64 KiB each 50 ms",
                scene: || bursts(64, 50),
            },
            Strength {
                name: "16 KiB each 100 ms",
                scene: || bursts(16, 100),
            },
        ],
    },
    Fault {
        name: "application-that-reads-slowly",
        expect: &["receiver-app"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "64 KiB each 10 ms",
                scene: || slow_reader(64, 10),
            },
            Strength {
                name: "64 KiB each 20 ms",
                scene: || slow_reader(64, 20),
            },
            Strength {
                name: "16 KiB each 20 ms",
                scene: || slow_reader(16, 20),
            },
        ],
    },
    Fault {
        name: "one-competing-flow",
        expect: &["congestion"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "of 5 Mbit/s",
                scene: || rivals(1, mbit(5)),
            },
            Strength {
                name: "of 20 Mbit/s",
                scene: || rivals(1, mbit(20)),
            },
            Strength {
                name: "of 50 Mbit/s",
                scene: || rivals(1, mbit(50)),
            },
        ],
    },
    Fault {
        name: "one-flow-against-many",
        expect: &["congestion"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "4 others",
                scene: || rivals(4, mbit(20)),
            },
            Strength {
                name: "8 others",
                scene: || rivals(8, mbit(20)),
            },
            Strength {
                name: "16 others",
                scene: || rivals(16, mbit(20)),
            },
        ],
    },
    Fault {
        name: "cpu-quota-on-the-tcp-sender",
        expect: &["sender-cpu"],
        why: "",
        needs: &[Need::CpuQuota],
        strengths: [
            Strength {
                name: "20 % of a core",
                scene: || sender_quota(0.2),
            },
            Strength {
                name: "10 % of a core",
                scene: || sender_quota(0.1),
            },
            Strength {
                name: "5 % of a core",
                scene: || sender_quota(0.05),
            },
        ],
    },
    Fault {
        name: "cpu-quota-on-the-tcp-receiver",
        expect: &["receiver-cpu"],
        why: "",
        needs: &[Need::CpuQuota],
        strengths: [
            Strength {
                name: "20 % of a core",
                scene: || receiver_quota(0.2),
            },
            Strength {
                name: "10 % of a core",
                scene: || receiver_quota(0.1),
            },
            Strength {
                name: "5 % of a core",
                scene: || receiver_quota(0.05),
            },
        ],
    },
    Fault {
        name: "tcp-sender-pinned-beside-busy-loops",
        expect: &["other-programs", "sender-cpu"],
        why: "the loops take the CPU time that the thread lacks",
        needs: &[],
        strengths: [
            Strength {
                name: "3 loops",
                scene: || busy_sender(3),
            },
            Strength {
                name: "6 loops",
                scene: || busy_sender(6),
            },
            Strength {
                name: "12 loops",
                scene: || busy_sender(12),
            },
        ],
    },
    Fault {
        name: "tcp-receiver-pinned-beside-busy-loops",
        expect: &["other-programs", "receiver-cpu"],
        why: "the loops take the CPU time that the thread lacks",
        needs: &[],
        strengths: [
            Strength {
                name: "3 loops",
                scene: || busy_receiver(3),
            },
            Strength {
                name: "6 loops",
                scene: || busy_receiver(6),
            },
            Strength {
                name: "12 loops",
                scene: || busy_receiver(12),
            },
        ],
    },
    Fault {
        name: "tcp-paced-below-all-limits",
        expect: &["intended-load"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "1 of 50 Mbit/s",
                scene: || paced(1),
            },
            Strength {
                name: "3 of 50 Mbit/s",
                scene: || paced(3),
            },
            Strength {
                name: "5 of 50 Mbit/s",
                scene: || paced(5),
            },
        ],
    },
];

/// A path of 20 ms there and back.
fn long(config: LinkConfig) -> LinkConfig {
    LinkConfig {
        delay: Duration::from_millis(10),
        filter: PacketFilter::TCP_DATA,
        ..config
    }
}

fn slow_link(rate: BitRate) -> Scene {
    Scene::shaped(line(rate), Test::tcp(|_| {}))
}

fn router_tbf(rate: u64) -> Scene {
    let tbf = format!("qdisc add dev to-b root tbf rate {rate}mbit burst 3100 limit 60000");
    Scene::routed(Test::tcp(|_| {})).tc(Place::Router, &tbf)
}

fn deep_queue(queue: u64) -> Scene {
    // Without CUBIC's HyStart, which leaves slow start before such a queue fills.
    let reno = |spec: &mut TestSpec| spec.socket.congestion_control = Some("reno".to_owned());
    Scene::shaped(LinkConfig::with_rate(mbit(10), kib(queue)), Test::tcp(reno))
}

fn random_loss(share: f64) -> Scene {
    let path = LinkConfig {
        loss: Ratio::clamped(share),
        ..LinkConfig::default()
    };
    Scene::shaped(long(path), Test::tcp(|_| {}))
}

/// Bursts in time, as a radio's fades are: one of so many packets would outlast all retransmissions of a connection that
/// sends nothing else, each of them later than the one before. TCP waits 200, 400 and 800 ms for what was lost: of no
/// time between bursts is that a multiple, or each of them would meet the next burst. A shorter burst falls between what slow
/// start sends at once in each round trip, and lets it grow until the send buffer is full.
fn burst_loss(length_ms: u64, every_ms: u64) -> Scene {
    let path = LinkConfig {
        outage: Some(Outage {
            every: Duration::from_millis(every_ms),
            length: Duration::from_millis(length_ms),
        }),
        ..LinkConfig::default()
    };
    Scene::shaped(long(path), Test::tcp(|_| {}))
}

/// Only from A to B, so that reports come back.
fn black_hole(longest: u32) -> Scene {
    let path = LinkConfig {
        mtu_cut_bytes: Some(longest),
        ..LinkConfig::default()
    };
    let link = Link::Element {
        a_to_b: Box::new(path),
        b_to_a: Box::default(),
        mtu: 1500,
    };
    Scene::over(link, Test::tcp(|_| {}))
}

/// With a reordering window that stays at a quarter of the RTT: else Linux learns the path's
/// reordering from the first duplicate SACKs (RACK, RFC 8985), and loses little.
fn reordering(share: f64, displacement: u32) -> Scene {
    let path = LinkConfig {
        reorder: Ratio::clamped(share),
        displacement,
        delay: Duration::from_millis(20),
        ..long(LinkConfig::with_rate(mbit(100), kib(2048)))
    };
    let learn_nothing = "echo 3 > /proc/sys/net/ipv4/tcp_recovery";
    let words = ["-c", learn_nothing].map(str::to_owned).to_vec();
    let program = Step::Program(Place::Host(HostId::A), "sh", words);
    Scene::shaped(path, Test::tcp(|_| {})).step(program)
}

fn at_delay(one_way_ms: u64, change: impl FnOnce(&mut TestSpec)) -> Scene {
    let path = LinkConfig {
        delay: Duration::from_millis(one_way_ms),
        ..LinkConfig::default()
    };
    Scene::shaped(path, Test::tcp(change))
}

fn small_send_buffer(buffer: u64, one_way_ms: u64) -> Scene {
    at_delay(one_way_ms, |spec| {
        spec.socket.send_buffer_bytes = Some(kib(buffer));
    })
}

fn small_window(buffer: u64, one_way_ms: u64) -> Scene {
    at_delay(one_way_ms, |spec| {
        spec.socket.receive_buffer_bytes = Some(kib(buffer));
    })
}

fn bursts(size: u64, pause_ms: u64) -> Scene {
    at_delay(1, |spec| {
        spec.work.set_payload(kib(size));
        let pause = Duration::from_millis(pause_ms);
        spec.imitation = Some(Imitation::SlowSender { pause });
    })
}

fn slow_reader(size: u64, pause_ms: u64) -> Scene {
    at_delay(1, |spec| {
        spec.work.set_payload(kib(size));
        let pause = Duration::from_millis(pause_ms);
        spec.imitation = Some(Imitation::slow_receiver(pause));
    })
}

fn rivals(flows: u32, rate: BitRate) -> Scene {
    slow_link(rate).rivals(flows)
}

/// The peer sends, so that its process alone has the quota.
fn sender_quota(share: f64) -> Scene {
    Scene::direct(Test::tcp(reverse)).quota(share)
}

fn receiver_quota(share: f64) -> Scene {
    Scene::direct(Test::tcp(|_| {})).quota(share)
}

fn busy_sender(loops: usize) -> Scene {
    Scene::direct(Test::tcp(|spec| spec.pinning = apart())).busy(0, loops)
}

fn busy_receiver(loops: usize) -> Scene {
    Scene::direct(Test::tcp(|spec| spec.pinning = apart())).busy(last_core(), loops)
}

fn paced(load: u64) -> Scene {
    let test = Test::tcp(|spec| {
        spec.work.set_pace(Pace::At(mbit(load)));
        spec.work.set_payload(ByteCount::new(8 * 1024));
    });
    Scene::shaped(line(mbit(50)), test)
}

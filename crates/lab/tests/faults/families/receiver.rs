//! Faults of the receiving host that datagrams meet.

use crate::fault::{Fault, Need, Strength};
use crate::scene::{Place, Scene, Step, Test, apart, kib, last_core, mbit};
use linerate_model::ByteCount;
use linerate_model::spec::{Imitation, Pace};
use linerate_testbed::{HostId, LinkConfig};
use std::time::Duration;

pub(crate) const FAULTS: &[Fault] = &[
    Fault {
        name: "small-receive-buffer-and-a-reader-that-pauses",
        expect: &["receiver-socket", "receiver-app"],
        why: "without its pauses the reader keeps up, and so it does with room for what comes in one: each is a limit",
        needs: &[],
        strengths: [
            Strength {
                name: "16 KiB, pauses of 10 ms",
                scene: || pausing_reader(16, 10),
            },
            Strength {
                name: "8 KiB, pauses of 10 ms",
                scene: || pausing_reader(8, 10),
            },
            Strength {
                name: "16 KiB, pauses of 30 ms",
                scene: || pausing_reader(16, 30),
            },
        ],
    },
    Fault {
        name: "reader-too-slow-for-any-buffer",
        expect: &["receiver-app"],
        why: "",
        needs: &[],
        strengths: [
            Strength {
                name: "64 KiB, 1 ms per datagram",
                scene: || slow_reader(64, 1),
            },
            Strength {
                name: "64 KiB, 2 ms per datagram",
                scene: || slow_reader(64, 2),
            },
            Strength {
                name: "104 KiB, 4 ms per datagram",
                scene: || slow_reader(104, 4),
            },
        ],
    },
    Fault {
        name: "small-softnet-backlog-and-bursts",
        expect: &["receiver-backlog"],
        why: "",
        needs: &[Need::RealRoot, Need::Tc],
        strengths: [
            Strength {
                name: "8 packets",
                scene: || small_backlog(8),
            },
            Strength {
                name: "4 packets",
                scene: || small_backlog(4),
            },
            Strength {
                name: "2 packets",
                scene: || small_backlog(2),
            },
        ],
    },
    Fault {
        name: "cpu-quota-on-the-receiver",
        expect: &["receiver-cpu"],
        why: "",
        needs: &[Need::CpuQuota],
        strengths: [
            Strength {
                name: "5 % of a core",
                scene: || quota(0.05),
            },
            Strength {
                name: "4 % of a core",
                scene: || quota(0.04),
            },
            Strength {
                name: "3 % of a core",
                scene: || quota(0.03),
            },
        ],
    },
    Fault {
        name: "receiver-pinned-beside-busy-loops",
        expect: &["other-programs", "receiver-cpu", "receiver-socket"],
        why: "a reader that gets its core in turns keeps up with room for what comes between them: each is a limit",
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

/// Comes back rarely and then takes all there is: fast enough on average, if its buffer held the pause.
fn pausing_reader(buffer: u64, pause_ms: u64) -> Scene {
    let test = Test::udp(mbit(20), |spec| {
        spec.imitation = Some(Imitation::SlowReceiver {
            pause: Duration::from_millis(pause_ms),
            datagrams_per_read: 64,
        });
        spec.socket.receive_buffer_bytes = Some(kib(buffer));
    });
    Scene::shaped(LinkConfig::default(), test)
}

/// Takes one datagram, then rests: no buffer makes it faster.
fn slow_reader(buffer: u64, pause_ms: u64) -> Scene {
    let test = Test::udp(mbit(20), |spec| {
        let pause = Duration::from_millis(pause_ms);
        spec.imitation = Some(Imitation::slow_receiver(pause));
        spec.socket.receive_buffer_bytes = Some(kib(buffer));
    });
    Scene::shaped(LinkConfig::default(), test)
}

/// One sending call makes a burst of frames, which the interface cuts it into; the backlog does not
/// hold them.
fn small_backlog(packets: u32) -> Scene {
    let test = Test::udp(mbit(200), |spec| {
        spec.work.set_pace(Pace::Unpaced);
        let on = ("gso".to_owned(), "true".to_owned());
        spec.datapath.params.extend([on]);
    });
    let words = ["link", "set", "dev", "eth0", "gso_max_segs", "1"];
    let words = words.map(str::to_owned).to_vec();
    let size = packets.to_string();
    Scene::direct(test)
        .step(Step::Program(Place::Host(HostId::A), "ip", words))
        .step(Step::MachineSysctl("net.core.netdev_max_backlog", size))
}

/// The peer receives, so that its process alone has the quota. So many small packets that the time
/// left is too short for them however large the buffer is: with less, pauses would be the limit.
fn quota(share: f64) -> Scene {
    let test = Test::udp(mbit(250), |spec| {
        spec.work.set_payload(ByteCount::new(512));
    });
    Scene::direct(test).quota(share)
}

fn pinned(loops: usize) -> Scene {
    // A light load, so that the sender, which shares the machine with the loops, can offer it.
    let test = Test::udp(mbit(30), |spec| {
        spec.pinning = apart();
        spec.socket.receive_buffer_bytes = Some(kib(8));
    });
    Scene::direct(test).busy(last_core(), loops)
}

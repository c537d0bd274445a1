//! Faults that TCP meets.

use crate::fault::{Fault, Strength};
use crate::scene::{Scene, Test, kib, line, mbit};
use linerate_model::BitRate;
use linerate_model::run::Limit;
use linerate_testbed::LinkConfig;
use std::time::Duration;

pub(crate) const FAULTS: &[Fault] = &[
    Fault {
        name: "tcp-over-a-slow-link",
        expect: &[Limit::Link],
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
        name: "small-receive-window-at-long-rtt",
        expect: &[Limit::ReceiverWindow],
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
];

fn slow_link(rate: BitRate) -> Scene {
    Scene::shaped(line(rate), Test::tcp(|_| {}))
}

fn small_window(buffer: u64, one_way_ms: u64) -> Scene {
    let path = LinkConfig {
        delay: Duration::from_millis(one_way_ms),
        ..LinkConfig::default()
    };
    let test = Test::tcp(|spec| spec.socket.receive_buffer_bytes = Some(kib(buffer)));
    Scene::shaped(path, test)
}

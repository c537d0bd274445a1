//! Faults made in a router between the hosts, and by queueing disciplines of the kernel.

use crate::fault::{Fault, Need, Strength};
use crate::scene::{Place, Scene, Test, mbit};
use linerate_testbed::HostId;

pub(crate) const FAULTS: &[Fault] = &[
    Fault {
        name: "tbf-in-a-router",
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
        name: "htb-with-a-short-queue-in-a-router",
        expect: &["link", "policer"],
        why: "a shaper whose queue holds a few packets drops at once what exceeds its rate: seen from both ends that is what a policer does",
        needs: &[Need::Tc],
        strengths: [
            Strength {
                name: "20 Mbit/s, 20 packets",
                scene: || router_htb(20, 20),
            },
            Strength {
                name: "20 Mbit/s, 8 packets",
                scene: || router_htb(20, 8),
            },
            Strength {
                name: "20 Mbit/s, 3 packets",
                scene: || router_htb(20, 3),
            },
        ],
    },
    Fault {
        name: "tbf-at-the-sender-with-a-short-queue",
        expect: &["link"],
        why: "",
        needs: &[Need::Tc],
        strengths: [
            Strength {
                name: "5 Mbit/s, 15 kB",
                scene: || sender_tbf(5, 15_000),
            },
            Strength {
                name: "20 Mbit/s, 15 kB",
                scene: || sender_tbf(20, 15_000),
            },
            Strength {
                name: "20 Mbit/s, 60 kB",
                scene: || sender_tbf(20, 60_000),
            },
        ],
    },
    Fault {
        name: "policer-whose-bucket-holds-a-second",
        expect: &["policer"],
        why: "",
        needs: &[Need::Nft],
        strengths: [
            Strength {
                name: "0.5 MB/s",
                scene: || policer(500),
            },
            Strength {
                name: "1 MB/s",
                scene: || policer(1000),
            },
            Strength {
                name: "2 MB/s",
                scene: || policer(2000),
            },
        ],
    },
    Fault {
        name: "router-drops-by-chance",
        expect: &["path-loss"],
        why: "",
        needs: &[Need::Nft],
        strengths: [
            Strength {
                name: "1 %",
                scene: || router_loss(10),
            },
            Strength {
                name: "3 %",
                scene: || router_loss(30),
            },
            Strength {
                name: "20 %",
                scene: || router_loss(200),
            },
        ],
    },
];

const TO_B: Place = Place::Router;

fn router_tbf(rate: u64) -> Scene {
    let tbf = format!("qdisc add dev to-b root tbf rate {rate}mbit burst 3100 limit 60000");
    Scene::routed(Test::search(mbit(rate * 4))).tc(TO_B, &tbf)
}

fn router_htb(rate: u64, packets: u32) -> Scene {
    let class = format!(
        "class add dev to-b parent 1: classid 1:1 htb rate {rate}mbit burst 3100 cburst 3100"
    );
    Scene::routed(Test::search(mbit(rate * 4)))
        .tc(TO_B, "qdisc add dev to-b root handle 1: htb default 1")
        .tc(TO_B, &class)
        .tc(
            TO_B,
            &format!("qdisc add dev to-b parent 1:1 pfifo limit {packets}"),
        )
}

fn sender_tbf(rate: u64, bytes: u32) -> Scene {
    let tbf = format!("qdisc add dev eth0 root tbf rate {rate}mbit burst 3100 limit {bytes}");
    Scene::routed(Test::search(mbit(rate * 4))).tc(Place::Host(HostId::A), &tbf)
}

/// The kernel's limit has a bucket of one second of its rate beside the burst that it is given.
fn policer(kilobytes_per_second: u64) -> Scene {
    let rule = format!(
        "meta l4proto udp limit rate over {kilobytes_per_second} kbytes/second burst 10 kbytes drop"
    );
    let most = mbit(kilobytes_per_second * 8 * 4 / 1000);
    Scene::routed(Test::search(most)).nft_forward(&rule)
}

fn router_loss(per_mille: u32) -> Scene {
    let rule = format!("meta l4proto udp numgen random mod 1000 < {per_mille} drop");
    Scene::routed(Test::search(mbit(40))).nft_forward(&rule)
}

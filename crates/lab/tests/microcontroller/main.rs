//! The responder on an emulated microcontroller: needs user namespaces, `ip`, QEMU and the firmware that `make firmware`
//! builds, so run with `--ignored`.
//!
//! ```text
//!   host A ──veth── [ link element ] ──veth── host B ──TAP── LAN9118, Cortex-M7 │ virtio, RV32IMAC: smoltcp, responder
//! ```
#![expect(clippy::unwrap_used, reason = "a test")]

mod rig;

use linerate_model::run::{Place, Run};
use linerate_model::spec::{Direction, Pace, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount};
use linerate_testbed::{LinkConfig, PacketList, enter_user_namespace};
use linerate_testkit::namespaces::{Case, namespace_main};
use rig::{Board, MPS2, Rig, VIRT};
use std::process::ExitCode;
use std::time::Duration;

const CASES: &[Case] = &[
    Case {
        name: "what_the_link_dropped_on_the_way_to_the_cortex_m7_is_found_to_the_packet",
        run: what_the_link_dropped_on_the_way_to_the_cortex_m7_is_found_to_the_packet,
    },
    Case {
        name: "what_the_link_dropped_on_the_way_to_the_rv32imac_is_found_to_the_packet",
        run: what_the_link_dropped_on_the_way_to_the_rv32imac_is_found_to_the_packet,
    },
    Case {
        name: "what_the_link_dropped_on_the_way_from_the_device_is_found_to_the_packet",
        run: what_the_link_dropped_on_the_way_from_the_device_is_found_to_the_packet,
    },
    Case {
        name: "round_trips_hold_the_delay_of_the_link",
        run: round_trips_hold_the_delay_of_the_link,
    },
    Case {
        name: "bytes_of_a_tcp_stream_arrive_in_both_directions",
        run: bytes_of_a_tcp_stream_arrive_in_both_directions,
    },
];

fn main() -> ExitCode {
    namespace_main(enter_user_namespace, CASES)
}

/// 37 of 20 000, those of the end among them.
fn dropping() -> LinkConfig {
    let apart = (0..30).map(|k| 17 + k * 601);
    LinkConfig {
        queue_bytes: ByteCount::new(1 << 20),
        drop: PacketList::from_numbers(apart.chain(19_994..=20_000)),
        ..LinkConfig::default()
    }
}

/// The shortest datagrams that the link's list numbers, 400 each second: the FIFO of the LAN9118 has room for a fifth of a
/// second, for which a busy host may keep its emulator from running. QEMU's does not count what it has no room for.
fn datagrams(direction: Direction) -> TestSpec {
    let pace = Pace::At(BitRate::from_bps(400 * 64 * 8));
    TestSpec {
        direction,
        stop: Stop::Transactions(20_000),
        ..TestSpec::udp_datagrams(pace).with_payload(ByteCount::new(64))
    }
}

fn check_loss(run: &Run) {
    let trial = &run.trials[0];
    assert!(trial.valid, "{:?}", trial.reasons);
    let packets = trial.packets().unwrap();
    let [sent, received, lost] = [packets.sent, packets.received, packets.lost];
    assert_eq!(sent.unwrap().get(), 20_000);
    assert_eq!((received.unwrap().get(), lost.unwrap().get()), (19_963, 37));
    let in_network = trial.ledger().iter().filter(|e| e.place == Place::Network);
    let in_network: u64 = in_network.map(|entry| entry.packets.get()).sum();
    assert_eq!(in_network, 37, "{:?}", trial.ledger());
}

fn what_the_link_dropped_on_the_way_to_the_cortex_m7_is_found_to_the_packet() {
    dropped_on_the_way_to(&MPS2);
}

fn what_the_link_dropped_on_the_way_to_the_rv32imac_is_found_to_the_packet() {
    dropped_on_the_way_to(&VIRT);
}

fn dropped_on_the_way_to(board: &Board) {
    let rig = Rig::start(board, dropping());
    let run = rig.measure(&datagrams(Direction::Forward));
    assert_eq!(rig.dropped_by_list()[0], 37);
    check_loss(&run);
    let facts = &run.hosts[1].facts;
    assert_eq!(facts.cpu_model.as_deref(), Some(board.processor));
    let cpu = run.trials[0]
        .cpu
        .as_ref()
        .unwrap()
        .receiver
        .as_ref()
        .unwrap();
    let busy = cpu.host_ratio.unwrap().get();
    assert!(busy > 0.0 && busy < 1.0, "{busy}");
    rig.close();
}

fn what_the_link_dropped_on_the_way_from_the_device_is_found_to_the_packet() {
    let rig = Rig::start(&MPS2, dropping());
    let run = rig.measure(&datagrams(Direction::Reverse));
    assert_eq!(rig.dropped_by_list()[1], 37);
    check_loss(&run);
    rig.close();
}

/// The emulator's own delay comes on top, and no message can be faster than the link.
fn round_trips_hold_the_delay_of_the_link() {
    let each_way = Duration::from_millis(5);
    let link = LinkConfig {
        delay: each_way,
        ..LinkConfig::default()
    };
    let rig = Rig::start(&MPS2, link);
    for transport in [Transport::Udp, Transport::Tcp] {
        let spec = TestSpec {
            stop: Stop::Transactions(100),
            ..TestSpec::ping_pong(transport)
        };
        let run = rig.measure(&spec);
        let delay = run.trials[0].delay().unwrap();
        assert!(
            Duration::from_nanos(delay.min_ns.unwrap()) >= each_way * 2,
            "{delay:?}"
        );
    }
    rig.close();
}

fn bytes_of_a_tcp_stream_arrive_in_both_directions() {
    let rig = Rig::start(&MPS2, LinkConfig::default());
    for direction in [Direction::Forward, Direction::Reverse] {
        let spec = TestSpec {
            direction,
            stop: Stop::Bytes(ByteCount::new(300_000)),
            ..TestSpec::tcp_bulk().with_payload(ByteCount::new(1000))
        };
        let run = rig.measure(&spec);
        let trial = &run.trials[0];
        assert_eq!(trial.sent_bytes.unwrap().get(), 300_000, "{direction:?}");
        assert_eq!(
            trial.received_bytes.unwrap().get(),
            300_000,
            "{direction:?}"
        );
    }
    rig.close();
}

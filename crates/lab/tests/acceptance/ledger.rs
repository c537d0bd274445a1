//! Every packet is accounted for, and placed.

use crate::bench_rig::Rig;
use linerate_model::run::{Place, RunStatus, Trial};
use linerate_model::spec::{Direction, Imitation, Pace, SocketChoice, Stop, TestSpec};
use linerate_model::{BitRate, ByteCount, Ratio};
use linerate_studies::run::single;
use linerate_testbed::{LinkConfig, PacketList};
use linerate_testkit::disturbance::undisturbed;
use std::time::Duration;

const GIGABIT: BitRate = BitRate::from_bps(1_000_000_000);

fn gigabit() -> LinkConfig {
    LinkConfig {
        rate: Some(GIGABIT),
        queue_bytes: ByteCount::new(1 << 20),
        ..LinkConfig::default()
    }
}

/// The oracle of accounting: whatever happens, these hold.
fn assert_balanced(trial: &Trial) {
    let packets = trial.packets().unwrap();
    let (sent, received, lost) = (
        packets.sent.unwrap(),
        packets.received.unwrap(),
        packets.lost.unwrap(),
    );
    assert_eq!(sent.get(), received.get() + lost.get());
    let placed: u64 = trial.ledger().iter().map(|entry| entry.packets.get()).sum();
    assert_eq!(placed, lost.get(), "{:?}", trial.ledger());
}

fn lost_at(trial: &Trial, place: Place) -> u64 {
    let here = trial.ledger().iter().filter(|entry| entry.place == place);
    here.map(|entry| entry.packets.get()).sum()
}

pub(crate) fn tcp_and_udp_both_ways_and_at_once() {
    let rig = Rig::shaped(gigabit());
    for direction in [Direction::Forward, Direction::Reverse, Direction::Duplex] {
        let short = Stop::After(Duration::from_millis(300));
        let tcp = TestSpec {
            direction,
            stop: short,
            streams: 2,
            ..TestSpec::tcp_bulk()
        };
        let run = rig.run(move |context, target| single(context, target, &tcp));
        for trial in &run.trials {
            assert!(trial.received_bytes.unwrap().get() > 0);
            assert!(trial.received_bytes <= trial.sent_bytes);
            assert!(
                !trial.tcp().unwrap().samples.is_empty(),
                "state of the sending side"
            );
        }
        let udp = TestSpec {
            direction,
            stop: short,
            ..TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(20_000_000)))
        };
        let run = rig.run(move |context, target| single(context, target, &udp));
        assert_eq!(
            run.trials.len(),
            if direction == Direction::Duplex { 2 } else { 1 }
        );
        run.trials.iter().for_each(assert_balanced);
        assert_eq!(run.hosts.len(), 2);
    }
    rig.close();
}

/// 137 of 100 000, spread, in runs, and beside duplicates and reordering that must not hide any.
pub(crate) fn a_drop_list_is_lost_to_the_packet() {
    let mut drops: Vec<u64> = (0..100).map(|k| 17 + k * 977).collect();
    drops.extend(50_000..50_037);
    let config = LinkConfig {
        drop: PacketList::from_numbers(drops),
        duplicate: Ratio::clamped(0.001),
        reorder: Ratio::clamped(0.001),
        displacement: 3,
        ..gigabit()
    };
    let rig = Rig::shaped(config);
    let spec = TestSpec {
        stop: Stop::Transactions(100_000),
        socket: SocketChoice {
            receive_buffer_bytes: Some(ByteCount::new(4 << 20)),
            ..SocketChoice::default()
        },
        ..TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(300_000_000)))
    };
    let run = rig.run(move |context, target| single(context, target, &spec));
    let truth = rig.link().a_to_b.data;
    let trial = &run.trials[0];
    assert_balanced(trial);
    let packets = trial.packets().unwrap();
    assert_eq!(packets.sent.unwrap().get(), 100_000);
    assert_eq!(truth.dropped_by_list.get(), 137);
    // A host that is short of CPU may overflow its own socket beside; that is counted by the socket itself.
    let overflowed = lost_at(trial, Place::ReceiverSocket);
    // What overflowed may have been the second copy of a datagram, which is then not lost.
    let lost = packets.lost.unwrap().get();
    assert!(lost <= 137 + overflowed, "{:?}", trial.ledger());
    assert!(lost + truth.duplicated.get() >= 137 + overflowed);
    if overflowed == 0 {
        assert_eq!(lost_at(trial, Place::Network), 137, "{:?}", trial.ledger());
    }
    assert!(
        truth.duplicated.get() > 0 && truth.reordered.get() > 0,
        "{truth:?}"
    );
    if overflowed == 0 {
        assert_eq!(packets.duplicated.unwrap(), truth.duplicated);
        assert_eq!(packets.reordered.unwrap(), truth.reordered);
    }
    rig.close();
}

/// The last fifty of a stream leave no gap in sequence numbers; only the sender's word tells of them.
pub(crate) fn a_lost_tail_is_lost() {
    let config = LinkConfig {
        drop: PacketList::from_numbers(9_951..=10_000),
        ..gigabit()
    };
    let rig = Rig::shaped(config);
    let spec = TestSpec {
        stop: Stop::Transactions(10_000),
        ..TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(100_000_000)))
    };
    let run = rig.run(move |context, target| single(context, target, &spec));
    let trial = &run.trials[0];
    assert_balanced(trial);
    let overflowed = lost_at(trial, Place::ReceiverSocket);
    assert_eq!(
        trial.packets().unwrap().lost.unwrap().get(),
        50 + overflowed
    );
    rig.close();
}

/// A tiny buffer and a reader that pauses: the verdict names the socket, and the kernel's own
/// counters of that socket and of that host agree with the missing packets.
pub(crate) fn a_slow_reader_overflows_its_socket() {
    let rig = Rig::shaped(gigabit());
    let spec = TestSpec {
        stop: Stop::After(Duration::from_secs(2)),
        imitation: Some(Imitation::slow_receiver(Duration::from_millis(20))),
        socket: SocketChoice {
            receive_buffer_bytes: Some(ByteCount::new(16 * 1024)),
            ..SocketChoice::default()
        },
        ..TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(50_000_000)))
    };
    let measured = undisturbed(|| {
        let spec = spec.clone();
        rig.run(move |context, target| single(context, target, &spec))
    });
    let is_disturbed = measured.is_disturbed();
    let run = measured.value;
    let trial = &run.trials[0];
    assert_balanced(trial);
    let lost = trial.packets().unwrap().lost.unwrap().get();
    assert!(lost > 0);
    assert_eq!(
        lost_at(trial, Place::ReceiverSocket),
        lost,
        "{:?}",
        trial.ledger()
    );
    let host = trial
        .counters(linerate_model::spec::Side::Receiver)
        .unwrap();
    assert_eq!(host[linerate_model::signals::UDP_RCVBUF_ERRORS], lost);
    assert_eq!(run.status, RunStatus::Complete);
    let reader = trial.cpu_of(linerate_model::spec::Side::Receiver).unwrap();
    let (paused, blocked) = (reader.paused_ratio.unwrap(), reader.blocked_ratio.unwrap());
    assert!(
        paused.get() > 0.6 && blocked.get() < 0.2 || is_disturbed,
        "the reader paused for {paused} of the time and slept in its calls for {blocked}"
    );
    let limit = run.verdict.as_ref().unwrap().limit.id();
    // A sender whose core is taken away may offer less than the reader takes: another limit, and rightly said.
    assert!(limit == "receiver-app" || is_disturbed, "{:?}", run.verdict);
    rig.close();
}

//! A thousand streams that share threads: what each of them lost.

use crate::bench::{Bench, PAYLOAD, datagrams};
use linerate_model::ByteCount;
use linerate_model::run::{Place, Trial};
use linerate_model::sample::FlowCounts;
use linerate_model::spec::{Direction, MAX_STREAMS, SocketChoice, Stop, TestSpec};

const STREAMS: u16 = 1000;

/// Of each stream.
const EACH: u64 = 7;

/// Datagrams of each stream, thread after thread, that an end counted.
fn of_streams(trial: &Trial, end: usize) -> Vec<u64> {
    let threads = trial.raw()[end].streams.iter();
    let counts = threads.filter_map(|thread| thread.flows.as_ref());
    counts.flat_map(FlowCounts::iter).collect()
}

/// One thread at each end, so that the order in which the streams take turns is known.
fn of_a_thousand(direction: Direction) -> TestSpec {
    TestSpec {
        streams: STREAMS,
        threads: Some(1),
        direction,
        socket: SocketChoice {
            receive_buffer_bytes: Some(ByteCount::new(4 << 20)),
            ..SocketChoice::default()
        },
        ..datagrams(u64::from(STREAMS) * EACH)
    }
}

/// A packet filter drops the first 1500 datagrams: two of each stream of the first half, one of each other. Oracle: its
/// counter.
pub(crate) fn of_a_thousand_at_the_sending_socket() {
    const LOST: u64 = 1500;
    let bench = Bench::direct();
    bench.drop_at_egress(LOST);
    let trial = bench.check(
        "thousand streams",
        &of_a_thousand(Direction::Forward),
        &[(Place::SenderSocket, &Bench::dropped_by_filter)],
    );
    assert_eq!(trial.packets().unwrap().lost.unwrap().get(), LOST);
    assert_eq!(of_streams(&trial, 0), vec![EACH; usize::from(STREAMS)]);
    let half = usize::from(STREAMS) / 2;
    let received = [vec![EACH - 2; half], vec![EACH - 1; half]].concat();
    assert_eq!(of_streams(&trial, 1), received);
    let shares = trial.shares.as_ref().unwrap();
    assert_eq!((shares.silent, shares.with_loss), (0, Some(STREAMS)));
    let lost = shares.slowest.iter().map(|share| share.lost.unwrap().get());
    assert!(lost.eq([2; 10]), "{:?}", shares.slowest);
    bench.close();
}

/// The other way nothing that counts is dropped, but 300 of the server's answers to hellos: each stream of its one socket
/// arrives at a socket of its own.
pub(crate) fn of_a_thousand_from_the_server() {
    const ANSWERS: u64 = 300;
    /// In UDP, of a header alone, whose kind is 3.
    const ANSWER: &str = "udp length 26 @th,104,8 3";
    let bench = Bench::direct();
    // At this hook a packet has its IPv4 (20) and UDP (8) headers.
    bench.drop_first("ingress", ANSWERS * (18 + 28), ANSWER);
    let run = bench.run(&of_a_thousand(Direction::Reverse));
    let trial = &run.trials[0];
    for end in [0, 1] {
        assert_eq!(of_streams(trial, end), vec![EACH; usize::from(STREAMS)]);
    }
    assert_eq!(bench.dropped_by_filter(), ANSWERS);
    let bytes = trial.raw()[1].streams[0].bytes;
    assert_eq!(bytes.get(), u64::from(STREAMS) * EACH * PAYLOAD);
    bench.close();
}

/// As many as there may be: a filter drops the first 5000, half of the first datagrams of all streams together.
pub(crate) fn of_ten_thousand() {
    const LOST: u64 = 5000;
    linerate_sys::process::raise_open_files();
    let bench = Bench::direct();
    bench.drop_at_egress(LOST);
    let spec = TestSpec {
        streams: MAX_STREAMS,
        threads: Some(2),
        ..of_a_thousand(Direction::Forward)
    };
    let spec = TestSpec {
        stop: Stop::Transactions(u64::from(MAX_STREAMS) * 2),
        ..spec
    };
    let place = Place::SenderSocket;
    let trial = bench.check("ten thousand", &spec, &[(place, &Bench::dropped_by_filter)]);
    assert_eq!(of_streams(&trial, 0), vec![2; usize::from(MAX_STREAMS)]);
    let received = of_streams(&trial, 1);
    assert_eq!(received.len(), usize::from(MAX_STREAMS));
    let lost: u64 = received.iter().map(|received| 2 - received).sum();
    assert_eq!(lost, LOST);
    bench.close();
}

use super::{datagrams, lost, run};
use crate::diagnosis::short_queue::ShortQueue;
use linerate_model::ByteCount;
use linerate_model::run::{Run, TcpSummary, TrialWork};

/// One stream at `megabits` over a round trip of 50 ms, and a flood of which 10 Mbit/s pass a queue of `queue_ms`.
fn over_a_queue(control: &str, megabits: f64, queue_ms: u64) -> Run {
    let mut run = run();
    run.probes = vec![datagrams(
        10.0,
        &lost(9_000, "network", queue_ms * 1_000_000),
    )];
    let trial = &mut run.trials[0];
    trial.streams = Some(1);
    trial.received_rate = Some(linerate_model::BitRate::from_f64(megabits * 1e6));
    trial.received_bytes = Some(ByteCount::new(1));
    let TrialWork::ByteStream(stream) = &mut trial.work else {
        panic!("TCP")
    };
    stream.tcp = Some(TcpSummary {
        congestion_control: Some(control.to_owned()),
        retransmitted_segments: Some(7),
        min_rtt_ns: Some(50_000_000),
        ..TcpSummary::default()
    });
    run
}

fn short(run: &Run) -> Option<ShortQueue> {
    ShortQueue::find(run, &run.trials[0])
}

#[test]
fn a_queue_below_what_the_window_is_cut_by_leaves_the_link_idle() {
    // CUBIC: below 0.43 round trips, 21.4 ms; Reno: below one.
    let is_short = |control, queue_ms| short(&over_a_queue(control, 9.0, queue_ms)).is_some();
    assert!(is_short("cubic", 20) && !is_short("cubic", 22));
    assert!(is_short("reno", 49) && !is_short("reno", 51));
    // It paces by a model, and does not cut its window so.
    assert!(!is_short("bbr", 20));
    let said = short(&over_a_queue("cubic", 9.0, 10)).unwrap().describe();
    let whole = "The queue of 10 ms is shorter than 42.9 % of the round trip of 50 ms: after each loss CUBIC (× 0.7, RFC 9438) has less in flight than the path holds, so that one stream gets between 84 % and 100 % of the 10 Mbit/s that pass.";
    assert_eq!(said, whole);
}

#[test]
fn only_a_rate_between_the_cut_and_the_links_is_explained() {
    let explains = |megabits| {
        short(&over_a_queue("cubic", megabits, 10))
            .unwrap()
            .explains()
    };
    assert!(explains(8.5) && explains(9.9));
    assert!(!explains(8.3) && !explains(10.1));
}

#[test]
fn without_a_loss_of_its_own_the_stream_never_filled_the_queue() {
    let mut run = over_a_queue("cubic", 9.0, 10);
    let TrialWork::ByteStream(stream) = &mut run.trials[0].work else {
        panic!("TCP")
    };
    stream.tcp.as_mut().unwrap().retransmitted_segments = Some(0);
    assert!(short(&run).is_none());
    // Several streams are not cut at once.
    let mut run = over_a_queue("cubic", 9.0, 10);
    run.trials[0].streams = Some(4);
    assert!(short(&run).is_none());
}

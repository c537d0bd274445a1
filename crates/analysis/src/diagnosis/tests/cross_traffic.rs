//! Flows of others through an interface of the test.

use super::{at_half, datagrams, made, run, trial, with_stream};
use crate::diagnosis::Observation;
use linerate_model::run::{Change, Probe as Made};
use linerate_model::sample::StreamReport;
use linerate_model::signals::NIC_TX_BYTES;
use linerate_model::spec::Side;
use serde_json::json;

/// With a second in which the sender's interface counted so many bytes.
fn counted(made: Made, bytes: u64, edit: impl FnOnce(&mut StreamReport)) -> Made {
    let mut made = with_stream(made, Side::Sender, edit);
    let measured = made.trial.measured_mut().unwrap();
    let counters = json!({"sender": {(NIC_TX_BYTES): bytes}});
    measured.counters = serde_json::from_value(counters).unwrap();
    measured.raw[0].after.at_ns = 1_000_000_000;
    made
}

/// 10 MB of the test, and so much more that its interface sent; at half the rate 6 MB, and so much more.
fn seen(others: u64, at_half_of_it: Option<u64>) -> Vec<String> {
    let samples = json!([{"at_ns": 1_000_000_000, "bytes_sent": 10_000_000, "notsent_bytes": 0}]);
    let work = json!({"kind": "byte-stream-sender", "tcp": samples});
    let reported = |stream: &mut StreamReport| {
        stream.work = serde_json::from_value(work).unwrap();
    };
    let more = json!({"work": "byte-stream", "tcp": {"smss_bytes": 1448}});
    let limited = made(Change::Streams { factor: 4 }, trial("tcp", 94.0, &more));
    let mut run = run();
    run.trials = vec![counted(limited, 10_456_000 + others, reported).trial];
    run.probes.extend(at_half_of_it.map(|others| {
        let sent =
            json!({"packets": {"sent": 4000, "received": 4000, "lost": 0, "loss_ratio": 0.0}});
        let half = at_half(datagrams(47.0, &sent));
        counted(half, 5_960_000 + others, |_| ())
    }));
    let observation = Observation::from_run(&run).unwrap();
    let mut seen = observation.seen.into_iter();
    seen.find(|seen| seen.id == "cross-traffic")
        .unwrap()
        .classes
}

#[test]
fn flows_that_take_the_room_that_is_left_share_the_link() {
    assert_eq!(seen(0, None), ["none"]);
    assert_eq!(seen(1_000_000, Some(7_000_000)), ["none"]);
    assert_eq!(seen(4_000_000, None), ["some"]);
    // Half of the test's rate is 5.9 MB in a second.
    assert_eq!(seen(4_000_000, Some(4_500_000)), ["steady"]);
    assert_eq!(seen(4_000_000, Some(9_000_000)), ["fills-room"]);
}

//! Loss that datagrams at an even rate are spared.

use super::{at_half, datagrams, left_by, lost, run, trial};
use crate::diagnosis::bursts::{describe, speaks_against};
use linerate_model::run::Run;
use serde_json::{Value, json};

/// TCP that lost 1 % of its segments, so many in each quarter of a second, and datagrams of which so many of 20 000 were lost.
fn through_a_short_queue(again: [u64; 4], datagrams_lost: u64) -> Run {
    let mut run = run();
    let intervals = [0.0, 0.25, 0.5, 0.75].into_iter().zip(again).map(|(start, segments)| {
        json!({"start_s": start, "end_s": start + 0.25, "retransmitted_segments": segments})
    });
    let more = json!({
        "work": "byte-stream", "intervals": intervals.collect::<Vec<Value>>(),
        "tcp": {"smss_bytes": 1448, "retransmissions": {"sent": 8000, "segments": 80, "needless": 0}}
    });
    run.trials = vec![serde_json::from_value(trial("tcp", 61.0, &more)).unwrap()];
    let none = || datagrams(91.0, &lost(0, "network", 15_000));
    run.probes = vec![
        datagrams(91.0, &lost(datagrams_lost, "network", 15_000)),
        at_half(none()),
    ];
    run
}

fn is_open(run: &Run) -> bool {
    left_by(speaks_against, run, &run.trials[0]).contains(&"path-loss")
}

#[test]
fn loss_that_even_datagrams_are_spared_is_not_loss_at_any_load() {
    let run = through_a_short_queue([20; 4], 0);
    assert!(!is_open(&run));
    let said = describe(&run, &run.trials[0]).unwrap();
    assert!(
        said.contains("TCP lost 1 % of its segments and datagrams at an even rate 0 of 20000"),
        "{said}"
    );
    assert!(
        is_open(&through_a_short_queue([20; 4], 100)),
        "as large a share"
    );
    assert!(
        is_open(&through_a_short_queue([80, 0, 0, 0], 0)),
        "an outage"
    );
}

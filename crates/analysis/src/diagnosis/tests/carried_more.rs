//! Probes that let far more pass than the run carried.

use super::of;
use super::{bytes, datagrams, left_by, made, run, trial};
use crate::diagnosis::carried_more::speaks_against;
use linerate_model::run::{Change, Probe as Made, Trial};
use linerate_model::spec::Transport;
use serde_json::{Value, json};

/// What may limit TCP, at 94 Mbit/s beside `more`, after this probe.
fn left(probe: Made, more: &Value) -> Vec<&'static str> {
    let mut run = run();
    let mut all = json!({"work": "byte-stream"});
    all.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    run.trials = vec![serde_json::from_value::<Trial>(trial("tcp", 94.0, &all)).unwrap()];
    run.probes = vec![probe];
    left_by(speaks_against, &run, &run.trials[0])
}

fn is_link_left(probe: Made, more: &Value) -> bool {
    left(probe, more).contains(&"link")
}

#[test]
fn a_link_that_let_far_more_pass_is_no_limit() {
    let all = of(Transport::Tcp)
        .into_iter()
        .map(|(suspect, _)| suspect.id);
    let others: Vec<_> = all
        .filter(|id| !["link", "own-shaper"].contains(id))
        .collect();
    let lossy = json!({"packets": {"sent": 100, "received": 99, "lost": 1, "loss_ratio": 0.01}});
    assert_eq!(left(datagrams(240.0, &lossy), &json!({})), others);
    let streams = bytes(Change::Streams { factor: 4 }, 240.0);
    assert_eq!(left(streams, &json!({})), others);
}

#[test]
fn what_a_queue_let_pass_after_the_probe_is_no_more() {
    assert!(is_link_left(datagrams(230.0, &json!({})), &json!({})));
}

#[test]
fn what_passed_the_other_way_says_nothing_of_this_one() {
    let change = Change::ReturnDatagrams { factor: 1.5 };
    let back = json!({"work": "datagrams", "direction": "reverse"});
    let probe = made(change, trial("udp", 400.0, &back));
    assert!(is_link_left(probe, &json!({})));
}

#[test]
fn what_did_not_count_says_nothing() {
    let invalid = json!({"valid": false, "reasons": ["the sender had no time"]});
    assert!(is_link_left(datagrams(400.0, &invalid), &json!({})));
}

#[test]
fn a_run_that_was_as_fast_for_a_while_met_its_link_later() {
    let fast = json!({"intervals": [
        {"start_s": 0.0, "end_s": 0.5, "received_bps": 170_000_000},
        {"start_s": 0.5, "end_s": 1.0, "received_bps": 18_000_000}
    ]});
    assert!(is_link_left(datagrams(240.0, &json!({})), &fast));
    assert!(!is_link_left(datagrams(430.0, &json!({})), &fast));
}

//! Datagrams that all arrived, and were fewer than intended.

use super::of;
use super::{left_by, run, trial};
use crate::diagnosis::delivered::{describe, speaks_against};
use linerate_model::BitRate;
use linerate_model::run::Trial;
use linerate_model::spec::Transport;
use serde_json::{Value, json};

/// 8 Mbit/s intended; the sender's thread slept for `blocked` of the time for room, and ran for a quarter.
fn sent(megabits: f64, lost: u64, blocked: f64) -> Trial {
    let offered = BitRate::from_f64(megabits * 1e6);
    let cpu = json!({
        "thread_ratio": 0.25, "run_delay_ratio": 0.01, "blocked_ratio": blocked, "paused_ratio": 0.74 - blocked
    });
    let more: Value = json!({
        "work": "datagrams", "intended_bps": 8_000_000, "offered_bps": offered,
        "packets": {
            "sent": 1300, "received": 1300 - lost, "lost": lost, "loss_ratio": 0.0
        },
        "cpu": {"sender": cpu}
    });
    serde_json::from_value(trial("udp", megabits, &more)).unwrap()
}

fn left(trial: &Trial) -> Vec<&'static str> {
    left_by(speaks_against, &run(), trial)
}

#[test]
fn what_all_arrived_and_waited_for_nothing_was_limited_by_its_sender() {
    let alone = sent(7.5, 0, 0.03);
    assert_eq!(left(&alone), ["sender-cpu"]);
    let said = describe(&run(), &alone).unwrap();
    assert!(
        said.contains("it sent only 7.5 Mbit/s of 8 Mbit/s"),
        "{said}"
    );
    let held_up = sent(7.5, 0, 0.3);
    assert_eq!(left(&held_up), ["link", "own-shaper", "sender-cpu"]);
    assert_eq!(describe(&run(), &held_up), None);
}

#[test]
fn a_shaper_of_unknown_rate_that_held_packets_back_may_limit() {
    let mut shaped = serde_json::to_value(sent(7.5, 0, 0.03)).unwrap();
    shaped["counters"] = json!({"sender": {"qdisc.overlimits": 900}, "receiver": {}});
    let shaped: Trial = serde_json::from_value(shaped).unwrap();
    assert_eq!(left(&shaped), ["link", "own-shaper", "sender-cpu"]);
    assert_eq!(describe(&run(), &shaped), None);
}

#[test]
fn loss_or_a_load_that_was_sent_rules_out_nothing() {
    for open in [sent(7.5, 1, 0.03), sent(8.0, 0, 0.03)] {
        assert_eq!(left(&open).len(), of(Transport::Udp).len());
        assert_eq!(describe(&run(), &open), None);
    }
}

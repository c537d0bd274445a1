//! Applications whose threads hardly ever rest.

use super::{left_by, run, trial};
use crate::diagnosis::paused::speaks_against;
use linerate_model::run::Trial;
use serde_json::{Value, json};

#[test]
fn an_application_whose_thread_hardly_rests_is_no_limit() {
    let left = |paused: Value, waited: f64| {
        let cpu = json!({"sender": {"paused_ratio": paused, "run_delay_ratio": waited}});
        let trial = trial("tcp", 94.0, &json!({"work": "byte-stream", "cpu": cpu}));
        let trial: Trial = serde_json::from_value(trial).unwrap();
        left_by(speaks_against, &run(), &trial).contains(&"sender-app")
    };
    assert!(left(json!(0.1), 0.0));
    assert!(!left(json!(0.08), 0.0));
    // Each pause costs it its core.
    assert!(left(json!(0.05), 0.5));
    assert!(left(Value::Null, 0.0));
}

/// The trial fell short of 100 Mbit/s; its sender slept in its calls for `blocked` of the time.
#[test]
fn an_application_whose_socket_had_no_room_for_as_long_as_it_is_behind_is_no_limit() {
    let is_open = |blocked: f64, offered: u64| {
        let cpu = json!({"sender": {"paused_ratio": 0.8, "run_delay_ratio": 0.02, "blocked_ratio": blocked}});
        let more = json!({
            "work": "byte-stream", "cpu": cpu, "intended_bps": 100_000_000, "offered_bps": offered
        });
        let trial: Trial = serde_json::from_value(trial("tcp", 90.0, &more)).unwrap();
        left_by(speaks_against, &run(), &trial).contains(&"sender-app")
    };
    assert!(!is_open(0.11, 90_000_000));
    assert!(is_open(0.02, 90_000_000));
    // One that sent more than intended is not behind.
    assert!(is_open(0.11, 101_000_000));
}

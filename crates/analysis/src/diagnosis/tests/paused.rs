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

//! Rates that fall as more is sent.

use super::searches::search;
use super::{datagrams, left_by, of, trial};
use crate::diagnosis::falls::speaks_against;
use linerate_model::run::Run;
use linerate_model::spec::Transport;
use serde_json::json;

/// What may limit 48.7 of 64 Mbit/s, where so much arrived of 256 Mbit/s.
fn left(megabits: f64) -> Vec<&'static str> {
    let mut run = search();
    let one = json!({"work": "datagrams", "intended_bps": 64_000_000, "offered_bps": 64_000_000});
    let more = json!({
        "work": "datagrams", "intended_bps": 256_000_000, "offered_bps": 256_000_000, "index": 1
    });
    let trials = [trial("udp", 48.7, &one), trial("udp", megabits, &more)];
    run.trials = serde_json::from_value(json!(trials)).unwrap();
    left_by(speaks_against, &run, &run.trials[0])
}

#[test]
fn a_path_keeps_its_rate_however_much_is_sent() {
    let falls = left(8.0);
    assert!(
        !falls.contains(&"link") && !falls.contains(&"policer"),
        "{falls:?}"
    );
    assert!(
        falls.contains(&"receiver-cpu") && falls.contains(&"own-shaper"),
        "{falls:?}"
    );
    assert_eq!(left(40.0).len(), of(Transport::Udp).len());
}

#[test]
fn a_probe_above_the_rate_tells_as_much() {
    let mut run: Run = search();
    run.probes = vec![datagrams(20.0, &json!({"offered_bps": 211_500_000}))];
    assert!(!left_by(speaks_against, &run, &run.trials[0]).contains(&"link"));
}

//! Streams that carry more than a window allows.

use super::{left_by, of, run, trial};
use crate::diagnosis::window::speaks_against;
use linerate_model::run::Trial;
use linerate_model::spec::Transport;
use serde_json::json;

/// What may limit so many Mbit/s with a window of 64 kB and a round trip of 0.5 ms, 0.4 ms at least: 1.02 Gbit/s at the
/// mean, 1.28 Gbit/s at the shortest.
fn left(megabits: f64) -> Vec<&'static str> {
    let tcp = json!({
        "srtt_mean_ns": 500_000, "min_rtt_ns": 400_000,
        "windows": {"receiver_window_bytes": 64_000, "send_buffer_bytes": 4_000_000}
    });
    let more = json!({"work": "byte-stream", "tcp": tcp});
    let trial: Trial = serde_json::from_value(trial("tcp", megabits, &more)).unwrap();
    left_by(speaks_against, &run(), &trial)
}

#[test]
fn a_window_does_not_limit_what_it_would_not_allow() {
    assert_eq!(
        left(1290.0).len(),
        of(Transport::Tcp).len(),
        "between the two"
    );
    let exceeded = left(1500.0);
    assert!(!exceeded.contains(&"receiver-window"), "{exceeded:?}");
    assert_eq!(exceeded.len() + 1, of(Transport::Tcp).len());
    let above_both = left(90_000.0);
    assert!(!above_both.contains(&"sender-buffer"), "{above_both:?}");
}

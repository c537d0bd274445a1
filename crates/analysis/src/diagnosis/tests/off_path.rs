//! Datagrams that the hosts lost.

use super::{left_by, of, run, trial};
use crate::diagnosis::off_path::speaks_against;
use linerate_model::run::{HostRole, Run, Trial};
use linerate_model::spec::Transport;
use serde_json::json;

/// 64 Mbit/s of which 920 of 1000 were lost, so many at the sender's interface of this speed and the rest at the
/// receiver's socket.
fn left(at_interface: u64, speed: u64) -> Vec<&'static str> {
    let mut run: Run = run();
    let own = json!({"role": HostRole::Client, "facts": {"link_speed_bps": speed}});
    run.hosts = vec![serde_json::from_value(own).unwrap()];
    let more = json!({
        "work": "datagrams", "offered_bps": 64_000_000, "intended_bps": 256_000_000,
        "packets": {"sent": 1000, "received": 80, "lost": 920, "loss_ratio": 0.92},
        "ledger": [
            {"place": "sender-nic", "packets": at_interface, "source": "a counter"},
            {"place": "receiver-socket", "packets": 920 - at_interface, "source": "a counter"}
        ]
    });
    let trial: Trial = serde_json::from_value(trial("udp", 5.0, &more)).unwrap();
    run.trials = vec![trial.clone()];
    left_by(speaks_against, &run, &trial)
}

#[test]
fn what_the_hosts_lost_the_path_did_not() {
    let on_path = ["link", "policer", "path-loss"];
    let has_any = |left: &[&str]| on_path.iter().any(|cause| left.contains(cause));
    assert!(!has_any(&left(770, 10_000_000_000)));
    assert!(!has_any(&left(0, 100_000_000)));
    // An interface of 100 Mbit/s may be full of it.
    assert_eq!(left(770, 100_000_000).len(), of(Transport::Udp).len());
}

//! Tests that fill an interface whose speed is known.

use super::of;
use super::{bytes, left_by, lost, run, trial};
use crate::diagnose;
use crate::diagnosis::line_rate::speaks_against;
use linerate_model::run::{Change, Confidence, Host, HostRole, Run, Trial};
use linerate_model::spec::Transport;
use serde_json::{Value, json};

/// Between hosts with interfaces of 1 Gbit/s, one of them with this fact more.
fn on_gigabit(trial: &Trial, fact: (&str, u64)) -> Run {
    let mut client = Host::new(HostRole::Client);
    for (key, value) in [("link_speed_bps", 1_000_000_000), fact] {
        client.facts.insert(key, value);
    }
    Run {
        hosts: vec![client],
        trials: vec![trial.clone()],
        ..run()
    }
}

fn carried(transport: &str, megabits: f64, more: &Value) -> Trial {
    let mut all = match transport {
        "tcp" => json!({"work": "byte-stream", "tcp": {"smss_bytes": 1448}}),
        _ => json!({"work": "datagrams"}),
    };
    all.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    serde_json::from_value(trial(transport, megabits, &all)).unwrap()
}

fn left(trial: &Trial, fact: (&str, u64)) -> Vec<&'static str> {
    let run = on_gigabit(trial, fact);
    left_by(speaks_against, &run, trial)
}

const NONE: (&str, u64) = ("mtu_bytes", 1500);

#[test]
fn what_fills_its_interface_is_limited_by_it() {
    let none_lost = json!({});
    assert_eq!(left(&carried("tcp", 941.0, &none_lost), NONE), ["link"]);
    assert_eq!(left(&carried("udp", 956.0, &none_lost), NONE), ["link"]);
    let all = of(Transport::Tcp).len();
    for other in [890.0, 1300.0] {
        assert_eq!(left(&carried("tcp", other, &none_lost), NONE).len(), all);
    }
    let shaped = ("queueing_discipline_rate_bps", 980_000_000);
    assert_eq!(
        left(&carried("tcp", 941.0, &none_lost), shaped),
        ["link", "own-shaper"]
    );
}

#[test]
fn what_a_receiver_drops_of_a_full_link_is_not_the_links() {
    let all = of(Transport::Udp).len();
    let at = |place: &str| left(&carried("udp", 945.0, &lost(100, place, 15_000)), NONE);
    assert_eq!(at("network"), ["link"]);
    assert_eq!(at("receiver-socket").len(), all);
    assert_eq!(at("unknown").len(), all);
}

#[test]
fn a_full_interface_needs_no_overload_to_be_believed() {
    let verdict = |megabits: f64| {
        let mut run = on_gigabit(&carried("tcp", megabits, &json!({})), NONE);
        run.probes = vec![bytes(Change::Streams { factor: 4 }, megabits)];
        let (verdict, _) = diagnose(&run);
        (verdict.limit.id().to_owned(), verdict.confidence)
    };
    assert_eq!(verdict(941.0), ("link".to_owned(), Confidence::Supported));
    assert_eq!(verdict(800.0).1, Confidence::Weak);
}

//! Shapers of the sender's own host.

use super::{left_by, run, trial};
use crate::causes::{Weighed, own_shaper};
use crate::diagnosis::shaper::{is_below, speaks_against};
use linerate_model::run::{Run, Trial};
use linerate_model::signals::QDISC_OVERLIMITS;
use linerate_model::spec::Side;
use serde_json::json;

/// TCP at so many Mbit/s behind a shaper of 300 Mbit/s that held packets back, and dropped so many.
fn shaped(megabits: f64, dropped: u64) -> (Run, Trial) {
    let mut run = run();
    let own = json!({
        "role": "client",
        "facts": {"queueing_discipline": "tbf", "queueing_discipline_rate_bps": 300_000_000}
    });
    run.hosts = vec![serde_json::from_value(own).unwrap()];
    let more = json!({
        "work": "byte-stream", "tcp": {"smss_bytes": 1448},
        "counters": {"sender": {"qdisc.overlimits": 900, "qdisc.dropped": dropped}}
    });
    let trial: Trial = serde_json::from_value(trial("tcp", megabits, &more)).unwrap();
    run.trials = vec![trial.clone()];
    (run, trial)
}

#[test]
fn a_shaper_whose_rate_was_not_reached_and_which_dropped_nothing_does_not_limit() {
    let is_open = |megabits: f64, dropped: u64| {
        let (run, trial) = shaped(megabits, dropped);
        left_by(speaks_against, &run, &trial).contains(&"own-shaper")
    };
    assert!(is_open(285.0, 0));
    assert!(!is_open(178.2, 0));
    assert!(is_open(178.2, 30));
}

/// Datagrams at 260 Mbit/s, as fast as they could, whose sender waited for room for this share of the time.
fn unpaced(waited: f64) -> (Run, Trial) {
    let (mut run, _) = shaped(260.0, 0);
    let more = json!({
        "work": "datagrams", "offered_bps": 260_000_000, "send_blocked_ratio": waited,
        "counters": {"sender": {"qdisc.overlimits": 900, "qdisc.dropped": 0}}
    });
    let trial: Trial = serde_json::from_value(trial("udp", 260.0, &more)).unwrap();
    run.trials = vec![trial.clone()];
    (run, trial)
}

#[test]
fn a_shaper_that_a_sender_waits_for_limits_below_its_rate_too() {
    let is_open = |waited| {
        let (run, trial) = unpaced(waited);
        left_by(speaks_against, &run, &trial).contains(&"own-shaper")
    };
    assert!(is_open(0.7));
    assert!(!is_open(0.0));
}

#[test]
fn a_shaper_that_drops_below_its_rate_is_not_said_to_keep_it() {
    let said = |megabits: f64| {
        let (run, trial) = shaped(megabits, 30);
        let weighed = Weighed {
            run: &run,
            limited: &trial,
            is_sender_alone: false,
            is_shaper_below: is_below(&run, &trial),
            is_shaper_waited_for: false,
        };
        own_shaper::CAUSE.weighed(&weighed).claim
    };
    assert!(
        said(285.0).contains("to keep its rate of 300 Mbit/s"),
        "{}",
        said(285.0)
    );
    assert!(
        said(178.2).contains("no room for, below its rate of 300 Mbit/s"),
        "{}",
        said(178.2)
    );
}

#[test]
fn an_interface_without_a_queue_holds_nothing_back() {
    let is_open = |kind: &str, held: u64| {
        let (mut run, mut trial) = shaped(285.0, 0);
        run.hosts[0].facts.queueing_discipline = Some(kind.to_owned());
        run.hosts[0].facts.queueing_discipline_rate_bps = None;
        let counters = &mut trial.measured_mut().unwrap().counters;
        counters
            .get_mut(&Side::Sender)
            .unwrap()
            .insert(QDISC_OVERLIMITS.to_owned(), held);
        left_by(speaks_against, &run, &trial).contains(&"own-shaper")
    };
    assert!(!is_open("noqueue", 0));
    // Another interface of the host has one.
    assert!(is_open("noqueue", 900));
    assert!(is_open("htb", 0));
}

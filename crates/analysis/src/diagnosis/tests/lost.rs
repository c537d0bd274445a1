//! Datagrams that were sent as intended and lost.

use super::of;
use super::{left_by, run, trial};
use crate::diagnosis::datagrams::said;
use crate::diagnosis::lost::{in_passing, speaks_against};
use crate::diagnosis::outcome::Outcome;
use linerate_model::run::Trial;
use linerate_model::signals::CGROUP_THROTTLED_NS;
use linerate_model::spec::Transport;
use linerate_model::{BitRate, Ratio};
use serde_json::{Value, json};

/// 1000 datagrams a quarter of a second, all that were intended but for `short`; of each quarter so many were lost.
fn sent<const N: usize>(lost: [u64; N], at_receiver: u64, short: f64) -> Trial {
    let all = 1000 * N as u64;
    let offered = BitRate::from_f64(48e6 * (1.0 - short));
    let missing: u64 = lost.iter().sum();
    let intervals = (0_u32..).zip(lost).map(|(at, lost)| {
        let start = f64::from(at) * 0.25;
        json!({"start_s": start, "end_s": start + 0.25, "lost_packets": lost, "offered_bps": offered})
    });
    let more = json!({
        "work": "datagrams", "intended_bps": 48_000_000, "offered_bps": offered,
        "duration_s": BitRate::from_bps(N as u64).as_f64() * 0.25, "intervals": intervals.collect::<Vec<Value>>(),
        "packets": {
            "sent": all, "received": all - missing, "lost": missing, "loss_ratio": Ratio::from_parts(missing, all)
        },
        "ledger": [{"place": "receiver-socket", "packets": at_receiver, "source": "a counter"}]
    });
    serde_json::from_value(trial("udp", 48.0, &more)).unwrap()
}

fn left(trial: &Trial) -> Vec<&'static str> {
    left_by(speaks_against, &run(), trial)
}

#[test]
fn what_the_receivers_host_dropped_had_passed_sender_and_path() {
    let receivers = [
        "receiver-cpu",
        "receiver-app",
        "receiver-socket",
        "receiver-backlog",
    ];
    assert_eq!(left(&sent([50; 8], 400, 0.0)), receivers);
    let everything = of(Transport::Udp).len();
    for open in [
        sent([50; 8], 300, 0.0),
        sent([50; 8], 400, 0.1),
        sent([0; 8], 0, 0.0),
    ] {
        assert_eq!(left(&open).len(), everything);
    }
}

/// What the receiver's host dropped, beside a shaper of the sender's at `megabits` which held packets back.
fn behind_a_shaper_at(megabits: u64) -> Vec<&'static str> {
    let mut run = run();
    let own = json!({
        "role": "client",
        "facts": {"queueing_discipline": "tbf", "queueing_discipline_rate_bps": megabits * 1_000_000}
    });
    run.hosts = vec![serde_json::from_value(own).unwrap()];
    let mut shaped = serde_json::to_value(sent([50; 8], 400, 0.0)).unwrap();
    shaped["counters"] = json!({"sender": {"qdisc.overlimits": 900}, "receiver": {}});
    left_by(
        speaks_against,
        &run,
        &serde_json::from_value(shaped).unwrap(),
    )
}

#[test]
fn a_receiver_that_drops_leaves_open_a_shaper_that_leaves_nothing_to_gain() {
    assert!(behind_a_shaper_at(50).contains(&"own-shaper"));
    assert!(!behind_a_shaper_at(100).contains(&"own-shaper"));
}

/// Of a thread that ran all the time, "it had to wait for a core" would be wrong.
#[test]
fn a_socket_without_a_reader_says_what_the_reader_did() {
    let mut trial = sent([50; 8], 400, 0.0);
    let mut said = |cpu: Value, stopped: u64| {
        trial.cpu = serde_json::from_value(json!({ "receiver": cpu })).unwrap();
        let counters = json!({"sender": {}, "receiver": {(CGROUP_THROTTLED_NS): stopped}});
        trial.measured_mut().unwrap().counters = serde_json::from_value(counters).unwrap();
        said(Some(Outcome::AtSocketStarved), &trial)
    };
    let ran = said(json!({"thread_ratio": 0.998, "run_delay_ratio": 0.002}), 0);
    assert_eq!(
        ran,
        "5 % were lost at the receiver's socket, whose thread ran 99.8 % of the time and waited for a core 0.2 %"
    );
    let stopped = said(
        json!({"thread_ratio": 0.05, "run_delay_ratio": 0.01}),
        1_800_000_000,
    );
    assert!(
        stopped.ends_with("whose thread was stopped by its CPU quota 90 % of the time"),
        "{stopped}"
    );
}

#[test]
fn what_comes_in_one_interval_of_eight_may_be_spared_another_test() {
    let likely = 0.1;
    let once = sent([0, 0, 0, 375, 0, 0, 0, 0], 375, 0.0);
    assert_eq!(in_passing(&once, likely), Some((1, 8)));
    let twice = sent([0, 26, 0, 0, 0, 5, 0, 0], 31, 0.0);
    assert_eq!(in_passing(&twice, likely), Some((2, 8)));
    // 0.02 of tests like it would lose none.
    let thrice = sent([0, 0, 14, 0, 14, 0, 14, 0], 42, 0.0);
    assert_eq!(in_passing(&thrice, likely), None);
    for lasting in [sent([5; 8], 40, 0.0), sent([40], 40, 0.0)] {
        assert_eq!(in_passing(&lasting, likely), None);
    }
    assert_eq!(in_passing(&sent([0; 8], 0, 0.0), likely), None);
    // A sender that sends less all the time does so again.
    let short = sent([0, 9, 0, 0, 0, 0, 0, 0], 9, 0.1);
    assert_eq!(in_passing(&short, likely), None);
    let mut once = sent([0; 8], 0, 0.0);
    once.intervals[3].offered_load = Some(BitRate::from_bps(20_000_000));
    assert_eq!(in_passing(&once, likely), Some((1, 8)));
}

//! What bounds a search is what limits; what loads far above it meet is not.

use super::{BUDGET, datagrams, lost, trial};
use crate::diagnose;
use crate::diagnosis::{Counts, Observation, SURE, candidate, next_by, shown_by};
use linerate_model::run::{Run, RunWork};
use linerate_model::spec::{Pace, TestSpec};
use linerate_model::{BitRate, PacketCount, Ratio};
use serde_json::json;

/// A search that ended at 94 Mbit/s, of which the rules know next to nothing.
pub(super) fn search() -> Run {
    let test = TestSpec::udp_datagrams(Pace::Unpaced);
    let some_lost = json!({"sent": 10_000, "received": 6_700, "lost": 3_300, "loss_ratio": 0.33});
    let one = json!({"work": "datagrams", "intended_bps": 141_000_000, "packets": some_lost});
    let other = json!({"work": "datagrams", "index": 1, "intended_bps": 142_000_000});
    let (carried, overloaded) = (trial("udp", 94.0, &one), trial("udp", 93.0, &other));
    serde_json::from_value(json!({
        "schema": linerate_model::run::SCHEMA, "id": "run", "kind": "saturate", "status": "complete",
        "tool": {"name": "linerate"},
        "config": {"asked": {"kind": "test", "test": test}},
        "trials": [carried, overloaded]
    }))
    .unwrap()
}

/// Bounds it from below and above, in bit/s, by what is named.
fn bound(run: &mut Run, bounds: [u64; 2], by: &str) {
    let goal = json!({
        "direction": "forward", "loss_goal_ratio": 0.0, "lower_bound_bps": bounds[0], "upper_bound_bps": bounds[1],
        "bounded_by": by, "reached": true, "width_ratio": 0.01, "trials": 20, "time_s": 30.0
    });
    run.work = RunWork::Saturate {
        goals: vec![serde_json::from_value(goal).unwrap()],
        curve: None,
        delay_trials: Vec::new(),
    };
}

#[test]
fn signs_alone_are_never_the_whole_answer() {
    let mut run = search();
    let own = json!({
        "role": "client",
        "facts": {"queueing_discipline": "tbf", "queueing_discipline_rate_bps": 99_000_000}
    });
    run.hosts = vec![serde_json::from_value(own).unwrap()];
    let mut held_back = lost(3300, "sender-qdisc", 90_000_000);
    let more = json!({
        "work": "datagrams", "intended_bps": 141_000_000,
        "counters": {"sender": {"qdisc.overlimits": 9000}, "receiver": {}},
        "cpu": {"sender": {"blocked_ratio": 0.9, "paused_ratio": 0.0, "thread_ratio": 0.1, "run_delay_ratio": 0.0}}
    });
    let held_back = held_back.as_object_mut().unwrap();
    held_back.extend(more.as_object().unwrap().clone());
    let held_back = json!(held_back);
    let mut overloaded = held_back.clone();
    overloaded["index"] = json!(1);
    overloaded["intended_bps"] = json!(150_000_000);
    let trials = [
        trial("udp", 94.0, &held_back),
        trial("udp", 93.9, &overloaded),
    ];
    run.trials = serde_json::from_value(json!(trials)).unwrap();
    bound(&mut run, [94_000_000, 150_000_000], "loss");
    let weights = Observation::from_run(&run).unwrap();
    let (likeliest, weight) = weights.weigh(Counts::built_in())[0];
    assert_eq!(likeliest, "own-shaper");
    assert!(weight > SURE, "{weight}: {weights:?}");
    let (verdict, _) = diagnose(&run);
    let said = (verdict.limit.id(), verdict.limit.name());
    assert_eq!(said, ("link", "the sender's own queueing discipline"));
    assert!(next_by(Counts::built_in(), &run, BUDGET, &[]).is_some());
}

/// The highest load that a late sender's thread can keep is offered nearly whole in one trial and not in the next: what
/// bounds the search is what tells.
#[test]
fn a_search_that_its_sender_bounds_is_limited_by_its_cpu() {
    let mut run = search();
    let of_thread = |waited: f64, intended: u64, offered: u64| {
        json!({
            "work": "datagrams", "intended_bps": intended, "offered_bps": offered,
            "packets": {"sent": 10_000, "received": 10_000, "lost": 0, "loss_ratio": 0.0},
            "counters": {"sender": {"qdisc.overlimits": 0}, "receiver": {}},
            "cpu": {"sender": {
                "run_delay_ratio": waited, "paused_ratio": 0.8, "thread_ratio": 0.03, "blocked_ratio": 0.0
            }}
        })
    };
    let one = of_thread(0.15, 12_600_000, 11_700_000);
    let mut other = of_thread(0.17, 13_100_000, 11_600_000);
    other["index"] = json!(1);
    let trials = [trial("udp", 11.7, &one), trial("udp", 11.6, &other)];
    run.trials = serde_json::from_value(json!(trials)).unwrap();
    let mut bounded = |by: &str| {
        bound(&mut run, [11_700_000, 12_700_000], by);
        let observation = Observation::from_run(&run).unwrap();
        observation.weigh(Counts::built_in())[0]
    };
    let (likeliest, weight) = bounded("sender");
    assert_eq!(likeliest, "sender-cpu");
    assert!(weight > 0.5, "{weight}");
    let (likeliest, weight) = bounded("loss");
    assert!(likeliest != "sender-cpu" || weight < 0.5, "{weight}");
}

/// Of three trials at the upper bound, none of which lost anything, this much was sent, in Mbit/s.
fn sent_at_the_bound(loads: [f64; 3]) -> Run {
    let mut run = search();
    let at = |(index, megabits): (usize, f64)| {
        let more = json!({
            "work": "datagrams", "index": index, "intended_bps": 96_130_000,
            "offered_bps": BitRate::from_f64(megabits * 1e6),
            "packets": {"sent": 8_299, "received": 8_299, "lost": 0, "loss_ratio": 0.0}
        });
        trial("udp", megabits.min(95.7), &more)
    };
    let trials: Vec<_> = loads.into_iter().enumerate().map(at).collect();
    run.trials = serde_json::from_value(json!(trials)).unwrap();
    bound(&mut run, [95_860_000, 96_130_000], "delay");
    run
}

/// A sender that an interruption kept from sending once was taken for what limits, beside a link's full queue.
#[test]
fn a_trial_that_was_interrupted_does_not_stand_for_those_that_were_not() {
    for loads in [[94.2, 96.1, 96.1], [96.1, 94.2, 95.0], [94.2, 94.2, 96.1]] {
        let run = sent_at_the_bound(loads);
        let shown = shown_by(&run, &run.trials[0]);
        let sent = shown.offered_load.map(|load| load.as_f64() / 1e6);
        assert_eq!(sent, Some(96.1), "{loads:?}");
    }
}

/// Loads above a search's lower bound in Mbit/s, each with what of it was lost of 10 000 datagrams.
fn searched(loads: [(u32, u32); 3]) -> Run {
    let mut run = search();
    let trials = loads.map(|(load, lost)| {
        let loss = f64::from(lost) / 10_000.0;
        let arrived = f64::from(load) * (1.0 - loss);
        let more = json!({
            "work": "datagrams", "intended_bps": load * 1_000_000, "offered_bps": load * 1_000_000,
            "packets": {"sent": 10_000, "received": 10_000 - lost, "lost": lost, "loss_ratio": loss},
            "counters": {"sender": {}, "receiver": {"udp.rcvbuf_errors": 0}},
            "delay": {"of": "pdv", "p50_ns": if loss > 0.1 { 40_000_000 } else { 50_000 }}
        });
        trial("udp", arrived, &more)
    });
    run.trials = serde_json::from_value(json!(trials)).unwrap();
    bound(&mut run, [2_000_000, 4_000_000], "loss");
    run
}

/// A path that loses at any rate keeps a search far below the link behind it.
#[test]
fn what_bounds_a_search_is_explained_and_not_what_comes_far_above_it() {
    let lossy = searched([(4, 125), (16, 125), (67, 6400)]);
    assert_eq!(seen_of(&lossy, "missing"), ["carried-lossy"]);
    let link = searched([(4, 3750), (16, 8400), (67, 9600)]);
    assert_eq!(seen_of(&link, "missing"), ["queued"]);
}

/// A bound is what was offered, two datagrams less than intended: the trial that set it is explained, no lighter one.
#[test]
fn the_trial_at_the_bound_is_explained_though_its_sender_fell_short() {
    let mut run = searched([(1, 0), (36, 1000), (67, 6400)]);
    run.trials[1].offered_load = Some(BitRate::from_bps(35_977_000));
    bound(&mut run, [1_000_000, 35_977_000], "loss");
    let explained = candidate(&run).and_then(|trial| trial.intended_load);
    assert_eq!(explained, Some(BitRate::from_bps(36_000_000)));
}

/// A search that passed 16 Mbit/s whole for 0.2 s, then lost two thirds of it in a second, and some of its bound, 6 Mbit/s,
/// with this delay.
fn emptied(delay_ns: u64) -> Run {
    let mut run = search();
    let at = |index: usize, load: u64, seconds: f64, [sent, lost]: [u64; 2]| {
        let loss = Ratio::from_parts(lost, sent);
        let arrived = PacketCount::new(load).as_f64() * (1.0 - loss.get());
        let more = json!({
            "work": "datagrams", "index": index, "intended_bps": load * 1_000_000, "offered_bps": load * 1_000_000,
            "duration_s": seconds,
            "packets": {"sent": sent, "received": sent - lost, "lost": lost, "loss_ratio": loss},
            "ledger": [{"place": "network", "packets": lost, "source": "a counter"}],
            "counters": {"sender": {}, "receiver": {"udp.rcvbuf_errors": 0}},
            "delay": {"of": "pdv", "p50_ns": delay_ns}
        });
        trial("udp", arrived, &more)
    };
    let trials = [
        at(0, 16, 0.2, [277, 0]),
        at(1, 16, 1.0, [1382, 881]),
        at(2, 6, 1.0, [518, 111]),
    ];
    run.trials = serde_json::from_value(json!(trials)).unwrap();
    bound(&mut run, [1_000_000, 6_000_000], "loss");
    run
}

fn seen_of(run: &Run, id: &str) -> Vec<String> {
    let seen = Observation::from_run(run).unwrap().seen;
    let of_it = seen.into_iter().filter(|seen| seen.id == id);
    of_it.flat_map(|seen| seen.classes).collect()
}

#[test]
fn a_bucket_that_a_search_emptied_is_a_policers() {
    assert_eq!(seen_of(&emptied(5_000), "bucket"), ["emptied"]);
    // A link's queue held as much.
    assert_eq!(seen_of(&emptied(40_000_000), "bucket"), ["none"]);
    assert_eq!(
        seen_of(&searched([(4, 0), (16, 125), (67, 6400)]), "bucket"),
        ["none"]
    );
    // It has filled again when a second above the rate is sent.
    let carried = || datagrams(140.0, &lost(0, "network", 5_000));
    let answer = |mut run: Run| {
        run.probes = vec![carried()];
        seen_of(&run, "datagrams-above")
    };
    assert!(answer(emptied(5_000)).is_empty());
    assert_eq!(
        answer(searched([(4, 0), (16, 125), (67, 6400)])),
        ["carried"]
    );
}

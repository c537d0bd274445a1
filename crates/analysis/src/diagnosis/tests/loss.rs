//! Loss that comes with the rate, and loss that comes at any.

use super::{search, trial};
use crate::diagnosis::outcome::{self, INTERVAL, Outcome, ReferenceTrials};
use crate::diagnosis::{Probe as _, ProbeComparison, datagrams, half_load};
use linerate_model::run::{Probe, Run, Trial};
use linerate_model::{BitRate, Ratio};
use serde_json::{Value, json};

/// A second of datagrams at so many Mbit/s, of whose tenths these percentages are lost on the path.
fn second(megabits: u32, percentages: [u32; 10]) -> Trial {
    let sent = megabits * 80;
    let lost = sent * percentages.iter().sum::<u32>() / 1000;
    let megabits = f64::from(megabits);
    let offered = BitRate::from_f64(megabits * 1e6);
    let intervals = (0..10).zip(percentages).map(|(at, percentage)| {
        let start = INTERVAL.as_secs_f64() * f64::from(at);
        let received = BitRate::from_f64(megabits * 1e4 * f64::from(100 - percentage));
        json!({
            "start_s": start, "end_s": start + INTERVAL.as_secs_f64(), "offered_bps": offered, "received_bps": received
        })
    });
    let more = json!({
        "work": "datagrams", "intended_bps": offered, "offered_bps": offered,
        "intervals": intervals.collect::<Vec<Value>>(),
        "packets": {
            "sent": sent, "received": sent - lost, "lost": lost, "loss_ratio": f64::from(lost) / f64::from(sent)
        },
        "counters": {"sender": {}, "receiver": {"udp.rcvbuf_errors": 0}},
        "delay": {"of": "pdv", "p50_ns": 50_000}
    });
    let arrived = megabits * f64::from(sent - lost) / f64::from(sent);
    serde_json::from_value(trial("udp", arrived, &more)).unwrap()
}

fn outcome_above(trial: &Trial, half: &Trial) -> Option<Outcome> {
    let around = ReferenceTrials {
        limited: Some(half),
        half: Some(half),
    };
    let intended = trial.intended_load.map(BitRate::as_f64);
    outcome::read(trial, intended, &around)
}

#[test]
fn an_outage_does_not_hide_what_comes_with_the_rate() {
    let half = second(5, [0, 0, 0, 0, 0, 90, 100, 20, 0, 0]);
    let policed = second(15, [0, 0, 35, 35, 36, 35, 80, 100, 60, 35]);
    assert_eq!(outcome_above(&policed, &half), Some(Outcome::Dropped));
    // As much in all, in one outage.
    let as_much = second(15, [0, 60, 100, 100, 100, 0, 0, 0, 0, 0]);
    assert_eq!(outcome_above(&as_much, &half), Some(Outcome::SameLoss));
    // Loss by chance is much the same in every tenth.
    let (some, half) = (second(15, [2; 10]), second(5, [2; 10]));
    assert_eq!(outcome_above(&some, &half), Some(Outcome::SameLoss));
}

/// Four datagrams in a tenth of a second: of a fifth of them that is lost by chance most tenths show nothing.
#[test]
fn tenths_of_few_datagrams_do_not_show_that_loss_comes_with_the_rate() {
    let of = |scale: u32| {
        let lossy = second(3 * scale, [20; 10]);
        let half = second(scale, [0, 50, 0, 0, 25, 0, 25, 0, 0, 25]);
        outcome_above(&lossy, &half)
    };
    // 8 and 32 datagrams in each tenth at half the rate.
    assert_eq!(of(1), Some(Outcome::SameLoss));
    assert_eq!(of(4), Some(Outcome::Dropped));
}

/// Of few datagrams none may be lost by chance.
#[test]
fn half_the_load_says_nothing_where_it_would_not_show_the_loss() {
    let beside = |megabits: u32, limited: &Trial, probes: Vec<Probe>| {
        let half = second(megabits, [0; 10]);
        let run = Run { probes, ..search() };
        let answer = half_load::HalfLoad.read(&ProbeComparison {
            run: &run,
            limited,
            baseline: limited,
            changed: &half,
            half: None,
        });
        let classes = half_load::HalfLoad.classes();
        answer.first().map(|position| classes[*position])
    };
    let answer = |megabits, limited: &Trial| beside(megabits, limited, Vec::new());
    let (lossy, clean) = (second(20, [1; 10]), second(20, [0; 10]));
    assert_eq!(answer(2, &lossy), None);
    assert_eq!(answer(10, &lossy), Some("carried"));
    assert_eq!(answer(2, &clean), Some("carried"));
    // Far above TCP's rate some are lost, which so few do not show.
    let far_above = Probe {
        change: datagrams::FAR_ABOVE_TCP.change(),
        trial: second(120, [1; 10]),
    };
    assert_eq!(beside(2, &clean, vec![far_above.clone()]), None);
    assert_eq!(beside(10, &clean, vec![far_above]), Some("carried"));
}

/// More comes than the receiver's thread can take: it never rests, where in the run it did. Another program that keeps it
/// from its core is no answer.
#[test]
fn a_receiver_that_runs_all_the_time_is_short_by_the_load_alone() {
    let received = |megabits: u32, lost: u64, ran: f64, waited: f64| {
        let offered = BitRate::from_f64(f64::from(megabits) * 1e6);
        let more = json!({
            "work": "datagrams", "intended_bps": offered, "offered_bps": offered,
            "packets": {"sent": 10_000, "received": 10_000 - lost, "lost": lost, "loss_ratio": Ratio::from_parts(lost, 10_000)},
            "ledger": [{"place": "receiver-socket", "packets": lost, "source": "a counter"}],
            "counters": {"sender": {}, "receiver": {}},
            "cpu": {"receiver": {"thread_ratio": ran, "run_delay_ratio": waited}}
        });
        serde_json::from_value::<Trial>(trial("udp", f64::from(megabits), &more)).unwrap()
    };
    let run = received(124, 0, 0.87, 0.0);
    let alone = received(186, 2_700, 0.98, 0.01);
    assert_eq!(outcome_above(&alone, &run), Some(Outcome::AtSocketStarved));
    let waiting = received(186, 2_700, 0.5, 0.48);
    assert_eq!(outcome_above(&waiting, &run), None);
}

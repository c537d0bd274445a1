//! False alarms of comparisons of one thing with itself, at a threshold of zero: no margin hides any.

use super::*;
use linerate_model::random::Random;
use linerate_model::run::{Instance, StartId};
use statrs::distribution::{Binomial, DiscreteCDF as _};

const COMPARISONS: u64 = 200;
/// Stated probability of any verdict where there is no difference.
const STATED: f64 = 0.05;

/// So many of the comparisons may be false alarms: more come once in a thousand times.
fn most_alarms() -> u64 {
    let alarms = Binomial::new(STATED, COMPARISONS).unwrap();
    (0..COMPARISONS)
        .find(|most| alarms.sf(*most) < 0.001)
        .unwrap()
}

/// A side of a comparison: its runs, each with the start that answered it.
fn side(runs: Vec<(Option<String>, f64)>) -> Run {
    let mut study = run(RunKind::Study);
    for (start, rate) in runs {
        let mut part = rates(1448, &[BitRate::from_f64(rate).bps()]);
        part.instance = start.map(|start| Instance {
            start: StartId::new(start),
            build: None,
        });
        study.parts_mut().unwrap().push(part);
    }
    study
}

fn is_alarm(comparison: &Comparison) -> bool {
    comparison.faster + comparison.slower > 0
}

fn strict() -> Options {
    Options {
        threshold: Ratio::clamped(0.0),
        ..Options::default()
    }
}

/// As `compare --interleave` makes it: A, A again and B in random turns, on a machine that slows down.
fn interleaved(seed: u64) -> Comparison {
    let mut random = Random::new(seed);
    let mut sides = [Vec::new(), Vec::new(), Vec::new()];
    let mut turn = 0.0;
    for _ in 0..10 {
        let mut order = [0, 1, 2];
        random.shuffle(&mut order);
        for at in order {
            turn += 1.0;
            let factor = 1.0 + 0.015 * random.normal() - 0.001 * turn;
            sides[at].push((None, 1e9 * factor));
        }
    }
    let [a, again, b] = sides.map(side);
    let named = |run| NamedRun { name: "a", run };
    compare_in_turns(named(&a), named(&again), named(&b), &strict(), 10, seed)
}

#[test]
fn two_hundred_interleaved_comparisons_of_the_same_alarm_as_rarely_as_stated() {
    let all: Vec<_> = (0..COMPARISONS).map(interleaved).collect();
    let alarms = all.iter().filter(|one| is_alarm(one)).count() as u64;
    let of_control = |one: &&Comparison| {
        let control = one.control.as_ref().unwrap();
        !control.false_alarms.is_empty()
    };
    let controls = all.iter().filter(of_control).count() as u64;
    let most = most_alarms();
    assert!((18..=22).contains(&most), "{most}");
    assert!(alarms <= most, "{alarms} of {COMPARISONS}, at most {most}");
    assert!(controls <= most, "{controls} of {COMPARISONS}");
    // A test that never alarms would pass the above: 5 % of 400 are 20.
    assert!(alarms + controls >= 8, "{alarms} + {controls}");
}

/// Both sides in three starts of their own with five runs each: starts scatter by 3 %, runs by 1 %.
fn of_starts(seed: u64, tells: bool) -> Comparison {
    let mut random = Random::new(seed);
    let mut one = |name: &str| {
        let mut runs = Vec::new();
        for start in 0..3 {
            let by = 0.03 * random.normal();
            for _ in 0..5 {
                let rate = 1e9 * (by + 0.01 * random.normal()).exp();
                runs.push((tells.then(|| format!("{name}{start}")), rate));
            }
        }
        side(runs)
    };
    let (a, b) = (one("a"), one("b"));
    against(&a, &b, &strict())
}

#[test]
fn comparisons_over_starts_alarm_as_rarely_as_stated_and_over_their_runs_they_do_not() {
    let alarms = |tells| {
        let all = (0..COMPARISONS).map(|seed| of_starts(seed, tells));
        all.filter(is_alarm).count() as u64
    };
    let (told, ignored) = (alarms(true), alarms(false));
    assert!(told <= most_alarms(), "{told} of {COMPARISONS}");
    assert!(ignored > 60, "{ignored} of {COMPARISONS}");
    let one = of_starts(1, true);
    assert_eq!((only(&one).a.n, only(&one).b.n), (3, 3), "not 15");
    assert!(one.notes.iter().any(|note| note == OF_STARTS));
    assert!(
        !of_starts(1, false)
            .notes
            .iter()
            .any(|note| note == OF_STARTS)
    );
}

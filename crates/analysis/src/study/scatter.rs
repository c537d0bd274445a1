//! Where the scatter of a study is: from run to run of a cell, from trial to trial of a run, from interval to interval.

use super::Runs;
use crate::estimates::{QUANTITIES, run_values};
use crate::statistics::{Levels, Nested, levels};
use linerate_model::run::{RepetitionLevel, Run, Scatter, Trial};
use linerate_model::spec::Direction;
use std::collections::{BTreeMap, BTreeSet};

/// Every quantity that is compared by ratios, over all cells.
pub(super) fn scatter(cells: &[&str], runs: &Runs<'_>) -> Vec<Scatter> {
    let mut found: BTreeMap<(usize, RepetitionLevel), Vec<(f64, f64)>> = BTreeMap::new();
    for cell in cells {
        let runs = runs.of_cell(cell);
        for ((_, quantity), (level, part)) in of_cell(runs) {
            found.entry((quantity, level)).or_default().push(part);
        }
    }
    let all = found.into_iter().map(|((quantity, level), parts)| {
        let count = crate::statistics::to_f64(parts.len() as u64);
        let average = |get: fn(&(f64, f64)) -> f64| parts.iter().map(get).sum::<f64>() / count;
        Scatter {
            quantity: QUANTITIES[quantity].key.to_owned(),
            level,
            deviation_ratio: average(|part| part.0).sqrt(),
            repetitions: average(|part| part.1),
        }
    });
    all.collect()
}

type Key = (Direction, usize);
/// A level with its variance and its number of repetitions.
type Part = (RepetitionLevel, (f64, f64));

fn of_cell(runs: &[&Run]) -> Vec<(Key, Part)> {
    let mut trees: BTreeMap<Key, Vec<Nested>> = BTreeMap::new();
    // A level that nothing is repeated on is none.
    let has_trials = runs.iter().any(|run| is_repeated(&run.trials));
    for run in runs {
        for (key, value) in run_values(run) {
            if value > 0.0 && QUANTITIES[key.1].key != "loss_ratio" {
                let tree = tree(run, key, has_trials);
                let tree = tree.unwrap_or_else(|| Nested::Value(value.ln()));
                trees.entry(key).or_default().push(tree);
            }
        }
    }
    let names: &[RepetitionLevel] = if has_trials {
        &[
            RepetitionLevel::Run,
            RepetitionLevel::Trial,
            RepetitionLevel::Interval,
        ]
    } else {
        &[RepetitionLevel::Run, RepetitionLevel::Interval]
    };
    let each = trees.into_iter().filter_map(|(key, runs)| {
        let Levels { components, .. } = levels(&Nested::Repeated(runs))?;
        let parts = names
            .iter()
            .zip(components)
            .map(move |(level, part)| (key, (*level, (part.variance, part.repetitions))));
        Some(parts.collect::<Vec<_>>())
    });
    each.flatten().collect()
}

/// Whether two valid trials went the same way.
fn is_repeated(trials: &[Trial]) -> bool {
    let mut seen = BTreeSet::new();
    let mut valid = trials.iter().filter(|trial| trial.valid);
    valid.any(|trial| !seen.insert(trial.direction))
}

/// A run with the intervals of its trials, of a rate.
fn tree(run: &Run, (direction, quantity): Key, has_trials: bool) -> Option<Nested> {
    let here = run.trials.iter().filter(|trial| {
        trial.valid && trial.direction == direction && QUANTITIES[quantity].key == "received_bps"
    });
    let mut trials: Vec<Nested> = here.filter_map(intervals).collect();
    match (has_trials, trials.len()) {
        (_, 0) => None,
        (true, _) => Some(Nested::Repeated(trials)),
        (false, _) => trials.pop(),
    }
}

fn intervals(trial: &Trial) -> Option<Nested> {
    // The last may be a part of one.
    let (_, whole) = trial.intervals.split_last()?;
    let logs = whole.iter().filter_map(|interval| {
        let rate = interval.received_rate?.as_f64();
        (rate > 0.0).then(|| Nested::Value(rate.ln()))
    });
    let logs: Vec<Nested> = logs.collect();
    (logs.len() > 1).then_some(Nested::Repeated(logs))
}

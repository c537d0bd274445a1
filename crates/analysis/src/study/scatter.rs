//! Where the scatter of a study is: from build to build and from start to start of the peer's program, from run to run
//! of a cell, from trial to trial of a run, from interval to interval.

use super::Runs;
use super::repetition::level;
use crate::estimates::{Measured, run_values};
use crate::statistics::{Levels, Nested, levels};
use linerate_model::Quantity;
use linerate_model::run::{RepetitionLevel, Run, Scatter, Trial};
use std::collections::{BTreeMap, BTreeSet};

/// Every quantity that is compared by ratios, over all cells.
pub(super) fn scatter(cells: &[&str], runs: &Runs<'_>) -> Vec<Scatter> {
    let mut found: BTreeMap<(Quantity, RepetitionLevel), Vec<(f64, f64)>> = BTreeMap::new();
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
            quantity,
            level,
            deviation_ratio: average(|part| part.0).sqrt(),
            repetitions: average(|part| part.1),
        }
    });
    all.collect()
}

/// A level with its variance and its number of repetitions.
type Part = (RepetitionLevel, (f64, f64));

fn of_cell(runs: &[&Run]) -> Vec<(Measured, Part)> {
    let mut trees: BTreeMap<Measured, Vec<(&Run, Nested)>> = BTreeMap::new();
    // A level that nothing is repeated on is none.
    let outer = outer_levels(runs);
    let has_trials = runs.iter().any(|run| is_repeated(&run.trials));
    for run in runs {
        for (key, value) in run_values(run) {
            if value > 0.0 && !key.1.is_share() {
                let tree = tree(run, key, has_trials);
                let tree = tree.unwrap_or_else(|| Nested::Value(value.ln()));
                trees.entry(key).or_default().push((run, tree));
            }
        }
    }
    let inner: &[RepetitionLevel] = if has_trials {
        &[RepetitionLevel::Trial, RepetitionLevel::Interval]
    } else {
        &[RepetitionLevel::Interval]
    };
    let names = || outer.iter().chain(inner);
    let each = trees.into_iter().filter_map(|(key, runs)| {
        let Levels { components, .. } = levels(&nested(runs, &outer))?;
        let parts = names()
            .zip(components)
            .map(move |(level, part)| (key, (*level, (part.variance, part.repetitions))));
        Some(parts.collect::<Vec<_>>())
    });
    each.flatten().collect()
}

/// The levels of runs and what is around them: builds and starts where the cell has several, runs where a start has.
fn outer_levels(runs: &[&Run]) -> Vec<RepetitionLevel> {
    let starts: BTreeSet<_> = runs.iter().filter_map(|run| start(run)).collect();
    let has_runs = starts.len() < runs.len();
    let starts_in_build = level(runs) == RepetitionLevel::Build && {
        let builds: BTreeSet<_> = runs.iter().filter_map(|run| build(run)).collect();
        builds.len() < starts.len()
    };
    let all = match level(runs) {
        RepetitionLevel::Build if starts_in_build => {
            vec![RepetitionLevel::Build, RepetitionLevel::Start]
        }
        RepetitionLevel::Build => vec![RepetitionLevel::Build],
        RepetitionLevel::Start => vec![RepetitionLevel::Start],
        _ => return vec![RepetitionLevel::Run],
    };
    all.into_iter()
        .chain(has_runs.then_some(RepetitionLevel::Run))
        .collect()
}

fn start(run: &Run) -> Option<&str> {
    Some(run.instance.as_ref()?.start.as_str())
}

fn build(run: &Run) -> Option<&str> {
    Some(run.instance.as_ref()?.build.as_ref()?.as_str())
}

/// Runs within what is around them.
fn nested(runs: Vec<(&Run, Nested)>, levels: &[RepetitionLevel]) -> Nested {
    let name: fn(&Run) -> Option<&str> = match levels {
        [RepetitionLevel::Build, _, ..] => build,
        [RepetitionLevel::Start, _, ..] => start,
        _ => return Nested::Repeated(runs.into_iter().map(|(_, tree)| tree).collect()),
    };
    let mut groups: BTreeMap<Option<&str>, Vec<(&Run, Nested)>> = BTreeMap::new();
    for (run, tree) in runs {
        groups.entry(name(run)).or_default().push((run, tree));
    }
    let inner = groups.into_values().map(|runs| nested(runs, &levels[1..]));
    Nested::Repeated(inner.collect())
}

/// Whether two valid trials went the same way.
fn is_repeated(trials: &[Trial]) -> bool {
    let mut seen = BTreeSet::new();
    let mut valid = trials.iter().filter(|trial| trial.valid);
    valid.any(|trial| !seen.insert(trial.direction))
}

/// A run with the intervals of its trials, of a rate.
fn tree(run: &Run, (direction, quantity): Measured, has_trials: bool) -> Option<Nested> {
    let here = run.trials.iter().filter(|trial| {
        trial.valid && trial.direction == direction && quantity == Quantity::ReceivedRate
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

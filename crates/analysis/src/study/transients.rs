//! Whether trials begin as they go on: a warm-up is found, not assumed.
//!
//! Of each trial the rates of its intervals, in at most [`MAX_BATCHES`] means of equal length, are cut where the rest
//! has the smallest standard error (MSER); whether the two sides differ at all is a test of its own, since MSER cuts
//! noise too. What comes first stays in every mean: the study says from when on its runs are steady, and what the
//! plan's `warm-up` should be.
//!
//! # References
//! - MSER: White, "An effective truncation heuristic for bias reduction in simulation output", 1997; MSER-5: White,
//!   Cobb, Spratt, 2000. At most half may be cut: no end of the transient is seen otherwise

use super::Runs;
use crate::statistics::{Moments, to_f64};
use linerate_model::run::{Transient, Trial};
use linerate_model::spec::Direction;
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::collections::BTreeMap;
use std::time::Duration;

/// Fewer intervals tell nothing of a beginning.
const MIN_INTERVALS: usize = 6;
/// Means that a trial is looked at by. More follow the sawtooth of congestion control.
const MAX_BATCHES: usize = 60;
/// Probability of calling a steady trial unsteady.
const FALSE_ALARMS: f64 = 0.01;
/// Relative difference between both sides below which a trial is steady enough.
const MIN_DIFFERENCE: f64 = 0.01;

/// What the intervals of a trial say of its beginning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Beginning {
    /// Like the rest.
    Steady,
    /// Unlike the rest, which begins at `from` and has `ratio` times the rate of the whole.
    Unsteady {
        from: Duration,
        ratio: f64,
        /// Whether no end of it is seen by the middle of the trial.
        is_open: bool,
    },
}

/// Cells of which more runs are unsteady than false alarms make.
pub(super) fn transients(cells: &[&str], runs: &Runs<'_>) -> Vec<Transient> {
    let all = cells.iter().flat_map(|cell| {
        let mut seen: BTreeMap<Direction, Vec<Beginning>> = BTreeMap::new();
        let trials = runs.of_cell(cell).iter().flat_map(|run| &run.trials);
        for trial in trials.filter(|trial| trial.valid) {
            if let Some(beginning) = beginning(trial) {
                seen.entry(trial.direction).or_default().push(beginning);
            }
        }
        let each = seen.into_iter();
        each.filter_map(|(direction, seen)| of_cell(cell, direction, &seen))
    });
    all.collect()
}

fn of_cell(cell: &str, direction: Direction, seen: &[Beginning]) -> Option<Transient> {
    let unsteady = seen.iter().filter_map(|beginning| match *beginning {
        Beginning::Steady => None,
        Beginning::Unsteady {
            from,
            ratio,
            is_open,
        } => Some((from, ratio, is_open)),
    });
    let unsteady: Vec<_> = unsteady.collect();
    // One of many is an outlier, not how the cell begins.
    if unsteady.len() * 4 < seen.len() || unsteady.is_empty() {
        return None;
    }
    let mut times: Vec<Duration> = unsteady.iter().map(|one| one.0).collect();
    times.sort_unstable();
    let mut ratios: Vec<f64> = unsteady.iter().map(|one| one.1).collect();
    ratios.sort_by(f64::total_cmp);
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Some(Transient {
        cell: cell.to_owned(),
        direction,
        runs: count(seen.len()),
        unsteady: count(unsteady.len()),
        never_steady: count(unsteady.iter().filter(|one| one.2).count()),
        steady_from: times[times.len() / 2],
        steady_ratio: ratios[ratios.len() / 2],
    })
}

/// `None` where too few intervals tell a rate.
fn beginning(trial: &Trial) -> Option<Beginning> {
    // The last may be a part of one.
    let (_, whole) = trial.intervals.split_last()?;
    let rates: Option<Vec<f64>> = whole
        .iter()
        .map(|interval| Some(interval.received_rate.or(interval.offered_load)?.as_f64()))
        .collect();
    let rates = rates.filter(|rates| rates.len() >= MIN_INTERVALS)?;
    let batch = rates.len().div_ceil(MAX_BATCHES);
    let means: Vec<f64> = rates
        .chunks_exact(batch)
        .filter_map(|batch| Some(Moments::from_samples(batch)?.mean))
        .collect();
    let Some(cut) = transient(&means) else {
        return Some(Beginning::Steady);
    };
    let (rest, all) = (
        Moments::from_samples(&means[cut..])?.mean,
        Moments::from_samples(&means)?.mean,
    );
    Some(Beginning::Unsteady {
        from: whole.get(cut * batch)?.start,
        ratio: rest / all,
        is_open: cut == means.len() / 2,
    })
}

/// How many of the first values are unlike the rest; at most half. `None` where none are.
pub(super) fn transient(values: &[f64]) -> Option<usize> {
    let cuts = 1..=values.len() / 2;
    let tests = to_f64(cuts.clone().count() as u64);
    let differs = cuts
        .clone()
        .any(|cut| differ(values, cut, FALSE_ALARMS / tests));
    let error = |cut: &usize| {
        let rest = Moments::from_samples(&values[*cut..])?;
        Some(rest.variance? / rest.count)
    };
    let best = cuts
        .filter_map(|cut| Some((cut, error(&cut)?)))
        .min_by(|a, b| a.1.total_cmp(&b.1))?;
    differs.then_some(best.0)
}

/// Whether the mean of the first `cut` values differs from that of the rest, whose scatter is that of single values.
fn differ(values: &[f64], cut: usize, alpha: f64) -> bool {
    let (first, rest) = values.split_at(cut);
    let (Some(first), Some(rest)) = (Moments::from_samples(first), Moments::from_samples(rest))
    else {
        return false;
    };
    let Some(variance) = rest.variance else {
        return false;
    };
    let distance = (first.mean - rest.mean).abs();
    if distance <= MIN_DIFFERENCE * rest.mean.abs() {
        return false;
    }
    let error = (variance * (1.0 / first.count + 1.0 / rest.count)).sqrt();
    if error <= 0.0 {
        return true;
    }
    let t = StudentsT::new(0.0, 1.0, rest.count - 1.0);
    t.is_ok_and(|t| 2.0 * t.sf(distance / error) < alpha)
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::random::Random;

    fn rates(random: &mut Random, count: usize, ramp: usize) -> Vec<f64> {
        let value = |at: usize| {
            let missing = to_f64(ramp.saturating_sub(at) as u64) / to_f64(ramp.max(1) as u64);
            100.0 * (1.0 - 0.6 * missing) * (1.0 + 0.03 * random.normal())
        };
        (0..count).map(value).collect()
    }

    /// One of a hundred may be called unsteady: of 2000 trials 20, and four standard deviations of 4.4 more.
    #[test]
    fn steady_trials_are_called_unsteady_as_rarely_as_stated() {
        for count in [6, 9, 30, 60] {
            let mut random = Random::new(11);
            let alarms = (0..2000).filter(|_| transient(&rates(&mut random, count, 0)).is_some());
            assert!(alarms.count() <= 38, "{count} intervals");
        }
    }

    #[test]
    fn the_end_of_a_slow_start_is_found() {
        let mut random = Random::new(12);
        for ramp in [3, 6, 12] {
            let mut ends: Vec<usize> = (0..200)
                .filter_map(|_| transient(&rates(&mut random, 50, ramp)))
                .collect();
            assert!(ends.len() >= 195, "ramp of {ramp}: {} found", ends.len());
            ends.sort_unstable();
            let median = ends[ends.len() / 2];
            assert!(
                (ramp.saturating_sub(2)..=ramp + 2).contains(&median),
                "{ramp}: {median}"
            );
        }
    }

    #[test]
    fn a_rate_that_rises_throughout_has_no_steady_part() {
        let mut random = Random::new(13);
        let values = rates(&mut random, 40, 40);
        assert_eq!(transient(&values), Some(20));
        assert_eq!(transient(&[50.0; 20]), None);
        assert_eq!(transient(&[]), None);
    }
}

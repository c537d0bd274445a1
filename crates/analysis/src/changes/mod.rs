//! Change points of a series: after which values the level is another one.
//!
//! E-divisive finds where two stretches differ most, a t-test says whether they do, in windows and with a last step that
//! takes back what does not hold between its neighbours. Deterministic: no permutation, no randomness. Does not say why a
//! level changed.
//!
//! Invariants: adding a constant to all values or scaling them moves no point; every stretch between points has at least
//! [`Rules::min_stretch`] values.
//!
//! # References
//! - E-divisive: Matteson & James, A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data, 2014
//! - t-test, windows, last step: Fleming et al., Hunter: Using Change Point Detection to Hunt for Performance
//!   Regressions, 2023
//! - Apache Otava, which is that method too: `tests/otava` compares

mod divergence;

use crate::statistics::{Moments, USUAL_CONFIDENCE, mean};
use divergence::best_split;
use linerate_model::Estimate;
use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// When a change is one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Largest p of a change, two-sided, of the values between its neighbours.
    pub max_p: f64,
    /// Values that are looked at together; each window begins half a window after the one before it.
    pub window: usize,
    /// Fewest values between two changes, and before the first and after the last.
    pub min_stretch: usize,
}

impl Default for Rules {
    /// Flat series of up to 100 values raise an alarm in at most one of a hundred: the place of a change is chosen among
    /// many, so p has to be far below that.
    fn default() -> Self {
        Self {
            max_p: 1e-4,
            window: 50,
            min_stretch: 5,
        }
    }
}

/// A place where the level of a series changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// The first value of the new level.
    pub at: usize,
    /// Mean since the change before it, in the unit of the series.
    pub before: Estimate,
    /// Mean up to the next change.
    pub after: Estimate,
    /// Two-sided probability of such a difference if the level were the same.
    pub p: f64,
}

/// How much weaker the evidence of a candidate may be than that of a change: some of what seems weak at first is strong
/// between the neighbours that are found later.
const CANDIDATE_P_FACTOR: f64 = 10.0;

/// The changes in `values`, which are finite, in their order.
pub fn change_points(values: &[f64], rules: &Rules) -> Vec<ChangePoint> {
    let mut places = confirmed(values, candidates(values, rules), rules);
    places.retain(|place| place.p <= rules.max_p);
    places
        .iter()
        .enumerate()
        .filter_map(|(nth, place)| {
            let (from, to) = neighbours(&places, nth, values.len());
            Some(ChangePoint {
                at: place.at,
                before: mean(&values[from..place.at], USUAL_CONFIDENCE).ok()?,
                after: mean(&values[place.at..to], USUAL_CONFIDENCE).ok()?,
                p: place.p,
            })
        })
        .collect()
}

/// A place where a stretch may be split.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    at: usize,
    p: f64,
}

/// Where the stretch around the place `nth` begins and ends: at its neighbours.
fn neighbours(places: &[Place], nth: usize, length: usize) -> (usize, usize) {
    let before = nth.checked_sub(1).map_or(0, |before| places[before].at);
    let after = places.get(nth + 1).map_or(length, |after| after.at);
    (before, after)
}

/// Every place that is a change within some window.
fn candidates(values: &[f64], rules: &Rules) -> Vec<Place> {
    let step = (rules.window / 2).max(1);
    let max_p = rules.max_p * CANDIDATE_P_FACTOR;
    let (mut found, mut start) = (Vec::new(), 0);
    while start < values.len() {
        let end = values.len().min(start + rules.window);
        let within = divided(&values[start..end], max_p, rules.min_stretch);
        let last = within.last().map_or(0, |last| start + last);
        found.extend(within.into_iter().map(|at| start + at));
        start = last.max(start + step);
    }
    found.sort_unstable();
    found.dedup();
    let place = |at| Place { at, p: 1.0 };
    found.into_iter().map(place).collect()
}

/// E-divisive: splits where the divergence is largest, as long as the t-test agrees.
fn divided(values: &[f64], max_p: f64, min_stretch: usize) -> Vec<usize> {
    let mut bounds = vec![0, values.len()];
    loop {
        let stretches = bounds.windows(2).filter_map(|ends| {
            let split = best_split(&values[ends[0]..ends[1]], min_stretch)?;
            Some((split.divergence, ends[0], ends[0] + split.at, ends[1]))
        });
        let best = stretches.max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, from, at, to)) = best else { break };
        if p_of(values, from, at, to, min_stretch) > max_p {
            break;
        }
        bounds.push(at);
        bounds.sort_unstable();
    }
    bounds.retain(|bound| *bound != 0 && *bound != values.len());
    bounds
}

/// Takes back the weakest place until all hold between their neighbours.
fn confirmed(values: &[f64], mut places: Vec<Place>, rules: &Rules) -> Vec<Place> {
    loop {
        for nth in 0..places.len() {
            let (from, to) = neighbours(&places, nth, values.len());
            places[nth].p = p_of(values, from, places[nth].at, to, rules.min_stretch);
        }
        let weakest = places.iter().enumerate();
        let weakest = weakest.max_by(|(_, a), (_, b)| a.p.total_cmp(&b.p));
        match weakest {
            Some((nth, place)) if place.p > rules.max_p => drop(places.remove(nth)),
            _ => return places,
        }
    }
}

/// Student's two-sided p of the means before and after `at`; 1 where either side is too short to tell.
fn p_of(values: &[f64], from: usize, at: usize, to: usize, min_stretch: usize) -> f64 {
    let (before, after) = (&values[from..at], &values[at..to]);
    if before.len() < min_stretch.max(2) || after.len() < min_stretch.max(2) {
        return 1.0;
    }
    let both = Moments::from_samples(before).zip(Moments::from_samples(after));
    let p = both.and_then(|(a, b)| {
        let freedom = a.count + b.count - 2.0;
        let pooled = (a.variance? * (a.count - 1.0) + b.variance? * (b.count - 1.0)) / freedom;
        let error = (pooled * (1.0 / a.count + 1.0 / b.count)).sqrt();
        let difference = (b.mean - a.mean).abs();
        if error <= 0.0 {
            return Some(if difference > 0.0 { 0.0 } else { 1.0 });
        }
        let t = StudentsT::new(0.0, 1.0, freedom).ok()?;
        Some((2.0 * t.sf(difference / error)).min(1.0))
    });
    p.unwrap_or(1.0)
}

#[cfg(test)]
mod tests;

//! Goals of one search share its trials, so their bounds are in the order of what the goals allow.
//!
//! A load that misses a goal misses every stricter one: the upper bound of a strict goal is at most that of a looser
//! one. A load that meets a goal meets every looser one: the lower bound of a loose goal is at least that of a stricter
//! one. Bounds found goal by goal can break that order where a load is not classified yet, or where a bound is what was
//! offered instead of what was intended.

use super::config::SearchGoal;
use linerate_model::run::GoalResult;

/// Whether `goal` allows at most what `other` does, judged by trials of the same length and number.
fn is_as_strict(goal: &SearchGoal, other: &SearchGoal) -> bool {
    let times = |goal: &SearchGoal| (goal.final_trial_duration, goal.duration_sum);
    let delay = match (goal.delay_goal, other.delay_goal) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(delay), Some(other)) => {
            delay.quantile == other.quantile && delay.limit <= other.limit
        }
    };
    delay
        && goal.loss_goal <= other.loss_goal
        && times(goal) == times(other)
        && goal.exceed_ratio == other.exceed_ratio
}

/// Lowers each upper bound to the lowest one of the goals that allow more.
pub(super) fn cap(goals: &[SearchGoal], results: &mut [GoalResult]) {
    let found = results.to_vec();
    for (goal, result) in goals.iter().zip(results) {
        let looser = goals
            .iter()
            .zip(&found)
            .filter(|(other, _)| is_as_strict(goal, other));
        let refused = looser.filter_map(|(_, found)| Some((found.refused_load()?, found)));
        let Some((lowest, by)) = refused.min_by_key(|(load, _)| *load) else {
            continue;
        };
        if result.refused_load().is_none_or(|own| lowest < own) {
            result.upper_bound = Some(lowest);
            result.bounded_by = by.bounded_by;
        }
    }
}

/// Raises each lower bound to the highest one of the stricter goals, and none above its goal's upper bound: what was
/// met there while a goal that allows more was missed below it was chance.
pub(super) fn raise(goals: &[SearchGoal], results: &mut [GoalResult]) {
    for result in &mut *results {
        if let Some(refused) = result.refused_load() {
            result.lower_bound = result.lower_bound.map(|lower| lower.min(refused));
        }
    }
    let found = results.to_vec();
    for (goal, result) in goals.iter().zip(results) {
        let stricter = goals
            .iter()
            .zip(&found)
            .filter(|(other, _)| is_as_strict(other, goal));
        let Some((_, best)) = stricter.max_by_key(|(_, found)| found.lower_bound) else {
            continue;
        };
        if best.lower_bound > result.lower_bound {
            result.lower_bound = best.lower_bound;
            result.conditional_throughput = best.conditional_throughput;
        }
    }
}

//! Load classification and conditional throughput, as draft-ietf-bmwg-mlrsearch-15 defines them.
//!
//! # References
//! - Load classification: §6.1, appendix A
//! - Conditional throughput: §6.2, appendix B

use super::config::SearchGoal;
use linerate_model::{BitRate, LossRatio, Ratio};
use std::time::Duration;

/// One trial, reduced to what classification needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// Trial effective duration.
    pub duration: Duration,
    /// Trial loss ratio.
    pub loss: LossRatio,
    /// Whether it is a high-loss trial for the goal.
    pub high: bool,
}

/// What a load is for a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Enough low-loss time.
    Lower,
    /// Too much high-loss time.
    Upper,
    /// Not enough trial time yet; what it would be if the trials went on as so far.
    Undecided(Leaning),
}

/// Where an undecided load tends to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaning {
    /// Meets the goal so far.
    Lower,
    /// Misses the goal so far.
    Upper,
    /// No trial yet.
    Unknown,
}

impl Class {
    /// Upper bound or tending to be one.
    pub fn is_upperish(self) -> bool {
        matches!(self, Self::Upper | Self::Undecided(Leaning::Upper))
    }

    /// Lower bound or tending to be one.
    pub fn is_lowerish(self) -> bool {
        matches!(self, Self::Lower | Self::Undecided(Leaning::Lower))
    }
}

/// Trial time at one load by kind, in seconds.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    full_high: f64,
    full_low: f64,
    short_high: f64,
    short_low: f64,
}

impl Sums {
    fn of(goal: &SearchGoal, trials: &[Judged]) -> Self {
        let mut sums = Self::default();
        for trial in trials {
            let full = trial.duration >= goal.final_trial_duration;
            let sum = match (full, trial.high) {
                (true, true) => &mut sums.full_high,
                (true, false) => &mut sums.full_low,
                (false, true) => &mut sums.short_high,
                (false, false) => &mut sums.short_low,
            };
            *sum += trial.duration.as_secs_f64();
        }
        sums
    }

    fn is_empty(self) -> bool {
        self.full_high + self.full_low + self.short_high + self.short_low <= 0.0
    }
}

/// Classifies a load by all its valid trials.
pub fn classify(goal: &SearchGoal, trials: &[Judged]) -> Class {
    let sums = Sums::of(goal, trials);
    let exceed = goal.exceed_ratio.get();
    let balancing = sums.short_low * exceed / (1.0 - exceed);
    let effective_high = sums.full_high + (sums.short_high - balancing).max(0.0);
    let effective_full = effective_high + sums.full_low;
    let whole = effective_full.max(goal.duration_sum.as_secs_f64());
    let optimistic = effective_high / whole;
    let pessimistic = (effective_high + whole - effective_full) / whole;
    if optimistic > exceed {
        Class::Upper
    } else if pessimistic <= exceed {
        Class::Lower
    } else {
        Class::Undecided(lean(sums, exceed))
    }
}

fn lean(sums: Sums, exceed: f64) -> Leaning {
    if sums.is_empty() {
        return Leaning::Unknown;
    }
    // Full-length trials speak first; short ones only while there are no others.
    let (high, low) = if sums.full_high + sums.full_low > 0.0 {
        (sums.full_high, sums.full_low)
    } else {
        (sums.short_high, sums.short_low)
    };
    if high > exceed * (high + low) {
        Leaning::Upper
    } else {
        Leaning::Lower
    }
}

/// Conditional throughput at a load: load × (1 − the loss ratio at the quantile that the exceed
/// ratio names). `None` without full-length trials.
pub fn conditional_throughput(
    goal: &SearchGoal,
    load: BitRate,
    trials: &[Judged],
) -> Option<BitRate> {
    let mut full: Vec<_> = trials
        .iter()
        .filter(|trial| trial.duration >= goal.final_trial_duration)
        .collect();
    full.sort_by(|a, b| a.loss.get().total_cmp(&b.loss.get()));
    let sum: f64 = full.iter().map(|trial| trial.duration.as_secs_f64()).sum();
    let mut remaining = sum * (1.0 - goal.exceed_ratio.get());
    let mut loss: Option<Ratio> = None;
    for trial in full {
        if loss.is_some() && remaining <= 0.0 {
            break;
        }
        loss = Some(trial.loss);
        remaining -= trial.duration.as_secs_f64();
    }
    loss.map(|loss| BitRate::from_f64(load.as_f64() * (1.0 - loss.get())))
}

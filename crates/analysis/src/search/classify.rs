//! Load classification and conditional throughput, as RFC 9971 defines them.
//!
//! # References
//! - Load classification: §6.1, appendix A
//! - Conditional throughput: §6.2, appendix B

use super::config::SearchGoal;
use linerate_model::{BitRate, LossRatio, Ratio};
use std::time::Duration;

/// One trial, reduced to what classification needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassifiedTrial {
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
    fn from_goal(goal: &SearchGoal, trials: &[ClassifiedTrial]) -> Self {
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
pub fn classify(goal: &SearchGoal, trials: &[ClassifiedTrial]) -> Class {
    let sums = Sums::from_goal(goal, trials);
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
    trials: &[ClassifiedTrial],
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

#[cfg(test)]
mod tests {
    use super::*;

    fn goal(final_s: u64, sum_s: u64, exceed: f64) -> SearchGoal {
        SearchGoal {
            final_trial_duration: Duration::from_secs(final_s),
            duration_sum: Duration::from_secs(sum_s),
            exceed_ratio: Ratio::clamped(exceed),
            ..SearchGoal::for_loss(Ratio::ZERO)
        }
    }

    fn trials(of: &[(u64, f64)]) -> Vec<ClassifiedTrial> {
        of.iter()
            .map(|&(seconds, loss)| ClassifiedTrial {
                duration: Duration::from_secs(seconds),
                loss: Ratio::clamped(loss),
                high: loss > 0.0,
            })
            .collect()
    }

    #[test]
    fn rfc_2544_needs_one_trial_of_sixty_seconds() {
        let goal = goal(60, 60, 0.0);
        assert_eq!(classify(&goal, &trials(&[(60, 0.0)])), Class::Lower);
        assert_eq!(classify(&goal, &trials(&[(60, 0.1)])), Class::Upper);
        let class = classify(&goal, &trials(&[]));
        assert_eq!(class, Class::Undecided(Leaning::Unknown));
    }

    #[test]
    fn rfc_2544_lets_a_short_bad_trial_refute_but_no_short_good_one_prove() {
        let goal = goal(60, 60, 0.0);
        assert_eq!(classify(&goal, &trials(&[(1, 0.1)])), Class::Upper);
        let class = classify(&goal, &trials(&[(1, 0.0), (59, 0.0)]));
        assert_eq!(class, Class::Undecided(Leaning::Lower));
    }

    #[test]
    fn tst009_accepts_one_good_trial_of_two() {
        let goal = goal(60, 120, 0.5);
        assert_eq!(classify(&goal, &trials(&[(60, 0.0)])), Class::Lower);
        let once = classify(&goal, &trials(&[(60, 0.1)]));
        assert_eq!(once, Class::Undecided(Leaning::Upper));
        let mixed = trials(&[(60, 0.1), (60, 0.0)]);
        assert_eq!(classify(&goal, &mixed), Class::Lower);
        let twice = trials(&[(60, 0.1), (60, 0.1)]);
        assert_eq!(classify(&goal, &twice), Class::Upper);
    }

    #[test]
    fn short_good_trials_balance_short_bad_ones_only() {
        let goal = goal(10, 20, 0.5);
        // 11 s of short bad trials are more than half of 20 s …
        let bad = trials(&[(5, 0.1), (6, 0.1)]);
        assert_eq!(classify(&goal, &bad), Class::Upper);
        // … unless short good ones stand against them.
        let balanced = trials(&[(5, 0.1), (6, 0.1), (6, 0.0)]);
        assert!(matches!(classify(&goal, &balanced), Class::Undecided(_)));
        // Any number of short good trials proves nothing.
        let good = trials(&[(9, 0.0); 10]);
        assert_eq!(classify(&goal, &good), Class::Undecided(Leaning::Lower));
    }

    #[test]
    fn the_default_goal_needs_three_of_five_trials() {
        let goal = SearchGoal::for_loss(Ratio::ZERO);
        let class = |of: &[(u64, f64)]| classify(&goal, &trials(of));
        assert_eq!(class(&[(1, 0.0); 3]), Class::Lower);
        assert_eq!(class(&[(1, 0.1); 3]), Class::Upper);
        assert!(matches!(class(&[(1, 0.0); 2]), Class::Undecided(_)));
        let mixed = [(1, 0.1), (1, 0.0), (1, 0.1), (1, 0.0)];
        assert!(matches!(class(&mixed), Class::Undecided(_)));
    }

    #[test]
    fn conditional_throughput_takes_the_loss_at_the_exceed_quantile() {
        let load = BitRate::from_bps(1000);
        let half = goal(1, 5, 0.5);
        let of = trials(&[(1, 0.3), (1, 0.0), (1, 0.1), (1, 0.2)]);
        // Half of four seconds: the second best trial.
        let throughput = conditional_throughput(&half, load, &of);
        assert_eq!(throughput, Some(BitRate::from_bps(900)));
        let strict = goal(1, 5, 0.0);
        let throughput = conditional_throughput(&strict, load, &of);
        assert_eq!(throughput, Some(BitRate::from_bps(700)));
        let short = goal(2, 5, 0.5);
        assert_eq!(conditional_throughput(&short, load, &of), None);
    }
}

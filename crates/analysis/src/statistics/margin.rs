//! Two sets of observations against a margin: is the difference larger than one that matters?
//!
//! # References
//! - Welch, "The generalization of 'Student's' problem…", 1947
//! - Tests against a margin, and equivalence by an interval inside it: Schuirmann, 1987
//! - Correction for many tests: Holm, "A simple sequentially rejective multiple test procedure", 1979

use super::mean::{Moments, around};
use super::{Confidence, StatisticsError, check};
use linerate_model::{Estimate, Interval};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The second set against the first, and against a margin on both sides of no difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AgainstMargin {
    /// Mean of the second minus mean of the first, in the unit of the quantity.
    pub difference: Estimate,
    /// Two-sided probability of at least such a difference if the true one lay on the margin.
    pub p: f64,
    /// Whether the interval lies inside the margin: the difference is shown to be smaller.
    pub is_within: bool,
    /// Standard error of the difference.
    pub error: f64,
    /// Its degrees of freedom.
    pub freedom: f64,
}

/// Welch's test of two means against `margin` (not negative, in the unit of the quantity).
///
/// `known_variance` is added to the squared error of the difference: what no repetition averages
/// out, such as the rounding of printed figures.
pub fn against_margin(
    first: &[f64],
    second: &[f64],
    margin: f64,
    known_variance: f64,
    confidence: Confidence,
) -> Result<AgainstMargin, StatisticsError> {
    check(first)?;
    check(second)?;
    let found = first.len().min(second.len());
    let moments = |samples| Moments::from_samples(samples).filter(|of| of.variance.is_some());
    let (a, b) = moments(first)
        .zip(moments(second))
        .ok_or(StatisticsError::TooFew { found })?;
    let welch = welch(a, b, known_variance).ok_or(StatisticsError::TooFew { found })?;
    let difference = welch.estimate(confidence);
    let within = |interval: Interval| -margin < interval.low && interval.high < margin;
    Ok(AgainstMargin {
        p: welch.p(margin),
        is_within: difference.interval.is_some_and(within),
        error: welch.error,
        freedom: welch.freedom,
        difference,
    })
}

/// The difference of two means, with what its interval is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Welch {
    /// Mean of the second minus mean of the first.
    pub difference: f64,
    /// Its standard error.
    pub error: f64,
    /// Its degrees of freedom.
    pub freedom: f64,
    /// Observations on both sides.
    pub n: u64,
}

impl Welch {
    /// The difference with Student's interval.
    pub fn estimate(&self, confidence: Confidence) -> Estimate {
        let interval = around(self.difference, self.error, self.freedom, confidence);
        Estimate {
            n: self.n,
            ..confidence.estimate(self.difference, Some(interval), 0)
        }
    }

    /// Two-sided probability of at least such a difference if the true one lay on the margin.
    pub fn p(&self, margin: f64) -> f64 {
        beyond(self.difference.abs() - margin, self.error, self.freedom)
    }
}

/// Two sets of observations by their moments. Of one whose variance is not known it is taken to be the other's; `None`
/// if neither is known. `known_variance` is added to the squared error.
pub fn welch(first: Moments, second: Moments, known_variance: f64) -> Option<Welch> {
    let known = |of: Moments, other: Moments| of.variance.or(other.variance);
    let part_a = known(first, second)? / first.count;
    let part_b = known(second, first)? / second.count;
    let freedom = match (first.variance, second.variance) {
        (Some(_), Some(_)) => {
            // Welch–Satterthwaite; at most n₁ + n₂ − 2, and that where no spread is left to weigh.
            let weight =
                part_a.powi(2) / (first.count - 1.0) + part_b.powi(2) / (second.count - 1.0);
            if weight > 0.0 {
                (part_a + part_b).powi(2) / weight
            } else {
                first.count + second.count - 2.0
            }
        }
        (Some(_), None) => first.count - 1.0,
        (None, _) => second.count - 1.0,
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts of observations"
    )]
    let n = (first.count + second.count) as u64;
    Some(Welch {
        difference: second.mean - first.mean,
        error: (part_a + part_b + known_variance).sqrt(),
        freedom,
        n,
    })
}

/// Two-sided probability of a mean that lies `excess` or more beyond the margin.
fn beyond(excess: f64, error: f64, freedom: f64) -> f64 {
    if excess <= 0.0 {
        return 1.0;
    }
    if error <= 0.0 {
        return 0.0;
    }
    let t = StudentsT::new(0.0, 1.0, freedom)
        .expect("invariant: at least two observations, so freedom is positive");
    (2.0 * t.sf(excess / error)).min(1.0)
}

/// Holm's correction: each p as if it had been the only test, in the given order.
///
/// If no difference is there at all, the probability that any of the corrected values is below
/// α is at most α, however the tests depend on each other.
pub fn holm(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut corrected = vec![1.0; values.len()];
    let mut largest = 0.0_f64;
    for (rank, index) in order.into_iter().enumerate() {
        let left = u32::try_from(values.len() - rank).unwrap_or(u32::MAX);
        largest = largest.max(values[index] * f64::from(left)).min(1.0);
        corrected[index] = largest;
    }
    corrected
}

/// `exp` of an estimate of logarithms.
#[must_use]
pub fn exponential(log: Estimate) -> Estimate {
    Estimate {
        point: log.point.exp(),
        interval: log
            .interval
            .map(|interval| Interval::new(interval.low.exp(), interval.high.exp())),
        ..log
    }
}

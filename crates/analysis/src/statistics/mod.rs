//! Point and interval estimates from repeated trials, and comparisons of two sets of them.
//!
//! Every function returns an [`Estimate`]: the point, the interval, the coverage it claims and n.
//! With one observation there is no interval, and the estimate says n = 1. Observations are taken
//! as independent: what shares a start of a program is one [`Unit`] (see `crate::repetition`).
//!
//! # References
//! - Intervals of a mean: Student, "The probable error of a mean", 1908
//! - Unequal variances: Welch, "The generalization of 'Student's' problem…", 1947
//! - Percentile bootstrap: Efron, "Bootstrap methods: another look at the jackknife", 1979
//! - Interval of a median from order statistics: David, Nagaraja, "Order Statistics", §7.1

mod bootstrap;
mod contrast;
pub mod kolmogorov;
mod levels;
mod margin;
mod mean;
mod median;
mod power;
mod quantile;
mod ratio;
mod units;

pub use bootstrap::{Resampling, bootstrap, bootstrap_mean};
pub use contrast::{Weighted, contrast};
pub use levels::{Component, Levels, Nested, levels};
pub use margin::{AgainstMargin, Welch, against_margin, exponential, holm, welch};
pub(crate) use mean::t_quantile;
pub use mean::{Moments, mean};
pub use median::median;
pub use power::{TestDesign, USUAL_POWER};
pub use quantile::quantile_interval;
pub use ratio::paired_ratio;
pub use units::Unit;

pub(crate) use linerate_model::units::float as to_f64;
use linerate_model::{Estimate, Interval};

/// Coverage of an interval that nobody asked to be another.
pub const USUAL_CONFIDENCE: Confidence = Confidence(0.95);

/// How many there are, for a mean of them.
#[expect(clippy::cast_precision_loss, reason = "samples are below 2^53")]
pub(crate) const fn count(n: usize) -> f64 {
    n as f64
}

/// The share of intervals made this way that contain the truth.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Confidence(f64);

impl Confidence {
    /// `None` unless inside `0.5..1`.
    pub fn new(ratio: f64) -> Option<Self> {
        (0.5..1.0).contains(&ratio).then_some(Self(ratio))
    }

    /// The coverage as a ratio.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Probability left out on each side.
    pub(crate) fn tail(self) -> f64 {
        (1.0 - self.0) / 2.0
    }

    pub(crate) fn estimate(self, point: f64, interval: Option<Interval>, n: usize) -> Estimate {
        Estimate {
            point,
            interval,
            confidence_ratio: self.0,
            n: n as u64,
        }
    }
}

/// Why there is no estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StatisticsError {
    /// Nothing to estimate from.
    #[error("no observations")]
    Empty,
    /// Too few observations to compare spreads.
    #[error("{found} observation(s) in one of the sets; a comparison needs at least 2 in each")]
    TooFew {
        /// In the smaller set.
        found: usize,
    },
    /// NaN or infinity.
    #[error("observation {index} is not a finite number")]
    NotFinite {
        /// Position, from 0.
        index: usize,
    },
    /// Ratios need positive values.
    #[error("pair {index} has a value that is not above zero, so it has no ratio")]
    NotPositive {
        /// Position, from 0.
        index: usize,
    },
}

fn check(samples: &[f64]) -> Result<(), StatisticsError> {
    if samples.is_empty() {
        return Err(StatisticsError::Empty);
    }
    match samples.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(StatisticsError::NotFinite { index }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;

//! Two sets of observations: is there a difference, how large, and how sure?

use super::mean::{Moments, around, mean};
use super::{Confidence, StatisticsError, check};
use linerate_model::{Estimate, Interval};

/// Which direction of a quantity is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Rates.
    Higher,
    /// Delays, losses, CPU time.
    Lower,
}

/// What a comparison shows of the second set against the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The second is better, with the interval wholly on that side.
    Faster,
    /// The interval contains no difference. This does not show that there is none.
    NoDifferenceShown,
    /// The second is worse.
    Slower,
}

/// The second set against the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Mean of the second minus mean of the first, in the unit of the quantity.
    pub difference: Estimate,
    /// The same as a share of the first mean; `None` if that mean is zero.
    pub relative: Option<Estimate>,
    /// What it shows.
    pub outcome: Outcome,
}

/// Welch's comparison of two means of independent observations with unequal spread.
pub fn welch(
    first: &[f64],
    second: &[f64],
    better: Better,
    confidence: Confidence,
) -> Result<Comparison, StatisticsError> {
    let Difference {
        base,
        point,
        error,
        freedom,
    } = Difference::of(first, second, 0.0)?;
    let interval = around(point, error, freedom, confidence);
    let n = first.len() + second.len();
    Ok(Comparison {
        difference: confidence.estimate(point, Some(interval), n),
        relative: relative(point, interval, base)
            .map(|(point, interval)| confidence.estimate(point, Some(interval), n)),
        outcome: judge(interval, better),
    })
}

/// The difference of two means, second minus first.
pub(super) struct Difference {
    /// The first mean.
    pub(super) base: f64,
    pub(super) point: f64,
    /// Standard error.
    pub(super) error: f64,
    /// Degrees of freedom: Welch–Satterthwaite, at most n₁ + n₂ − 2, and that where no spread is left to weigh.
    pub(super) freedom: f64,
}

impl Difference {
    /// Of independent observations with unequal spread. `known_variance` is added to the squared error.
    pub(super) fn of(
        first: &[f64],
        second: &[f64],
        known_variance: f64,
    ) -> Result<Self, StatisticsError> {
        check(first)?;
        check(second)?;
        let (a, b) = (Moments::of(first), Moments::of(second));
        let (Some(spread_a), Some(spread_b)) = (a.variance, b.variance) else {
            let found = first.len().min(second.len());
            return Err(StatisticsError::TooFew { found });
        };
        let (part_a, part_b) = (spread_a / a.count, spread_b / b.count);
        let weight = part_a.powi(2) / (a.count - 1.0) + part_b.powi(2) / (b.count - 1.0);
        Ok(Self {
            base: a.mean,
            point: b.mean - a.mean,
            error: (part_a + part_b + known_variance).sqrt(),
            freedom: if weight > 0.0 {
                (part_a + part_b).powi(2) / weight
            } else {
                a.count + b.count - 2.0
            },
        })
    }
}

/// The difference as a share of `base`. The uncertainty of `base` itself is left out: it matters
/// only where the difference is as large as the base.
fn relative(point: f64, interval: Interval, base: f64) -> Option<(f64, Interval)> {
    let (low, high) = (interval.low / base, interval.high / base);
    let scaled = Interval {
        low: low.min(high),
        high: low.max(high),
    };
    let finite = scaled.low.is_finite() && scaled.high.is_finite();
    finite.then_some((point / base, scaled))
}

fn judge(interval: Interval, better: Better) -> Outcome {
    let (higher, lower) = match better {
        Better::Higher => (Outcome::Faster, Outcome::Slower),
        Better::Lower => (Outcome::Slower, Outcome::Faster),
    };
    if interval.low > 0.0 {
        higher
    } else if interval.high < 0.0 {
        lower
    } else {
        Outcome::NoDifferenceShown
    }
}

/// Geometric mean of `second / first` over pairs measured side by side, with Student's interval on
/// the logarithms: what drifts from pair to pair but is common to both cancels.
pub fn paired_ratio(
    pairs: &[(f64, f64)],
    confidence: Confidence,
) -> Result<Estimate, StatisticsError> {
    let logs = pairs
        .iter()
        .enumerate()
        .map(|(index, &(first, second))| {
            let positive = first > 0.0 && second > 0.0;
            let log = (second / first).ln();
            match (positive, log.is_finite()) {
                (true, true) => Ok(log),
                (true, false) => Err(StatisticsError::NotFinite { index }),
                (false, _) => Err(StatisticsError::NotPositive { index }),
            }
        })
        .collect::<Result<Vec<_>, _>>()?;
    let log = mean(&logs, confidence)?;
    let interval = log.interval.map(|interval| Interval {
        low: interval.low.exp(),
        high: interval.high.exp(),
    });
    Ok(confidence.estimate(log.point.exp(), interval, pairs.len()))
}

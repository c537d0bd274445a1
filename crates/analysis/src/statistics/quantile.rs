//! A quantile of the values of one trial, with an interval between two order statistics.
//!
//! The interval assumes that the values are independent. Values of one trial that follow each other
//! are not quite, and it says nothing of another trial: a caller must say so.
//!
//! # References
//! - David, Nagaraja, "Order Statistics", §7.1

use super::{Confidence, to_f64};
use linerate_model::{Histogram, Interval};
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal};

/// From this many expected values on either side of the quantile on, the binomial distribution of
/// their number is as good as normal: its bounds then differ by less than one rank.
const MIN_EXPECTED_FOR_NORMAL: f64 = 1000.0;

/// What the histogram's buckets blur: three significant digits.
const RESOLUTION: f64 = 0.001;

/// The interval of quantile `q` (above 0, below 1) in nanoseconds; `None` where even smallest to
/// largest does not cover it as often as asked.
pub fn quantile_interval(
    histogram: &Histogram,
    q: f64,
    confidence: Confidence,
) -> Option<Interval> {
    let n = histogram.len();
    if n == 0 || !(q > 0.0 && q < 1.0) {
        return None;
    }
    let (low, high) = ranks(n, q, confidence.tail())?;
    let (low, high) = (at_rank(histogram, low)?, at_rank(histogram, high)?);
    Some(Interval {
        low: low * (1.0 - RESOLUTION),
        high,
    })
}

/// The ranks (from 1) between which the quantile lies as often as asked: the number of values at or
/// below it is Binomial(n, q).
fn ranks(n: u64, q: f64, tail: f64) -> Option<(u64, u64)> {
    let count = to_f64(n);
    let (below, above) = if (count * q).min(count * (1.0 - q)) > MIN_EXPECTED_FOR_NORMAL {
        let normal = Normal::new(count * q, (count * q * (1.0 - q)).sqrt()).ok()?;
        let at = |share: f64| normal.inverse_cdf(share);
        (floor(at(tail) - 0.5), floor(at(1.0 - tail) + 0.5) + 1)
    } else {
        let binomial = Binomial::new(q, n).ok()?;
        (
            last_at_most(&binomial, n, tail),
            binomial.inverse_cdf(1.0 - tail) + 1,
        )
    };
    // Rank 0 and rank n + 1 are no values: the interval would have no end there.
    (below >= 1 && above <= n).then_some((below, above))
}

/// The largest `rank` with P(fewer than `rank` values) ≤ `tail`.
fn last_at_most(binomial: &Binomial, n: u64, tail: f64) -> u64 {
    let is_covered = |rank: u64| rank == 0 || binomial.cdf(rank - 1) <= tail;
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if is_covered(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates; ranks are checked against the number of values"
)]
fn floor(value: f64) -> u64 {
    value.floor() as u64
}

/// The upper end of the bucket that holds the value of this rank.
fn at_rank(histogram: &Histogram, rank: u64) -> Option<f64> {
    let mut seen = 0;
    let found = histogram.buckets().find(|(_, count)| {
        seen += count;
        seen >= rank
    });
    found.map(|(nanos, _)| to_f64(nanos))
}

//! Median with an interval that assumes nothing about the distribution.

use super::{Confidence, StatisticsError, check};
use linerate_model::{Estimate, Interval};
use statrs::distribution::{Binomial, DiscreteCDF};

/// The median of `samples`, with the interval between two order statistics.
///
/// The interval covers the true median at least as often as claimed, whatever the distribution.
/// There is none where even smallest to largest would not (at 95 %: fewer than 6 observations).
pub fn median(samples: &[f64], confidence: Confidence) -> Result<Estimate, StatisticsError> {
    check(samples)?;
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let point = sorted[(n - 1) / 2].midpoint(sorted[n / 2]);
    let interval =
        rank(n, confidence).map(|rank| Interval::new(sorted[rank], sorted[n - 1 - rank]));
    Ok(confidence.estimate(point, interval, n))
}

/// The largest `r` (from 0) such that `sorted[r]..=sorted[n-1-r]` still covers the median often
/// enough: the number of observations below it is Binomial(n, ½).
fn rank(n: usize, confidence: Confidence) -> Option<usize> {
    let below = Binomial::new(0.5, n as u64).ok()?;
    (0..n.div_ceil(2))
        .take_while(|rank| below.cdf(*rank as u64) <= confidence.tail())
        .last()
}

//! Mean with Student's interval.

use super::{Confidence, StatisticsError, check};
use linerate_model::{Estimate, Interval};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The mean of `samples` with Student's t interval; no interval for a single observation.
///
/// Exact for normal observations; for others good from some ten observations on, unless they are
/// very skewed (then see [`bootstrap_mean`](super::bootstrap_mean) and [`median`](super::median)).
pub fn mean(samples: &[f64], confidence: Confidence) -> Result<Estimate, StatisticsError> {
    check(samples)?;
    let moments = Moments::from_samples(samples).ok_or(StatisticsError::Empty)?;
    let interval = moments.variance.map(|variance| {
        let error = (variance / moments.count).sqrt();
        around(moments.mean, error, moments.count - 1.0, confidence)
    });
    Ok(confidence.estimate(moments.mean, interval, samples.len()))
}

/// `center ± t × error` with `freedom` degrees of freedom.
pub(super) fn around(center: f64, error: f64, freedom: f64, confidence: Confidence) -> Interval {
    let half = if error > 0.0 {
        error * t_quantile(1.0 - confidence.tail(), freedom)
    } else {
        0.0
    };
    Interval::new(center - half, center + half)
}

/// Quantile `p` of Student's t distribution.
pub(crate) fn t_quantile(p: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom)
        .expect("invariant: at least two observations, so freedom is positive")
        .inverse_cdf(p)
}

/// Count, mean and unbiased variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// How many observations.
    pub count: f64,
    /// Their mean.
    pub mean: f64,
    /// `None` where it is not known, as of a single observation.
    pub variance: Option<f64>,
}

impl Moments {
    /// `None` without observations; two passes, so that large equal parts do not cancel.
    pub fn from_samples(samples: &[f64]) -> Option<Self> {
        let count = super::to_f64(samples.len() as u64);
        let mean = samples.iter().sum::<f64>() / count;
        let squares: f64 = samples.iter().map(|value| (value - mean).powi(2)).sum();
        (count > 0.0).then(|| Self {
            count,
            mean,
            variance: (samples.len() > 1).then(|| squares / (count - 1.0)),
        })
    }
}

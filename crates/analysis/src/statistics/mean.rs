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
    let moments = Moments::from_samples(samples);
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
    Interval {
        low: center - half,
        high: center + half,
    }
}

/// Quantile `p` of Student's t distribution.
pub(super) fn t_quantile(p: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom)
        .expect("invariant: at least two observations, so freedom is positive")
        .inverse_cdf(p)
}

/// Count, mean and unbiased variance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moments {
    pub(super) count: f64,
    pub(super) mean: f64,
    /// `None` for a single observation.
    pub(super) variance: Option<f64>,
}

impl Moments {
    /// Of at least one observation; two passes, so that large equal parts do not cancel.
    #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 observations")]
    pub(super) fn from_samples(samples: &[f64]) -> Self {
        let count = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / count;
        let squares: f64 = samples.iter().map(|value| (value - mean).powi(2)).sum();
        Self {
            count,
            mean,
            variance: (samples.len() > 1).then(|| squares / (count - 1.0)),
        }
    }
}

//! Point and interval estimates: the only things statistics returns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A closed interval: the truth, as far as the source can tell, lies in `low..=high`.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Interval {
    /// Smallest value consistent with the source, in the unit of the quantity.
    pub low: f64,
    /// Largest value consistent with the source, in the unit of the quantity.
    pub high: f64,
}

impl Interval {
    /// From `low` to `high`.
    pub const fn new(low: f64, high: f64) -> Self {
        Self { low, high }
    }

    /// Whether `value` lies inside, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// A statistic with its confidence interval and its number of observations.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Estimate {
    /// Point estimate, in the unit of the quantity it estimates.
    pub point: f64,
    /// Confidence interval; absent when `n` is too small to give one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interval: Option<Interval>,
    /// Coverage the interval claims, in `0..1`.
    pub confidence_ratio: f64,
    /// Number of observations.
    pub n: u64,
}

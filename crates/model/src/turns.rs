//! A trial that was measured in turns, between those of other trials.

use crate::estimate::Estimate;
use crate::units::Quantile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A trial that was measured in turns, and what the turns say on how sure its quantiles are: what drifts on
/// a host drifts from turn to turn.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Turns {
    /// Each turn, in order.
    pub each: Vec<Turn>,
    /// Mean of the turns' medians, with its interval over turns; absent if no turn has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<Estimate>,
    /// Mean of the turns' 99 % quantiles, with its interval over turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<Estimate>,
}

/// One turn of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Turn {
    /// Its place among all turns of the run, in the order of measuring, from 0.
    pub position: u32,
    /// Median delay.
    #[serde(default)]
    pub p50_ns: Option<u64>,
    /// 99 % quantile.
    #[serde(default)]
    pub p99_ns: Option<u64>,
    /// Number of values.
    #[serde(default)]
    pub count: Option<u64>,
}

impl Turn {
    /// The delay at `quantile`, in nanoseconds, if turns tell that one.
    pub fn at(&self, quantile: Quantile) -> Option<u64> {
        let quantiles = [(0.5, self.p50_ns), (0.99, self.p99_ns)];
        let is = |known: f64| (quantile.0.get() - known).abs() < 1e-9;
        quantiles.into_iter().find(|(known, _)| is(*known))?.1
    }
}

//! One reading of a host's counters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One reading of all signals of one host, named by [`crate::signals`].
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Snapshot {
    /// Nanoseconds on that host's monotonic clock.
    pub at_ns: u64,
    /// Cumulative counters and gauges by signal name. What could not be read is not here.
    pub values: BTreeMap<String, u64>,
    /// What could not be read, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<String, String>,
}

impl Snapshot {
    /// What counter `signal` gained from `earlier` to `self`; `None` if either lacks it or it went backwards.
    pub fn gained(&self, earlier: &Self, signal: &str) -> Option<u64> {
        self.values
            .get(signal)?
            .checked_sub(*earlier.values.get(signal)?)
    }
}

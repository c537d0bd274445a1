//! Exact mean and spread of many values.

use crate::units::PacketCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Count, mean, spread and ends over every single value, beside a histogram whose buckets round each value
/// by up to 0.1 %. Mean and deviation are rounded to a picosecond.
#[derive(Debug, Clone, Copy, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Moments {
    /// Number of values.
    pub count: u64,
    /// Their mean.
    pub mean_ns: f64,
    /// Standard deviation of the values themselves (divided by n, as a histogram of them has it).
    pub stdev_ns: f64,
    /// Smallest.
    pub min_ns: u64,
    /// Largest.
    pub max_ns: u64,
}

impl Moments {
    /// Of values with these ends, mean and deviation.
    pub fn new(count: u64, mean_ns: f64, stdev_ns: f64, min_ns: u64, max_ns: u64) -> Self {
        Self {
            count,
            mean_ns: to_picos(mean_ns),
            stdev_ns: to_picos(stdev_ns),
            min_ns,
            max_ns,
        }
    }

    /// Those of all values of both (Chan, Golub and `LeVeque`, 1979).
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        if self.count == 0 || other.count == 0 {
            return if self.count == 0 { other } else { self };
        }
        let (own, more) = (
            PacketCount::new(self.count).as_f64(),
            PacketCount::new(other.count).as_f64(),
        );
        let all = own + more;
        let apart = other.mean_ns - self.mean_ns;
        let squares = self.stdev_ns.powi(2) * own + other.stdev_ns.powi(2) * more;
        let variance = squares / all + apart * apart * (own / all) * (more / all);
        let count = self.count.saturating_add(other.count);
        Self::new(
            count,
            self.mean_ns + apart * more / all,
            variance.sqrt(),
            self.min_ns.min(other.min_ns),
            self.max_ns.max(other.max_ns),
        )
    }
}

/// Few digits, which come back from a document as they went into it.
fn to_picos(nanos: f64) -> f64 {
    (nanos * 1000.0).round() / 1000.0
}

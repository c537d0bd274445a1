//! An estimate as JSON.

use linerate_model::Estimate;
use serde_json::{Value, json};

/// Point and bounds in the unit of the key that it stands under.
pub(super) fn estimate(of: &Estimate) -> Value {
    json!({
        "point": of.point, "low": of.interval.map(|interval| interval.low), "high": of.interval.map(|interval| interval.high),
        "confidence_ratio": of.confidence_ratio, "n": of.n,
    })
}

//! Notable points of the load curve that a search draws on its way.

use super::history::History;
use super::outcome::{DelayQuantiles, TrialOutcome};
use crate::rise::lasting;
use linerate_model::BitRate;
use linerate_model::run::CurveFacts;
use std::collections::BTreeMap;
use std::time::Duration;

/// Delay is clearly above its level at low load from this multiple of that level on …
const RISE_FACTOR: u32 = 4;
/// … and if it is above it by at least this; an ordinary host's scheduling is below it.
const RISE_FLOOR: Duration = Duration::from_micros(200);
/// Forwarding below this share of the peak at the highest load is a fall, not noise.
const FALL_RATIO: f64 = 0.98;

/// What the trials show of the curve.
pub(super) fn facts(history: &History) -> CurveFacts {
    let peak = history
        .outcomes()
        .max_by_key(|outcome| outcome.received_rate);
    let highest = history.outcomes().last();
    let fell = |outcome: &&TrialOutcome| {
        let peak = peak.map_or(0.0, |peak| peak.received_rate.as_f64());
        outcome.received_rate.as_f64() < peak * FALL_RATIO
            && peak_load(history) < outcome.intended_load
    };
    CurveFacts {
        peak_received: peak.map(|outcome| outcome.received_rate),
        peak_intended: peak.map(|outcome| outcome.intended_load),
        max_offered: history.max_offered(),
        delay_rise: delay_rise(history),
        overload_received: highest.filter(fell).map(|outcome| outcome.received_rate),
        knee: None,
    }
}

fn peak_load(history: &History) -> BitRate {
    history
        .outcomes()
        .max_by_key(|outcome| outcome.received_rate)
        .map(|outcome| outcome.intended_load)
        .unwrap_or_default()
}

/// Lowest load from which on the median PDV stays clearly above its level at loads up to half of
/// the highest forwarding rate.
fn delay_rise(history: &History) -> Option<BitRate> {
    let mut by_load: BTreeMap<BitRate, Duration> = BTreeMap::new();
    for outcome in history.outcomes() {
        if let Some(median) = outcome.delay.as_ref().and_then(DelayQuantiles::median) {
            let least = by_load.entry(outcome.intended_load).or_insert(median);
            *least = median.min(*least);
        }
    }
    let half = BitRate::from_f64(history.peak_forwarding() / 2.0);
    let calm = by_load.range(..=half).map(|(_, delay)| *delay).max()?;
    let limit = (calm * RISE_FACTOR).max(calm + RISE_FLOOR);
    let points: Vec<_> = by_load.into_iter().collect();
    let first = lasting(&points, |(_, delay)| *delay > limit)?;
    points.get(first).map(|(load, _)| *load)
}

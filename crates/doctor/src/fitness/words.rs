//! Formats figures in the texts of checks.

use linerate_model::BitRate;
use linerate_model::condition::{Condition, CoreSet};
pub(super) use linerate_model::units::float;

/// Assumed speed: the interface's, else 1 Gbit/s, with a remark.
pub(super) fn speed(condition: &Condition) -> (BitRate, String) {
    if let Ok(speed) = &condition.link_speed {
        return (*speed, format!("at this link's {speed}"));
    }
    let speed = BitRate::from_bps(1_000_000_000);
    (speed, format!("at {speed}"))
}

/// A time in µs or ms, two significant digits.
pub(super) fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    if value < 10.0 {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}

/// `core 3`, `cores 0-3`.
pub(super) fn cores(set: &CoreSet) -> String {
    if set.0.len() == 1 {
        format!("core {set}")
    } else {
        format!("cores {set}")
    }
}

/// At most `most` of the items, and the number of others.
pub(super) fn some(items: &[String], most: usize) -> String {
    let shown = items[..items.len().min(most)].join(", ");
    match items.len().checked_sub(most).filter(|rest| *rest > 0) {
        Some(rest) => format!("{shown} and {rest} more"),
        None => shown,
    }
}

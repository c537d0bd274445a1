//! Figures as engineers write them: rates, counts, shares and times with their units.

pub(crate) use linerate_model::quantity::nanoseconds as time;
use linerate_model::{BitRate, Ratio};
use std::time::Duration;

/// `95.64 Mbit/s`.
pub(super) fn rate(bps: f64) -> String {
    BitRate::from_f64(bps).to_string()
}

/// A text with its first letter, which is ASCII, as a capital.
pub(super) fn capital(text: &str) -> String {
    let mut text = text.to_owned();
    if let Some(first) = text.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    text
}

/// `82 %`; of more than the whole too: `101.8 %`.
pub(super) fn percent(share: f64) -> String {
    if share > 1.0 {
        return format!("{:.1} %", share * 100.0);
    }
    Ratio::clamped(share).to_string()
}

/// `1 234`.
pub(super) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A 64-bit count of nanoseconds for arithmetic.
pub(super) fn nanos(nanos: u64) -> f64 {
    Duration::from_nanos(nanos).as_secs_f64() * 1e9
}

/// `1 trial was`, `5 493 segments were`.
pub(super) fn were(n: u64, thing: &str) -> String {
    match n {
        1 => format!("1 {thing} was"),
        _ => format!("{} {thing}s were", count(n)),
    }
}

/// `95.64 Mbit/s`, or `64.3 Mbit/s to 89.1 Mbit/s`.
pub(super) fn rates(from: f64, to: f64) -> String {
    let (from, to) = (rate(from), rate(to));
    if from == to {
        from
    } else {
        format!("{from} to {to}")
    }
}

//! Figures as a log prints them: a value and the interval in which the true one lies.

use linerate_model::run::Trial;
use linerate_model::{Interval, Quantity};

/// A printed figure. `low <= value <= high`, none negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rounded {
    /// As printed, in the base unit.
    pub value: f64,
    /// Smallest value that prints the same.
    pub low: f64,
    /// Largest value that prints the same.
    pub high: f64,
}

impl Rounded {
    /// A figure that was not rounded.
    pub const fn exact(value: f64) -> Self {
        Self {
            value,
            low: value,
            high: value,
        }
    }

    /// Reads digits with at most one decimal point, or a decimal comma with digits behind it; the last digit printed was
    /// rounded.
    pub fn parse(text: &str) -> Option<Self> {
        let point = text.split_once('.').or_else(|| decimal_comma(text));
        let (whole, fraction) = point.unwrap_or((text, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        // Longer figures than any tool prints are garbage.
        if whole.is_empty()
            || text.ends_with('.')
            || text.len() > 20
            || !digits(whole)
            || !digits(fraction)
        {
            return None;
        }
        let value = decimal(text)?;
        let places = i32::try_from(fraction.len()).ok()?;
        let half = 0.5 * 10f64.powi(-places);
        Some(Self {
            value,
            low: (value - half).max(0.0),
            high: value + half,
        })
    }

    /// Parses a figure that its tool prints with so many decimals; `None` for one with fewer, which was cut.
    pub(super) fn with_decimals(text: &str, decimals: usize) -> Option<Self> {
        let (_, fraction) = text.split_once(['.', ','])?;
        Self::parse(text).filter(|_| fraction.len() >= decimals)
    }

    /// The figure in a unit `factor` times smaller.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            low: self.low * factor,
            high: self.high * factor,
        }
    }

    /// The sum of two figures.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            low: self.low + other.low,
            high: self.high + other.high,
        }
    }

    /// The difference of two figures, not below zero.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            value: (self.value - other.value).max(0.0),
            low: (self.low - other.high).max(0.0),
            high: (self.high - other.low).max(0.0),
        }
    }

    /// The product of two figures.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        Self {
            value: self.value * other.value,
            low: self.low * other.low,
            high: self.high * other.high,
        }
    }

    /// Bytes over a time as bit/s; `None` if the time may be zero.
    pub fn per(self, seconds: Self) -> Option<Self> {
        (seconds.low > 0.0).then(|| Self {
            value: self.value * 8.0 / seconds.value,
            low: self.low * 8.0 / seconds.high,
            high: self.high * 8.0 / seconds.low,
        })
    }

    /// This figure, with an interval that holds both.
    pub(super) fn spanning(self, other: Self) -> Self {
        Self {
            value: self.value,
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    /// Whether both can be the same true value.
    pub fn agrees(self, other: Self) -> bool {
        // A share of the value for the floating-point error of sums.
        let slack = 1e-9 * self.high.max(other.high);
        self.low <= other.high + slack && other.low <= self.high + slack
    }

    /// The interval in which the true value lies.
    pub const fn interval(self) -> Interval {
        Interval::new(self.low, self.high)
    }
}

/// Reads a prefix of a byte unit: `MBytes` is 2^20 bytes.
pub(super) fn byte_unit(unit: &str) -> Option<f64> {
    scale(
        unit.strip_suffix("Bytes")
            .or_else(|| unit.strip_suffix("Byte"))?,
        1024.0,
    )
}

/// Reads a rate's unit: `Mbits/sec` is 10^6 bit/s, `MBytes/sec` is 8 × 2^20 bit/s.
pub(super) fn rate_unit(unit: &str) -> Option<f64> {
    let per_second = unit.strip_suffix("/sec")?;
    match per_second.strip_suffix("bits") {
        Some(prefix) => scale(prefix, 1000.0),
        None => Some(byte_unit(per_second)? * 8.0),
    }
}

fn scale(prefix: &str, base: f64) -> Option<f64> {
    let power = ["", "K", "M", "G", "T", "P"]
        .iter()
        .position(|known| *known == prefix)?;
    Some(base.powi(i32::try_from(power).ok()?))
}

/// A count of bytes with three digits: `0 B`, `35.8 MB`.
pub(super) fn bytes_in_words(bytes: f64) -> String {
    const STEPS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut value = bytes;
    let mut step = 0;
    while value >= 999.5 && step + 1 < STEPS.len() {
        value /= 1000.0;
        step += 1;
    }
    let decimals = match value {
        _ if step == 0 => 0,
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {}", STEPS[step])
}

/// Notes the interval of a figure, if it was rounded.
pub(super) fn note(trial: &mut Trial, quantity: Quantity, figure: Rounded) {
    if figure.low < figure.high {
        trial.set_rounding(quantity, Some(figure.interval()));
    }
}

/// A number with a decimal point, or with a comma in its place, as tools print it where that is the custom.
pub(super) fn decimal(text: &str) -> Option<f64> {
    match decimal_comma(text) {
        Some((whole, fraction)) => format!("{whole}.{fraction}").parse().ok(),
        None => text.parse().ok(),
    }
}

/// The digits before and behind a decimal comma.
fn decimal_comma(text: &str) -> Option<(&str, &str)> {
    let (whole, fraction) = text.split_once(',')?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(whole) && is_number(fraction)).then_some((whole, fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_digit_was_rounded() {
        let rate = Rounded::parse("127").unwrap().scaled(1e6);
        assert_eq!(rate.interval(), Interval::new(126.5e6, 127.5e6));
        let size = Rounded::parse("1.41")
            .unwrap()
            .scaled(byte_unit("KBytes").unwrap());
        assert!(size.interval().contains(1448.0), "{size:?}");
        assert!(!size.interval().contains(1450.0), "{size:?}");
    }

    #[test]
    fn counts_of_bytes_have_three_digits() {
        for (bytes, words) in [
            (0.0, "0 B"),
            (999.0, "999 B"),
            (999.6, "1.00 kB"),
            (35_756_442.0, "35.8 MB"),
            (99_960_000.0, "100 MB"),
        ] {
            assert_eq!(bytes_in_words(bytes), words);
        }
    }

    #[test]
    fn bytes_are_iec_and_bits_are_si() {
        assert_eq!(byte_unit("MBytes"), Some(1_048_576.0));
        assert_eq!(byte_unit("Byte"), Some(1.0));
        assert_eq!(rate_unit("Mbits/sec"), Some(1e6));
        assert_eq!(rate_unit("bits/sec"), Some(1.0));
        assert_eq!(rate_unit("KBytes/sec"), Some(8192.0));
        assert_eq!(rate_unit("Mbits"), None);
    }

    #[test]
    fn what_is_no_figure_is_refused() {
        for text in [
            "",
            ".",
            "-1",
            "1e3",
            "nan",
            "1.2.3",
            "123456789012345678901",
        ] {
            assert_eq!(Rounded::parse(text), None, "{text}");
        }
    }
}

//! Numbers as people read them: significant digits, one unit per chart, what is unknown.

use linerate_model::quantity::QuantityUnit;
pub(crate) use linerate_model::units::float;
use linerate_model::{BitRate, Estimate, Interval, PacketRate, Quantity, Ratio};

/// What stands where a source could not tell a value. Never zero.
pub const UNKNOWN: &str = "not recorded";

/// Significant digits that tell bounds 0.5 % apart from each other.
const SIGNIFICANT: i32 = 4;
/// Of times.
const SIGNIFICANT_OF_TIMES: i32 = 3;

/// Four significant digits, no trailing zeros after the point, no exponent.
pub fn digits(value: f64) -> String {
    significant(value, SIGNIFICANT)
}

/// As many significant digits as asked for, all digits before the point.
pub fn significant(value: f64, digits: i32) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    linerate_model::units::significant(value, digits)
}

/// The upper of the middle values, 1 without any: one that is far off does not choose a unit.
pub(crate) fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(1.0)
}

/// A unit to show a quantity in: how much of the base unit it is, and its symbol.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    factor: f64,
    symbol: &'static str,
}

const RATES: &[Unit] = &[
    Unit::new(1.0, "bit/s"),
    Unit::new(1e3, "kbit/s"),
    Unit::new(1e6, "Mbit/s"),
    Unit::new(1e9, "Gbit/s"),
    Unit::new(1e12, "Tbit/s"),
];
const FRAME_RATES: &[Unit] = &[
    Unit::new(1.0, "pps"),
    Unit::new(1e3, "kpps"),
    Unit::new(1e6, "Mpps"),
];
const TIMES: &[Unit] = &[
    Unit::new(1.0, "ns"),
    Unit::new(1e3, "µs"),
    Unit::new(1e6, "ms"),
    Unit::new(1e9, "s"),
];
const SIZES: &[Unit] = &[
    Unit::new(1.0, "B"),
    Unit::new(1024.0, "KiB"),
    Unit::new(1_048_576.0, "MiB"),
    Unit::new(1_073_741_824.0, "GiB"),
];

impl Unit {
    /// Percent of a ratio.
    pub const PERCENT: Self = Self::new(0.01, "%");
    /// The number as it is.
    pub const PLAIN: Self = Self::new(1.0, "");
    /// Gbit/s of bit/s.
    pub(crate) const GIGABIT: Self = Self::new(1e9, "Gbit/s");
    /// KiB of bytes.
    pub(crate) const KIB: Self = Self::new(1024.0, "KiB");
    /// Microseconds of nanoseconds.
    pub(crate) const MICROS: Self = Self::new(1e3, "µs");
    /// Milliseconds of nanoseconds.
    pub(crate) const MILLIS: Self = Self::new(1e6, "ms");
    /// Nanoseconds of nanoseconds.
    pub(crate) const NANOS: Self = Self::new(1.0, "ns");
    /// Seconds of seconds.
    pub const SECONDS: Self = Self::new(1.0, "s");

    const fn new(factor: f64, symbol: &'static str) -> Self {
        Self { factor, symbol }
    }

    /// For a quantity whose values are about `typical`.
    pub fn for_quantity(quantity: Quantity, typical: f64) -> Self {
        match quantity.unit() {
            QuantityUnit::BitRate => Self::for_rate(typical),
            QuantityUnit::Bytes => Self::for_bytes(typical),
            QuantityUnit::Nanoseconds => Self::for_nanos(typical),
            QuantityUnit::Ratio => Self::PERCENT,
            QuantityUnit::Seconds => Self::SECONDS,
            QuantityUnit::PacketRate => Self::for_frames(typical),
            QuantityUnit::Count | QuantityUnit::Plain => Self::PLAIN,
        }
    }

    /// For bit/s: the largest unit of which `largest` is at least two.
    pub fn for_rate(largest: f64) -> Self {
        Self::pick(RATES, largest / 2.0, SIGNIFICANT)
    }

    /// For frames per second: the largest unit of which `largest` is at least two.
    pub(crate) fn for_frames(largest: f64) -> Self {
        Self::pick(FRAME_RATES, largest / 2.0, SIGNIFICANT)
    }

    /// For nanoseconds: the largest unit of which `typical` is at least one.
    pub fn for_nanos(typical: f64) -> Self {
        Self::pick(TIMES, typical, SIGNIFICANT_OF_TIMES)
    }

    /// For bytes: the largest unit of which `largest` is at least one.
    pub fn for_bytes(largest: f64) -> Self {
        Self::pick(SIZES, largest, SIGNIFICANT)
    }

    fn pick(units: &[Self], value: f64, digits: i32) -> Self {
        // What so many digits round up to a whole unit is one: 999.96 kbit/s would read 1000.
        let least = 1.0 - 0.5 * 10_f64.powi(-digits);
        let fits = units.iter().rev().find(|unit| value >= unit.factor * least);
        *fits.unwrap_or(&units[0])
    }

    /// The symbol, such as `Mbit/s`.
    pub const fn symbol(self) -> &'static str {
        self.symbol
    }

    /// The number of this unit that `base` is.
    pub fn of(self, base: f64) -> f64 {
        base / self.factor
    }

    /// The number without its symbol.
    pub fn number(self, base: f64) -> String {
        digits(self.of(base))
    }

    /// The number and its symbol.
    pub fn show(self, base: f64) -> String {
        format!("{} {}", self.number(base), self.symbol)
    }
}

/// A rate in the unit that suits it.
pub fn rate(rate: BitRate) -> String {
    rate.to_string()
}

/// A time in nanoseconds, in the unit that suits it, three significant digits.
pub fn nanos(nanos: f64) -> String {
    let unit = Unit::for_nanos(nanos);
    let number = significant(unit.of(nanos), SIGNIFICANT_OF_TIMES);
    format!("{number} {}", unit.symbol)
}

/// A share in percent, three significant digits.
pub fn percent(ratio: Ratio) -> String {
    ratio.to_string()
}

/// A size in bytes, in the IEC unit that suits it.
pub(crate) fn bytes(size: linerate_model::ByteCount) -> String {
    let base = float(size.get());
    Unit::for_bytes(base).show(base)
}

/// A share that may be unknown.
pub(crate) fn percent_or_unknown(value: Option<Ratio>) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), percent)
}

/// A value with what is known of its precision: the rounding of one observation, or the 95 %
/// confidence interval of a mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Value {
    pub(crate) estimate: Estimate,
}

impl Value {
    /// From observations of one quantity at one setting; `None` without any finite one.
    pub(crate) fn from_observations(observations: &[(f64, Option<Interval>)]) -> Option<Self> {
        let finite: Vec<f64> = observations.iter().map(|seen| seen.0).collect();
        if finite.is_empty() || !finite.iter().all(|value| value.is_finite()) {
            return None;
        }
        let mut estimate = mean(&finite);
        if let [(_, rounding)] = observations {
            estimate.interval = *rounding;
        }
        Some(Self { estimate })
    }

    /// The point estimate in the base unit.
    pub(crate) const fn point(&self) -> f64 {
        self.estimate.point
    }

    /// The largest value that the source allows.
    pub(crate) fn high(&self) -> f64 {
        self.estimate
            .interval
            .map_or(self.estimate.point, |interval| interval.high)
    }

    /// The number with its interval and n, without the unit's symbol.
    pub(crate) fn number(&self, unit: Unit) -> String {
        let Estimate {
            point, interval, n, ..
        } = self.estimate;
        let point = unit.number(point);
        match (interval, n) {
            (Some(i), 1) if unit.number(i.low) == unit.number(i.high) => point,
            (Some(i), n) if unit.number(i.low) == unit.number(i.high) => {
                format!("{point} (n = {n})")
            }
            (Some(i), 1) => format!("{point} ({})", range(i, unit)),
            (Some(i), n) => format!("{point} ({}, n = {n})", range(i, unit)),
            (None, 1) => point,
            (None, n) => format!("{point} (n = {n})"),
        }
    }

    /// The number with unit, interval and n: `127 Mbit/s (126.5–127.5)`.
    pub(crate) fn show(&self, unit: Unit) -> String {
        let plain = unit.show(self.estimate.point);
        match (self.estimate.interval, self.estimate.n) {
            // Digits beyond those that are shown say nothing here.
            (Some(i), 1) if unit.number(i.low) == unit.number(i.high) => plain,
            (Some(i), n) if unit.number(i.low) == unit.number(i.high) => {
                format!("{plain} (n = {n})")
            }
            (Some(i), 1) => format!("{plain} ({}, rounded in the log)", range(i, unit)),
            (Some(i), n) => format!("{plain} (95 %: {}, n = {n})", range(i, unit)),
            (None, 1) => plain,
            (None, n) => format!("{plain} (n = {n})"),
        }
    }
}

/// `126.5–127.5`, without the unit's symbol; one number where the digits shown tell no two apart.
pub(crate) fn range(interval: Interval, unit: Unit) -> String {
    between(&unit.number(interval.low), &unit.number(interval.high))
}

/// `low–high`, or the one of two ends that read alike.
pub(crate) fn between(low: &str, high: &str) -> String {
    if low == high {
        low.to_owned()
    } else {
        format!("{low}–{high}")
    }
}

/// Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom.
const T_95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// The mean with its 95 % t interval (from two observations on).
fn mean(values: &[f64]) -> Estimate {
    let n = values.len() as u64;
    let count = float(n);
    let point = values.iter().sum::<f64>() / count;
    let interval = (values.len() > 1).then(|| {
        let squares: f64 = values.iter().map(|value| (value - point).powi(2)).sum();
        let error = (squares / (count - 1.0) / count).sqrt();
        let t = T_95.get(values.len() - 2).copied().unwrap_or(1.960);
        Interval::new((point - t * error).max(0.0), point + t * error)
    });
    Estimate {
        point,
        interval,
        confidence_ratio: 0.95,
        n,
    }
}

/// `1200/s`.
pub(crate) fn per_second(rate: PacketRate) -> String {
    format!("{}/s", digits(rate.pps()))
}

/// Text without control characters and without characters that reorder a line: safe for a terminal
/// and for XML.
pub fn clean(text: &str) -> String {
    if text.chars().all(|c| clean_char(c) == c) {
        return text.to_owned();
    }
    text.chars().map(clean_char).collect()
}

/// Line ends become spaces, what commands or reorders becomes a replacement character.
pub fn clean_char(c: char) -> char {
    match c {
        '\n' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
        c if c.is_control() => '\u{fffd}',
        '\u{200e}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{fffe}'..='\u{ffff}' => '\u{fffd}',
        c => c,
    }
}

/// A figure that stands large on the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BigFigure {
    /// With its unit.
    pub(crate) value: String,
    /// Its interval and n, or its bounds.
    pub(crate) interval: Option<String>,
    /// Quantity, layer, side, condition.
    pub(crate) about: String,
}

/// A figure and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Headline {
    /// With its unit.
    pub(crate) figure: String,
    /// Quantity and condition, which a sentence has too.
    pub(crate) what: String,
    /// Layer, number of trials, direction; may be empty.
    pub(crate) rest: String,
}

impl Headline {
    /// Quantity, condition, layer, side, direction.
    pub(crate) fn about(&self) -> String {
        if self.rest.is_empty() {
            return self.what.clone();
        }
        format!("{}, {}", self.what, self.rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_four_and_no_zeros_trail() {
        let cases = [
            (89.1, "89.1"),
            (70.0, "70"),
            (1000.0, "1000"),
            (93.1234, "93.12"),
            (0.0, "0"),
            (0.001_234_7, "0.001235"),
            (123_456.7, "123457"),
            (-0.0, "0"),
            (f64::NAN, UNKNOWN),
            (f64::INFINITY, UNKNOWN),
        ];
        for (value, want) in cases {
            assert_eq!(digits(value), want);
        }
    }

    #[test]
    fn rates_times_and_shares_choose_their_unit() {
        assert_eq!(rate(BitRate::from_bps(89_100_000)), "89.1 Mbit/s");
        assert_eq!(rate(BitRate::from_bps(0)), "0 bit/s");
        assert_eq!(rate(BitRate::from_bps(999_960)), "1 Mbit/s");
        assert_eq!(nanos(999.6), "1 µs");
        assert_eq!(nanos(999.4), "999 ns");
        assert_eq!(rate(BitRate::from_bps(999_940)), "999.9 kbit/s");
        assert_eq!(nanos(1_234.0), "1.23 µs");
        assert_eq!(nanos(45_678_000.0), "45.7 ms");
        assert_eq!(percent(Ratio::clamped(0.283_31)), "28.3 %");
        assert_eq!(percent(Ratio::clamped(0.000_012_3)), "0.00123 %");
        assert_eq!(percent(Ratio::ZERO), "0 %");
        assert_eq!(Unit::for_rate(1e9).symbol(), "Mbit/s");
        assert_eq!(Unit::for_rate(10e9).symbol(), "Gbit/s");
    }

    #[test]
    fn a_rounded_value_shows_its_rounding_and_a_mean_its_interval() {
        let unit = Unit::for_rate(127e6);
        let rounding = Interval::new(126.5e6, 127.5e6);
        let one = Value::from_observations(&[(127e6, Some(rounding))]).unwrap();
        assert_eq!(one.number(unit), "127 (126.5–127.5)");
        let two = Value::from_observations(&[(100e6, None), (102e6, None)]).unwrap();
        assert_eq!(two.number(unit), "101 (88.29–113.7, n = 2)");
        let same = Value::from_observations(&[(100e6, None), (100e6, None)]).unwrap();
        assert_eq!(same.number(unit), "100 (n = 2)");
        assert_eq!(same.show(unit), "100 Mbit/s (n = 2)");
        assert_eq!(range(Interval::new(3.9081e6, 3.9084e6), unit), "3.908");
        assert_eq!(Value::from_observations(&[]), None);
        assert_eq!(Value::from_observations(&[(f64::NAN, None)]), None);
    }

    #[test]
    fn clean_text_moves_no_cursor() {
        assert_eq!(clean("a\u{1b}[2J\u{202e}b\nc"), "a\u{fffd}[2J\u{fffd}b c");
    }
}

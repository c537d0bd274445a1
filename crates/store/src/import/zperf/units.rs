//! Which step the units of a board have: 1024 before Zephyr 3.6, 1000 from then on.

use crate::import::Rounded;
use std::str::FromStr;

/// The step from one unit to its next larger one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitStep {
    /// 1024: zperf before Zephyr 3.6.
    Binary,
    /// 1000: zperf from Zephyr 3.6 on.
    Decimal,
}

impl UnitStep {
    /// How each is written.
    pub const WORDS: [&str; 2] = ["1024", "1000"];
}

impl FromStr for UnitStep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "1024" => Ok(Self::Binary),
            "1000" => Ok(Self::Decimal),
            _ => Err(format!("\"{text}\" is neither 1000 nor 1024")),
        }
    }
}

/// What a session tells about the step of `K` and `M`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Units {
    binary: bool,
    decimal: bool,
}

impl Units {
    /// Nothing was seen.
    const SILENT: Self = Self {
        binary: false,
        decimal: false,
    };

    /// The step, if all that was seen agrees on one.
    pub(super) fn step(self) -> Option<f64> {
        match (self.binary, self.decimal) {
            (true, false) => Some(1024.0),
            (false, true) => Some(1000.0),
            (false, false) | (true, true) => None,
        }
    }

    /// What the session tells, else what the user says.
    pub(super) fn or(mut self, said: Option<UnitStep>) -> Self {
        if let (Self::SILENT, Some(step)) = (self, said) {
            self.saw(step == UnitStep::Binary);
        }
        self
    }

    /// `build v3.7.0 ***` or `zephyr-v3.5.0`: the line that Zephyr prints when it starts.
    pub(super) fn booted(&mut self, text: &str) {
        let begins = |at: &usize| text[at + 1..].starts_with(|c: char| c.is_ascii_digit());
        let Some(at) = text.match_indices('v').map(|(at, _)| at).find(begins) else {
            return;
        };
        let mut numbers = text[at + 1..].split(|c: char| !c.is_ascii_digit());
        let mut next = || numbers.next().and_then(|n| n.parse::<u32>().ok());
        if let (Some(major), Some(minor)) = (next(), next()) {
            self.saw((major, minor) < (3, 6));
        }
    }

    /// Compares two figures of the same rate: one in bit/s, one as printed with its unit.
    pub(super) fn compare(&mut self, bps: Rounded, printed: Rate) {
        let binary = printed.bps(1024.0).agrees(bps);
        let decimal = printed.bps(1000.0).agrees(bps);
        if binary != decimal {
            self.saw(binary);
        }
    }

    fn saw(&mut self, is_binary: bool) {
        self.binary |= is_binary;
        self.decimal |= !is_binary;
    }
}

/// A printed rate: a number of `Kbps` or `Mbps` whose step is not known yet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rate {
    number: Rounded,
    power: i32,
}

impl Rate {
    /// Reads `4.98 Mbps`, `5120 kbps`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (number, unit) = text.trim().split_once(' ')?;
        let power = match unit.trim() {
            "bps" => 0,
            "Kbps" | "kbps" => 1,
            "Mbps" => 2,
            "Gbps" => 3,
            _ => return None,
        };
        Some(Self {
            number: cut_off(number)?,
            power,
        })
    }

    pub(super) fn is_zero(self) -> bool {
        self.number.value.total_cmp(&0.0).is_eq()
    }

    /// In bit/s, with steps of `step`.
    pub(super) fn bps(self, step: f64) -> Rounded {
        self.number.scaled(step.powi(self.power))
    }

    /// In bit/s: the interval holds both steps if none is known.
    pub(super) fn in_units(self, units: Units) -> Rounded {
        match units.step() {
            Some(step) => self.bps(step),
            None => Rounded {
                high: self.bps(1024.0).high,
                ..self.bps(1000.0)
            },
        }
    }
}

/// Reads a number whose further decimals were cut off; a whole number may be exact or cut off.
pub(super) fn cut_off(text: &str) -> Option<Rounded> {
    let rounded = Rounded::parse(text)?;
    let step = rounded.high - rounded.value;
    Some(Rounded {
        value: rounded.value,
        low: rounded.value,
        high: step.mul_add(2.0, rounded.value),
    })
}

/// Reads `2.99 s`, `98 us`, `3.64 m` (minutes) in seconds.
pub(super) fn seconds(text: &str) -> Option<Rounded> {
    let (number, unit) = text.trim().split_once(' ')?;
    let scale = match unit.trim() {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        _ => return None,
    };
    Some(cut_off(number)?.scaled(scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_seen_twice_tells_the_step() {
        for (bps, text, step) in [
            (5_242_880.0, "5.00 Mbps", 1024.0),
            (5_000_000.0, "5.00 Mbps", 1000.0),
            (10_000.0, "10 Kbps", 1000.0),
        ] {
            let mut units = Units::default();
            units.compare(Rounded::exact(bps), Rate::parse(text).unwrap());
            assert_eq!(units.step(), Some(step), "{text}");
        }
        let mut both = Units::default();
        both.saw(true);
        both.saw(false);
        assert_eq!(both.step(), None);
    }

    #[test]
    fn the_version_tells_the_step() {
        for (text, step) in [
            ("build v3.7.0 ***", 1000.0),
            ("build zephyr-v3.5.0-12-gabc ***", 1024.0),
            ("version v2.7.99", 1024.0),
            ("build v4.2.0", 1000.0),
        ] {
            let mut units = Units::default();
            units.booted(text);
            assert_eq!(units.step(), Some(step), "{text}");
        }
        let mut units = Units::default();
        units.booted("build abcdef");
        assert_eq!(units.step(), None);
    }

    #[test]
    fn an_unknown_step_leaves_both() {
        let rate = Rate::parse("9.96 Mbps").unwrap().in_units(Units::default());
        assert!(rate.interval().contains(9.96e6) && rate.interval().contains(9.96 * 1_048_576.0));
    }

    #[test]
    fn decimals_are_cut_off_and_m_is_minutes() {
        let time = seconds("2.99 s").unwrap();
        assert!(time.interval().contains(2.99) && time.interval().contains(2.9999));
        assert!(!time.interval().contains(2.985));
        assert!((seconds("3.64 m").unwrap().value - 218.4).abs() < 1e-9);
        assert_eq!(seconds("3 h"), None);
    }

    #[test]
    fn a_step_is_written_as_its_number() {
        let [binary, decimal] = UnitStep::WORDS.map(str::parse);
        assert_eq!(
            (binary, decimal),
            (Ok(UnitStep::Binary), Ok(UnitStep::Decimal))
        );
        assert!("10".parse::<UnitStep>().is_err());
    }
}

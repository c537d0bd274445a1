//! What the user tells of files that do not say it themselves.

use linerate_model::spec::Transport;
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

/// Transport and unit of a file of HdrHistogram's percentile text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HgrmHint {
    /// What carried the messages.
    pub transport: Transport,
    /// Unit of the values.
    pub unit: TimeUnit,
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// `us`.
    Micros,
    /// `ms`.
    Millis,
    /// `ns`.
    Nanos,
    /// `s`.
    Seconds,
}

impl TimeUnit {
    /// Nanoseconds of one.
    pub const fn nanos(self) -> f64 {
        match self {
            Self::Micros => 1e3,
            Self::Millis => 1e6,
            Self::Nanos => 1.0,
            Self::Seconds => 1e9,
        }
    }
}

impl FromStr for TimeUnit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "us" | "µs" => Ok(Self::Micros),
            "ms" => Ok(Self::Millis),
            "ns" => Ok(Self::Nanos),
            "s" => Ok(Self::Seconds),
            _ => Err(format!("\"{text}\" is not a unit of time: ns, us, ms or s")),
        }
    }
}

impl FromStr for HgrmHint {
    type Err = String;

    /// `tcp:ms`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("\"{text}\" is not TRANSPORT:UNIT such as tcp:ms or udp:us");
        let (transport, unit) = text.split_once(':').ok_or_else(wrong)?;
        let transport = match transport {
            "tcp" => Transport::Tcp,
            "udp" => Transport::Udp,
            _ => return Err(wrong()),
        };
        let unit = unit.parse()?;
        Ok(Self { transport, unit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_written_as_its_number() {
        let [binary, decimal] = UnitStep::WORDS.map(str::parse);
        assert_eq!(
            (binary, decimal),
            (Ok(UnitStep::Binary), Ok(UnitStep::Decimal))
        );
        assert!("10".parse::<UnitStep>().is_err());
    }

    #[test]
    fn a_hint_has_a_transport_and_a_unit() {
        let hint: HgrmHint = "udp:us".parse().unwrap();
        assert_eq!(
            (hint.transport, hint.unit),
            (Transport::Udp, TimeUnit::Micros)
        );
        for wrong in ["", "udp", "us", "quic:us", "udp:minutes"] {
            assert!(wrong.parse::<HgrmHint>().is_err(), "{wrong}");
        }
    }
}

//! Numbers as zperf prints them.

use linerate_model::BitRate;
use std::time::Duration;

/// A release of Zephyr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    major: u32,
    minor: u32,
}

impl Release {
    /// First release in which `K` and `M` are steps of 1000; before, of 1024.
    const DECIMAL: Self = Self { major: 3, minor: 6 };

    /// The last one whose server does not count the datagram that opens a session. What later ones do
    /// differs between them.
    const LAST_UNCOUNTED: Self = Self { major: 4, minor: 4 };

    /// Reads `3.3`, `3.3.0` or `4.2.99-rc1`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?;
        let digits = minor
            .find(|c: char| !c.is_ascii_digit())
            .map_or(minor, |end| &minor[..end]);
        let minor = digits.parse().ok()?;
        Some(Self { major, minor })
    }

    /// How many bit/s one printed `Kbps` is.
    pub(super) fn kilo(self) -> u64 {
        if self < Self::DECIMAL { 1024 } else { 1000 }
    }

    /// Whether its UDP server leaves the first datagram of a session out of its count.
    pub(super) fn leaves_out_the_first(self) -> bool {
        self <= Self::LAST_UNCOUNTED
    }
}

impl std::fmt::Display for Release {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A number with up to two decimals, in hundredths, and its unit.
fn hundredths(text: &str) -> Option<(u64, &str)> {
    let (number, unit) = text.trim().split_once(' ')?;
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let whole: u64 = whole.parse().ok()?;
    let decimals: u64 = match decimals.len() {
        1 => decimals.parse::<u64>().ok()? * 10,
        2 => decimals.parse().ok()?,
        _ => return None,
    };
    let all = whole.checked_mul(100)?.checked_add(decimals)?;
    Some((all, unit.trim()))
}

/// Reads `3.64 m` (minutes), `2.99 s`, `1.92 ms` or `996 us`; decimals were cut, not rounded.
pub(super) fn time(text: &str) -> Option<Duration> {
    let (value, unit) = hundredths(text)?;
    let nanos_per_hundredth: u64 = match unit {
        "m" => 600_000_000,
        "s" => 10_000_000,
        "ms" => 10_000,
        "us" => 10,
        _ => return None,
    };
    Some(Duration::from_nanos(
        value.checked_mul(nanos_per_hundredth)?,
    ))
}

/// Reads `9.96 Mbps` or `512 Kbps`, as this release means it.
pub(super) fn rate(text: &str, release: Release) -> Option<BitRate> {
    let (value, unit) = hundredths(text)?;
    let kilo = release.kilo();
    let bits = match unit {
        // A Mbps is a thousand Kbps in the new releases and 1024 in the old ones.
        "Mbps" => kilo * kilo,
        "Kbps" => kilo,
        _ => return None,
    };
    Some(BitRate::from_bps(value.checked_mul(bits)? / 100))
}

/// A number and the one in parentheses after it, if there is one: `2.99 s\t(3.00 s)`.
pub(super) fn pair(text: &str) -> (&str, Option<&str>) {
    match text.split_once('(') {
        None => (text.trim(), None),
        Some((first, second)) => (
            first.trim(),
            Some(second.split(')').next().unwrap_or_default().trim()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_in_the_forms_that_are_printed() {
        let three = Release { major: 3, minor: 3 };
        assert_eq!(Release::parse("3.3.0"), Some(three));
        assert_eq!(Release::parse("3.3"), Some(three));
        assert_eq!(
            Release::parse("4.2-rc1").map(|r| r.to_string()).as_deref(),
            Some("4.2")
        );
        assert_eq!(Release::parse("v3"), None);
        assert_eq!(Release::parse("99999999999.1"), None);
    }

    #[test]
    fn minutes_are_not_milliseconds() {
        assert_eq!(time("3.64 m"), Some(Duration::from_millis(218_400)));
        assert_eq!(time("2.99 s"), Some(Duration::from_millis(2990)));
        assert_eq!(time("1.92 ms"), Some(Duration::from_micros(1920)));
        assert_eq!(time("996 us"), Some(Duration::from_micros(996)));
        assert_eq!(time("18446744073709551615 m"), None);
        assert_eq!(time("1.234 s"), None);
        assert_eq!(time("-1 s"), None);
    }

    #[test]
    fn a_rate_depends_on_the_release() {
        let of = |text, release| rate(text, Release::parse(release).unwrap()).unwrap();
        assert_eq!(of("5.00 Mbps", "3.5"), BitRate::from_bps(5 * 1024 * 1024));
        assert_eq!(of("5.00 Mbps", "3.6"), BitRate::from_bps(5_000_000));
        assert_eq!(of("0 Kbps", "3.3"), BitRate::from_bps(0));
        assert_eq!(rate("1 Gbps", Release::DECIMAL), None);
    }
}

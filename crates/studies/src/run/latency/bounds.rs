//! What a closed loop is bounded by, and which quantiles it lists, as people write them.

use linerate_model::spec::TransactionBounds;
use linerate_model::{Quantile, Ratio};
use std::str::FromStr;

/// Least and most messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Iterations {
    at_least: Option<u64>,
    at_most: Option<u64>,
}

impl Iterations {
    /// The bounds of a test whose first `warm_up` messages do not count.
    pub const fn bounds(self, warm_up: Option<u64>) -> TransactionBounds {
        TransactionBounds {
            at_least: self.at_least,
            at_most: self.at_most,
            warm_up,
        }
    }
}

impl FromStr for Iterations {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("\"{text}\" is not MIN..MAX such as 1000..100000, 1000.., ..100000 or 1000");
        let number = |part: &str| match part {
            "" => Ok(None),
            digits => digits.parse().map(Some).map_err(|_| wrong()),
        };
        let (at_least, at_most) = match text.split_once("..") {
            Some((least, most)) => (number(least)?, number(most)?),
            None => (number(text)?, number(text)?),
        };
        let none = at_least.is_none() && at_most.is_none();
        let turned = at_least
            .zip(at_most)
            .is_some_and(|(least, most)| least > most);
        if none || turned || at_most == Some(0) {
            return Err(wrong());
        }
        Ok(Self { at_least, at_most })
    }
}

/// A quantile in percent, ends excluded: `99.9`.
pub fn parse_percentile(text: &str) -> Result<Quantile, String> {
    let wrong = || format!("\"{text}\" is not a percentage between 0 and 100 such as 99.9");
    let number = text.trim_end_matches('%').trim();
    let percent: f64 = number.parse().map_err(|_| wrong())?;
    if !(percent > 0.0 && percent < 100.0) {
        return Err(wrong());
    }
    // 99.99 % is 0.9999, not the next number below.
    let share = (percent * 1e10).round() / 1e12;
    Ratio::new(share).map(Quantile).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_lie_between_0_and_100() {
        assert_eq!(parse_percentile("99.9").unwrap().to_string(), "p99.9");
        assert_eq!(parse_percentile("50%").unwrap().to_string(), "p50");
        for wrong in ["0", "100", "-1", "x", "", "nan", "inf", "99,9"] {
            assert!(parse_percentile(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn iterations_have_a_least_a_most_or_both() {
        let of = |text: &str| text.parse::<Iterations>().map(|i| (i.at_least, i.at_most));
        assert_eq!(of("10..20"), Ok((Some(10), Some(20))));
        assert_eq!(of("10.."), Ok((Some(10), None)));
        assert_eq!(of("..20"), Ok((None, Some(20))));
        assert_eq!(of("15"), Ok((Some(15), Some(15))));
        for wrong in ["", "..", "20..10", "..0", "0", "x", "1..y", "-1"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}

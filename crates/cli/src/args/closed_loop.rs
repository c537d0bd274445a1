//! Options of `latency` that a closed loop has: what is shown, and when it ends.

use clap::Args;
use linerate_model::spec::TransactionBounds;
use linerate_model::{Quantile, Ratio};
use std::str::FromStr;

/// Quantiles and bounds by number.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Closed loop")]
pub(crate) struct ClosedLoopArgs {
    /// Quantiles of delay to show beside minimum, median and maximum, in percent.
    #[arg(long, default_value = "99,99.9", value_delimiter = ',', value_name = "PERCENT", value_parser = percentile, hide_short_help = true)]
    pub(crate) percentile: Vec<Quantile>,
    /// Messages to count per size and wait mode, beside the time: at most so many (`..100000`), at least so many
    /// even if the time is over (`10000..`, for up to 25 s more), both (`10000..100000`), or exactly so many (`10000`).
    #[arg(long, value_name = "MIN..MAX", hide_short_help = true)]
    pub(crate) iterations: Option<Iterations>,
    /// Count only what comes after so many messages, and after --warm-up.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) warm_up_iterations: Option<u64>,
}

impl ClosedLoopArgs {
    /// The bounds by number.
    pub(crate) fn bounds(&self) -> TransactionBounds {
        let Iterations { at_least, at_most } = self.iterations.unwrap_or_default();
        TransactionBounds {
            at_least,
            at_most,
            warm_up: self.warm_up_iterations,
        }
    }
}

/// Least and most messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Iterations {
    at_least: Option<u64>,
    at_most: Option<u64>,
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
pub(crate) fn percentile(text: &str) -> Result<Quantile, String> {
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
        assert_eq!(percentile("99.9").unwrap().to_string(), "p99.9");
        assert_eq!(percentile("50%").unwrap().to_string(), "p50");
        for wrong in ["0", "100", "-1", "x", "", "nan", "inf", "99,9"] {
            assert!(percentile(wrong).is_err(), "{wrong}");
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

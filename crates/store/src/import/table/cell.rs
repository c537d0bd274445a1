//! The cells of a table as figures: number, unit, and the interval of its rounding.

use crate::import::{Rounded, TimeUnit};
use linerate_model::quantity::QuantityUnit;
use linerate_model::spec::{Direction, Transport};
use linerate_model::units::parse_duration;
use linerate_model::{BitRate, ByteCount, Quantity};

/// A number in the base unit of its quantity: bit/s, a ratio, seconds, bytes.
///
/// `unit` is what the mapping says; a unit in the cell comes before it. In a table whose columns are not separated by
/// commas a comma is a decimal point.
pub(super) fn figure(
    quantity: Quantity,
    text: &str,
    unit: Option<&str>,
    has_decimal_commas: bool,
) -> Result<Rounded, String> {
    let digit = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
    let exponent = text.trim_start_matches(digit);
    let is_exponent = exponent.starts_with(['e', 'E'])
        && exponent[1..].starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-'));
    let rest = if is_exponent {
        exponent[1..].trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-'))
    } else {
        exponent
    };
    let number = &text[..text.len() - rest.len()];
    let number = if has_decimal_commas {
        number.replace(',', ".")
    } else {
        number.to_owned()
    };
    let wrong = || "not a number that is zero or above, without thousands separators".to_owned();
    let read = if is_exponent {
        let value: Option<f64> = number.parse().ok();
        value.filter(|value| value.is_finite()).map(Rounded::exact)
    } else {
        Rounded::parse(&number).filter(|_| !number.contains(','))
    };
    let read = read.ok_or_else(wrong)?;
    let own = rest.trim();
    let unit = if own.is_empty() { unit } else { Some(own) };
    let figure = read.scaled(factor(quantity, unit)?);
    if figure.value > quantity.most() {
        return Err("a loss ratio is at most 1 (100 %)".to_owned());
    }
    Ok(figure)
}

/// What a number of this unit is multiplied by.
fn factor(quantity: Quantity, unit: Option<&str>) -> Result<f64, String> {
    let missing = |such: &str| {
        format!("its unit is not known: add one to the column's name in --columns, such as {such}")
    };
    match quantity.unit() {
        QuantityUnit::BitRate => {
            let unit = unit.ok_or_else(|| missing(":Mbit/s"))?;
            let one: Result<BitRate, _> = format!("1{unit}").parse();
            one.map(BitRate::as_f64).map_err(|error| error.to_string())
        }
        QuantityUnit::Ratio => match unit {
            Some("%") => Ok(0.01),
            Some("ratio") => Ok(1.0),
            Some(other) => Err(format!("\"{other}\" is not a unit of loss: % or ratio")),
            None => Err(missing(":% or :ratio")),
        },
        QuantityUnit::Seconds => {
            let one = parse_duration(&format!("1{}", unit.unwrap_or("s")));
            one.map(|time| time.as_secs_f64())
                .map_err(|error| error.to_string())
        }
        QuantityUnit::Bytes => {
            let one: Result<ByteCount, _> = format!("1{}", unit.unwrap_or("")).parse();
            one.map(ByteCount::as_f64)
                .map_err(|error| error.to_string())
        }
        QuantityUnit::Count => match unit {
            None => Ok(1.0),
            Some(_) => Err("streams are a plain number".to_owned()),
        },
        _ => {
            let unit: TimeUnit = unit.ok_or_else(|| missing(":us"))?.parse()?;
            Ok(unit.nanos() / 1e9)
        }
    }
}

/// A transport by its name.
pub(super) fn transport(text: &str) -> Result<Transport, String> {
    match text.to_ascii_lowercase().as_str() {
        "tcp" => Ok(Transport::Tcp),
        "udp" => Ok(Transport::Udp),
        _ => Err("a transport is tcp or udp".to_owned()),
    }
}

/// A direction seen from the client, by one of the names that tools and people use.
pub(super) fn direction(text: &str) -> Result<Direction, String> {
    match text.to_ascii_lowercase().as_str() {
        "forward" | "upload" | "up" | "tx" | "send" => Ok(Direction::Forward),
        "reverse" | "download" | "down" | "rx" | "receive" => Ok(Direction::Reverse),
        _ => Err(
            "a direction is forward (upload, up, tx) or reverse (download, down, rx)".to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(quantity: Quantity, text: &str, unit: Option<&str>) -> Result<f64, String> {
        figure(quantity, text, unit, false).map(|figure| figure.value)
    }

    #[test]
    fn a_unit_stands_in_the_cell_or_in_the_mapping() {
        assert_eq!(
            value(Quantity::ReceivedRate, "94.5", Some("Mbit/s")),
            Ok(94.5e6)
        );
        assert_eq!(
            value(Quantity::ReceivedRate, "94.5 Mbit/s", Some("k")),
            Ok(94.5e6)
        );
        assert_eq!(value(Quantity::LossRatio, "25 %", None), Ok(0.25));
        assert_eq!(value(Quantity::Duration, "10", None), Ok(10.0));
        assert_eq!(value(Quantity::Payload, "1K", None), Ok(1024.0));
        assert_eq!(
            value(Quantity::ReceivedRate, "1.5E+8", Some("bit/s")),
            Ok(1.5e8)
        );
        assert!((value(Quantity::P99_DELAY, "250", Some("us")).unwrap() - 250e-6).abs() < 1e-12);
    }

    #[test]
    fn a_figure_carries_the_interval_of_its_rounding() {
        let rate = figure(Quantity::ReceivedRate, "94,5", Some("Mbit/s"), true).unwrap();
        assert!((rate.low - 94.45e6).abs() < 1.0 && (rate.high - 94.55e6).abs() < 1.0);
    }

    #[test]
    fn what_is_no_figure_is_said() {
        let why = |quantity, text, unit| value(quantity, text, unit).unwrap_err();
        assert!(why(Quantity::ReceivedRate, "fast", None).contains("not a number"));
        assert!(why(Quantity::ReceivedRate, "-1", Some("M")).contains("not a number"));
        assert!(why(Quantity::ReceivedRate, "1,000", Some("M")).contains("thousands"));
        assert!(why(Quantity::ReceivedRate, "94.5", None).contains("such as :Mbit/s"));
        assert!(why(Quantity::ReceivedRate, "94.5", Some("MB/s")).contains("bytes"));
        assert!(why(Quantity::MEDIAN_DELAY, "3", None).contains("such as :us"));
        assert!(why(Quantity::LossRatio, "0.5", None).contains(":% or :ratio"));
        assert!(why(Quantity::LossRatio, "101", Some("%")).contains("at most 1"));
        assert!(direction("sideways").is_err() && transport("sctp").is_err());
    }
}

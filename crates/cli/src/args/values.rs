//! How the values of options are read.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use linerate_model::spec::{DatapathChoice, Pace, Pinning};
use linerate_model::units::UnitError;
use linerate_model::{BitRate, ByteCount, Ratio};
use linerate_studies::run::{Mode, NamedMode, parse_pinning};

pub(crate) fn rate(text: &str) -> Result<BitRate, UnitError> {
    text.parse()
}

pub(crate) fn size(text: &str) -> Result<ByteCount, UnitError> {
    text.parse()
}

pub(crate) fn share(text: &str) -> Result<Ratio, UnitError> {
    text.parse()
}

/// Longest title: a line of a wide terminal.
const MAX_TITLE_CHARS: usize = 200;

pub(crate) fn title(text: &str) -> Result<String, String> {
    let title = text.trim();
    match title.chars().count() {
        0 => Err("a title has at least one character".to_owned()),
        1..=MAX_TITLE_CHARS if !title.chars().any(char::is_control) => Ok(title.to_owned()),
        _ => Err(format!(
            "a title is one line of at most {MAX_TITLE_CHARS} characters"
        )),
    }
}

pub(crate) fn pace(text: &str) -> Result<Pace, String> {
    match text {
        "max" => Ok(Pace::Unpaced),
        _ => match text.parse::<BitRate>() {
            Ok(rate) if rate.bps() > 0 => Ok(Pace::At(rate)),
            Ok(_) => Err("a rate of 0 sends nothing; say `max` for unpaced".to_owned()),
            Err(error) => Err(format!("{error}, and not `max`")),
        },
    }
}

pub(crate) fn pinning(text: &str) -> Result<Pinning, String> {
    parse_pinning(text)
}

/// The ways to wait that this build knows.
pub(crate) fn modes() -> impl TypedValueParser<Value = Mode> {
    let shown =
        |known: NamedMode| PossibleValue::new(known.name).help(known.summary.trim_end_matches('.'));
    PossibleValuesParser::new(Mode::known().map(shown)).try_map(|name| name.parse::<Mode>())
}

pub(crate) fn datapath(text: &str) -> Result<DatapathChoice, UnitError> {
    text.parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_may_be_left_out() {
        assert_eq!(
            pinning("0,1"),
            Ok(Pinning {
                local: Some(0),
                remote: Some(1)
            })
        );
        assert_eq!(
            pinning(",3"),
            Ok(Pinning {
                local: None,
                remote: Some(3)
            })
        );
        assert!(pinning("3").is_err());
        assert!(pinning("a,b").is_err());
    }

    #[test]
    fn a_rate_of_zero_is_told_apart_from_max() {
        assert_eq!(pace("max"), Ok(Pace::Unpaced));
        assert!(pace("0").unwrap_err().contains("max"));
        assert!(pace("10X").unwrap_err().contains("10X"));
    }

    #[test]
    fn datapath_parameters_are_generic() {
        let choice = datapath("sockets,gso=true").unwrap();
        assert_eq!(choice.params["gso"], "true");
        assert!(datapath("sockets,gso").is_err());
    }
}

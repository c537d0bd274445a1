//! How the values of options are read.

use linerate_model::spec::DatapathChoice;
use linerate_model::units::UnitError;
use linerate_model::{BitRate, ByteCount, Ratio};

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

pub(crate) fn datapath(text: &str) -> Result<DatapathChoice, UnitError> {
    text.parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datapath_parameters_are_generic() {
        let choice = datapath("sockets,gso=true").unwrap();
        assert_eq!(choice.params["gso"], "true");
        assert!(datapath("sockets,gso").is_err());
    }
}

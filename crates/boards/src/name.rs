//! Names of boards.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The name of a board: letters, digits, `-` and `_`, so that it can be part of a path, a URL and a host name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct BoardName(String);

/// Maximum length: that of a host name's label (RFC 1035, section 2.3.4).
const MAX_LENGTH: usize = 63;

impl BoardName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for BoardName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let begins_well = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        if begins_well && text.len() <= MAX_LENGTH && text.chars().all(is_plain) {
            return Ok(Self(text.to_owned()));
        }
        Err(format!(
            "\"{text}\" is not the name of a board: 1 to {MAX_LENGTH} letters, digits, - or _, beginning with a letter or digit"
        ))
    }
}

impl TryFrom<String> for BoardName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for BoardName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_out_of_no_folder() {
        assert!("unleashed-2_b".parse::<BoardName>().is_ok());
        let long = "a".repeat(64);
        for text in ["", ".", "..", "a/b", "-a", "a b", "ä", long.as_str()] {
            assert!(text.parse::<BoardName>().is_err(), "{text}");
        }
    }
}

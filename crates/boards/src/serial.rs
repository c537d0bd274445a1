//! Serial numbers of boards, and the MAC addresses that follow from them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

/// A board's serial number: 24 bits. The same number gives the same MAC address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SerialNumber(u32);

impl SerialNumber {
    /// Maximum.
    pub const MAX: u32 = 0x00ff_ffff;

    /// `None` above [`Self::MAX`].
    pub fn new(number: u32) -> Option<Self> {
        (number <= Self::MAX).then_some(Self(number))
    }

    /// The number.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The MAC address: three bytes that QEMU gives to emulated NICs (locally administered), then the number.
    pub fn mac(self) -> String {
        let [_, a, b, c] = self.0.to_be_bytes();
        format!("52:54:00:{a:02x}:{b:02x}:{c:02x}")
    }
}

impl FromStr for SerialNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text
            .parse()
            .map_err(|error: ParseIntError| error.to_string());
        number.and_then(|number| {
            Self::new(number).ok_or_else(|| format!("a serial number is at most {}", Self::MAX))
        })
    }
}

impl fmt::Display for SerialNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_serial_number_has_a_mac_address_of_its_own() {
        let mac = |text: &str| text.parse::<SerialNumber>().unwrap().mac();
        assert_eq!(mac("1"), "52:54:00:00:00:01");
        assert_eq!(mac("16777215"), "52:54:00:ff:ff:ff");
        assert!("16777216".parse::<SerialNumber>().is_err());
        assert!("x".parse::<SerialNumber>().is_err());
    }
}

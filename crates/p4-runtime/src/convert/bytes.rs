//! Byte strings: big-endian numbers, shortest when sent, of any length when received.
//!
//! # References
//! - P4Runtime specification 1.5.0, section 8.4

use crate::proto::p4::v1::Uint128;
use crate::refusal::{Result, out_of_range};

/// An election id.
impl From<u128> for Uint128 {
    fn from(id: u128) -> Self {
        let word = |value: u128| u64::try_from(value & u128::from(u64::MAX)).unwrap_or_default();
        Self {
            high: word(id >> 64),
            low: word(id),
        }
    }
}

/// The shortest form of a number.
pub(crate) fn canonical(bytes: &[u8]) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let zeros = zeros.min(bytes.len().saturating_sub(1));
    bytes.get(zeros..).unwrap_or_default().to_vec()
}

/// Bits that a number needs.
pub(crate) fn bits(bytes: &[u8]) -> usize {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let top = bytes
        .get(zeros)
        .map_or(0, |top| top.leading_zeros() as usize);
    (bytes.len() - zeros) * 8 - top
}

/// The number in its shortest form, if it has at most this many bits.
pub(super) fn number(bytes: &[u8], width: u32, name: &str) -> Result<Vec<u8>> {
    if bytes.is_empty() {
        return out_of_range(format!("the value of {name} is empty; 0 is one byte"));
    }
    if bits(bytes) > width as usize {
        return out_of_range(format!("the value of {name} does not fit in {width} bits"));
    }
    Ok(canonical(bytes))
}

/// The number, if it has at most 32 bits.
pub(super) fn small(bytes: &[u8], name: &str) -> Result<u32> {
    let bytes = number(bytes, 32, name)?;
    Ok(bytes
        .iter()
        .fold(0, |value, byte| value << 8 | u32::from(*byte)))
}

/// The number in whole bytes for so many bits.
pub(super) fn padded(bytes: &[u8], width: u32) -> Vec<u8> {
    let length = (width as usize).div_ceil(8);
    let mut padded = vec![0; length.saturating_sub(bytes.len())];
    let surplus = bytes.len().saturating_sub(length);
    padded.extend_from_slice(bytes.get(surplus..).unwrap_or_default());
    padded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_form_is_sent_and_any_length_is_taken() {
        assert_eq!(canonical(&[0, 0, 1, 2]), [1, 2]);
        assert_eq!(canonical(&[0, 0]), [0]);
        assert_eq!(canonical(&[]), [0; 0]);
        // The specification's examples.
        for (bytes, width, fits) in [
            (&[0x63][..], 8, true),
            (&[0, 0x63], 16, true),
            (&[0x30, 0x64], 16, true),
            (&[0, 0, 0x63], 12, true),
            (&[1, 0x63], 8, false),
            (&[], 8, false),
            (&[1, 0, 0x63], 16, false),
            (&[0x10, 0x63], 12, false),
            (&[0, 0x40, 0x63], 12, false),
            (&[1], 1, true),
            (&[2], 1, false),
            (&[0], 1, true),
        ] {
            assert_eq!(
                number(bytes, width, "x").is_ok(),
                fits,
                "{bytes:?} in {width}"
            );
        }
        assert_eq!(padded(&[1], 17), [0, 0, 1]);
        assert_eq!(padded(&[0, 0, 0, 1], 9), [0, 1]);
    }
}

//! Words and values of STF lines.

/// Splits a line into names, numbers, and punctuation; `#` begins a comment.
pub(super) fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut chars = line.chars().peekable();
    while let Some(first) = chars.next() {
        let mut word = String::from(first);
        match first {
            '#' => break,
            '(' | ')' | ':' | ',' => {}
            '=' | '!' | '<' | '>' => {
                if chars.peek() == Some(&'=') {
                    word.extend(chars.next());
                }
            }
            '"' => {
                word.clear();
                word.extend(chars.by_ref().take_while(|next| *next != '"'));
            }
            first if first.is_whitespace() => continue,
            _ => {
                let inside = |next: &char| !next.is_whitespace() && !"()=:,#!<>".contains(*next);
                while let Some(next) = chars.next_if(inside) {
                    word.push(next);
                }
            }
        }
        words.push(word);
    }
    words
}

/// A number, with digits that may be anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Digits {
    /// Big-endian; don't-care digits are zero.
    pub(super) value: Vec<u8>,
    /// Ones for the digits that are written, where the base has whole bits.
    pub(super) mask: Option<Vec<u8>>,
    /// Bits of the digits before the first don't-care one.
    pub(super) prefix: Option<u32>,
}

impl Digits {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        let (digits, base, bits) = match lower.get(..2) {
            Some("0x") => (&lower[2..], 16, 4),
            Some("0b") => (&lower[2..], 2, 1),
            Some("0o") => (&lower[2..], 8, 3),
            _ => {
                let value: u128 = lower.parse().ok()?;
                return Some(Self {
                    value: value.to_be_bytes().to_vec(),
                    mask: None,
                    prefix: None,
                });
            }
        };
        let digits: String = digits.chars().filter(|digit| *digit != '_').collect();
        if digits.is_empty() || digits.len() > 4096 {
            return None;
        }
        let count = digits.len() * bits;
        let (mut value, mut mask) = (vec![0; count.div_ceil(8)], vec![0; count.div_ceil(8)]);
        let put = |bytes: &mut [u8], at: usize, digit: u32| {
            for bit in 0..bits {
                let from_end = at * bits + bit;
                let end = bytes.len();
                bytes[end - 1 - from_end / 8] |= u8::from(digit >> bit & 1 == 1) << (from_end % 8);
            }
        };
        for (at, digit) in digits
            .chars()
            .rev()
            .enumerate()
            .filter(|(_, digit)| *digit != '*')
        {
            put(&mut value, at, digit.to_digit(base)?);
            put(&mut mask, at, base - 1);
        }
        let written = digits.find('*').unwrap_or(digits.len());
        Some(Self {
            value,
            mask: Some(mask),
            prefix: u32::try_from(written * bits).ok(),
        })
    }

    /// As a small number.
    pub(super) fn number(&self) -> Option<u64> {
        let zero = self.value.len().saturating_sub(8);
        let (high, low) = self.value.split_at(zero);
        high.iter().all(|byte| *byte == 0).then(|| {
            low.iter()
                .fold(0, |number, byte| number << 8 | u64::from(*byte))
        })
    }
}

/// The value of a key's field, as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyValue {
    /// `0x0a**` or `10`.
    Digits(Digits),
    /// `0x0a000000/8`.
    Prefix {
        /// The value.
        value: Vec<u8>,
        /// Leading bits that count.
        bits: u32,
    },
    /// `0x0a00&&&0xff00`.
    Mask {
        /// The value.
        value: Vec<u8>,
        /// Bits that count.
        mask: Vec<u8>,
    },
    /// `80..443`, both included.
    Range {
        /// The smallest.
        low: Vec<u8>,
        /// The largest.
        high: Vec<u8>,
    },
}

impl KeyValue {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let value = |text| Some(Digits::parse(text)?.value);
        if let Some((low, high)) = text.split_once("..") {
            let (low, high) = (value(low)?, value(high)?);
            return Some(Self::Range { low, high });
        }
        if let Some((text, mask)) = text.split_once("&&&") {
            let (value, mask) = (value(text)?, value(mask)?);
            return Some(Self::Mask { value, mask });
        }
        let Some((text, bits)) = text.split_once('/') else {
            return Digits::parse(text).map(Self::Digits);
        };
        let bits = bits.parse().ok()?;
        let value = value(text)?;
        Some(Self::Prefix { value, bits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_split_at_punctuation_and_end_at_comments() {
        let words = split("add t1 10 a.b:0x1* c( x : 1,y:2 ) = e # and so on");
        assert_eq!(
            words.join(" "),
            "add t1 10 a.b : 0x1* c ( x : 1 , y : 2 ) = e"
        );
        assert_eq!(
            split("check_counter c(0) packets >= 2").join(" "),
            "check_counter c ( 0 ) packets >= 2"
        );
    }

    #[test]
    fn digits_have_masks_and_prefixes() {
        let digits = Digits::parse("0x0a01****").unwrap();
        assert_eq!(digits.value, [0x0a, 1, 0, 0]);
        assert_eq!(digits.mask.unwrap(), [0xff, 0xff, 0, 0]);
        assert_eq!(digits.prefix, Some(16));
        assert_eq!(Digits::parse("0b1*0").unwrap().mask.unwrap(), [0b101]);
        assert_eq!(Digits::parse("300").unwrap().number(), Some(300));
        assert_eq!(Digits::parse("0xg"), None);
        assert_eq!(Digits::parse("-1"), None);
    }

    #[test]
    fn keys_are_values_prefixes_masks_and_ranges() {
        let value = vec![0x0a, 0];
        assert_eq!(
            KeyValue::parse("0x0a00/8"),
            Some(KeyValue::Prefix {
                value: value.clone(),
                bits: 8
            })
        );
        let mask = vec![0xff, 0];
        assert_eq!(
            KeyValue::parse("0x0a00&&&0xff00"),
            Some(KeyValue::Mask { value, mask })
        );
        assert_eq!(
            KeyValue::parse("0x01..0x02"),
            Some(KeyValue::Range {
                low: vec![1],
                high: vec![2]
            })
        );
        assert!(matches!(KeyValue::parse("7"), Some(KeyValue::Digits(_))));
        for wrong in ["/8", "1/", "1/x", "1..", "..2", "1&&&", "1/8/8"] {
            assert_eq!(KeyValue::parse(wrong), None, "{wrong}");
        }
    }
}

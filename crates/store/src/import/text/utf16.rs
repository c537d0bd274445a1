//! UTF-16 as UTF-8: PowerShell's `>` and Windows' editors write it, with and without a byte order mark.

use super::begin;
use std::io::{self, BufRead, Read};

/// Code units that are decoded at once.
const UNITS: usize = 4096;
/// Bytes of a text's beginning that tell its encoding without a mark.
const LOOK_BYTES: usize = 128;

/// In which order the two bytes of a unit come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Big,
    Little,
}

impl Order {
    /// The order in which a text that begins so is UTF-16; `None` if it is not.
    fn detect(begin: &[u8]) -> Option<Self> {
        match begin {
            [0xFF, 0xFE, ..] => return Some(Self::Little),
            [0xFE, 0xFF, ..] => return Some(Self::Big),
            _ => {}
        }
        let pairs = begin[..begin.len().min(LOOK_BYTES)].chunks_exact(2);
        let count = pairs.len();
        let mut zeros = [0, 0];
        for pair in pairs {
            for (zeros, byte) in zeros.iter_mut().zip(pair) {
                *zeros += usize::from(*byte == 0);
            }
        }
        // The upper byte of Latin text is zero, the lower one never. Some names are not Latin.
        let most = count - count / 8;
        match zeros {
            [0, upper] if count > 1 && upper >= most => Some(Self::Little),
            [upper, 0] if count > 1 && upper >= most => Some(Self::Big),
            _ => None,
        }
    }

    const fn unit(self, pair: [u8; 2]) -> u16 {
        match self {
            Self::Big => u16::from_be_bytes(pair),
            Self::Little => u16::from_le_bytes(pair),
        }
    }
}

/// The text of `from` as UTF-8, if its beginning says that it is UTF-16; else as it is.
pub(in crate::import) fn decoded<'a>(
    mut from: Box<dyn BufRead + 'a>,
) -> io::Result<Box<dyn BufRead + 'a>> {
    Ok(match Order::detect(begin(&mut *from)?) {
        Some(order) => Box::new(Utf16 {
            from,
            order,
            high: None,
            text: String::new(),
            at: 0,
        }),
        None => from,
    })
}

struct Utf16<'a> {
    from: Box<dyn BufRead + 'a>,
    order: Order,
    /// The first half of a character that the last units ended in.
    high: Option<u16>,
    text: String,
    /// Bytes of `text` that were taken.
    at: usize,
}

impl Utf16<'_> {
    /// Decodes the next units; a half that has no other one becomes U+FFFD.
    fn fill(&mut self) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(2 * UNITS);
        self.from
            .by_ref()
            .take(2 * UNITS as u64)
            .read_to_end(&mut bytes)?;
        let is_last = bytes.len() < 2 * UNITS;
        let pairs = bytes.chunks_exact(2);
        let mut units: Vec<u16> = self.high.take().into_iter().collect();
        units.extend(pairs.map(|pair| self.order.unit([pair[0], pair[1]])));
        if !is_last {
            let is_high = |unit: &u16| (0xD800..0xDC00).contains(unit);
            self.high = units.pop_if(|unit| is_high(unit));
        }
        let decoded = char::decode_utf16(units);
        self.text = decoded
            .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        self.at = 0;
        Ok(())
    }
}

impl BufRead for Utf16<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.text.len() {
            self.fill()?;
        }
        Ok(&self.text.as_bytes()[self.at..])
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
    }
}

impl Read for Utf16<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(into)?;
        self.consume(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of bytes that are UTF-16.
    fn decode(bytes: &[u8]) -> Option<Vec<u8>> {
        Order::detect(bytes)?;
        let mut text = Vec::new();
        let read = decoded(Box::new(bytes)).and_then(|mut from| from.read_to_end(&mut text));
        read.is_ok().then_some(text)
    }

    fn encoded(text: &str, mark: bool, order: Order) -> Vec<u8> {
        let mark = mark.then_some(0xFEFF_u16);
        let units = mark.into_iter().chain(text.encode_utf16());
        units
            .flat_map(|unit| match order {
                Order::Big => unit.to_be_bytes(),
                Order::Little => unit.to_le_bytes(),
            })
            .collect()
    }

    #[test]
    fn both_orders_are_read_with_and_without_a_mark() {
        // Longer than what is decoded at once, with characters of two units across its borders.
        let text =
            "iperf3 -c host -t 5 --title text\r\n".repeat(8) + &"\u{1F600}".repeat(2 * UNITS + 1);
        for order in [Order::Big, Order::Little] {
            for mark in [true, false] {
                let read = decode(&encoded(&text, mark, order)).unwrap();
                let read = String::from_utf8(read).unwrap();
                assert_eq!(read.trim_start_matches('\u{FEFF}'), text);
            }
        }
    }

    #[test]
    fn other_bytes_are_no_utf_16() {
        for bytes in [
            &b""[..],
            b"a",
            b"plain text",
            b"a\0",
            b"\0\0\0\0",
            b"\x7fELF\0\0\0\0",
        ] {
            assert_eq!(decode(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn a_torn_text_is_read_to_its_tear() {
        let mut bytes = encoded("ab\u{1F600}", true, Order::Little);
        bytes.truncate(bytes.len() - 2);
        let read = String::from_utf8(decode(&bytes).unwrap()).unwrap();
        assert_eq!(read, "\u{FEFF}ab\u{FFFD}");
    }
}

//! Values: decimal, hexadecimal, IPv4, IPv6 and MAC addresses.

use crate::convert::canonical;
use crate::info::{FieldSchema, Translation};
use std::net::{Ipv4Addr, Ipv6Addr};

/// A number of any width from its digits, big-endian.
fn digits(text: &str, radix: u32) -> Option<Vec<u8>> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut any = false;
    for digit in text.chars().filter(|digit| *digit != '_') {
        let mut carry = digit.to_digit(radix)?;
        for byte in bytes.iter_mut().rev() {
            let sum = u32::from(*byte) * radix + carry;
            *byte = u8::try_from(sum & 0xff).unwrap_or_default();
            carry = sum >> 8;
        }
        if carry > 0 {
            bytes.insert(0, u8::try_from(carry).unwrap_or_default());
        }
        // A wider number fits no field.
        if bytes.len() > 256 {
            return None;
        }
        any = true;
    }
    any.then(|| if bytes.is_empty() { vec![0] } else { bytes })
}

/// A value in any of its notations, in its shortest form.
pub(super) fn parse(text: &str) -> Option<Vec<u8>> {
    let text = text.trim();
    let prefixed =
        |short: &str, long: &str| text.strip_prefix(short).or_else(|| text.strip_prefix(long));
    if let Some(hex) = prefixed("0x", "0X") {
        return digits(hex, 16).map(|bytes| canonical(&bytes));
    }
    if let Some(binary) = prefixed("0b", "0B") {
        return digits(binary, 2).map(|bytes| canonical(&bytes));
    }
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        return Some(canonical(&address.octets()));
    }
    let parts: Vec<_> = text.split([':', '-']).collect();
    if parts.len() == 6 && parts.iter().all(|part| (1..=2).contains(&part.len())) {
        let bytes: Option<Vec<u8>> = parts
            .iter()
            .map(|part| u8::from_str_radix(part, 16).ok())
            .collect();
        return bytes.map(|bytes| canonical(&bytes));
    }
    if let Ok(address) = text.parse::<Ipv6Addr>() {
        return Some(canonical(&address.octets()));
    }
    digits(text, 10).map(|bytes| canonical(&bytes))
}

/// A value of a field in any notation, as it is sent; `None` for one that is none.
pub(super) fn parse_for(field: &FieldSchema, text: &str) -> Option<Vec<u8>> {
    match field.translation {
        Translation::Text => Some(text.as_bytes().to_vec()).filter(|text| !text.is_empty()),
        Translation::None | Translation::Width => parse(text),
    }
}

/// How values of a field are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notation {
    Text,
    Ipv4,
    Ipv6,
    Mac,
    Hex,
    Decimal,
}

fn notation(field: &FieldSchema) -> Notation {
    if field.translation == Translation::Text {
        return Notation::Text;
    }
    let name = field.name.to_lowercase();
    let last = name.rsplit('.').next().unwrap_or_default();
    let addresses = ["addr", "ip", "src", "dst", "hop", "gateway"];
    match (field.format.as_deref(), field.width) {
        (Some("IPV4_ADDRESS"), 32) => Notation::Ipv4,
        (Some("IPV6_ADDRESS") | None, 128) => Notation::Ipv6,
        (Some("MAC_ADDRESS") | None, 48) => Notation::Mac,
        (Some("HEX_STR"), _) => Notation::Hex,
        (None, 32) if addresses.iter().any(|known| last.contains(known)) => Notation::Ipv4,
        (None, 16) if last.contains("type") => Notation::Hex,
        (_, 0..=32) => Notation::Decimal,
        _ => Notation::Hex,
    }
}

fn wide<const N: usize>(value: &[u8]) -> [u8; N] {
    let mut wide = [0; N];
    let count = value.len().min(N);
    wide[N - count..].copy_from_slice(&value[value.len() - count..]);
    wide
}

fn hex(value: &[u8]) -> String {
    let digits = linerate_p4::hex(value);
    let digits = digits.trim_start_matches('0');
    format!("0x{}", if digits.is_empty() { "0" } else { digits })
}

/// A value of a field, in words.
pub(super) fn show(field: &FieldSchema, value: &[u8]) -> String {
    match notation(field) {
        Notation::Text => String::from_utf8_lossy(value).escape_debug().to_string(),
        Notation::Ipv4 => Ipv4Addr::from(wide::<4>(value)).to_string(),
        Notation::Ipv6 => Ipv6Addr::from(wide::<16>(value)).to_string(),
        Notation::Mac => wide::<6>(value).map(|byte| format!("{byte:02x}")).join(":"),
        Notation::Hex => hex(value),
        Notation::Decimal => u64::from_be_bytes(wide::<8>(value)).to_string(),
    }
}

/// A mask of a field: as an address where values are, else in hexadecimal digits.
pub(super) fn show_mask(field: &FieldSchema, mask: &[u8]) -> String {
    match notation(field) {
        Notation::Decimal => hex(mask),
        _ => show(field, mask),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::FieldKind;

    fn field(name: &str, width: u32) -> FieldSchema {
        FieldSchema {
            id: 1,
            name: name.to_owned(),
            width,
            kind: FieldKind::Exact,
            translation: Translation::None,
            format: None,
        }
    }

    #[test]
    fn every_notation_is_read() {
        for (text, value) in [
            ("0", vec![0]),
            ("256", vec![1, 0]),
            ("18446744073709551616", vec![1, 0, 0, 0, 0, 0, 0, 0, 0]),
            ("0x0a_ff", vec![0x0a, 0xff]),
            ("0b101", vec![5]),
            ("10.0.0.1", vec![10, 0, 0, 1]),
            ("0a:00:00:00:00:01", vec![0x0a, 0, 0, 0, 0, 1]),
            (
                "fe80::1",
                Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1).octets().to_vec(),
            ),
        ] {
            assert_eq!(parse(text), Some(value), "{text}");
        }
        for text in ["", "x", "0x", "1.2.3", "12a", "0a:00:00:00:00:zz"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn values_are_shown_as_engineers_write_them() {
        for (name, width, value, text) in [
            ("hdr.ipv4.dstAddr", 32, vec![10, 0, 0, 1], "10.0.0.1"),
            ("meta.count", 32, vec![1, 0], "256"),
            ("hdr.ethernet.dst", 48, vec![1], "00:00:00:00:00:01"),
            ("hdr.ethernet.type", 16, vec![8, 0], "0x800"),
            ("port", 9, vec![1, 0], "256"),
            ("hdr.ipv6.src", 128, vec![1], "::1"),
            ("wide", 80, vec![0x0f, 1], "0xf01"),
        ] {
            let shown = show(&field(name, width), &value);
            assert_eq!(shown, text);
            assert_eq!(parse(&shown), Some(value));
        }
    }
}

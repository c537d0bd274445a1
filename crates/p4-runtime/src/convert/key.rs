//! Keys of entries and members of value sets.

use super::bytes::{canonical, number, padded};
use crate::info::{FieldKind, FieldSchema};
use crate::proto::p4::v1::{FieldMatch, field_match, field_match::FieldMatchType};
use crate::refusal::{Result, invalid};
use linerate_p4::Match;
use std::collections::BTreeMap;

/// A match for each field, from messages in any order; fields that are left out match anything.
pub(super) fn matches(fields: &[FieldSchema], key: &[FieldMatch]) -> Result<Vec<Match>> {
    let mut given = BTreeMap::new();
    for one in key {
        if !fields.iter().any(|field| field.id == one.field_id) {
            return invalid(format!("the key has no field {}", one.field_id));
        }
        if given.insert(one.field_id, one).is_some() {
            return invalid(format!("field {} is given twice", one.field_id));
        }
    }
    let one = |field: &FieldSchema| match given.get(&field.id) {
        Some(given) => field_match(field, given),
        None if field.kind == FieldKind::Exact => {
            invalid(format!("{} is missing: it is matched exactly", field.name))
        }
        None => Ok(Match::Any),
    };
    fields.iter().map(one).collect()
}

fn field_match(field: &FieldSchema, given: &FieldMatch) -> Result<Match> {
    let value = |bytes: &[u8]| number(bytes, field.width, &field.name);
    let name = &field.name;
    match (field.kind, &given.field_match_type) {
        (FieldKind::Exact, Some(FieldMatchType::Exact(one))) => {
            Ok(Match::Exact(value(&one.value)?))
        }
        (FieldKind::Optional, Some(FieldMatchType::Optional(one))) => {
            Ok(Match::Exact(value(&one.value)?))
        }
        (FieldKind::Lpm, Some(FieldMatchType::Lpm(one))) => {
            let length = u32::try_from(one.prefix_len).ok();
            let Some(prefix) = length.filter(|length| (1..=field.width).contains(length)) else {
                return invalid(format!(
                    "{name} has a prefix of {} of {} bits; leave the field out to match anything",
                    one.prefix_len, field.width
                ));
            };
            let value = value(&one.value)?;
            if trailing_zeros(&value, field.width) < field.width - prefix {
                return invalid(format!(
                    "{name} has ones behind its prefix of {prefix} bits"
                ));
            }
            Ok(Match::Lpm { value, prefix })
        }
        (FieldKind::Ternary, Some(FieldMatchType::Ternary(one))) => {
            let (value, mask) = (value(&one.value)?, value(&one.mask)?);
            let (wide, ones) = (padded(&value, field.width), padded(&mask, field.width));
            if ones.iter().all(|byte| *byte == 0) {
                return invalid(format!(
                    "the mask of {name} is 0; leave the field out to match anything"
                ));
            }
            if wide
                .iter()
                .zip(&ones)
                .any(|(value, mask)| value & !mask != 0)
            {
                return invalid(format!("{name} has ones where its mask has none"));
            }
            Ok(Match::Ternary { value, mask })
        }
        (FieldKind::Range, Some(FieldMatchType::Range(one))) => {
            let (low, high) = (value(&one.low)?, value(&one.high)?);
            if padded(&low, field.width) > padded(&high, field.width) {
                return invalid(format!("the range of {name} ends before it begins"));
            }
            if is_all(&low, &high, field.width) {
                return invalid(format!(
                    "the range of {name} is everything; leave the field out"
                ));
            }
            Ok(Match::Range { low, high })
        }
        (_, None) => invalid(format!("the match of {name} says nothing")),
        (kind, Some(_)) => invalid(format!("{name} is matched as {kind:?}")),
    }
}

fn trailing_zeros(value: &[u8], width: u32) -> u32 {
    let mut zeros = 0;
    for byte in value.iter().rev() {
        if *byte != 0 {
            return zeros + byte.trailing_zeros();
        }
        zeros += 8;
    }
    width
}

/// Whether a range is that of all values.
fn is_all(low: &[u8], high: &[u8], width: u32) -> bool {
    let ones: u32 = high.iter().map(|byte| byte.count_ones()).sum();
    low.iter().all(|byte| *byte == 0) && ones == width
}

/// The message of a field's match; none where it matches anything.
fn message(field: &FieldSchema, one: &Match) -> Option<FieldMatch> {
    let kind = match (field.kind, one) {
        (_, Match::Any | Match::Lpm { prefix: 0, .. }) => return None,
        (FieldKind::Optional, Match::Exact(value)) => optional(value),
        (FieldKind::Optional, Match::Ternary { value, mask }) => {
            if mask.iter().all(|byte| *byte == 0) {
                return None;
            }
            optional(value)
        }
        (_, Match::Exact(value)) => FieldMatchType::Exact(field_match::Exact {
            value: canonical(value),
        }),
        (_, Match::Valid(valid)) => FieldMatchType::Exact(field_match::Exact {
            value: vec![u8::from(*valid)],
        }),
        (_, Match::Lpm { value, prefix }) => FieldMatchType::Lpm(field_match::Lpm {
            value: canonical(value),
            prefix_len: i32::try_from(*prefix).unwrap_or(i32::MAX),
        }),
        (_, Match::Ternary { value, mask }) => {
            if mask.iter().all(|byte| *byte == 0) {
                return None;
            }
            FieldMatchType::Ternary(field_match::Ternary {
                value: canonical(value),
                mask: canonical(mask),
            })
        }
        (_, Match::Range { low, high }) => {
            if is_all(low, high, field.width) {
                return None;
            }
            FieldMatchType::Range(field_match::Range {
                low: canonical(low),
                high: canonical(high),
            })
        }
    };
    Some(FieldMatch {
        field_id: field.id,
        field_match_type: Some(kind),
    })
}

fn optional(value: &[u8]) -> FieldMatchType {
    let value = canonical(value);
    FieldMatchType::Optional(field_match::Optional { value })
}

/// The messages of a key.
pub(super) fn messages(fields: &[FieldSchema], key: &[Match]) -> Vec<FieldMatch> {
    let pairs = fields.iter().zip(key);
    pairs
        .filter_map(|(field, one)| message(field, one))
        .collect()
}

/// A member of a value set: value and mask over all of its fields, most significant first.
pub(super) fn set_member(fields: &[FieldSchema], key: &[FieldMatch]) -> Result<(Vec<u8>, Vec<u8>)> {
    let total: u32 = fields.iter().map(|field| field.width).sum();
    let (mut value, mut mask) = (Bits::new(total), Bits::new(total));
    for (field, one) in fields.iter().zip(matches(fields, key)?) {
        let all = ones(field.width);
        match one {
            Match::Exact(exact) => (
                value.push(&exact, field.width),
                mask.push(&all, field.width),
            ),
            Match::Ternary {
                value: of,
                mask: by,
            } => (value.push(&of, field.width), mask.push(&by, field.width)),
            Match::Lpm { value: of, prefix } => {
                let mut by = Bits::new(field.width);
                by.push(&ones(prefix), prefix);
                (
                    value.push(&of, field.width),
                    mask.push(&by.bytes, field.width),
                )
            }
            Match::Any => (value.push(&[0], field.width), mask.push(&[0], field.width)),
            Match::Range { .. } | Match::Valid(_) => {
                return invalid(format!("{} is a range: value sets have none", field.name));
            }
        };
    }
    Ok((value.bytes, mask.bytes))
}

/// The messages of a value set's member.
pub(super) fn set_messages(fields: &[FieldSchema], value: &[u8], mask: &[u8]) -> Vec<FieldMatch> {
    let total: u32 = fields.iter().map(|field| field.width).sum();
    let (value, mask) = (Bits::from(value, total), Bits::from(mask, total));
    let mut at = 0;
    let mut messages = Vec::new();
    for field in fields {
        let (of, by) = (value.get(at, field.width), mask.get(at, field.width));
        at += field.width;
        let prefix = by.iter().map(|byte| byte.count_ones()).sum();
        let one = match field.kind {
            FieldKind::Exact => Match::Exact(of),
            FieldKind::Lpm => Match::Lpm { value: of, prefix },
            FieldKind::Ternary | FieldKind::Optional | FieldKind::Range => Match::Ternary {
                value: of,
                mask: by,
            },
        };
        messages.extend(message(field, &one));
    }
    messages
}

fn ones(width: u32) -> Vec<u8> {
    let mut bytes = vec![0xff; (width as usize).div_ceil(8)];
    if let (Some(top), rest @ 1..) = (bytes.first_mut(), width % 8) {
        *top >>= 8 - rest;
    }
    bytes
}

/// Numbers one behind the other, as one big-endian number of so many bits.
pub(super) struct Bits {
    pub(super) bytes: Vec<u8>,
    width: u32,
    filled: u32,
}

impl Bits {
    pub(super) fn new(width: u32) -> Self {
        Self {
            bytes: vec![0; (width as usize).div_ceil(8)],
            width,
            filled: 0,
        }
    }

    pub(super) fn from(bytes: &[u8], width: u32) -> Self {
        Self {
            bytes: padded(bytes, width),
            width,
            filled: width,
        }
    }

    /// The bit of the number that is `at` bits behind its first.
    fn place(&self, at: u32) -> (usize, u32) {
        let surplus = u32::try_from(self.bytes.len() * 8).unwrap_or(0) - self.width;
        let at = at + surplus;
        ((at / 8) as usize, 7 - at % 8)
    }

    /// Appends the low bits of a number.
    pub(super) fn push(&mut self, number: &[u8], width: u32) {
        let number = Self::from(number, width);
        for at in 0..width.min(self.width - self.filled) {
            let (byte, shift) = number.place(at);
            let bit = number.bytes[byte] >> shift & 1;
            let (byte, shift) = self.place(self.filled + at);
            self.bytes[byte] |= bit << shift;
        }
        self.filled = self.width.min(self.filled + width);
    }

    /// The number of so many bits that begins `at` bits behind the first.
    pub(super) fn get(&self, at: u32, width: u32) -> Vec<u8> {
        let mut part = Self::new(width);
        for bit in 0..width {
            let (byte, shift) = self.place(at + bit);
            let value = self.bytes[byte] >> shift & 1;
            let (byte, shift) = part.place(bit);
            part.bytes[byte] |= value << shift;
        }
        part.bytes
    }
}

//! Keys of entries, as STF writes them.

use super::statement::Pair;
use super::words::KeyValue;
use crate::exec::Match;
use crate::program::{KeyField, MatchKind, Table};

type Result<T, E = String> = std::result::Result<T, E>;

/// A match for each field of the table's key. Fields that are not named match anything, exact ones 0.
pub(super) fn key_of(table: &Table, key: &[Pair]) -> Result<Vec<Match>> {
    let mut given = vec![None; table.key.len()];
    for (name, value) in key {
        let at = find_field(table, name)?;
        let read = KeyValue::parse(value);
        given[at] =
            Some(read.ok_or_else(|| {
                format!("{value:?} is not a number, a prefix, a mask or a range")
            })?);
    }
    let matches = table.key.iter().zip(given);
    matches
        .map(|(field, value)| match_of(field, value))
        .collect()
}

fn find_field(table: &Table, name: &str) -> Result<usize> {
    let indexed = match name.split_once('$') {
        Some((stack, rest)) if rest.starts_with(|first: char| first.is_ascii_digit()) => {
            let digits = rest
                .find(|next: char| !next.is_ascii_digit())
                .unwrap_or(rest.len());
            format!("{stack}[{}]{}", &rest[..digits], &rest[digits..])
        }
        _ => name.to_owned(),
    };
    let valid = indexed
        .strip_suffix(".valid")
        .map(|header| format!("{header}.$valid$"));
    let forms = [
        Some(indexed.clone()),
        Some(format!("{indexed}$")),
        Some(format!("{indexed}.$valid$")),
        valid,
    ];
    let names = || table.key.iter().map(|field| field.name.as_str());
    let exact = forms
        .iter()
        .flatten()
        .find_map(|form| names().position(|name| name == form));
    let ending = |form: &String| names().position(|name| name.ends_with(&format!(".{form}")));
    let found = exact.or_else(|| forms.iter().flatten().find_map(ending));
    found.ok_or_else(|| format!("table {} has no key {name:?}", table.name))
}

fn match_of(field: &KeyField, given: Option<KeyValue>) -> Result<Match> {
    let refuse = |what| Err(format!("{what} does not match {} keys", field.kind));
    Ok(match (given, field.kind) {
        (None, MatchKind::Exact | MatchKind::Valid) => Match::Exact(vec![0]),
        (None, MatchKind::Lpm | MatchKind::Ternary | MatchKind::Range) => Match::Any,
        (Some(KeyValue::Digits(digits)), MatchKind::Lpm) => Match::Lpm {
            value: digits.value,
            prefix: digits.prefix.unwrap_or(field.width).min(field.width),
        },
        (Some(KeyValue::Prefix { value, bits }), MatchKind::Lpm) => Match::Lpm {
            value,
            prefix: bits,
        },
        (Some(KeyValue::Digits(digits)), MatchKind::Ternary) => match digits.mask {
            Some(mask) => Match::Ternary {
                value: digits.value,
                mask,
            },
            None => Match::Exact(digits.value),
        },
        (Some(KeyValue::Mask { value, mask }), MatchKind::Ternary) => {
            Match::Ternary { value, mask }
        }
        (Some(KeyValue::Digits(digits)), MatchKind::Range) => Match::Range {
            low: digits.value.clone(),
            high: digits.value,
        },
        (Some(KeyValue::Range { low, high }), MatchKind::Range) => Match::Range { low, high },
        (Some(KeyValue::Digits(digits)), MatchKind::Exact | MatchKind::Valid) => {
            Match::Exact(digits.value)
        }
        (Some(KeyValue::Prefix { .. }), _) => return refuse("a prefix"),
        (Some(KeyValue::Mask { .. }), _) => return refuse("a mask"),
        (Some(KeyValue::Range { .. }), _) => return refuse("a range"),
    })
}

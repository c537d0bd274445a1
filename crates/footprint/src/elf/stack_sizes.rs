//! Section `.stack_sizes`: for each function its address and, as ULEB128, the size of its stack frame.
//!
//! Only of linked files: those of objects wait for relocations.
//!
//! # References
//! - LLVM, “Code Generator Features”, “Emitting function stack size information”

use linerate_model::ByteCount;
use linerate_model::footprint::{FrameGrowth, FunctionStack};
use object::{Object as _, ObjectKind, ObjectSection as _, ObjectSymbol as _, SymbolKind};
use std::collections::BTreeMap;

/// Stack frames of the functions in the symbol table.
pub(super) fn read(file: &object::File<'_>) -> Vec<FunctionStack> {
    if file.kind() == ObjectKind::Relocatable {
        return Vec::new();
    }
    let Some(section) = file.section_by_name(".stack_sizes") else {
        return Vec::new();
    };
    let frames = entries(section.data().unwrap_or_default(), file);
    if frames.is_empty() {
        return Vec::new();
    }
    let functions = file
        .symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::Text);
    let mut named = BTreeMap::new();
    for symbol in functions {
        if let (Some(frame), Ok(name)) = (frames.get(&symbol.address()), symbol.name()) {
            named
                .entry(symbol.address())
                .or_insert_with(|| FunctionStack {
                    name: crate::names::readable(name),
                    frame: ByteCount::new(*frame),
                    growth: FrameGrowth::Fixed,
                });
        }
    }
    named.into_values().collect()
}

/// Frames by address, as far as the section is valid.
fn entries(mut data: &[u8], file: &object::File<'_>) -> BTreeMap<u64, u64> {
    let mut frames = BTreeMap::new();
    while let Some((address, rest)) = address(data, file) {
        let Some((frame, rest)) = uleb128(rest) else {
            break;
        };
        frames.insert(address, frame);
        data = rest;
    }
    frames
}

fn address<'a>(data: &'a [u8], file: &object::File<'_>) -> Option<(u64, &'a [u8])> {
    let (bytes, rest) = data.split_at_checked(if file.is_64() { 8 } else { 4 })?;
    let digit = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    let value = if file.is_little_endian() {
        bytes.iter().rev().fold(0, digit)
    } else {
        bytes.iter().fold(0, digit)
    };
    Some((value, rest))
}

/// Decodes an unsigned LEB128 number (DWARF 5 §7.6).
fn uleb128(data: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    for (at, byte) in data.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f)
            .checked_shl(7 * u32::try_from(at).ok()?)
            .unwrap_or(0);
        if byte & 0x80 == 0 {
            return Some((value, &data[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uleb128_ends_or_is_none() {
        assert_eq!(uleb128(&[0xe5, 0x8e, 0x26, 7]), Some((624_485, &[7][..])));
        assert_eq!(uleb128(&[0x80; 20]), None);
        assert_eq!(uleb128(&[0x80]), None);
        assert_eq!(uleb128(&[]), None);
    }
}

//! Detects a file's format by its content.

use crate::Input;
use crate::error::FootprintError;
use linerate_model::footprint::FootprintFormat;
use std::path::Path;

const ARCHIVE: &[u8] = b"!<arch>\n";
const THIN_ARCHIVE: &[u8] = b"!<thin>\n";
const ELF: &[u8] = b"\x7fELF";

/// Object files, by the type in the ELF header (gABI, ELF header, `e_type`).
const ET_REL: u8 = 1;

/// Format of a file; its name matters only for an empty `.su` file.
pub(crate) fn format(input: &Input<'_>) -> Result<FootprintFormat, FootprintError> {
    let bytes = input.bytes;
    let file = || input.name.to_owned();
    if bytes.starts_with(ELF) {
        // The type is two bytes, one of which is zero in either byte order.
        let is_object = bytes
            .get(16..18)
            .is_some_and(|t| t.contains(&ET_REL) && t.contains(&0));
        return Ok(if is_object {
            FootprintFormat::Object
        } else {
            FootprintFormat::Executable
        });
    }
    if bytes.starts_with(ARCHIVE) {
        return Ok(FootprintFormat::Archive);
    }
    if bytes.starts_with(THIN_ARCHIVE) {
        return Err(FootprintError::Thin { file: file() });
    }
    let Ok(text) = str::from_utf8(bytes) else {
        return Err(FootprintError::Unknown { file: file() });
    };
    if text.trim_start().starts_with('{') {
        Ok(FootprintFormat::Document)
    } else if text.contains("Linker script and memory map") {
        Ok(FootprintFormat::Map)
    } else if let Some(what) = foreign(text) {
        let file = file();
        Err(FootprintError::Foreign { file, what })
    } else if is_stack_usage(text, input.name) {
        Ok(FootprintFormat::StackUsage)
    } else {
        Err(FootprintError::Unknown { file: file() })
    }
}

/// What another tool printed of a build, by the words that one of its first lines has.
fn foreign(text: &str) -> Option<&'static str> {
    const LINES: usize = 100;
    const ALL: &[(&[&str], &str)] = &[
        (&["VMA", "LMA", "Size", "Align"], "a map of LLVM's lld"),
        (&["IAR", "Linker"], "a map of IAR's linker"),
        (&["ARM Compiler", "armlink"], "a map of armlink"),
        (&["Image component sizes"], "a map of armlink"),
        (&["text", "data", "bss", "dec", "hex"], "output of `size`"),
        (&["section", "size", "addr"], "output of `size -A`"),
        (
            &["Memory region", "Used Size"],
            "what a linker prints of the memory used",
        ),
        (&["Total sizes:"], "output of `idf.py size`"),
    ];
    let name = |line: &str| {
        let is_in = |words: &[&str]| words.iter().all(|word| line.contains(word));
        ALL.iter().find(|known| is_in(known.0))
    };
    text.lines()
        .take(LINES)
        .find_map(name)
        .map(|(_, what)| *what)
}

/// Whether it is stack usage: `file.c:12:5:name<tab>16<tab>static`, or empty where a source file has no function.
fn is_stack_usage(text: &str, name: &str) -> bool {
    match text.lines().next() {
        Some(line) => line
            .split('\t')
            .nth(1)
            .is_some_and(|size| size.parse::<u64>().is_ok()),
        None => Path::new(name)
            .extension()
            .is_some_and(|ending| ending == "su"),
    }
}

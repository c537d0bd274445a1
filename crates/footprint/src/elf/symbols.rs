//! Symbols by the section that they are in.

use super::{Indices, Section};
use object::{
    Architecture, Object as _, ObjectKind, ObjectSection as _, ObjectSymbol as _, SectionFlags,
    SymbolKind, elf,
};
use std::borrow::Cow;

/// A function or variable.
pub(crate) struct Symbol<'a> {
    pub(crate) name: Cow<'a, str>,
    /// Its first byte, on the scale of its section's address.
    pub(crate) start: u64,
    /// Behind its last byte; at most the end of its section.
    pub(crate) end: u64,
    /// Of a local symbol the source file, as the compiler was given it.
    pub(crate) file: Option<Cow<'a, str>>,
}

/// Longest mangled name that is read, in bytes.
const MAX_MANGLED: usize = 4096;

/// Gives every section its symbols, in order.
pub(super) fn assign<'a>(
    file: &object::File<'a>,
    (name, length): (&str, usize),
    sections: &mut [Section<'a>],
    indices: &Indices,
    notes: &mut Vec<String>,
) {
    let mut reader = Reader::new(file, length);
    let mut commons = (0_u64, 0_u64);
    let mut place = |symbol: object::Symbol<'a, '_>| {
        if symbol.is_common() {
            commons.0 += 1;
            commons.1 = commons.1.saturating_add(symbol.size());
        }
        if let Some((index, symbol)) = reader.read(&symbol)
            && let Some(section) = indices.get(&index.0).and_then(|at| sections.get_mut(*at))
            && let Some(symbol) = within(symbol, section)
        {
            section.symbols.push(symbol);
        }
    };
    if file.symbols().next().is_some() {
        file.symbols().for_each(&mut place);
    } else {
        // What a stripped library keeps for the dynamic linker.
        file.dynamic_symbols().for_each(&mut place);
    }
    if commons.0 > 0 {
        notes.push(format!(
            "{name}: {} common symbols of {} B are in no section, as `size` has it; -fno-common gives them one",
            commons.0, commons.1
        ));
    }
    for section in sections {
        section
            .symbols
            .sort_by(|a, b| a.start.cmp(&b.start).then(b.end.cmp(&a.end)));
    }
}

/// The part of a symbol that is in its section.
fn within<'a>(mut symbol: Symbol<'a>, section: &Section<'_>) -> Option<Symbol<'a>> {
    symbol.end = symbol.end.min(section.end());
    (symbol.start >= section.address && symbol.start < symbol.end).then_some(symbol)
}

/// What is known while symbols are read one after the other.
struct Reader<'a> {
    /// Source file of the local symbols that follow.
    file: Option<Cow<'a, str>>,
    /// Where thread-local symbols count from.
    tls: u64,
    /// Of Arm, whose functions have the lowest bit set in Thumb state (AAELF32, symbol values).
    is_arm: bool,
    /// Bytes of names that may still be read: several symbols can share the bytes of one name, and a file can make much
    /// of that.
    room: usize,
}

impl<'a> Reader<'a> {
    fn new(file: &object::File<'a>, length: usize) -> Self {
        let is_linked = file.kind() != ObjectKind::Relocatable;
        let is_tls = |flags| matches!(flags, SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(elf::SHF_TLS));
        let tls = file
            .sections()
            .filter(|section| is_linked && is_tls(section.flags()));
        Self {
            file: None,
            tls: tls.map(|section| section.address()).min().unwrap_or(0),
            is_arm: file.architecture() == Architecture::Arm,
            room: length.saturating_mul(4).saturating_add(1 << 20),
        }
    }

    fn read(
        &mut self,
        symbol: &object::Symbol<'a, '_>,
    ) -> Option<(object::SectionIndex, Symbol<'a>)> {
        if symbol.kind() == SymbolKind::File {
            // The linker ends the last file's symbols with one that has no name.
            self.file = self.name(symbol).filter(|name| !name.is_empty());
            return None;
        }
        let size = symbol.size();
        let index = symbol.section_index()?;
        if size == 0 || symbol.kind() == SymbolKind::Section {
            return None;
        }
        let start = match symbol.kind() {
            SymbolKind::Text if self.is_arm => symbol.address() & !1,
            SymbolKind::Tls => symbol.address().saturating_add(self.tls),
            _ => symbol.address(),
        };
        let name = self.name(symbol)?;
        let file = if symbol.is_local() {
            self.file.clone()
        } else {
            None
        };
        let end = start.saturating_add(size);
        Some((
            index,
            Symbol {
                name,
                start,
                end,
                file,
            },
        ))
    }

    fn name(&mut self, symbol: &object::Symbol<'a, '_>) -> Option<Cow<'a, str>> {
        let bytes = symbol.name_bytes().ok()?;
        let bytes = &bytes[..bytes.len().min(MAX_MANGLED).min(self.room)];
        self.room -= bytes.len();
        Some(String::from_utf8_lossy(bytes))
    }
}

//! Symbols by section.

use super::{Indices, Section};
use object::{
    Architecture, Object as _, ObjectKind, ObjectSection as _, ObjectSymbol as _, SectionFlags,
    SymbolKind, elf,
};
use std::borrow::Cow;

/// A function or variable.
pub(crate) struct Symbol<'a> {
    pub(crate) name: Cow<'a, str>,
    /// First byte, as an address of its section.
    pub(crate) start: u64,
    /// End (exclusive); at most the end of its section.
    pub(crate) end: u64,
    /// Source file of a local symbol, as given to the compiler.
    pub(crate) file: Option<Cow<'a, str>>,
}

/// Maximum length of a mangled name, bytes.
const MAX_MANGLED: usize = 4096;

/// Assigns the symbols to their sections, in order.
pub(super) fn assign<'a>(
    file: &object::File<'a>,
    name: &str,
    length: usize,
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
        // A stripped library keeps only these, for the dynamic linker.
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

/// The part of a symbol inside its section.
fn within<'a>(mut symbol: Symbol<'a>, section: &Section<'_>) -> Option<Symbol<'a>> {
    symbol.end = symbol.end.min(section.end());
    (symbol.start >= section.address && symbol.start < symbol.end).then_some(symbol)
}

/// State while symbols are read in order.
struct Reader<'a> {
    /// Source file of the following local symbols.
    file: Option<Cow<'a, str>>,
    /// Base of thread-local symbols.
    tls: u64,
    /// Arm: functions in Thumb state have the lowest bit set (AAELF32, symbol values).
    is_arm: bool,
    /// Budget of name bytes: symbols can share the bytes of one name, which a hostile file can exploit.
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
            // The linker ends the last file's symbols with an unnamed one.
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

//! An ELF file as values: sections that take memory, and who claims what of them.
//!
//! Counts as `size` does in its Berkeley format: sections without `SHF_ALLOC` take nothing, those with code or that are not
//! written are text, of the others those with contents are data and the rest is bss.
//!
//! Everything that the file claims is held against its length before it is used, and nothing is allocated by a claim.
//!
//! # References
//! - Sections, symbols, program headers: System V gABI, chapters 4 and 5

mod dwarf;
mod line_header;
mod stack_sizes;
mod symbols;

use crate::error::FootprintError;
pub(crate) use dwarf::SourcePaths;
use linerate_model::footprint::{FigureSource, FunctionStack, SectionClass};
use object::{
    Architecture, Object as _, ObjectKind, ObjectSection as _, ObjectSegment as _, SectionFlags,
    elf,
};
use std::borrow::Cow;
use std::collections::BTreeMap;
pub(crate) use symbols::Symbol;

/// Content of an ELF file.
pub(crate) struct Elf<'a> {
    /// The processor.
    pub(crate) machine: String,
    /// Allocated sections, in the file's order.
    pub(crate) sections: Vec<Section<'a>>,
    /// Stack frames from `.stack_sizes`.
    pub(crate) frames: Vec<FunctionStack>,
    /// Source path by address; empty without debugging information.
    pub(crate) sources: SourcePaths,
    /// Remarks.
    pub(crate) notes: Vec<String>,
}

/// An allocated section.
pub(crate) struct Section<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) class: SectionClass,
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) align: u64,
    pub(crate) source: FigureSource,
    /// Symbols by address; of those at one address the largest first.
    pub(crate) symbols: Vec<Symbol<'a>>,
}

impl Section<'_> {
    pub(crate) const fn end(&self) -> u64 {
        self.address.saturating_add(self.size)
    }
}

/// Parses the ELF file `name`.
pub(crate) fn read<'a>(name: &str, bytes: &'a [u8]) -> Result<Elf<'a>, FootprintError> {
    let damaged = |what: String| FootprintError::Damaged {
        file: name.to_owned(),
        what,
    };
    let file = object::File::parse(bytes).map_err(|error| damaged(error.to_string()))?;
    let is_linked = file.kind() != ObjectKind::Relocatable;
    let (mut sections, indices) = sections(&file, bytes.len(), is_linked).map_err(damaged)?;
    let mut notes = Vec::new();
    if sections.is_empty() && is_linked {
        sections = segments(&file);
        if !sections.is_empty() {
            notes.push(format!(
                "{name} has no section headers: its segments are shown, of which `size` knows nothing"
            ));
        }
    }
    symbols::assign(
        &file,
        name,
        bytes.len(),
        &mut sections,
        &indices,
        &mut notes,
    );
    let has_symbols = sections.iter().any(|section| !section.symbols.is_empty());
    if !has_symbols && sections.iter().any(|section| section.size > 0) {
        notes.push(format!(
            "{name} is stripped: it has no symbols, so nobody claims what its sections hold"
        ));
    }
    let sources = if is_linked {
        dwarf::read(&file, name, &mut notes)
    } else {
        SourcePaths::default()
    };
    Ok(Elf {
        machine: machine(file.architecture()),
        frames: stack_sizes::read(&file),
        sections,
        sources,
        notes,
    })
}

/// Name of an architecture: `X86_64` as `x86-64`.
fn machine(architecture: Architecture) -> String {
    format!("{architecture:?}").to_lowercase().replace('_', "-")
}

/// Index in the allocated sections by index in the file.
type Indices = BTreeMap<usize, usize>;

/// Maximum length of a section name, bytes.
const MAX_NAME: usize = 400;

fn sections<'a>(
    file: &object::File<'a>,
    length: usize,
    is_linked: bool,
) -> Result<(Vec<Section<'a>>, Indices), String> {
    let mut sections = Vec::new();
    let mut indices = Indices::new();
    for section in file.sections() {
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
            continue;
        };
        if !sh_flags.contains(elf::SHF_ALLOC) {
            continue;
        }
        let name = section.name_bytes().map_err(|error| error.to_string())?;
        let name = String::from_utf8_lossy(&name[..name.len().min(MAX_NAME)]);
        let range = section.file_range();
        if let Some((offset, size)) = range
            && offset
                .checked_add(size)
                .is_none_or(|end| end > length as u64)
        {
            return Err(format!(
                "section {} is said to hold {size} bytes from offset {offset}, and the file has {length}",
                crate::names::cut(&name),
            ));
        }
        let is_code = sh_flags.contains(elf::SHF_EXECINSTR);
        let class = if is_code || !sh_flags.contains(elf::SHF_WRITE) {
            SectionClass::Text
        } else if range.is_some() {
            SectionClass::Data
        } else {
            SectionClass::Bss
        };
        indices.insert(section.index().0, sections.len());
        sections.push(Section {
            name,
            class,
            // Sections of objects all begin at zero.
            address: if is_linked { section.address() } else { 0 },
            size: section.size(),
            align: section.align(),
            source: FigureSource::ElfSection,
            symbols: Vec::new(),
        });
    }
    Ok((sections, indices))
}

/// Loaded segments, where a file has no sections.
fn segments<'a>(file: &object::File<'a>) -> Vec<Section<'a>> {
    let mut sections = Vec::new();
    for segment in file.segments() {
        let permissions = segment.permissions();
        let (_, stored) = segment.file_range();
        let class = if permissions.writable() && !permissions.executable() {
            SectionClass::Data
        } else {
            SectionClass::Text
        };
        let parts = [
            ("stored", class, stored.min(segment.size())),
            (
                "zero",
                SectionClass::Bss,
                segment.size().saturating_sub(stored),
            ),
        ];
        let mut address = segment.address();
        for (what, class, size) in parts {
            if size > 0 {
                sections.push(Section {
                    name: Cow::Owned(format!("segment {:#x} ({what})", segment.address())),
                    class,
                    address,
                    size,
                    align: 1,
                    source: FigureSource::ElfSegment,
                    symbols: Vec::new(),
                });
            }
            address = address.saturating_add(size);
        }
    }
    sections
}

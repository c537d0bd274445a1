//! Attributes the bytes of a section: to symbols first, then to the input sections of a map, then to nobody.
//!
//! Every byte of a section is attributed exactly once, so that the parts of a section add up to its size: of
//! overlapping symbols the first counts, and of those at one address the largest.

use crate::elf::{Elf, Section, Symbol};
use crate::map::{InputOrigin, Map, MapInput, MapSection};
use crate::names;
use crate::tree::{Leaf, Owner, Slot, Tree};
use linerate_model::footprint::{FigureSource, NodeKind, SectionClass, SectionPlace};
use std::rc::Rc;

/// Kind of an ELF file among the inputs.
pub(crate) enum Container {
    /// An object file, possibly in an archive.
    Object {
        archive: Option<Rc<str>>,
        object: Rc<str>,
    },
    /// A program; its name where there are several.
    Program { name: Option<Rc<str>> },
}

/// Adds all sections of an ELF file to the tree.
pub(crate) fn add_elf(tree: &mut Tree, elf: &Elf<'_>, map: Option<&Map>, container: &Container) {
    for section in elf.sections.iter().filter(|section| section.size > 0) {
        let listed = map.and_then(|map| map.section(&section.name));
        let load = listed.and_then(|listed| listed.load);
        let slot = Slot {
            name: match container {
                Container::Object { .. } => output_section(&section.name).to_owned(),
                Container::Program { .. } => section.name.clone().into_owned(),
            },
            class: section.class,
            source: section.source,
            places: places(tree, section.class, section.address, load, map),
        };
        let claimant = Claimant {
            elf,
            section,
            listed,
            container,
        };
        let open = tree.open(&slot);
        let inputs = listed.map_or(&[][..], |listed| &listed.inputs);
        sweep(section, inputs, &mut |claim, size| {
            let (owner, from, leaf) = claimant.leaf(&claim, size);
            tree.add(&open, &owner, from, leaf);
        });
    }
}

/// Adds all sections of a map without its program.
pub(crate) fn add_map(tree: &mut Tree, map: &Map) {
    for listed in &map.sections {
        let Some(class) = map.class(listed) else {
            continue;
        };
        let slot = Slot {
            name: listed.name.clone(),
            class,
            source: FigureSource::Map,
            places: places(tree, class, listed.address, listed.load, Some(map)),
        };
        let open = tree.open(&slot);
        let end = listed.address.saturating_add(listed.size);
        gap(&listed.inputs, listed.address, end, &mut |claim, size| {
            let (owner, leaf) = match claim {
                Claim::Input(input) => input_leaf(input, size, None),
                Claim::Symbol(_) | Claim::Gap => {
                    (Owner::default(), leftover(size, FigureSource::Map))
                }
            };
            tree.add(&open, &owner, FigureSource::Map, leaf);
        });
    }
}

/// Adds a stack with a size given by the user.
pub(crate) fn add_stack(tree: &mut Tree, name: &str, size: u64) {
    let region = tree
        .written_region()
        .unwrap_or_else(|| tree.region(RAM, None));
    let slot = Slot {
        name: "stacks".to_owned(),
        class: SectionClass::Stack,
        source: FigureSource::Given,
        places: vec![(region, SectionPlace::Run)],
    };
    let leaf = Leaf {
        kind: NodeKind::Stack,
        name: name.to_owned(),
        size,
        source: FigureSource::Given,
    };
    let open = tree.open(&slot);
    tree.add(&open, &Owner::default(), FigureSource::Given, leaf);
}

/// Default memory regions, without a map.
const FLASH: &str = "flash";
const RAM: &str = "RAM";
/// GNU ld's name for addresses outside of all memories.
const ELSEWHERE: &str = "*default*";

/// Memories of a section, by its class or, where a map has memories, by its addresses.
fn places(
    tree: &mut Tree,
    class: SectionClass,
    address: u64,
    load: Option<u64>,
    map: Option<&Map>,
) -> Vec<(usize, SectionPlace)> {
    let Some(map) = map.filter(|map| !map.memories.is_empty()) else {
        let (flash, ram) = (tree.region(FLASH, None), tree.region(RAM, None));
        return match class {
            SectionClass::Text => vec![(flash, SectionPlace::Run)],
            SectionClass::Data => vec![(flash, SectionPlace::Load), (ram, SectionPlace::Run)],
            SectionClass::Bss | SectionClass::Stack => vec![(ram, SectionPlace::Run)],
        };
    };
    for memory in &map.memories {
        tree.region(&memory.name, Some(memory.length));
    }
    let mut named = |address: u64| match map.memory(address) {
        Some(at) => tree.region(&map.memories[at].name, None),
        None => tree.region(ELSEWHERE, None),
    };
    let run = named(address);
    let load = load
        .filter(|_| class.is_in_flash())
        .map(&mut named)
        .filter(|load| *load != run);
    let load = load.map(|load| (load, SectionPlace::Load));
    std::iter::once((run, SectionPlace::Run))
        .chain(load)
        .collect()
}

/// Output section of an object's section: `.text` for `.text.tcp_input`.
fn output_section(name: &str) -> &str {
    const KNOWN: &[&str] = &[
        ".text",
        ".rodata",
        ".data.rel.ro",
        ".data",
        ".bss",
        ".tdata",
        ".tbss",
        ".sdata",
        ".sbss",
        ".init_array",
        ".fini_array",
        ".gcc_except_table",
        ".ARM.exidx",
        ".ARM.extab",
        ".eh_frame",
    ];
    let is_part = |known: &&&str| {
        name.strip_prefix(**known)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    KNOWN.iter().find(is_part).unwrap_or(&name)
}

/// Attribution of a run of bytes.
enum Claim<'c> {
    Symbol(&'c Symbol<'c>),
    Input(&'c MapInput),
    Gap,
}

/// Passes on the bytes of a section from its start to its end.
fn sweep<'c>(
    section: &'c Section<'c>,
    inputs: &'c [MapInput],
    emit: &mut dyn FnMut(Claim<'c>, u64),
) {
    let mut position = section.address;
    for symbol in &section.symbols {
        if symbol.end <= position {
            continue;
        }
        if symbol.start > position {
            gap(inputs, position, symbol.start, emit);
        }
        emit(
            Claim::Symbol(symbol),
            symbol.end - symbol.start.max(position),
        );
        position = symbol.end;
    }
    gap(inputs, position, section.end(), emit);
}

/// Passes on the bytes between two symbols.
fn gap<'c>(inputs: &'c [MapInput], start: u64, end: u64, emit: &mut dyn FnMut(Claim<'c>, u64)) {
    let mut position = start;
    let first = inputs.partition_point(|input| input.end <= start);
    for input in inputs[first..].iter().take_while(|input| input.start < end) {
        if input.start > position {
            emit(Claim::Gap, input.start - position);
        }
        let from = input.start.max(position);
        position = input.end.min(end);
        emit(Claim::Input(input), position - from);
    }
    if position < end {
        emit(Claim::Gap, end - position);
    }
}

/// Names a claim and its owner.
struct Claimant<'c> {
    elf: &'c Elf<'c>,
    section: &'c Section<'c>,
    listed: Option<&'c MapSection>,
    container: &'c Container,
}

impl Claimant<'_> {
    fn leaf(&self, claim: &Claim<'_>, size: u64) -> (Owner, FigureSource, Leaf) {
        match claim {
            Claim::Symbol(symbol) => self.symbol(symbol, size),
            Claim::Input(input) => {
                let (owner, leaf) = input_leaf(input, size, self.program());
                (owner, FigureSource::Map, leaf)
            }
            Claim::Gap => self.gap(size),
        }
    }

    /// The name of the program, where there are several.
    fn program(&self) -> Option<&Rc<str>> {
        match self.container {
            Container::Object { archive, .. } => archive.as_ref(),
            Container::Program { name } => name.as_ref(),
        }
    }

    fn symbol(&self, symbol: &Symbol<'_>, size: u64) -> (Owner, FigureSource, Leaf) {
        let name = names::readable(&symbol.name);
        let (owner, from) = self.owner(symbol, &name);
        let leaf = Leaf {
            kind: NodeKind::Symbol,
            name,
            size,
            source: FigureSource::ElfSymbol,
        };
        (owner, from, leaf)
    }

    /// Owner of a symbol, by the best source.
    fn owner(&self, symbol: &Symbol<'_>, name: &str) -> (Owner, FigureSource) {
        if let Container::Object { .. } = self.container {
            return (self.file(), FigureSource::Archive);
        }
        let input = self.listed.and_then(|listed| listed.input(symbol.start));
        if let Some(owner) = input.and_then(|input| input_owner(input, self.program())) {
            return (owner, FigureSource::Map);
        }
        let unit = |kind, name: Rc<str>| Owner {
            archive: self.program().cloned(),
            unit: Some((kind, name)),
        };
        if let Some(path) = self.elf.sources.at(symbol.start) {
            return (
                unit(NodeKind::SourcePath, Rc::clone(path)),
                FigureSource::Dwarf,
            );
        }
        if let Some(krate) = names::crate_of(&symbol.name, name) {
            return (
                unit(NodeKind::Crate, Rc::from(krate)),
                FigureSource::ElfSymbol,
            );
        }
        if let Some(file) = &symbol.file {
            return (
                unit(NodeKind::SourcePath, Rc::from(names::cut(file))),
                FigureSource::ElfSymbol,
            );
        }
        (self.file(), FigureSource::Archive)
    }

    /// The file itself as the owner.
    fn file(&self) -> Owner {
        let unit = match self.container {
            Container::Object { object, .. } => Some((NodeKind::Object, Rc::clone(object))),
            Container::Program { .. } => None,
        };
        Owner {
            archive: self.program().cloned(),
            unit,
        }
    }

    /// Owner of bytes between symbols that no map covers.
    fn gap(&self, size: u64) -> (Owner, FigureSource, Leaf) {
        let leaf = if size < self.section.align {
            fill(size, FigureSource::Alignment)
        } else if let Container::Object { .. } = self.container {
            Leaf {
                kind: NodeKind::InputSection,
                name: self.section.name.clone().into_owned(),
                size,
                source: FigureSource::ElfSection,
            }
        } else {
            leftover(size, self.section.source)
        };
        (self.file(), FigureSource::Archive, leaf)
    }
}

/// Owner of a part listed by a map; `None` for padding.
fn input_owner(input: &MapInput, program: Option<&Rc<str>>) -> Option<Owner> {
    let InputOrigin::File {
        archive, object, ..
    } = &input.origin
    else {
        return None;
    };
    let archive = program
        .cloned()
        .or_else(|| archive.as_deref().map(Rc::from));
    Some(Owner {
        archive,
        unit: Some((NodeKind::Object, Rc::from(object.as_str()))),
    })
}

fn input_leaf(input: &MapInput, size: u64, program: Option<&Rc<str>>) -> (Owner, Leaf) {
    match (&input.origin, input_owner(input, program)) {
        (InputOrigin::File { section, .. }, Some(owner)) => {
            let leaf = Leaf {
                kind: NodeKind::InputSection,
                name: section.clone(),
                size,
                source: FigureSource::Map,
            };
            (owner, leaf)
        }
        _ => (
            Owner {
                archive: program.cloned(),
                unit: None,
            },
            fill(size, FigureSource::Map),
        ),
    }
}

fn fill(size: u64, source: FigureSource) -> Leaf {
    Leaf {
        kind: NodeKind::Fill,
        name: "(fill)".to_owned(),
        size,
        source,
    }
}

fn leftover(size: u64, source: FigureSource) -> Leaf {
    Leaf {
        kind: NodeKind::Unclaimed,
        name: "(unclaimed)".to_owned(),
        size,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    fn symbol(start: u64, end: u64) -> Symbol<'static> {
        Symbol {
            name: Cow::Borrowed("s"),
            start,
            end,
            file: None,
        }
    }

    fn section(symbols: Vec<Symbol<'static>>) -> Section<'static> {
        Section {
            name: Cow::Borrowed(".text"),
            class: SectionClass::Text,
            address: 0x100,
            size: 0x40,
            align: 4,
            source: FigureSource::ElfSection,
            symbols,
        }
    }

    fn claims(section: &Section<'_>, inputs: &[MapInput]) -> Vec<(char, u64)> {
        let mut all = Vec::new();
        sweep(section, inputs, &mut |claim, size| {
            let kind = match claim {
                Claim::Symbol(_) => 's',
                Claim::Input(_) => 'i',
                Claim::Gap => 'g',
            };
            all.push((kind, size));
        });
        all
    }

    #[test]
    fn every_byte_is_claimed_once() {
        // One inside another, one over its end, an alias, a gap.
        let section = section(vec![
            symbol(0x100, 0x110),
            symbol(0x104, 0x108),
            symbol(0x10c, 0x118),
            symbol(0x120, 0x130),
            symbol(0x120, 0x128),
        ]);
        let found = claims(&section, &[]);
        assert_eq!(found, [('s', 16), ('s', 8), ('g', 8), ('s', 16), ('g', 16)]);
        assert_eq!(
            found.iter().map(|(_, size)| size).sum::<u64>(),
            section.size
        );
        let inputs = [
            MapInput {
                start: 0x118,
                end: 0x11c,
                origin: InputOrigin::Fill,
            },
            MapInput {
                start: 0x134,
                end: 0x150,
                origin: InputOrigin::Fill,
            },
        ];
        let found = claims(&section, &inputs);
        assert_eq!(
            found,
            [
                ('s', 16),
                ('s', 8),
                ('i', 4),
                ('g', 4),
                ('s', 16),
                ('g', 4),
                ('i', 12)
            ]
        );
    }

    #[test]
    fn object_sections_go_where_a_linker_puts_them() {
        let cases = [
            (".text.tcp_input", ".text"),
            (".text", ".text"),
            (".textual", ".textual"),
            (".data.rel.ro.local", ".data.rel.ro"),
            (".rodata.str1.4", ".rodata"),
            ("ram_code", "ram_code"),
        ];
        for (name, want) in cases {
            assert_eq!(output_section(name), want);
        }
    }
}

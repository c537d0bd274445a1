//! The class of an output section of a map, as `size` counts it of the program: a map has no flags of sections.
//!
//! What the linker says is asked in this order: what the inputs are (a section has no contents if none of them has), what
//! the section is called, what its memory may be used for, and whether it is loaded from elsewhere.

use super::{InputOrigin, Map, MapSection};
use linerate_model::footprint::SectionClass;

/// Names without contents, and of what a program writes, as a word between dots: `.dram0.bss`, `.rtc.data`.
const ZERO: &[&str] = &[
    "bss",
    "sbss",
    "tbss",
    "dynbss",
    "dynsbss",
    "noinit",
    "heap",
    "stack",
    "_user_heap_stack",
    "COMMON",
    "scommon",
];
const WRITTEN: &[&str] = &[
    "data",
    "sdata",
    "tdata",
    "init_array",
    "fini_array",
    "preinit_array",
    "ctors",
    "dtors",
    "got",
    "dynamic",
    "datas",
];
const READ: &[&str] = &[
    "text",
    "rodata",
    "srodata",
    "literal",
    "vectors",
    "init",
    "fini",
    "isr_vector",
    "rodata1",
];

/// Beginnings of the names of sections that only tools read.
const NOT_LOADED: &[&str] = &[
    ".debug",
    ".zdebug",
    ".comment",
    ".stab",
    ".ARM.attributes",
    ".riscv.attributes",
    ".xtensa.info",
    ".xt.",
    ".note.GNU",
    ".note.gnu.build-id",
    ".gnu.build",
    ".gnu.attributes",
    ".mdebug",
    ".pdr",
    "/DISCARD/",
    ".stack_sizes",
    ".line",
    ".gnu.lto",
];

/// Class by a name: that of the first of its words that tells.
fn by_name(name: &str) -> Option<SectionClass> {
    // What is only read once the program was relocated is written before.
    if name.starts_with(".data.rel.ro") {
        return Some(SectionClass::Data);
    }
    name.split('.').find_map(|word| {
        // Such as `noinit_0` and `datas2`.
        let word = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_');
        let is = |names: &[&str]| names.contains(&word);
        let zero = is(ZERO).then_some(SectionClass::Bss);
        let written = || is(WRITTEN).then_some(SectionClass::Data);
        zero.or_else(written)
            .or_else(|| is(READ).then_some(SectionClass::Text))
    })
}

impl Map {
    /// Class of one of its sections; `None` if that takes no memory.
    pub(crate) fn class(&self, section: &MapSection) -> Option<SectionClass> {
        let is_tools = NOT_LOADED.iter().any(|name| section.name.starts_with(name));
        if section.size == 0 || is_tools || self.is_at_no_address(section) {
            return None;
        }
        let inputs = section
            .inputs
            .iter()
            .filter_map(|input| match &input.origin {
                InputOrigin::File { section, .. } => Some(by_name(section)),
                InputOrigin::Fill => None,
            });
        let inputs: Vec<_> = inputs.collect();
        let is_zero = |class: &Option<SectionClass>| *class == Some(SectionClass::Bss);
        let has_contents = inputs
            .iter()
            .any(|class| class.is_some() && !is_zero(class));
        let named = by_name(&section.name);
        if !inputs.is_empty() && inputs.iter().all(is_zero) || is_zero(&named) && !has_contents {
            return Some(SectionClass::Bss);
        }
        let is_moved = section.load.is_some_and(|load| load != section.address);
        let unnamed = || self.by_memory(section.address, is_moved);
        Some(
            named
                .filter(|class| !is_zero(&Some(*class)))
                .unwrap_or_else(unnamed),
        )
    }

    /// Class by what a memory may be used for.
    fn by_memory(&self, address: u64, is_moved: bool) -> SectionClass {
        let memory = self.memory(address).map(|at| &self.memories[at]);
        let has = |flag| memory.is_some_and(|memory| memory.attributes.contains(flag));
        // Of a memory for everything a name would have to tell; what is moved there was written down elsewhere.
        if is_moved || has('w') && !has('x') && !has('!') {
            SectionClass::Data
        } else {
            SectionClass::Text
        }
    }

    /// Whether a section stands at address 0 because it has none: where no memory begins, or beside another one.
    fn is_at_no_address(&self, section: &MapSection) -> bool {
        let is_first = || {
            let at_zero = |other: &&MapSection| other.address == 0 && other.size > 0;
            let first = self.sections.iter().find(at_zero);
            first.is_some_and(|first| std::ptr::eq(first, section))
        };
        let has_memory = self.memories.is_empty() || self.memory(0).is_some();
        section.address == 0 && !(has_memory && is_first())
    }
}

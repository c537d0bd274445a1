//! The map that GNU ld writes with `-Map`: memories, output sections, and what of each comes from which file.
//!
//! ```text
//! Memory Configuration
//! FLASH            0x0000000008000000 0x0000000000200000 xr
//!
//! Linker script and memory map
//! .text           0x0000000008000000     0x51d4
//!  .text.tcp_input
//!                 0x0000000008000130      0x9ac liblwip.a(tcp_in.o)
//!  *fill*         0x0000000008000adc        0x4
//! .data           0x0000000020000000       0x64 load address 0x00000000080051d4
//! ```
//!
//! A name that is too long for its column stands on a line of its own. What is not understood is passed over: a map is
//! written for people, and other lines of it are symbols and the linker script.

use linerate_model::footprint::SectionClass;

/// Content of a map.
#[derive(Debug, Default)]
pub(crate) struct Map {
    /// Named memories, in the order of the linker script.
    pub(crate) memories: Vec<Memory>,
    /// Output sections, in the file's order.
    pub(crate) sections: Vec<MapSection>,
}

/// A memory of the device.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) name: String,
    pub(crate) origin: u64,
    pub(crate) length: u64,
}

/// An output section.
#[derive(Debug, Default)]
pub(crate) struct MapSection {
    pub(crate) name: String,
    pub(crate) address: u64,
    pub(crate) size: u64,
    /// Load address, if it differs.
    pub(crate) load: Option<u64>,
    /// Inputs by address, without overlaps.
    pub(crate) inputs: Vec<MapInput>,
}

/// A part of an output section.
#[derive(Debug)]
pub(crate) struct MapInput {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) origin: InputOrigin,
}

/// Origin of a part.
#[derive(Debug)]
pub(crate) enum InputOrigin {
    /// Padding.
    Fill,
    /// A section of a file.
    File {
        /// Section name in the object.
        section: String,
        /// File name of the archive, if the object is in one.
        archive: Option<String>,
        /// The object file.
        object: String,
    },
}

impl Map {
    /// The memory that contains `address`.
    pub(crate) fn memory(&self, address: u64) -> Option<usize> {
        let holds =
            |memory: &Memory| address >= memory.origin && address - memory.origin < memory.length;
        self.memories.iter().position(holds)
    }

    /// The section with that name.
    pub(crate) fn section(&self, name: &str) -> Option<&MapSection> {
        self.sections.iter().find(|section| section.name == name)
    }
}

impl MapSection {
    /// Class by name, as in `size`: a map has no flags. `None` if it takes no memory.
    pub(crate) fn class(&self) -> Option<SectionClass> {
        const NOT_LOADED: &[&str] = &[
            ".debug",
            ".comment",
            ".stab",
            ".ARM.attributes",
            ".riscv.attributes",
            ".note.GNU",
            ".gnu.build",
            "/DISCARD/",
            ".stack_sizes",
            ".line",
            ".gnu.lto",
        ];
        const ZERO: &[&str] = &[
            ".bss",
            ".sbss",
            ".tbss",
            ".noinit",
            ".heap",
            "._user_heap_stack",
            ".stack",
            "COMMON",
            "noinit",
            "bss",
        ];
        const WRITTEN: &[&str] = &[
            ".data",
            ".sdata",
            ".tdata",
            ".init_array",
            ".fini_array",
            ".preinit_array",
            ".ctors",
            ".dtors",
            ".got",
            ".dynamic",
            "datas",
        ];
        let is = |names: &[&str]| names.iter().any(|name| self.name.starts_with(name));
        if self.size == 0 || is(NOT_LOADED) {
            None
        } else if is(ZERO) {
            Some(SectionClass::Bss)
        } else if is(WRITTEN) || self.load.is_some_and(|load| load != self.address) {
            Some(SectionClass::Data)
        } else {
            Some(SectionClass::Text)
        }
    }

    /// The part that contains `address`.
    pub(crate) fn input(&self, address: u64) -> Option<&MapInput> {
        let after = self.inputs.partition_point(|input| input.start <= address);
        let input = self.inputs.get(after.checked_sub(1)?)?;
        (address < input.end).then_some(input)
    }

    /// Sorts the parts and removes overlaps.
    fn settle(&mut self) {
        self.inputs.sort_by_key(|input| input.start);
        let mut end = 0;
        for input in &mut self.inputs {
            input.start = input.start.max(end);
            end = end.max(input.end);
        }
        self.inputs.retain(|input| input.start < input.end);
    }
}

/// Parses a map.
pub(crate) fn read(text: &str) -> Map {
    let mut map = Map::default();
    let (before, after) = text
        .split_once("Linker script and memory map")
        .unwrap_or((text, ""));
    if let Some((_, table)) = before.split_once("Memory Configuration") {
        map.memories = table.lines().filter_map(memory).collect();
    }
    let mut name: Option<&str> = None;
    for line in after.lines() {
        if line.starts_with("Cross Reference Table") {
            break;
        }
        name = step(&mut map, name, line);
    }
    for section in &mut map.sections {
        section.settle();
    }
    map
}

/// Parses `FLASH  0x08000000  0x00200000  xr`.
fn memory(line: &str) -> Option<Memory> {
    let mut words = line.split_whitespace();
    let name = words.next().filter(|name| *name != "*default*")?;
    Some(Memory {
        name: crate::names::cut(name),
        origin: hexadecimal(words.next()?)?,
        length: hexadecimal(words.next()?)?,
    })
}

fn hexadecimal(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

/// Parses one line; returns its name if the entry continues on the next line.
fn step<'a>(map: &mut Map, before: Option<&'a str>, line: &'a str) -> Option<&'a str> {
    let mut words = line.split_whitespace();
    let first = words.next()?;
    // Such as "* ABS* " or a pattern of the linker script.
    let is_name = !first.starts_with("0x") && !line.starts_with("                ");
    let (name, address) = match (is_name, before) {
        (true, _) => (line_name(line, first), words.next()),
        (false, Some(name)) => (name, Some(first)),
        (false, None) => return None,
    };
    let Some(address) = address else {
        return Some(name);
    };
    let (address, size) = (hexadecimal(address)?, words.next().and_then(hexadecimal)?);
    let rest = line
        .rsplit_once(&format!("{size:#x}"))
        .map_or("", |(_, rest)| rest.trim());
    if name.starts_with(' ') {
        let section = map.sections.last_mut()?;
        let origin = origin(name.trim(), rest)?;
        section.inputs.push(MapInput {
            start: address,
            end: address.saturating_add(size),
            origin,
        });
    } else {
        let load = rest
            .strip_prefix("load address")
            .map(str::trim)
            .and_then(hexadecimal);
        map.sections.push(MapSection {
            name: crate::names::cut(name),
            address,
            size,
            load,
            inputs: Vec::new(),
        });
    }
    None
}

/// The name with the leading blank that marks a part of a section.
fn line_name<'a>(line: &'a str, first: &str) -> &'a str {
    let indent = line.len() - line.trim_start().len();
    let blank = line[..indent].char_indices().next_back();
    &line[blank.map_or(0, |(at, _)| at)..indent + first.len()]
}

fn origin(section: &str, file: &str) -> Option<InputOrigin> {
    if section == "*fill*" {
        return Some(InputOrigin::Fill);
    }
    if file.is_empty() || section.starts_with("*(") {
        return None;
    }
    let (archive, object) = match file
        .strip_suffix(')')
        .and_then(|file| file.rsplit_once('('))
    {
        Some((archive, object)) => (Some(crate::names::cut(crate::paths::last(archive))), object),
        None => (None, file),
    };
    Some(InputOrigin::File {
        section: crate::names::cut(section),
        archive,
        object: crate::names::cut(&crate::paths::normal(object)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "\
Archive member included to satisfy reference by file (symbol)

Memory Configuration

Name             Origin             Length             Attributes
FLASH            0x0000000008000000 0x0000000000200000 xr
RAM              0x0000000020000000 0x0000000000020000 rw
*default*        0x0000000000000000 0xffffffffffffffff

Linker script and memory map

LOAD build/main.o
.text           0x0000000008000000       0x40
 *(.isr_vector)
 .isr_vector    0x0000000008000000       0x10 build/./main.o
                0x0000000008000000                vectors
 .text.tcp_input_of_a_long_name
                0x0000000008000010       0x22 /opt/x/lib/liblwip.a(tcp_in.o)
                0x0000000008000010                tcp_input
 *fill*         0x0000000008000032        0x2 
 .text          0x0000000008000034        0xc /path with blanks/y.o
                0x0000000008000040                . = ALIGN (0x4)

.data           0x0000000020000000       0x10 load address 0x0000000008000040
 .data          0x0000000020000000       0x10 build/main.o
.a_section_of_a_long_name
                0x0000000020000010        0x8
 COMMON         0x0000000020000010        0x8 build/main.o
.bss            0x0000000020000018        0x0
.debug_info     0x0000000000000000      0x100
 .debug_info    0x0000000000000000      0x100 build/main.o
";

    #[test]
    fn sections_memories_and_files_are_read() {
        let map = read(MAP);
        let memories: Vec<_> = map
            .memories
            .iter()
            .map(|m| (m.name.as_str(), m.length))
            .collect();
        assert_eq!(memories, [("FLASH", 0x20_0000), ("RAM", 0x2_0000)]);
        assert_eq!(map.memory(0x2000_0010), Some(1));
        assert_eq!(map.memory(0x1000), None);
        let sections: Vec<_> = map
            .sections
            .iter()
            .map(|s| (s.name.as_str(), s.size, s.class()))
            .collect();
        let expected = [
            (".text", 0x40, Some(SectionClass::Text)),
            (".data", 0x10, Some(SectionClass::Data)),
            (".a_section_of_a_long_name", 8, Some(SectionClass::Text)),
            (".bss", 0, None),
            (".debug_info", 0x100, None),
        ];
        assert_eq!(sections, expected);
        assert_eq!(map.sections[1].load, Some(0x0800_0040));
    }

    #[test]
    fn parts_of_a_section_have_their_files() {
        let map = read(MAP);
        let text = &map.sections[0];
        let inputs: Vec<_> = text
            .inputs
            .iter()
            .map(|input| (input.start, input.end))
            .collect();
        let starts = [
            (0x0800_0000, 0x0800_0010),
            (0x0800_0010, 0x0800_0032),
            (0x0800_0032, 0x0800_0034),
            (0x0800_0034, 0x0800_0040),
        ];
        assert_eq!(inputs, starts);
        let Some(MapInput {
            origin:
                InputOrigin::File {
                    section,
                    archive,
                    object,
                },
            ..
        }) = text.input(0x0800_0011)
        else {
            panic!("{:?}", text.inputs);
        };
        assert_eq!(
            (section.as_str(), archive.as_deref(), object.as_str()),
            (
                ".text.tcp_input_of_a_long_name",
                Some("liblwip.a"),
                "tcp_in.o"
            )
        );
        assert!(matches!(
            text.input(0x0800_0033).unwrap().origin,
            InputOrigin::Fill
        ));
        assert!(
            matches!(&text.input(0x0800_003f).unwrap().origin, InputOrigin::File { object, .. } if object == "/path with blanks/y.o")
        );
    }

    #[test]
    fn parts_that_overlap_are_cut_and_nonsense_is_passed_over() {
        let text = "Linker script and memory map\n.text 0x0 0x20\n .text 0x8 0x10 a.o\n .text 0x4 0xffffffffffffffff b.o\n .x\n\n junk 0xzz 1\n 0x\n";
        let map = read(text);
        let inputs: Vec<_> = map.sections[0]
            .inputs
            .iter()
            .map(|input| (input.start, input.end))
            .collect();
        assert_eq!(inputs, [(4, u64::MAX)]);
        assert!(read("").sections.is_empty());
        // A blank of two bytes before the name.
        let wide = "Linker script and memory map\n \u{85}.text 0x8 0x10 a.o\n";
        assert_eq!(read(wide).sections.len(), 1);
    }
}

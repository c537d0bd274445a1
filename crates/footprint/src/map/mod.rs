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
//! OUTPUT(program.elf elf32-littlearm)
//! ```
//!
//! A name that is too long for its column stands on a line of its own. What is not understood is passed over: a map is
//! written for people, and other lines of it are symbols and the linker script. But each of these headings, and the end, is
//! there once: a map that lacks one is cut, one that has one twice is two maps.

mod class;

use crate::error::FootprintError;

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
    /// What it may be used for: `xrw`; `!` before what it may not.
    pub(crate) attributes: String,
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

const MEMORIES: &str = "Memory Configuration";
const SECTIONS: &str = "Linker script and memory map";
const OUTPUT: &str = "OUTPUT(";
const REFERENCES: &str = "Cross Reference Table";

/// Where in a map a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Head,
    Memories,
    Sections,
    /// After the program's name: what follows are sections that no linker script names.
    Output,
    References,
}

/// Parses the map `file`.
pub(crate) fn read(file: &str, text: &str) -> Result<Map, FootprintError> {
    let damaged = |number: usize, what: String| FootprintError::Damaged {
        file: file.to_owned(),
        what: format!("line {number}: {what}"),
    };
    let mut map = Map::default();
    let mut place = Place::Head;
    let mut name: Option<&str> = None;
    let mut count = 0;
    for (number, line) in (1..).zip(text.lines()) {
        count = number;
        let heading = [
            (MEMORIES, Place::Head, Place::Memories),
            (SECTIONS, Place::Memories, Place::Sections),
            (OUTPUT, Place::Sections, Place::Output),
        ];
        let found = heading.iter().find(|(words, ..)| line.starts_with(words));
        if let Some((words, before, next)) = found {
            if place != *before {
                let what = if place as usize > *before as usize {
                    format!("a second \"{words}\": the file holds two maps; give one")
                } else {
                    format!(
                        "\"{words}\" without what stands before it: the map's beginning is not there"
                    )
                };
                return Err(damaged(number, what));
            }
            (place, name) = (*next, None);
            continue;
        }
        match place {
            Place::Head | Place::References => {}
            Place::Memories => map.memories.extend(memory(line)),
            Place::Sections | Place::Output if line.starts_with(REFERENCES) => {
                place = Place::References;
            }
            Place::Sections | Place::Output => name = step(&mut map, name, line),
        }
    }
    if !matches!(place, Place::Output | Place::References) {
        let what = format!("the map ends before its end, which is a line \"{OUTPUT}…\"");
        return Err(damaged(count, what));
    }
    for section in &mut map.sections {
        section.settle();
    }
    Ok(map)
}

/// Parses `FLASH  0x08000000  0x00200000  xr`.
fn memory(line: &str) -> Option<Memory> {
    let mut words = line.split_whitespace();
    let name = words.next().filter(|name| *name != "*default*")?;
    Some(Memory {
        name: crate::names::cut(name),
        origin: hexadecimal(words.next()?)?,
        length: hexadecimal(words.next()?)?,
        attributes: words.next().unwrap_or_default().to_owned(),
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
    let length = words.next()?;
    // A load address may have the digits of the size in it.
    let (_, after) = line.split_once(address)?;
    let rest = after.split_once(length).map_or("", |(_, rest)| rest.trim());
    let (address, size) = (hexadecimal(address)?, hexadecimal(length)?);
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
    use linerate_model::footprint::SectionClass;

    /// The map of a program for ESP32-S3.
    const ESP: &str = include_str!("../../tests/fixtures/esp32s3.map");

    fn of(text: &str) -> Map {
        read("a.map", text).unwrap()
    }

    fn error(text: &str) -> String {
        read("a.map", text).unwrap_err().to_string()
    }

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
OUTPUT(a.elf elf32-littlearm)
";

    #[test]
    fn sections_memories_and_files_are_read() {
        let map = of(MAP);
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
            .map(|s| (s.name.as_str(), s.size, map.class(s)))
            .collect();
        let expected = [
            (".text", 0x40, Some(SectionClass::Text)),
            (".data", 0x10, Some(SectionClass::Data)),
            (".a_section_of_a_long_name", 8, Some(SectionClass::Bss)),
            (".bss", 0, None),
            (".debug_info", 0x100, None),
        ];
        assert_eq!(sections, expected);
        assert_eq!(map.sections[1].load, Some(0x0800_0040));
    }

    #[test]
    fn parts_of_a_section_have_their_files() {
        let map = of(MAP);
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
    fn sections_of_other_names_have_the_class_of_what_is_in_them() {
        let map = of(ESP);
        let class = |name: &str| map.class(map.section(name).unwrap());
        for (name, expected) in [
            (".iram0.vectors", Some(SectionClass::Text)),
            (".iram0.text", Some(SectionClass::Text)),
            (".dram0.data", Some(SectionClass::Data)),
            (".dram0.bss", Some(SectionClass::Bss)),
            (".flash.text", Some(SectionClass::Text)),
            (".flash.rodata", Some(SectionClass::Text)),
            (".xtensa.info", None),
            (".debug_info", None),
        ] {
            assert_eq!(class(name), expected, "{name}");
        }
    }

    /// The map of one section in memories for code, for everything and for variables, with one input.
    fn class_of(section: &str, address: u64, load: &str, input: &str) -> Option<SectionClass> {
        let map = of(&format!(
            "{MEMORIES}\n\nCODE 0x1000 0x1000 xr\nALL 0x2000 0x1000 xrw\nVARS 0x3000 0x1000 rw\n\n{SECTIONS}\n\n\
             {section} {address:#x} 0x10 {load}\n {input} {address:#x} 0x10 a.o\n{OUTPUT}a.elf x)\n"
        ));
        map.class(&map.sections[0])
    }

    #[test]
    fn inputs_come_before_names_and_names_before_memories() {
        use SectionClass::{Bss, Data, Text};
        for (section, address, load, input, expected) in [
            // No contents, whatever it is called and wherever it is.
            (".quiet", 0x3000, "", ".bss.x", Some(Bss)),
            (".quiet", 0x2000, "load address 0x1000", "COMMON", Some(Bss)),
            (".rtc.noinit", 0x2000, "", ".other", Some(Bss)),
            // One input with contents gives them to all.
            (".bss", 0x3000, "", ".data.x", Some(Data)),
            (".iram0.data", 0x1000, "", ".other", Some(Data)),
            (".rtc.text", 0x2000, "", ".other", Some(Text)),
            ("device_states", 0x3000, "", ".z_devstate", Some(Data)),
            ("sw_isr_table", 0x1000, "", ".other", Some(Text)),
            (
                ".ramfunc",
                0x2000,
                "load address 0x1000",
                ".ramfunc",
                Some(Data),
            ),
            // No memory is at 0.
            (".anything", 0, "", ".anything", None),
        ] {
            assert_eq!(
                class_of(section, address, load, input),
                expected,
                "{section} of {input}"
            );
        }
    }

    #[test]
    fn only_the_first_section_at_0_is_there() {
        let map = of(&format!(
            "{MEMORIES}\n\nROM 0x0 0x1000 xr\n\n{SECTIONS}\n\n.text 0x0 0x10\n.info 0x0 0x8\n{OUTPUT}a.elf x)\n"
        ));
        let classes: Vec<_> = map
            .sections
            .iter()
            .map(|section| map.class(section))
            .collect();
        assert_eq!(classes, [Some(SectionClass::Text), None]);
    }

    #[test]
    fn a_cut_map_and_two_maps_are_errors_with_the_line() {
        for text in [MAP, ESP] {
            let lines = text.lines().count();
            let end = text
                .lines()
                .position(|line| line.starts_with(OUTPUT))
                .unwrap();
            for cut in 1..=end {
                let part: Vec<_> = text.lines().take(cut).collect();
                let said = error(&(part.join("\n") + "\n"));
                assert!(
                    said.contains(&format!("line {cut}: the map ends")),
                    "{said}"
                );
            }
            let said = error(&text.repeat(2));
            assert!(said.contains("a second \"Memory Configuration\""), "{said}");
            let second = text
                .lines()
                .position(|line| line.starts_with(MEMORIES))
                .unwrap()
                + 1;
            assert!(
                said.contains(&format!("line {}: ", lines + second)),
                "{said}"
            );
        }
        let (_, tail) = MAP.split_once("*default*").unwrap();
        assert!(
            error(tail).contains("beginning is not there"),
            "{}",
            error(tail)
        );
    }

    #[test]
    fn parts_that_overlap_are_cut_and_nonsense_is_passed_over() {
        let whole =
            |sections: &str| of(&format!("{MEMORIES}\n{SECTIONS}\n{sections}{OUTPUT}a x)\n"));
        let map = whole(
            ".text 0x0 0x20\n .text 0x8 0x10 a.o\n .text 0x4 0xffffffffffffffff b.o\n .x\n\n junk 0xzz 1\n 0x\n",
        );
        let inputs: Vec<_> = map.sections[0]
            .inputs
            .iter()
            .map(|input| (input.start, input.end))
            .collect();
        assert_eq!(inputs, [(4, u64::MAX)]);
        assert!(whole("").sections.is_empty());
        // A blank of two bytes before the name.
        assert_eq!(whole(" \u{85}.text 0x8 0x10 a.o\n").sections.len(), 1);
    }
}

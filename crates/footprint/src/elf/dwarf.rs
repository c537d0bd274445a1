//! Source paths of functions and variables, from DWARF.
//!
//! A function is of the file that declares it (of an instance of a template: the header), which `DW_AT_decl_file` says; what
//! has no entry of its own, such as assembly, is of the file that its compilation unit is named after. Nothing is kept but
//! an address and a path for each entry, so a large file takes little memory.
//!
//! Paths are those below the compiler's own directory where they are below it, so that two checkouts compare.
//!
//! # References
//! - DWARF 5 §2.14 (declarations), §3.1.1 (compilation units), §6.2.4 (file names)

use super::line_header;
use gimli::{
    Abbreviations, Attribute, AttributeSpecification, AttributeValue, Dwarf, EndianSlice,
    Operation, Reader as _, RunTimeEndian, Section as _, Unit, UnitHeader, UnitOffset,
    constants as dw,
};
use object::{Object as _, ObjectSection as _};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// Source path by address.
#[derive(Default)]
pub(crate) struct SourcePaths {
    paths: Vec<Rc<str>>,
    /// Addresses of functions and variables.
    entries: Vec<(u64, u32)>,
    /// Ranges of compilation units.
    units: Vec<(u64, u64, u32)>,
}

impl SourcePaths {
    /// Source path of what begins at `address`.
    pub(crate) fn at(&self, address: u64) -> Option<&Rc<str>> {
        let path = self.entry(address).or_else(|| self.unit(address))?;
        self.paths.get(path as usize)
    }

    fn entry(&self, address: u64) -> Option<u32> {
        let at = self.entries.binary_search_by_key(&address, |entry| entry.0);
        at.ok().map(|at| self.entries[at].1)
    }

    fn unit(&self, address: u64) -> Option<u32> {
        let after = self.units.partition_point(|unit| unit.0 <= address);
        let (_, end, path) = *self.units.get(after.checked_sub(1)?)?;
        (address < end).then_some(path)
    }
}

/// Maximum section of abbreviations: parsed they take twenty times as much, and those of a program of 200 MB have some
/// 3 MB.
const MAX_ABBREVIATIONS: u64 = 16 << 20;

/// Reads what there is; damaged parts are left out, with a note.
pub(super) fn read(file: &object::File<'_>, name: &str, notes: &mut Vec<String>) -> SourcePaths {
    let Some(info) = file.section_by_name(".debug_info") else {
        return SourcePaths::default();
    };
    if info
        .compressed_file_range()
        .is_ok_and(|range| range.format != object::CompressionFormat::None)
    {
        notes.push(format!(
            "{name}: its debugging information is compressed, so no source paths are known; `objcopy --decompress-debug-sections` makes them readable"
        ));
        return SourcePaths::default();
    }
    let endian = if file.is_little_endian() {
        RunTimeEndian::Little
    } else {
        RunTimeEndian::Big
    };
    let abbreviations = file.section_by_name(".debug_abbrev");
    if abbreviations.is_some_and(|section| section.size() > MAX_ABBREVIATIONS) {
        notes.push(format!(
            "{name}: its debugging information has more than {MAX_ABBREVIATIONS} B of abbreviations, so no source paths are read"
        ));
        return SourcePaths::default();
    }
    let section = |id: gimli::SectionId| {
        let data = file
            .section_by_name(id.name())
            .and_then(|section| section.data().ok());
        Ok::<_, gimli::Error>(EndianSlice::new(data.unwrap_or_default(), endian))
    };
    let Ok(dwarf) = Dwarf::load(section) else {
        return SourcePaths::default();
    };
    let mut reader = Collector {
        dwarf: &dwarf,
        paths: BTreeMap::new(),
        found: SourcePaths::default(),
        room: info.size(),
    };
    if let Err(error) = reader.units() {
        notes.push(format!(
            "{name}: its debugging information is damaged ({error}), so some source paths are not known"
        ));
    }
    reader.finish()
}

struct Collector<'d, 'a> {
    dwarf: &'d Dwarf<Slice<'a>>,
    paths: BTreeMap<Rc<str>, u32>,
    found: SourcePaths,
    /// Budget of ranges: units can share one list, which a hostile file can exploit.
    room: u64,
}

/// Maximum indirections of a declaration.
const MAX_HOPS: u8 = 2;

impl<'a> Collector<'_, 'a> {
    /// Reads all units; returns the first error.
    fn units(&mut self) -> gimli::Result<()> {
        let mut headers = self.dwarf.units();
        let mut outcome = Ok(());
        while let Some(header) = headers.next()? {
            let read = self.unit(header);
            outcome = outcome.and(read);
        }
        outcome
    }

    fn unit(&mut self, header: UnitHeader<Slice<'a>>) -> gimli::Result<()> {
        let abbreviations = header.abbreviations(&self.dwarf.debug_abbrev)?;
        self.check_lines(&header, &abbreviations)?;
        let unit = Unit::new_with_abbreviations(self.dwarf, header, Arc::new(abbreviations))?;
        self.ranges(&unit)?;
        let mut files = Files::new(&unit);
        self.entries(&unit, &mut files)
    }

    /// Refuses a unit whose line table cannot be read in bounded memory.
    fn check_lines(
        &self,
        header: &UnitHeader<Slice<'a>>,
        abbreviations: &Abbreviations,
    ) -> gimli::Result<()> {
        let mut entries = header.entries(abbreviations);
        entries.next_dfs()?;
        let root = entries.current().ok_or(gimli::Error::MissingUnitDie)?;
        if let Some(AttributeValue::DebugLineRef(offset)) = root.attr_value(dw::DW_AT_stmt_list) {
            let mut line = self.dwarf.debug_line.reader().to_owned();
            line.skip(offset.0)?;
            if !line_header::is_bounded(line) {
                return Err(gimli::Error::MissingFileEntryFormatPath);
            }
        }
        Ok(())
    }

    fn ranges(&mut self, unit: &Unit<Slice<'a>>) -> gimli::Result<()> {
        let Some(name) = unit.name else {
            return Ok(());
        };
        let path = join(&directory(unit), &name.to_string_lossy());
        let path = self.path(&below(&path, &directory(unit)));
        let mut ranges = self.dwarf.unit_ranges(unit)?;
        while let Some(range) = ranges.next()? {
            let Some(room) = self.room.checked_sub(1) else {
                break;
            };
            self.room = room;
            // The linker leaves discarded functions at address 0.
            if range.begin > 0 && range.begin < range.end {
                self.found.units.push((range.begin, range.end, path));
            }
        }
        Ok(())
    }

    fn entries(&mut self, unit: &Unit<Slice<'a>>, files: &mut Files<'_, 'a>) -> gimli::Result<()> {
        let mut entries = unit.entries_raw(None)?;
        let mut attributes = Vec::new();
        while !entries.is_empty() {
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            let (tag, specs) = (abbreviation.tag(), abbreviation.attributes());
            if !has_address(tag, specs) {
                entries.skip_attributes(specs)?;
                continue;
            }
            entries.read_attributes(specs, &mut attributes)?;
            if let Some(address) = self.address(unit, &attributes)?
                && let Some(file) = declared(unit, &attributes, MAX_HOPS)
                && let Some(path) = files.path(self, file)
            {
                self.found.entries.push((address, path));
            }
        }
        Ok(())
    }

    /// Address of a function or variable; `None` without a fixed one.
    fn address(
        &self,
        unit: &Unit<Slice<'a>>,
        attributes: &[Attribute<Slice<'a>>],
    ) -> gimli::Result<Option<u64>> {
        let address = match (
            value(attributes, dw::DW_AT_low_pc),
            value(attributes, dw::DW_AT_location),
        ) {
            (Some(address), _) => self.dwarf.attr_address(unit, address)?,
            (None, Some(AttributeValue::Exprloc(expression))) => {
                match expression.operations(unit.encoding()).next() {
                    Ok(Some(Operation::Address { address })) => Some(address),
                    Ok(Some(Operation::AddressIndex { index })) => {
                        self.dwarf.address(unit, index).ok()
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        Ok(address.filter(|address| *address > 0))
    }

    fn path(&mut self, path: &str) -> u32 {
        if let Some(known) = self.paths.get(path) {
            return *known;
        }
        let id = u32::try_from(self.found.paths.len()).unwrap_or(u32::MAX);
        let path: Rc<str> = Rc::from(crate::names::cut(path));
        self.found.paths.push(Rc::clone(&path));
        self.paths.insert(path, id);
        id
    }

    fn finish(mut self) -> SourcePaths {
        // Of several at one address the first one counts.
        self.found.entries.sort_by_key(|entry| entry.0);
        self.found.entries.dedup_by_key(|entry| entry.0);
        self.found.units.sort_unstable();
        self.found
    }
}

/// Whether entries of this shape may be functions or variables with an address. Most are declarations, or locals in
/// registers, which need not be read.
fn has_address(tag: dw::DwTag, specs: &[AttributeSpecification]) -> bool {
    match tag {
        dw::DW_TAG_subprogram => specs.iter().any(|spec| spec.name() == dw::DW_AT_low_pc),
        dw::DW_TAG_variable => specs.iter().any(|spec| {
            let is_list = matches!(spec.form(), dw::DW_FORM_loclistx | dw::DW_FORM_sec_offset);
            spec.name() == dw::DW_AT_location && !is_list
        }),
        _ => false,
    }
}

fn value<'a>(
    attributes: &[Attribute<Slice<'a>>],
    name: gimli::DwAt,
) -> Option<AttributeValue<Slice<'a>>> {
    let found = attributes.iter().find(|attribute| attribute.name() == name);
    found.map(Attribute::value)
}

/// Number of the file that declares an entry, or its origin.
fn declared(unit: &Unit<Slice<'_>>, attributes: &[Attribute<Slice<'_>>], hops: u8) -> Option<u64> {
    match value(attributes, dw::DW_AT_decl_file) {
        Some(AttributeValue::FileIndex(file)) => return Some(file),
        Some(value) => return value.udata_value(),
        None => {}
    }
    let stands_for = [dw::DW_AT_specification, dw::DW_AT_abstract_origin];
    let offset = stands_for
        .into_iter()
        .find_map(|name| match value(attributes, name) {
            Some(AttributeValue::UnitRef(offset)) => Some(offset),
            _ => None,
        })?;
    declared_at(unit, offset, hops.checked_sub(1)?)
}

fn declared_at(unit: &Unit<Slice<'_>>, offset: UnitOffset, hops: u8) -> Option<u64> {
    let entry = unit.entry(offset).ok()?;
    declared(unit, entry.attrs(), hops)
}

/// Files of a unit's line table, each resolved once.
struct Files<'u, 'a> {
    unit: &'u Unit<Slice<'a>>,
    directory: String,
    known: BTreeMap<u64, Option<u32>>,
}

impl<'u, 'a> Files<'u, 'a> {
    fn new(unit: &'u Unit<Slice<'a>>) -> Self {
        Self {
            unit,
            directory: directory(unit),
            known: BTreeMap::new(),
        }
    }

    fn path(&mut self, collector: &mut Collector<'_, 'a>, file: u64) -> Option<u32> {
        if let Some(known) = self.known.get(&file) {
            return *known;
        }
        let path = self
            .name(collector.dwarf, file)
            .map(|path| collector.path(&path));
        self.known.insert(file, path);
        path
    }

    fn name(&self, dwarf: &Dwarf<Slice<'a>>, file: u64) -> Option<String> {
        let header = self.unit.line_program.as_ref()?.header();
        let entry = header.file(file)?;
        let text = |value| {
            Some(
                dwarf
                    .attr_string(self.unit, value)
                    .ok()?
                    .to_string_lossy()
                    .into_owned(),
            )
        };
        let name = text(entry.path_name())?;
        let folder = entry.directory(header).and_then(text).unwrap_or_default();
        let path = join(&join(&self.directory, &folder), &name);
        Some(below(&path, &self.directory))
    }
}

/// Working directory of the compiler.
fn directory(unit: &Unit<Slice<'_>>) -> String {
    unit.comp_dir
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// `path` relative to `folder`, without `.` and `..`.
fn join(folder: &str, path: &str) -> String {
    let whole = if path.starts_with('/') || folder.is_empty() {
        path.to_owned()
    } else {
        format!("{folder}/{path}")
    };
    crate::paths::normal(&whole)
}

/// `path` without the prefix `folder`.
fn below(path: &str, folder: &str) -> String {
    let inside = path
        .strip_prefix(folder)
        .and_then(|rest| rest.strip_prefix('/'));
    inside.unwrap_or(path).to_owned()
}

//! Pure: what a build takes of a device's memory, from the bytes of its files.
//!
//! Reads ELF files, archives of them, maps of GNU ld, and the stack use that compilers write down; makes of them one tree,
//! memory region → section → archive → object or source path → symbol, in which every byte has one place. Does no I/O.
//!
//! Invariant: files may be damaged or hostile. Nothing is allocated because a file claims so, and what is kept is at most
//! in proportion to the file's length.
#![forbid(unsafe_code)]

mod archive;
mod budgets;
mod claims;
mod difference;
mod elf;
mod error;
mod format;
mod groups;
mod map;
mod names;
mod paths;
mod run_time;
mod stack_use;
mod tree;

pub use budgets::Budget;
pub use difference::difference;
pub use error::FootprintError;
pub use groups::{Group, KNOWN as KNOWN_GROUPS};
pub use run_time::{gather, set_beside};

use claims::Container;
use linerate_model::ByteCount;
use linerate_model::footprint::{
    Footprint, FootprintContent, FootprintDocument, FootprintFile, FootprintFormat,
    FootprintRegion, FootprintTotals, FunctionStack, SectionPlace, StackUseSource,
};
use map::Map;
use std::collections::BTreeSet;
use std::rc::Rc;
use tree::Tree;

/// An input file.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Name, for errors and for the tree.
    pub name: &'a str,
    /// Content.
    pub bytes: &'a [u8],
}

/// A thread's stack with a given size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenStack {
    /// The thread.
    pub name: String,
    /// Its size.
    pub size: ByteCount,
}

/// Options of a footprint.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Parts by pattern.
    pub groups: Vec<Group>,
    /// Limits.
    pub budgets: Vec<Budget>,
    /// Stacks that count as RAM.
    pub stacks: Vec<GivenStack>,
}

/// Format of a file, without parsing all of it.
pub fn format_of(input: &Input<'_>) -> Result<FootprintFormat, FootprintError> {
    format::format(input)
}

/// Footprint of one build from all its files.
pub fn examine(inputs: &[Input<'_>], options: &Options) -> Result<Footprint, FootprintError> {
    let mut footprint = read(inputs, &options.stacks)?;
    if !options.groups.is_empty() {
        footprint.groups = groups::sum_up(&footprint.regions, &options.groups);
    }
    Ok(footprint)
}

/// Checks the budgets of `options` against `footprint`, those of growth against `base`.
pub fn judge(
    footprint: &mut Footprint,
    base: Option<&Footprint>,
    options: &Options,
) -> Result<(), FootprintError> {
    footprint.budgets = budgets::check(&options.budgets, footprint, base)?;
    Ok(())
}

fn read(inputs: &[Input<'_>], stacks: &[GivenStack]) -> Result<Footprint, FootprintError> {
    let mut reading = Reading::default();
    for input in inputs {
        reading.sort_in(*input)?;
    }
    if let Some(document) = reading.document(inputs)? {
        return Ok(document);
    }
    reading.programs()?;
    reading.archives()?;
    if reading
        .found
        .files
        .iter()
        .all(|file| file.format == FootprintFormat::StackUsage)
    {
        let names: Vec<_> = inputs.iter().map(|input| input.name).collect();
        return Err(FootprintError::Nothing {
            files: names.join(", "),
        });
    }
    for stack in stacks {
        claims::add_stack(&mut reading.tree, &stack.name, stack.size.get());
    }
    Ok(reading.finish())
}

/// State while files are read.
#[derive(Default)]
struct Reading<'a> {
    tree: Tree,
    found: Footprint,
    programs: Vec<Input<'a>>,
    /// Objects and archives, in the order given.
    objects: Vec<(FootprintFormat, Input<'a>)>,
    maps: Vec<(&'a str, Map)>,
    documents: Vec<Input<'a>>,
    /// Frames from `.su` files, and from `.stack_sizes`.
    frames: (Vec<FunctionStack>, Vec<FunctionStack>),
}

impl<'a> Reading<'a> {
    /// Detects the format of a file, and parses text files.
    fn sort_in(&mut self, input: Input<'a>) -> Result<(), FootprintError> {
        let format = format::format(&input)?;
        match format {
            FootprintFormat::Archive | FootprintFormat::Object => {
                self.objects.push((format, input));
            }
            FootprintFormat::Document => self.documents.push(input),
            FootprintFormat::Executable => self.programs.push(input),
            FootprintFormat::Map => {
                let map = map::read(input.name, &text(&input))?;
                self.maps.push((input.name, map));
            }
            FootprintFormat::StackUsage => self
                .frames
                .0
                .extend(stack_use::read(input.name, &text(&input))?),
        }
        self.found.files.push(FootprintFile {
            name: input.name.to_owned(),
            format,
            machine: None,
            length: ByteCount::new(input.bytes.len() as u64),
        });
        Ok(())
    }

    /// The footprint from a JSON document, if that is the input.
    fn document(&self, inputs: &[Input<'_>]) -> Result<Option<Footprint>, FootprintError> {
        let Some(input) = self.documents.first() else {
            return Ok(None);
        };
        if inputs.len() > 1 {
            return Err(FootprintError::Unfit {
                what: format!(
                    "{} is a footprint of its own and cannot be added to other files; give it alone, or as A or B of two",
                    input.name
                ),
            });
        }
        let file = || input.name.to_owned();
        let document: FootprintDocument =
            serde_json::from_slice(input.bytes).map_err(|error| FootprintError::Damaged {
                file: file(),
                what: error.to_string(),
            })?;
        match document.content {
            FootprintContent::Footprint(footprint) => Ok(Some(footprint)),
            FootprintContent::Builds(_) => Err(FootprintError::ForeignDocument {
                file: file(),
                kind: "builds",
            }),
            FootprintContent::Difference(_) => Err(FootprintError::ForeignDocument {
                file: file(),
                kind: "difference",
            }),
        }
    }

    /// Reads linked files, each with its map; or a map alone.
    fn programs(&mut self) -> Result<(), FootprintError> {
        if self.maps.len() > self.programs.len().max(1) {
            return Err(FootprintError::Unfit {
                what: format!(
                    "{} maps are given for {} linked programs; give one for each, in the same order",
                    self.maps.len(),
                    self.programs.len()
                ),
            });
        }
        if self.programs.is_empty()
            && let Some((name, map)) = self.maps.first()
        {
            claims::add_map(&mut self.tree, map);
            self.found.notes.push(format!(
                "{name} is a map without its program: sections are classed by name and memory, and symbols are not known"
            ));
        }
        let several = self.programs.len() + self.objects.len() > 1;
        for (at, input) in std::mem::take(&mut self.programs).into_iter().enumerate() {
            let elf = elf::read(input.name, input.bytes)?;
            let name = several.then(|| Rc::from(paths::last(input.name)));
            let map = self.maps.get(at).map(|(_, map)| map);
            claims::add_elf(&mut self.tree, &elf, map, &Container::Program { name });
            self.keep(input.name, elf);
        }
        Ok(())
    }

    fn archives(&mut self) -> Result<(), FootprintError> {
        for (format, input) in std::mem::take(&mut self.objects) {
            if format == FootprintFormat::Object {
                let elf = elf::read(input.name, input.bytes)?;
                let container = Container::Object {
                    archive: None,
                    object: Rc::from(paths::normal(input.name)),
                };
                self.object(input.name, elf, &container);
                continue;
            }
            let archive: Rc<str> = Rc::from(paths::last(input.name));
            for member in archive::members(input.name, input.bytes, &mut self.found.notes)? {
                let name = format!("{}({})", input.name, member.name);
                let elf = elf::read(&name, member.bytes)?;
                let container = Container::Object {
                    archive: Some(Rc::clone(&archive)),
                    object: Rc::from(member.name.as_str()),
                };
                self.object(input.name, elf, &container);
            }
        }
        Ok(())
    }

    fn object(&mut self, file: &str, elf: elf::Elf<'_>, container: &Container) {
        claims::add_elf(&mut self.tree, &elf, None, container);
        self.keep(file, elf);
    }

    /// Keeps a file's data besides its sections.
    fn keep(&mut self, file: &str, elf: elf::Elf<'_>) {
        if let Some(known) = self.found.files.iter_mut().find(|known| known.name == file) {
            known.machine.get_or_insert(elf.machine);
        }
        self.frames.1.extend(elf.frames);
        self.found.notes.extend(elf.notes);
    }

    fn finish(mut self) -> Footprint {
        self.found.regions = self.tree.finish();
        self.found.totals = totals(&self.found.regions);
        let (written, noted) = self.frames;
        let written = stack_use::sum_up(StackUseSource::StackUsage, written);
        self.found.stack_use =
            written.or_else(|| stack_use::sum_up(StackUseSource::StackSizes, noted));
        let machines: BTreeSet<_> = self
            .found
            .files
            .iter()
            .filter_map(|file| file.machine.as_deref())
            .collect();
        if machines.len() > 1 {
            let names: Vec<_> = machines.into_iter().collect();
            let note = format!(
                "the files are for different processors: {}",
                names.join(", ")
            );
            self.found.notes.push(note);
        }
        self.found
    }
}

fn text(input: &Input<'_>) -> String {
    String::from_utf8_lossy(input.bytes).into_owned()
}

/// Totals with each section once: where it is used, not where its initial values are stored.
fn totals(regions: &[FootprintRegion]) -> FootprintTotals {
    let mut totals = FootprintTotals::default();
    let sections = regions.iter().flat_map(|region| &region.sections);
    for section in sections.filter(|section| section.place == SectionPlace::Run) {
        totals.add(section.class, section.size);
    }
    totals
}

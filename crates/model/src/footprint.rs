//! The footprint document, `linerate/footprint/1`: what a build takes of a device's memory, and where.
//!
//! Sizes are bytes of memory, not of the file. Text, data and bss are those of `size` in its Berkeley format: text is
//! what is not written (code and constants), data what is written and has initial values, bss what is written and
//! starts as zero. Flash holds text and data, RAM holds data, bss and the stacks that the user names.

use crate::run::Tool;
use crate::units::{ByteCount, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema id of this version.
pub const SCHEMA: &str = "linerate/footprint/1";

/// What `linerate footprint` prints as JSON.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FootprintDocument {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// What made it.
    pub tool: Tool,
    /// What it says.
    #[serde(flatten)]
    pub content: FootprintContent,
}

/// The kinds of footprint documents.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FootprintContent {
    /// Builds of one network stack in several configurations.
    Builds(FootprintBuilds),
    /// One build against another.
    Difference(FootprintDifference),
    /// One build.
    Footprint(Footprint),
}

/// The footprint of one build.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Footprint {
    /// What was read, in the order given.
    pub files: Vec<FootprintFile>,
    /// Sums over all sections, each counted once.
    pub totals: FootprintTotals,
    /// The tree: memory region, section, archive, object or source path, symbol.
    pub regions: Vec<FootprintRegion>,
    /// Parts by pattern, in the order asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<FootprintGroup>,
    /// Static stack use by function, where the compiler wrote it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack_use: Option<StackUse>,
    /// What was allowed, and what is used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<FootprintBudget>,
    /// Memory that network stacks used in the runs that were given, beside what the build sets aside for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run_time: Vec<RunTimeMemory>,
    /// What to be careful about.
    pub notes: Vec<String>,
}

/// Memory of one network stack at run time, over the runs that started it with the same options.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RunTimeMemory {
    /// Its name: `lwip`.
    pub stack: String,
    /// What was asked of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// How many runs tell it.
    pub runs: u32,
    /// In the order of the stack.
    pub pools: Vec<RunTimePool>,
}

/// A pool of memory at run time.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RunTimePool {
    /// The stack's own name for it.
    pub name: String,
    /// What the build sets aside for it; absent where no symbol of RAM is known to be it.
    #[serde(rename = "static", default, skip_serializing_if = "Option::is_none")]
    pub set_aside: Option<StaticMemory>,
    /// All of it, as the stack sees it.
    #[serde(rename = "capacity_bytes")]
    pub capacity: ByteCount,
    /// The most that was in use at once, in any run.
    #[serde(rename = "peak_bytes")]
    pub peak: ByteCount,
    /// Requests that found none free, in all runs.
    pub failures: u64,
}

/// Memory that the linker laid out.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StaticMemory {
    /// The variable.
    pub symbol: String,
    /// Its size.
    #[serde(rename = "size_bytes")]
    pub size: ByteCount,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FootprintFile {
    /// Its path, as it was given.
    pub name: String,
    /// What it is.
    pub format: FootprintFormat,
    /// Processor it is built for, as ELF calls it: `arm`, `x86-64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Length of the file.
    #[serde(rename = "file_bytes")]
    pub length: ByteCount,
}

crate::named_enum! {
    /// What a file is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum FootprintFormat {
        /// An archive of object files.
        Archive = "archive",
        /// A footprint that linerate printed as JSON.
        Document = "footprint document",
        /// A linked program or shared library.
        Executable = "program",
        /// The map that GNU ld writes.
        Map = "map",
        /// An object file.
        Object = "object",
        /// What `-fstack-usage` writes.
        StackUsage = "stack usage",
    }
}

/// Sums by class of section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct FootprintTotals {
    /// Code and constants.
    #[serde(rename = "text_bytes")]
    pub text: ByteCount,
    /// Written, with initial values.
    #[serde(rename = "data_bytes")]
    pub data: ByteCount,
    /// Written, starts as zero.
    #[serde(rename = "bss_bytes")]
    pub bss: ByteCount,
    /// Stacks whose size the user gave; not in `size`.
    #[serde(rename = "stacks_bytes")]
    pub stacks: ByteCount,
    /// Text and data.
    #[serde(rename = "flash_bytes")]
    pub flash: ByteCount,
    /// Data, bss and stacks.
    #[serde(rename = "ram_bytes")]
    pub ram: ByteCount,
}

impl FootprintTotals {
    /// Adds `size` bytes of a class. Saturates: a hostile file may claim any size.
    pub fn add(&mut self, class: SectionClass, size: ByteCount) {
        let add = |to: &mut ByteCount| *to = ByteCount::new(to.get().saturating_add(size.get()));
        match class {
            SectionClass::Text => add(&mut self.text),
            SectionClass::Data => add(&mut self.data),
            SectionClass::Bss => add(&mut self.bss),
            SectionClass::Stack => add(&mut self.stacks),
        }
        if class.is_in_flash() {
            add(&mut self.flash);
        }
        if class.is_in_ram() {
            add(&mut self.ram);
        }
    }

    /// The sum that `size` prints as `dec`: text, data and bss.
    pub const fn dec(&self) -> ByteCount {
        let sum = self.text.get().saturating_add(self.data.get());
        ByteCount::new(sum.saturating_add(self.bss.get()))
    }
}

/// What `size` counts a section as.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum SectionClass {
    /// Written, starts as zero.
    Bss,
    /// Written, with initial values.
    Data,
    /// A stack whose size the user gave.
    Stack,
    /// Not written.
    Text,
}

impl SectionClass {
    /// Whether its bytes are stored.
    pub const fn is_in_flash(self) -> bool {
        matches!(self, Self::Text | Self::Data)
    }

    /// Whether it takes memory that is written.
    pub const fn is_in_ram(self) -> bool {
        !matches!(self, Self::Text)
    }
}

/// A memory of the device.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FootprintRegion {
    /// As the map calls it; without a map `flash` and `RAM`.
    pub name: String,
    /// Bytes used of it.
    #[serde(rename = "size_bytes")]
    pub size: ByteCount,
    /// Bytes there are, where a map tells.
    #[serde(
        rename = "capacity_bytes",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub capacity: Option<ByteCount>,
    /// Largest first.
    pub sections: Vec<FootprintSection>,
}

impl FootprintRegion {
    /// The share that is used, where the capacity is known.
    pub fn used(&self) -> Option<Ratio> {
        let capacity = self.capacity.filter(|capacity| capacity.get() > 0)?;
        Ratio::new(self.size.as_f64() / capacity.as_f64())
    }
}

/// A section in a memory.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FootprintSection {
    /// Its name in the file; of object files, that of the section that a linker puts it in.
    pub name: String,
    /// What `size` counts it as.
    pub class: SectionClass,
    /// Why it is in this memory.
    pub place: SectionPlace,
    /// Its size; the sum of `parts`.
    #[serde(rename = "size_bytes")]
    pub size: ByteCount,
    /// Where the size comes from.
    pub source: FigureSource,
    /// Largest first.
    pub parts: Vec<FootprintNode>,
}

/// Why a section takes room in a memory.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum SectionPlace {
    /// Its initial values are stored there: it counts here for a second time.
    Load,
    /// It is used there.
    Run,
}

/// A part of a section.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FootprintNode {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// Its size; the sum of `parts` where there are any.
    #[serde(rename = "size_bytes")]
    pub size: ByteCount,
    /// Where the size, or of a node with parts the name, comes from.
    pub source: FigureSource,
    /// Largest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Self>,
}

crate::named_enum! {
    /// What a part is.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum NodeKind {
        /// An archive, or one of the files given.
        Archive = "archive",
        /// A Rust crate, where no source path is known.
        Crate = "crate",
        /// Room between parts.
        Fill = "fill",
        /// A section of an object file, beyond its symbols.
        InputSection = "input section",
        /// An object file, or a member of an archive.
        Object = "object",
        /// The path of a source file.
        SourcePath = "source",
        /// A thread's stack, of a size that the user gave.
        Stack = "stack",
        /// A function or variable.
        Symbol = "symbol",
        /// What nobody claims.
        Unclaimed = "unclaimed",
    }
}

crate::named_enum! {
    /// Where a figure comes from.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum FigureSource {
        /// A gap that is smaller than the alignment of its section.
        Alignment = "alignment",
        /// The member header of an archive, or the file's own name.
        Archive = "archive",
        /// Debugging information.
        Dwarf = "DWARF",
        /// The section header table.
        ElfSection = "ELF section",
        /// The program header table: the file has no sections.
        ElfSegment = "ELF segment",
        /// The symbol table.
        ElfSymbol = "ELF symbol",
        /// The user.
        Given = "given",
        /// The linker's map.
        Map = "map",
    }
}

/// What the parts whose path matches a pattern take together.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FootprintGroup {
    /// The user's name for it; `(other)` for what no pattern matches.
    pub name: String,
    /// The regular expression; absent for what no pattern matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Symbols, or other smallest parts.
    pub parts: u64,
    /// What they take.
    #[serde(flatten)]
    pub totals: FootprintTotals,
}

/// Stack that functions take for themselves. A lower bound of what a thread needs: what they call, interrupts and
/// variable-length arrays come on top.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StackUse {
    /// Where it comes from.
    pub source: StackUseSource,
    /// The largest frame.
    #[serde(rename = "at_least_bytes")]
    pub at_least: ByteCount,
    /// Functions, largest frame first.
    pub functions: Vec<FunctionStack>,
}

crate::named_enum! {
    /// Who wrote down the frames.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum StackUseSource {
        /// Sections `.stack_sizes`.
        StackSizes = ".stack_sizes",
        /// Files of `-fstack-usage`.
        StackUsage = "-fstack-usage",
    }
}

/// The stack frame of a function.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FunctionStack {
    /// The function, with its file where that is known: `tcp_in.c:tcp_input`.
    pub name: String,
    /// Bytes of its own frame.
    #[serde(rename = "frame_bytes")]
    pub frame: ByteCount,
    /// Whether the frame grows with what the function is given.
    pub growth: FrameGrowth,
}

crate::named_enum! {
    /// Whether a stack frame has a fixed size.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum FrameGrowth {
        /// It grows, to a bound that the compiler knows and that is included.
        Bounded = "bounded",
        /// It has the size given.
        Fixed = "fixed",
        /// It grows beyond the size given.
        Unbounded = "grows",
    }
}

/// A limit, and what is held against it.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FootprintBudget {
    /// What is limited: `flash`, `ram`, `text`, `data`, `bss`, `stacks`, a region of the map or a group.
    pub name: String,
    /// The limit.
    #[serde(rename = "limit_bytes")]
    pub limit: ByteCount,
    /// Whether the limit is on the size or on its growth.
    pub on: BudgetOn,
    /// What is used, or by how much it grew.
    #[serde(rename = "used_bytes")]
    pub used: ByteCountChange,
    /// Whether the limit is kept.
    pub met: bool,
}

/// What a budget limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BudgetOn {
    /// The growth of B over A.
    Growth,
    /// The size.
    Size,
}

/// By how many bytes something changed; growth is positive.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, JsonSchema, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ByteCountChange(i64);

impl ByteCountChange {
    /// From `a` to `b`; saturates.
    pub fn between(a: ByteCount, b: ByteCount) -> Self {
        let change = i128::from(b.get()) - i128::from(a.get());
        let most = if change < 0 { i64::MIN } else { i64::MAX };
        Self(i64::try_from(change).unwrap_or(most))
    }

    /// Bytes, negative if less.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// Bytes without the sign.
    pub const fn magnitude(self) -> ByteCount {
        ByteCount::new(self.0.unsigned_abs())
    }
}

/// The footprint of B against that of A.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FootprintDifference {
    /// The base.
    pub a: FootprintSide,
    /// What is held against it.
    pub b: FootprintSide,
    /// Every region and below it what changed, largest change first.
    pub regions: Vec<FootprintChange>,
    /// Parts by pattern.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupChange>,
    /// What was allowed of B, and what it uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<FootprintBudget>,
    /// What to be careful about.
    pub notes: Vec<String>,
}

/// One side of a difference.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FootprintSide {
    /// What was read.
    pub files: Vec<FootprintFile>,
    /// Sums over all sections.
    pub totals: FootprintTotals,
}

/// A part on both sides.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FootprintChange {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: ChangeKind,
    /// Its size in A; 0 if A has no such part.
    #[serde(rename = "a_bytes")]
    pub a: ByteCount,
    /// Its size in B; 0 if B has no such part.
    #[serde(rename = "b_bytes")]
    pub b: ByteCount,
    /// B minus A.
    #[serde(rename = "change_bytes")]
    pub change: ByteCountChange,
    /// The parts that changed, largest change first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Self>,
}

/// What changed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// A part of a section.
    Part(NodeKind),
    /// A memory of the device.
    Region,
    /// A section.
    Section(SectionPlace),
}

/// A group on both sides.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct GroupChange {
    /// The user's name for it.
    pub name: String,
    /// In A.
    pub a: FootprintTotals,
    /// In B.
    pub b: FootprintTotals,
}

/// A network stack, built in several configurations.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FootprintBuilds {
    /// The network stack.
    pub stack: String,
    /// Its version, as its package has it.
    pub version: String,
    /// The processor.
    pub target: String,
    /// The compiler's own name and version.
    pub compiler: String,
    /// Every build, in the order of its configuration.
    pub builds: Vec<FootprintBuild>,
    /// What others published of the same stack.
    pub published: Vec<PublishedFootprint>,
    /// What to be careful about.
    pub notes: Vec<String>,
}

/// One build.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FootprintBuild {
    /// Levels of its factors: `ipv4`, `base`, `Os`.
    pub configuration: Vec<String>,
    /// The stack alone, as an archive: all of it.
    pub archive: FootprintTotals,
    /// A linked program around it: what a linker keeps, with the C library.
    pub image: FootprintTotals,
    /// The largest stack frame: a lower bound of what a thread needs.
    #[serde(rename = "stack_at_least_bytes")]
    pub stack_at_least: ByteCount,
}

/// One row of a published table.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PublishedFootprint {
    /// The network stack.
    pub stack: String,
    /// Number of the scenario; the table does not say what it stands for.
    pub scenario: u32,
    /// As printed.
    #[serde(rename = "text_bytes")]
    pub text: ByteCount,
    /// As printed.
    #[serde(rename = "data_bytes")]
    pub data: ByteCount,
    /// As printed.
    #[serde(rename = "bss_bytes")]
    pub bss: ByteCount,
    /// As printed.
    #[serde(rename = "total_bytes")]
    pub total: ByteCount,
}

//! A footprint, the difference of two, or builds of a stack.
//!
//! Sizes are shown to the byte: what they are held against, `size` and budgets, is too.

mod blocks;
mod csv;
mod drawing;
mod largest;
mod tree;
mod treemap;

use crate::document::{Block, Document, DocumentFormat, Head};
use crate::figures::clean;
use crate::junit::{Case, Outcome, Suite};
use crate::table::Cell;
use linerate_model::footprint::{
    BudgetOn, ByteCountChange, Footprint, FootprintBudget, FootprintContent, FootprintFile,
    FootprintTotals, FrameGrowth, RunTimeMemory, RunTimePool, SCHEMA, SectionPlace, StackUse,
};
use linerate_model::run::Tool;
use linerate_model::{ByteCount, Ratio};
use serde::Serialize;

/// How much of the tree a terminal shows; the documents have all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FootprintView {
    /// Levels below a memory region: 1 shows sections.
    pub depth: usize,
    /// Rows below each part, and of the lists.
    pub rows: usize,
    /// Rows of the whole tree: where it has more, it loses levels and rows until it fits.
    pub lines: usize,
}

impl FootprintView {
    /// All of it.
    pub const ALL: Self = Self {
        depth: usize::MAX,
        rows: usize::MAX,
        lines: usize::MAX,
    };

    /// What fits on one screen, with totals and lists around it.
    pub const SCREEN: Self = Self {
        depth: 3,
        rows: 10,
        lines: 24,
    };

    /// This view, then narrower ones: fewer rows first, then fewer levels.
    fn narrower(self) -> impl Iterator<Item = Self> {
        const ROWS: [usize; 3] = [usize::MAX, 5, 3];
        let depths = (0..=self.depth.min(Self::SCREEN.depth)).rev();
        let deepest = std::iter::once(self.depth);
        let depths = deepest.chain(depths.filter(move |depth| *depth < self.depth));
        depths.flat_map(move |depth| {
            ROWS.map(|rows| Self {
                depth,
                rows: rows.min(self.rows),
                ..self
            })
        })
    }
}

/// A footprint with how much of it is shown.
#[derive(Debug, Clone, Copy)]
pub struct FootprintPage<'a> {
    /// What was found.
    pub content: &'a FootprintContent,
    /// How much of the tree a terminal shows.
    pub view: FootprintView,
}

/// The schema around what was found, which may be large.
#[derive(Serialize)]
struct Data<'a> {
    schema: &'a str,
    tool: Tool,
    #[serde(flatten)]
    content: &'a FootprintContent,
}

impl Document for FootprintPage<'_> {
    const FORMATS: &'static [DocumentFormat] = &[
        DocumentFormat::Html,
        DocumentFormat::Csv,
        DocumentFormat::Json,
        DocumentFormat::Text,
        DocumentFormat::Junit,
    ];
    const NAME: &'static str = "footprint";

    fn head(&self) -> Head {
        let heading = match self.content {
            FootprintContent::Builds(builds) => format!(
                "Footprint of {} {} for {}",
                builds.stack, builds.version, builds.target
            ),
            FootprintContent::Difference(_) => "Footprint: B against A".to_owned(),
            FootprintContent::Footprint(footprint) => format!("Footprint of {}", name(footprint)),
        };
        Head {
            heading,
            made_what: "Report",
            reading: "Sizes are bytes of memory. Text, data and bss are those of the command size: text is what is not \
                written, data has initial values and takes flash and RAM, bss starts as zero. Stack frames are lower bounds \
                of what a thread needs.",
        }
    }

    fn blocks(&self) -> Vec<Block<'_>> {
        match self.content {
            FootprintContent::Builds(builds) => blocks::of_builds(builds),
            FootprintContent::Difference(difference) => {
                blocks::of_difference(difference, self.view)
            }
            FootprintContent::Footprint(footprint) => blocks::of_footprint(footprint, self.view),
        }
    }

    fn json(&self) -> impl Serialize {
        Data {
            schema: SCHEMA,
            tool: Tool::linerate(env!("CARGO_PKG_VERSION")),
            content: self.content,
        }
    }

    fn csv(&self) -> String {
        csv::rows(self.content)
    }

    fn suites(&self) -> Vec<Suite> {
        let budgets: &[FootprintBudget] = match self.content {
            FootprintContent::Builds(_) => &[],
            FootprintContent::Difference(difference) => &difference.budgets,
            FootprintContent::Footprint(footprint) => &footprint.budgets,
        };
        let cases = budgets.iter().map(|one| {
            let outcome = if one.met {
                Outcome::Passed
            } else {
                Outcome::Failed(clean(&budget(one)))
            };
            Case::judged(&format!("budget {}", one.name), outcome)
        });
        vec![Suite::judged(&self.head().heading, cases.collect())]
    }
}

/// The totals as one sentence.
fn totals(totals: &FootprintTotals) -> String {
    let stacks = if totals.stacks.get() == 0 {
        String::new()
    } else {
        format!(" + stacks {}", totals.stacks.get())
    };
    format!(
        "flash {} B (text {} + data {}), RAM {} B (data {} + bss {}{stacks})",
        totals.flash.get(),
        totals.text.get(),
        totals.data.get(),
        totals.ram.get(),
        totals.data.get(),
        totals.bss.get(),
    )
}

fn file(file: &FootprintFile) -> String {
    let machine = file
        .machine
        .as_deref()
        .map_or_else(String::new, |machine| format!(", {machine}"));
    format!("{} ({}{machine})", file.name, file.format)
}

/// Many files are told by their number.
fn files(files: &[FootprintFile]) -> String {
    const MAX_FILES: usize = 4;
    let mut told: Vec<_> = files.iter().take(MAX_FILES).map(file).collect();
    if files.len() > MAX_FILES {
        told.push(format!("{} more", files.len() - MAX_FILES));
    }
    told.join(", ")
}

/// What the stack frames say, and what they do not.
fn stack_sentence(stack: &StackUse) -> String {
    let from = stack.source;
    let grows = stack
        .functions
        .iter()
        .filter(|function| function.growth == FrameGrowth::Unbounded)
        .count();
    let more = if grows == 0 {
        String::new()
    } else {
        format!(", and {grows} of the frames grow at run time")
    };
    format!(
        "at least {} B for a thread, a lower bound: the largest frame of {} functions ({from}); what they call and interrupts come on top{more}",
        stack.at_least.get(),
        stack.functions.len(),
    )
}

/// Which stack it was, and in how many runs.
fn run_time_sentence(memory: &RunTimeMemory) -> String {
    let options: Vec<_> = memory
        .options
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let options = if options.is_empty() {
        String::new()
    } else {
        format!(" ({})", options.join(", "))
    };
    let sum = |of: fn(&RunTimePool) -> ByteCount| {
        let sizes = memory.pools.iter().map(|pool| of(pool).get());
        sizes.fold(0, u64::saturating_add)
    };
    let runs = if memory.runs == 1 { "run" } else { "runs" };
    format!(
        "{}{options}, {} {runs}: at most {} B in use of {} B in pools, each at its own peak",
        memory.stack,
        memory.runs,
        sum(|pool| pool.peak),
        sum(|pool| pool.capacity),
    )
}

fn budget(budget: &FootprintBudget) -> String {
    let used = match budget.on {
        BudgetOn::Growth => format!("{} B of growth", signed(budget.used)),
        BudgetOn::Size => format!("{} B", budget.used.get()),
    };
    let over = budget
        .used
        .get()
        .saturating_sub_unsigned(budget.limit.get());
    let verdict = if budget.met {
        format!("{} B left", over.unsigned_abs())
    } else {
        format!("{over} B too much")
    };
    format!(
        "{}: {used}, at most {} B: {verdict}",
        budget.name,
        budget.limit.get()
    )
}

/// With its sign, a true minus.
fn signed(change: ByteCountChange) -> String {
    match change.get() {
        0 => "0".to_owned(),
        1.. => format!("+{}", change.get()),
        _ => format!("−{}", change.magnitude().get()),
    }
}

/// A size to the byte.
fn bytes(size: ByteCount) -> Cell {
    Cell::count(Some(size.get()))
}

/// The share that `part` is of `whole`; nothing of nothing.
fn share(part: ByteCount, whole: ByteCount) -> String {
    if whole.get() == 0 {
        return String::new();
    }
    let ratio = Ratio::clamped(part.as_f64() / whole.as_f64());
    crate::figures::percent(ratio)
}

/// A section's name; of stored initial values, that they are.
fn section(name: &str, place: SectionPlace) -> String {
    match place {
        SectionPlace::Load => format!("{name} (initial values)"),
        SectionPlace::Run => name.to_owned(),
    }
}

/// A region with what there is of it.
fn region(region: &linerate_model::footprint::FootprintRegion) -> String {
    match (region.capacity, region.used()) {
        (Some(capacity), Some(used)) => format!(
            "{} ({} of {})",
            region.name,
            crate::figures::percent(used),
            crate::figures::bytes(capacity)
        ),
        _ => region.name.clone(),
    }
}

/// What a footprint is called in a heading.
fn name(footprint: &Footprint) -> String {
    let first = footprint
        .files
        .first()
        .map_or("nothing", |file| file.name.as_str());
    match footprint.files.len() {
        0 | 1 => first.to_owned(),
        more => format!("{first} and {} more", more - 1),
    }
}

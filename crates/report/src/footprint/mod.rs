//! A footprint, the difference of two, or builds of a stack, as text, HTML and CSV.
//!
//! Sizes are shown to the byte: what they are held against, `size` and budgets, is too.

mod csv;
mod html;
mod largest;
mod lines;
mod text;
mod treemap;

pub use csv::footprint_csv;
pub use html::footprint_html;
pub use text::{FootprintView, footprint_text};

use linerate_model::footprint::{
    BudgetOn, ByteCountChange, FigureSource, Footprint, FootprintBudget, FootprintFile,
    FootprintFormat, FootprintTotals, FrameGrowth, NodeKind, RunTimeMemory, RunTimePool,
    SectionPlace, StackUse, StackUseSource,
};
use linerate_model::{ByteCount, Ratio};

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
    let format = match file.format {
        FootprintFormat::Archive => "archive",
        FootprintFormat::Document => "footprint document",
        FootprintFormat::Executable => "program",
        FootprintFormat::Map => "map",
        FootprintFormat::Object => "object",
        FootprintFormat::StackUsage => "stack usage",
    };
    let machine = file
        .machine
        .as_deref()
        .map_or_else(String::new, |machine| format!(", {machine}"));
    format!("{} ({format}{machine})", file.name)
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

const fn kind(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Archive => "archive",
        NodeKind::Crate => "crate",
        NodeKind::Fill => "fill",
        NodeKind::InputSection => "input section",
        NodeKind::Object => "object",
        NodeKind::SourcePath => "source",
        NodeKind::Stack => "stack",
        NodeKind::Symbol => "symbol",
        NodeKind::Unclaimed => "unclaimed",
    }
}

const fn source(source: FigureSource) -> &'static str {
    match source {
        FigureSource::Alignment => "alignment",
        FigureSource::Archive => "archive",
        FigureSource::Dwarf => "DWARF",
        FigureSource::ElfSection => "ELF section",
        FigureSource::ElfSegment => "ELF segment",
        FigureSource::ElfSymbol => "ELF symbol",
        FigureSource::Given => "given",
        FigureSource::Map => "map",
    }
}

const fn growth(growth: FrameGrowth) -> &'static str {
    match growth {
        FrameGrowth::Bounded => "bounded",
        FrameGrowth::Fixed => "fixed",
        FrameGrowth::Unbounded => "grows",
    }
}

/// What the stack frames say, and what they do not.
fn stack_sentence(stack: &StackUse) -> String {
    let from = match stack.source {
        StackUseSource::StackSizes => ".stack_sizes",
        StackUseSource::StackUsage => "-fstack-usage",
    };
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

/// What a row of a pool has.
const fn run_time_columns() -> [&'static str; 6] {
    [
        "pool",
        "static B",
        "capacity B",
        "peak B",
        "share",
        "none free",
    ]
}

fn run_time_cells(pool: &RunTimePool) -> [String; 6] {
    let set_aside = pool
        .set_aside
        .as_ref()
        .map_or_else(|| "–".to_owned(), |of| of.size.get().to_string());
    [
        pool.name.clone(),
        set_aside,
        pool.capacity.get().to_string(),
        pool.peak.get().to_string(),
        share(pool.peak, pool.capacity),
        pool.failures.to_string(),
    ]
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

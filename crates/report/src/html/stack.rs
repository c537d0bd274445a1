//! The stack under test: what crossed it, its counters, its memory, its settings.

use crate::page::{self, heading};
use crate::table::{Cell, Table};
use crate::words;
use linerate_model::run::Run;
use linerate_model::stack::{StackCounts, StackReport};
use maud::{Markup, html};

/// Everything; nothing if no stack was started.
pub(super) fn all(run: &Run, level: u8) -> Markup {
    let Some(report) = &run.stack else {
        return html! {};
    };
    let counts = &report.counts;
    html! {
        p { (words::stack::name(report)) }
        @for said in [words::stack::traffic(report), words::stack::losses(report), words::stack::memory(report)].into_iter().flatten() {
            p { (said) }
        }
        (shown(&counters(counts), "Counters of the stack", level))
        (shown(&pools(counts), "Memory pools of the stack", level))
        (shown(&settings(report), "The stack and its settings", level))
    }
}

fn shown(table: &Table, name: &str, level: u8) -> Markup {
    html! {
        @if !table.rows.is_empty() {
            (heading(level, None, name))
            (page::scrolled(table, name))
        }
    }
}

/// A row for each counter that is not 0: the kernel's layers have dozens each.
fn counters(counts: &StackCounts) -> Table {
    let mut table = Table::new(["Layer", "Counter", "Count"]);
    for (layer, all) in &counts.counters {
        for (name, count) in all.iter().filter(|(_, count)| **count > 0) {
            table.push(vec![
                Cell::text(layer),
                Cell::text(name),
                Cell::count(Some(*count)),
            ]);
        }
    }
    table
}

fn pools(counts: &StackCounts) -> Table {
    let mut table = Table::new([
        "Pool",
        "Most in use (units)",
        "Units",
        "Unit (B)",
        "Most in use (B)",
        "None free (times)",
    ]);
    for pool in &counts.pools {
        table.push(vec![
            Cell::text(&pool.name),
            Cell::count(Some(pool.peak)),
            Cell::count(Some(pool.capacity)),
            Cell::count(Some(pool.unit_bytes.get())),
            Cell::count(Some(pool.peak_bytes().get())),
            Cell::count(Some(pool.failures)),
        ]);
    }
    table
}

/// What it is and what was built in, by which two stacks differ.
fn settings(report: &StackReport) -> Table {
    let mut table = Table::new(["Setting", "Value"]);
    for (name, value) in report.identity() {
        table.push(vec![Cell::text(name), Cell::text(value)]);
    }
    table
}

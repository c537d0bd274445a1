//! The stack under test: what crossed it, its counters, its memory, its settings.

use crate::page::titled;
use crate::table::{Cell, Table, column};
use crate::words;
use linerate_model::run::Run;
use linerate_model::stack::{StackCounts, StackPool, StackReport};
use maud::{Markup, html};

/// Everything; nothing if no stack was started.
pub(super) fn all(run: &Run, level: u8) -> Markup {
    let Some(report) = &run.stack else {
        return html! {};
    };
    let counts = &report.counts;
    html! {
        @for said in words::stack::said(report) { p { (said) } }
        (titled(&counters(counts), "Counters of the stack", level))
        (titled(&pools(counts), "Memory pools of the stack", level))
        (titled(&settings(report), "The stack and its settings", level))
    }
}

/// A row for each counter that is not 0: the kernel's layers have dozens each.
fn counters(counts: &StackCounts) -> Table {
    let mut table = Table::new(["Layer", "Counter", "Count"]);
    for (layer, all) in &counts.counters {
        for (name, count) in all.iter().filter(|(_, count)| **count > 0) {
            let names = [layer, name].map(Cell::text);
            table.push(
                names
                    .into_iter()
                    .chain([Cell::count(Some(*count))])
                    .collect(),
            );
        }
    }
    table
}

fn pools(counts: &StackCounts) -> Table {
    let count = |head: &str, get: fn(&StackPool) -> u64| {
        column(head, move |pool: &StackPool| Cell::count(Some(get(pool))))
    };
    let columns = [
        column("Pool", |pool: &StackPool| Cell::text(&pool.name)),
        count("Most in use (units)", |pool| pool.peak),
        count("Units", |pool| pool.capacity),
        count("Unit (B)", |pool| pool.unit_bytes.get()),
        count("Most in use (B)", |pool| pool.peak_bytes().get()),
        count("None free (times)", |pool| pool.failures),
    ];
    Table::from_rows(&counts.pools, columns)
}

/// What it is and what was built in, by which two stacks differ.
fn settings(report: &StackReport) -> Table {
    let mut table = Table::new(["Setting", "Value"]);
    for (name, value) in report.identity() {
        table.push(vec![Cell::text(name), Cell::text(value)]);
    }
    table
}

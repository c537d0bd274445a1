//! Sums, ratios and percentages that do not follow from their parts.

use super::{Check, Contradiction, Examined};
use crate::published::levels::label;
use crate::published::statement::{Statement, StatementCase};
use crate::published::table::PublishedTable;

pub(super) const CHECK: Check = Check {
    id: "parts",
    asks: "Do sums, ratios and percentages follow from their parts, within the rounding of the figures?",
    source: "the rules in the head of the table",
    expected_false: 0.0,
    run: |table| {
        statements(
            table,
            &table.rules,
            "the head states no rule (`# rule: [..] = [..] + [..]`)",
        )
    },
};

/// What does not hold of these statements.
pub(super) fn statements(
    table: &PublishedTable,
    statements: &[Statement],
    missing: &'static str,
) -> Examined {
    let mut examined = Examined {
        missing,
        ..Examined::default()
    };
    for statement in statements {
        let asked = statement.ask(table);
        let count = asked.len();
        examined.count += count as u64;
        let failed: Vec<StatementCase> = asked
            .into_iter()
            .filter(|held| held.holds == Some(false))
            .collect();
        let of = failed.len();
        examined.findings.extend(failed.into_iter().map(|held| {
            let cells = held
                .cells
                .iter()
                .filter_map(|index| table.cells.get(*index));
            let words = statement
                .words
                .as_deref()
                .map_or_else(String::new, |words| format!("{words}: "));
            Contradiction {
                cells: cells.map(|cell| label(&cell.levels)).collect(),
                rule: format!("{words}{} (fails in {of} of {count})", statement.text),
                arithmetic: held.arithmetic,
                p: None,
            }
        }));
    }
    examined
}

//! The reference page of all rules, in Markdown.

use super::ALL;
use std::fmt::Write as _;

/// The page `docs/guide/rules.md`: a row for each cause, in the order in which they are asked.
pub fn page() -> String {
    let mut page = "# Rules of the verdict\n\n\
        Written by `make docs`. Each rule looks for one limit, in this order; [how its outcome is read](report.md), \
        [its thresholds](../methodology.md#verdicts).\n\n\
        | rule | the limit | found when |\n|---|---|---|\n"
        .to_owned();
    for cause in ALL {
        let (id, name, summary) = (cause.id, cause.name, cause.summary);
        let row = writeln!(page, "| `{id}` | {name} | {summary} |");
        row.expect("invariant: a string takes every line");
    }
    page
}

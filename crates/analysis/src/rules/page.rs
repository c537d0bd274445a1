//! The reference page of all rules, in Markdown.

use super::ALL;
use std::fmt::Write as _;

/// The page `docs/guide/rules.md`: a row for each rule, in the order in which they are asked.
pub fn page() -> String {
    let mut page = "# Rules of the verdict\n\n\
        Written by `make docs`. Each rule looks for one limit; how its outcome is read stands in \
        [reading a report and a verdict](report.md).\n\n\
        | rule | the limit | found when | reads |\n|---|---|---|---|\n"
        .to_owned();
    for rule in ALL {
        let needs: Vec<&str> = rule.needs().iter().map(|need| need.describe()).collect();
        let (id, name, summary) = (rule.id(), rule.name(), rule.summary());
        let row = writeln!(
            page,
            "| `{id}` | {name} | {summary} | {} |",
            needs.join("; ")
        );
        row.expect("invariant: a string takes every line");
    }
    page
}

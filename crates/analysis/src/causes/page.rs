//! The reference page of all rules, in Markdown.

use super::ALL;
use std::fmt::Write as _;

/// The page `docs/guide/rules.md`: a row for each cause, in the order in which they are asked.
pub fn page() -> String {
    let mut page = "# Rules of the verdict\n\n\
        Written by `make docs`. Each rule looks for one limit; how its outcome is read stands in \
        [reading a report and a verdict](report.md).\n\n\
        | rule | the limit | found when | reads |\n|---|---|---|---|\n"
        .to_owned();
    for cause in ALL {
        let needs: Vec<&str> = cause.needs.iter().map(|need| need.describe()).collect();
        let reads = match cause.examine {
            Some(_) => needs.join("; "),
            None => "signs and probes".to_owned(),
        };
        let (id, name, summary) = (cause.id, cause.name, cause.summary);
        let row = writeln!(page, "| `{id}` | {name} | {summary} | {reads} |");
        row.expect("invariant: a string takes every line");
    }
    page
}

//! The audit of a published table as text and HTML.
//!
//! Draws no conclusion: findings and their calculations come with the audit.

mod html;
mod text;

pub use html::audit_html;
pub(crate) use html::section as audit_section;
pub use text::audit_text;
pub(crate) use text::findings as audit_findings;

use crate::figures::digits;
use linerate_model::audit::{Audit, TableCheck, TableFinding, TableOutcome};

/// The audit in a sentence.
pub(crate) fn audit_conclusion(audit: &Audit) -> String {
    let (findings, cells) = (audit.findings.len(), audit.table.cells);
    let examined = audit
        .checks
        .iter()
        .filter(|check| is_evaluated(check))
        .count();
    let of = format!(
        "{examined} of {} checks could examine its {cells} cells",
        audit.checks.len()
    );
    match findings {
        0 if examined == 0 => format!(
            "Cannot tell: the table has nothing that a check could examine ({cells} cells)."
        ),
        0 => format!("No contradiction found: {of}."),
        1 => format!("1 contradiction found: {of}."),
        _ => format!("{findings} contradictions found: {of}."),
    }
}

/// Whether a check examined anything.
pub(crate) const fn is_evaluated(check: &TableCheck) -> bool {
    !matches!(check.outcome, TableOutcome::NotEvaluated { .. })
}

/// What came of a check, in words.
fn outcome(check: &TableCheck) -> String {
    let count = check.examined;
    match &check.outcome {
        TableOutcome::Clear => format!("clear ({count} examined)"),
        TableOutcome::Found { findings } => format!("{findings} found ({count} examined)"),
        TableOutcome::NotEvaluated { why } => format!("not evaluated: {why}"),
    }
}

/// The cells of a finding: all of a few, else the first.
fn cells(finding: &TableFinding) -> String {
    const MOST: usize = 6;
    let all: Vec<Vec<&str>> = finding
        .cells
        .iter()
        .map(|cell| cell.split(", ").collect())
        .collect();
    // Levels that all cells have are said once.
    let first = all.first().cloned().unwrap_or_default();
    let (common, own): (Vec<&str>, Vec<&str>) = first
        .into_iter()
        .partition(|level| all.len() > 1 && all.iter().all(|cell| cell.contains(level)));
    let rest = |cell: &Vec<&str>| {
        let own = cell.iter().filter(|level| !common.contains(level));
        own.copied().collect::<Vec<_>>().join(", ")
    };
    let shown: Vec<String> = all.iter().take(MOST).map(rest).collect();
    let shown = match (common.is_empty(), own.is_empty()) {
        (true, _) => shown.join("; "),
        (false, true) => common.join(", "),
        (false, false) => format!("{}: {}", common.join(", "), shown.join("; ")),
    };
    match finding.cells.len() {
        count if count > MOST => format!("{shown}; and {} more", count - MOST),
        _ => shown,
    }
}

/// `expected by chance: 0.002 of a table whose figures are all as measured`.
fn expectation(audit: &Audit) -> String {
    if audit.expected_false_findings > 0.0 {
        format!(
            "{} findings are expected in a table whose figures are all as measured; the rest is arithmetic",
            digits(audit.expected_false_findings)
        )
    } else {
        "every check that could be made is arithmetic: no finding is expected by chance".to_owned()
    }
}

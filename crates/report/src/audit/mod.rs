//! The audit of a published table.
//!
//! Draws no conclusion: findings and their calculations come with the audit.

use crate::document::{Block, Document, DocumentFormat, Head, PAGE, Sheet, TERMINAL};
use crate::figures::digits;
use crate::table::words;
use linerate_model::audit::{Audit, TableCheck, TableFinding, TableOutcome};
use serde::Serialize;

impl Document for Audit {
    const FORMATS: &'static [DocumentFormat] = &[
        DocumentFormat::Html,
        DocumentFormat::Json,
        DocumentFormat::Text,
    ];
    const NAME: &'static str = "answer";

    fn head(&self) -> Head {
        Head {
            heading: table_name(self).to_owned(),
            made_what: "Audit of a published table,",
            reading: "A finding is arithmetic: figures that cannot all be as printed, or that chance hardly makes. It does not say why.",
        }
    }

    fn blocks(&self) -> Vec<Block<'_>> {
        let mut blocks = vec![Block::title(audit_conclusion(self))];
        blocks.extend(published(self));
        blocks.push(Block::fact("by chance", expectation(self)));
        blocks.extend(findings(self));
        let check = |check: &TableCheck| {
            Block::fact(&check.check, format!("{} {}", check.asks, outcome(check)))
        };
        let checks = [Block::Gap]
            .into_iter()
            .chain(self.checks.iter().map(check));
        blocks.push(Block::Only(TERMINAL, checks.collect()));
        blocks.push(every_check(self));
        blocks
    }

    fn json(&self) -> impl Serialize {
        self
    }
}

/// What the table is called.
pub(crate) fn table_name(audit: &Audit) -> &str {
    audit.table.title.as_deref().unwrap_or(&audit.table.name)
}

/// Which table it is, and where it was published.
pub(crate) fn published(audit: &Audit) -> impl Iterator<Item = Block<'_>> {
    let source = audit.table.source.iter();
    let source = source.map(|source| Block::fact("source", source));
    [Block::fact("table", table_name(audit))]
        .into_iter()
        .chain(source)
}

/// Every finding: the cells, the rule, the calculation, and the rule's source.
pub(crate) fn findings(audit: &Audit) -> [Block<'_>; 2] {
    let of = |finding: &TableFinding| {
        let mut blocks = vec![
            Block::Gap,
            Block::fact(&finding.check, cells(finding)),
            Block::fact("rule", &finding.rule),
            Block::fact("calculation", &finding.arithmetic),
        ];
        let mut checks = audit.checks.iter();
        let check = checks.find(|check| check.check == finding.check);
        blocks.extend(check.map(|check| Block::fact("rule from", &check.source)));
        blocks
    };
    let columns = vec![
        words("check", |finding: &TableFinding| finding.check.clone()),
        words("cells", cells),
        words("rule", |finding: &TableFinding| finding.rule.clone()),
        words("calculation", |finding: &TableFinding| {
            finding.arithmetic.clone()
        }),
    ];
    let table = Sheet::new("What the figures contradict", &audit.findings, columns);
    [
        Block::Only(TERMINAL, audit.findings.iter().flat_map(of).collect()),
        Block::Only(PAGE, vec![Block::Table(table)]),
    ]
}

/// What each check asked, and what came of it.
pub(crate) fn every_check(audit: &Audit) -> Block<'_> {
    let columns = vec![
        words("check", |check: &TableCheck| check.check.clone()),
        words("asks", |check: &TableCheck| check.asks.clone()),
        words("outcome", outcome),
        words("rule from", |check: &TableCheck| check.source.clone()),
    ];
    let table = Sheet::new("Every check", &audit.checks, columns);
    Block::Only(PAGE, vec![Block::Table(table)])
}

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
const fn is_evaluated(check: &TableCheck) -> bool {
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
            "a table without mistakes has {} findings by chance on average; all other checks are arithmetic",
            digits(audit.expected_false_findings)
        )
    } else {
        "all checks are arithmetic: none finds anything by chance".to_owned()
    }
}

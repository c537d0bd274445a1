//! Checks of a published table by its own figures.
//!
//! A check reads the table and nothing else. What it finds is arithmetic: figures that cannot all be as printed, or
//! that chance hardly makes. It says nothing of causes. What it could not examine is not clear.

mod ceiling;
mod claims;
mod grim;
mod grimmer;
mod identical;
mod instrument;
mod parts;
mod quantile_order;
mod spread;

use super::levels::label;
use super::table::{PublishedCell, PublishedTable};
use linerate_model::audit::{Audit, SCHEMA, TableCheck, TableFinding, TableOrigin, TableOutcome};
use linerate_model::run::Tool;

/// Every check. A new one: its file, its `mod` line above, its entry here.
pub static ALL: &[Check] = &[
    parts::CHECK,
    ceiling::CHECK,
    quantile_order::CHECK,
    spread::CHECK,
    grim::CHECK,
    grimmer::CHECK,
    instrument::CHECK,
    identical::CHECK,
    claims::CHECK,
];

/// One question to the figures of a table.
#[derive(Debug)]
pub struct Check {
    /// Its kebab-case name in documents and docs.
    pub id: &'static str,
    /// What it asks, one sentence.
    pub asks: &'static str,
    /// Where its rule comes from.
    pub source: &'static str,
    /// Findings to expect in a table whose figures are all as measured.
    pub expected_false: f64,
    run: fn(&PublishedTable) -> Examined,
}

/// What a check examined and found.
#[derive(Debug, Default)]
struct Examined {
    /// Figures, pairs or statements.
    count: u64,
    findings: Vec<Contradiction>,
    /// Why nothing could be examined, if nothing was.
    missing: &'static str,
}

/// A finding without the name of its check.
#[derive(Debug)]
struct Contradiction {
    cells: Vec<String>,
    rule: String,
    arithmetic: String,
    p: Option<f64>,
}

impl Contradiction {
    /// Of one cell.
    fn new(cell: &PublishedCell, rule: impl Into<String>, arithmetic: String) -> Self {
        Self {
            cells: vec![label(&cell.levels)],
            rule: rule.into(),
            arithmetic,
            p: None,
        }
    }
}

impl Examined {
    /// Asks each cell; `None` where it does not tell enough.
    fn each(
        table: &PublishedTable,
        missing: &'static str,
        ask: impl Fn(&PublishedCell) -> Option<Vec<Contradiction>>,
    ) -> Self {
        let asked: Vec<_> = table.cells.iter().filter_map(ask).collect();
        Self {
            count: asked.len() as u64,
            findings: asked.into_iter().flatten().collect(),
            missing,
        }
    }
}

/// Makes every check of `table`, which was asked for as `name`.
pub fn audit(table: &PublishedTable, name: &str, tool: Tool) -> Audit {
    let mut audit = Audit {
        schema: SCHEMA.to_owned(),
        tool,
        table: TableOrigin {
            name: name.to_owned(),
            title: table.title.clone(),
            source: table.source.clone(),
            cells: table.cells.len() as u64,
        },
        checks: Vec::new(),
        findings: Vec::new(),
        expected_false_findings: 0.0,
    };
    for check in ALL {
        let examined = (check.run)(table);
        audit.checks.push(TableCheck {
            check: check.id.to_owned(),
            asks: check.asks.to_owned(),
            source: check.source.to_owned(),
            examined: examined.count,
            outcome: match (examined.count, examined.findings.len() as u64) {
                (0, _) => TableOutcome::NotEvaluated {
                    why: examined.missing.to_owned(),
                },
                (_, 0) => TableOutcome::Clear,
                (_, findings) => TableOutcome::Found { findings },
            },
        });
        if examined.count > 0 {
            audit.expected_false_findings += check.expected_false;
        }
        let named = |found: Contradiction| TableFinding {
            check: check.id.to_owned(),
            cells: found.cells,
            rule: found.rule,
            arithmetic: found.arithmetic,
            p: found.p,
        };
        audit
            .findings
            .extend(examined.findings.into_iter().map(named));
    }
    audit
}

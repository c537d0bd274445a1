//! The audit document, `linerate/audit/1`: what the figures of a published table contradict, before anything is measured.
//!
//! A finding is arithmetic: it names figures that cannot all be as printed, or that chance hardly makes. It does not
//! say why they are so.

use crate::run::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The schema id of this version.
pub const SCHEMA: &str = "linerate/audit/1";

/// What the checks of a table found.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Audit {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// What audited.
    pub tool: Tool,
    /// The table.
    pub table: TableOrigin,
    /// Every check, in a fixed order.
    pub checks: Vec<TableCheck>,
    /// What they found, in the order of the checks.
    pub findings: Vec<TableFinding>,
    /// Findings to expect in a table of figures that are all as measured. Checks that are arithmetic alone add nothing.
    pub expected_false_findings: f64,
}

/// Where a table comes from.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TableOrigin {
    /// Its path, as it was given.
    pub name: String,
    /// What it is about, by its head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What published it, by its head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How many cells it has.
    pub cells: u64,
}

/// One check, and what came of it.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TableCheck {
    /// Its name.
    pub check: String,
    /// What it asks of the table, in one sentence.
    pub asks: String,
    /// Where its rule comes from.
    pub source: String,
    /// How many figures, pairs or statements it examined.
    pub examined: u64,
    /// What came of it.
    pub outcome: TableOutcome,
}

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum TableOutcome {
    /// What was examined contradicts nothing.
    Clear,
    /// Something is contradicted.
    Found {
        /// How many findings.
        findings: u64,
    },
    /// Nothing could be examined.
    NotEvaluated {
        /// What the table does not tell.
        why: String,
    },
}

/// Figures that cannot all be as printed, or that chance hardly makes.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TableFinding {
    /// The check that found it.
    pub check: String,
    /// The cells, by their factors.
    pub cells: Vec<String>,
    /// The rule that they do not keep.
    pub rule: String,
    /// The calculation, with the printed figures.
    pub arithmetic: String,
    /// Probability of as much by chance, corrected for all that the check tried; absent where it is impossible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
}

//! What `linerate reproduce` answers with, in every format.

use crate::archive;
use anyhow::{Context as _, Result};
use linerate_model::audit::{Audit, TableOutcome};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::reproduction::{ClaimVerdict, Reproduction};
use linerate_model::run::Run;
use linerate_report::{Style, audit_html, audit_text, reproduction_html, reproduction_text};
use linerate_sys::clock::wall_now;
use std::path::Path;

/// Columns of a text file.
const COLUMNS: usize = 110;
/// Formats that are written, by the ending of the file.
const ENDINGS: [&str; 3] = ["html", "json", "txt"];

/// What is answered.
#[derive(Debug, Clone)]
pub enum Answer {
    /// What the figures of a table contradict.
    Audit(Audit),
    /// Whether a published result holds.
    Reproduction {
        /// The verdicts.
        of: Box<Reproduction>,
        /// The studies that it is judged by, which its page shows.
        studies: Vec<Run>,
    },
}

impl Answer {
    /// Audit: 7 where something is contradicted, 8 where nothing could be examined. Reproduction: 7 where a cell differs,
    /// or what was measured refutes a claim where the published figures hold it; 8 where neither a cell nor a claim is
    /// shown either way.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Audit(audit) if !audit.findings.is_empty() => ExitCode::GoalMissed,
            Self::Audit(audit) => {
                let is_open =
                    |outcome: &TableOutcome| matches!(outcome, TableOutcome::NotEvaluated { .. });
                if audit.checks.iter().all(|check| is_open(&check.outcome)) {
                    ExitCode::CannotTell
                } else {
                    ExitCode::Done
                }
            }
            Self::Reproduction { of, .. } => holds(of),
        }
    }
}

fn holds(of: &Reproduction) -> ExitCode {
    let is_refuted = |claim: &ClaimVerdict| {
        let both = claim.published.asked.min(claim.measured.asked);
        claim.measured.refuted > 0 && claim.agree < both
    };
    let is_told = of.tally.reproduced + of.tally.compatible > 0
        || of
            .claims
            .iter()
            .any(|claim| claim.measured.shown + claim.measured.refuted > 0);
    if of.tally.differs > 0 || of.claims.iter().any(is_refuted) {
        ExitCode::GoalMissed
    } else if is_told {
        ExitCode::Done
    } else {
        ExitCode::CannotTell
    }
}

/// What the terminal shows; lines wrap at `width`.
pub fn text(answer: &Answer, width: usize, style: Style) -> String {
    match answer {
        Answer::Audit(audit) => audit_text(audit, width, style),
        Answer::Reproduction { of, .. } => reproduction_text(of, width, style),
    }
}

/// The document, indented.
pub fn json(answer: &Answer) -> Result<String> {
    match answer {
        Answer::Audit(audit) => serde_json::to_string_pretty(audit),
        Answer::Reproduction { of, .. } => serde_json::to_string_pretty(of),
    }
    .context(AS_JSON)
}

/// The document on one line.
pub fn json_line(answer: &Answer) -> Result<String> {
    match answer {
        Answer::Audit(audit) => serde_json::to_string(audit),
        Answer::Reproduction { of, .. } => serde_json::to_string(of),
    }
    .context(AS_JSON)
}

/// The page.
pub(super) fn html(answer: &Answer) -> Result<String> {
    Ok(match answer {
        Answer::Audit(audit) => audit_html(audit, &wall_now()),
        Answer::Reproduction { of, studies } => reproduction_html(of, studies, &wall_now()),
    }?)
}

/// What failed if it cannot be written.
const AS_JSON: &str = "writing the answer as JSON";

/// Whether an answer can be written to `path`, as far as can be said before it is made.
pub fn check_output(path: &Path) -> Result<(), Failure> {
    archive::check_output(path, &ENDINGS)
}

/// Writes the answer; the ending of the file chooses the format.
pub fn write(path: &Path, answer: &Answer) -> Result<()> {
    check_output(path)?;
    let text = match archive::ending(path) {
        "html" => html(answer)?,
        "json" => json(answer)? + "\n",
        _ => text(answer, COLUMNS, Style::Plain),
    };
    archive::write_text(path, &text)
}

//! What the answer of `linerate reproduce` means for its exit code.

use linerate_model::audit::{Audit, TableOutcome};
use linerate_model::exit::ExitCode;
use linerate_model::reproduction::{ClaimVerdict, Reproduction};
use linerate_report::Answer;

/// Audit: 7 where something is contradicted, 8 where nothing could be examined. Reproduction: 7 where a cell differs, or
/// what was measured refutes a claim where the published figures hold it; 8 where neither a cell nor a claim is shown
/// either way.
pub fn exit_code(answer: &Answer) -> ExitCode {
    match answer {
        Answer::Audit(audit) => contradicted(audit),
        Answer::Reproduction(judged) => holds(&judged.of),
    }
}

fn contradicted(audit: &Audit) -> ExitCode {
    let is_open = |outcome: &TableOutcome| matches!(outcome, TableOutcome::NotEvaluated { .. });
    if !audit.findings.is_empty() {
        ExitCode::GoalMissed
    } else if audit.checks.iter().all(|check| is_open(&check.outcome)) {
        ExitCode::CannotTell
    } else {
        ExitCode::Done
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

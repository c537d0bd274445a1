//! The overview of several runs: one line for each.

use super::paper::{Paper, cut};
use super::result_of;
use crate::figures::clean;
use crate::words;
use linerate_model::run::{Run, RunStatus};

/// Widest name of a run in the overview.
const NAME: usize = 34;

/// What, result and limit of each run.
pub(super) fn overview(paper: &mut Paper, runs: &[Run]) {
    for run in runs {
        paper.strong("", &cut(&clean(&words::title(run)), NAME * 2));
        if run.status != RunStatus::Complete {
            paper.alarm("status", words::status(run.status));
        }
        if run.parts.is_empty() {
            paper.row("result", &result_of(run));
        } else {
            paper.row("parts", &run.parts.len().to_string());
        }
        if let Some(verdict) = &run.verdict {
            let limit = words::limit(verdict.limit);
            let sure = words::confidence_id(verdict.confidence);
            paper.row("limit", &format!("{limit} ({sure})"));
        }
    }
}

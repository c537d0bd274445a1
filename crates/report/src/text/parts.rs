//! The overview of several runs: a few lines for each.

use crate::figures::UNKNOWN;
use crate::headline::headlines;
use crate::paper::Paper;
use crate::words;
use linerate_model::run::{Run, RunStatus};

/// What, result and limit of each run.
pub(super) fn overview(paper: &mut Paper, runs: &[Run]) {
    for run in runs {
        paper.item(&words::title(run), &said(run).join("; "));
    }
}

fn said(run: &Run) -> Vec<String> {
    let results = headlines(run);
    let mut lines: Vec<String> = results
        .iter()
        .map(|result| format!("{} {}", result.figure, result.about))
        .collect();
    if lines.is_empty() {
        lines.push(match run.parts().len() {
            0 => format!("result {UNKNOWN}"),
            parts => format!("{parts} parts"),
        });
    }
    if let Some(verdict) = &run.verdict {
        let limit = words::limited(&verdict.limit);
        let sure = words::confidence_id(verdict.confidence);
        lines.push(format!("{limit} ({sure})"));
    }
    if run.status != RunStatus::Complete {
        lines.push(words::status(run.status).to_owned());
    }
    lines
}

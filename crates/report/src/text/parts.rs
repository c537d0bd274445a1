//! The overview of several runs: a few lines for each.

use super::paper::Paper;
use crate::figures::UNKNOWN;
use crate::headline::headlines;
use crate::words;
use linerate_model::run::{Run, RunStatus};

/// Results of one run that the overview shows.
const MAX_RESULTS: usize = 2;

/// What, result and limit of each run.
pub(super) fn overview(paper: &mut Paper, runs: &[Run]) {
    let longest = runs
        .iter()
        .map(|run| words::title(run).chars().count())
        .max();
    let indent = (longest.unwrap_or(0) + 2).clamp(12, paper.width() * 2 / 5);
    for run in runs {
        let mut name = words::title(run);
        for said in said(run) {
            paper.item(&name, indent, &said);
            name.clear();
        }
    }
}

fn said(run: &Run) -> Vec<String> {
    let results = headlines(run);
    let mut lines: Vec<String> = results
        .iter()
        .take(MAX_RESULTS)
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

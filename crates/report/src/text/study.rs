//! A study in lines: the mean of each cell, and what limits it.

use crate::figures::{UNKNOWN, Unit, Value};
use crate::paper::{Ink, Paper};
use crate::study::{CommonLimit, runs_of};
use crate::words;
use linerate_model::run::{CellEstimate, Run, RunRequest, StudyFindings};

/// Every cell with its means and its limit, and how many runs they come from.
pub(super) fn means(paper: &mut Paper, estimates: &[CellEstimate], parts: &[Run]) {
    for cell in cells(estimates) {
        paper.inked(Ink::Bold, "cell", name(cell));
        for mean in cell {
            paper.row("", &said(mean));
        }
        if let Some(limit) = CommonLimit::of(runs_of(parts, name(cell))) {
            paper.row("", &format!("limit: {}", limit.words()));
        }
    }
    count(paper, estimates, parts.len());
}

/// In how many cells each limit was found, where one was looked for and the headline does not say so.
pub(super) fn limits(
    paper: &mut Paper,
    run: &Run,
    estimates: &[CellEstimate],
    findings: Option<&StudyFindings>,
) {
    if has_series(run) && alarm_or_comparison(findings).is_none() {
        return;
    }
    if let Some(said) = cells_by_limit(run, estimates) {
        paper.row("limits", &said);
    }
}

fn cells_by_limit(run: &Run, estimates: &[CellEstimate]) -> Option<String> {
    crate::study::cells_by_limit(run.parts(), cells(estimates).map(name))
}

/// What a cell is called.
fn name(cell: &[CellEstimate]) -> &str {
    cell.first().map_or("", |mean| mean.cell.as_str())
}

/// What the means show: a control that fails, and effects of factors.
pub(super) fn effects(paper: &mut Paper, findings: &StudyFindings) {
    let said = crate::study::said(findings);
    if let Some(alarm) = &said.alarm {
        paper.inked(Ink::Red, "control", alarm);
    }
    paper.rows("effects", &said.effects);
}

/// How the runs scatter.
pub(super) fn scatter(paper: &mut Paper, findings: &StudyFindings) {
    paper.rows("scatter", crate::study::said(findings).runs);
}

/// What goes first: that the control fails, what was compared, what limits where the study has several questions, else the
/// largest effect.
pub(super) fn headline(
    run: &Run,
    estimates: &[CellEstimate],
    findings: Option<&StudyFindings>,
) -> Option<String> {
    let limits = || Some(format!("limits: {}", cells_by_limit(run, estimates)?));
    let effect = || crate::study::said(findings?).effects.into_iter().next();
    let first = alarm_or_comparison(findings)
        .or_else(|| has_series(run).then(limits)?)
        .or_else(effect)?;
    Some(first.trim_end_matches('.').to_owned())
}

/// What goes before all else: that the control fails, or what was compared.
fn alarm_or_comparison(findings: Option<&StudyFindings>) -> Option<String> {
    let findings = findings?;
    let compared = || Some(crate::study::compared(findings)?.sentence);
    crate::study::alarm(findings).or_else(compared)
}

/// Whether there are several questions, so that the first answer does not stand for all.
fn has_series(run: &Run) -> bool {
    matches!(&run.config.asked, Some(RunRequest::Study(settings)) if settings.series.len() > 1)
}

/// The means of each cell.
pub(super) fn cells(estimates: &[CellEstimate]) -> impl Iterator<Item = &[CellEstimate]> {
    estimates.chunk_by(|one, next| one.cell == next.cell)
}

/// A cell in one paragraph.
pub(super) fn line(paper: &mut Paper, cell: &[CellEstimate], parts: &[Run]) {
    let mut said: Vec<_> = cell.iter().map(said).collect();
    let limit = CommonLimit::of(runs_of(parts, name(cell)));
    said.extend(limit.map(|limit| format!("limit: {}", limit.words())));
    paper.item(name(cell), &said.join("; "));
}

/// Cells of which nothing could be measured, and why.
pub(super) fn unmeasured(paper: &mut Paper, estimates: &[CellEstimate], parts: &[Run]) {
    let is_measured = |cell: &str| estimates.iter().any(|mean| mean.cell == cell);
    let mut listed: Vec<&str> = Vec::new();
    for part in parts {
        let Some(place) = part.config.place.as_ref() else {
            continue;
        };
        if place.is_control() || is_measured(&place.cell) || listed.contains(&place.cell.as_str()) {
            continue;
        }
        listed.push(&place.cell);
        let goals = part.goals().iter();
        let shortfalls = goals.filter_map(|goal| goal.shortfall.as_ref());
        let reasons = part.trials.iter().flat_map(|trial| &trial.reasons);
        let why = shortfalls.chain(reasons).chain(&part.notes).next();
        let why = why.map_or("no reason was recorded", String::as_str);
        paper.item(&place.cell, &format!("not measured: {why}"));
    }
}

/// How many runs the means come from.
pub(super) fn count(paper: &mut Paper, estimates: &[CellEstimate], runs: usize) {
    if estimates.is_empty() {
        paper.row("result", UNKNOWN);
    }
    paper.row("runs", &format!("{runs}, in random order"));
}

/// `94.1 Mbit/s (95 %: 93.8–94.4, n = 10) received, L4 payload, client → server`.
fn said(mean: &CellEstimate) -> String {
    let value = Value {
        estimate: mean.estimate,
    };
    let unit = Unit::for_quantity(mean.quantity, mean.estimate.point);
    let what = mean.quantity.name();
    let alone = if mean.estimate.n == 1 { " (n = 1)" } else { "" };
    let way = words::direction_of(mean.quantity, mean.direction);
    format!("{}{alone} {what}, {way}", value.show(unit))
}

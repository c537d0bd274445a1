//! A study's section: what each factor does, its curves, the matrix, every run; the same for forty runs and for four
//! thousand.

use super::{hosts, results, verdict};
use crate::chart::Chart;
use crate::figures::Unit;
use crate::page::{self, Drawings, heading};
use crate::study::{self, CommonLimit, Levels, Observation, Series, StudyView, limit_name};
use crate::table::{Cell, Table, column, words};
use linerate_model::run::Run;
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Runs and rows of the matrix that a page lists; the document has all.
const MAX_ROWS: usize = 200;
/// Rows above which a table scrolls within the page.
const LONG: usize = 25;

/// Everything of a study below its title.
pub(super) fn section(
    run: &Run,
    series: &[Series<'_>],
    anchor: &str,
    drawings: &mut Drawings,
) -> Markup {
    let said = run.findings().map(study::said);
    let observations = || series.iter().flat_map(|of| &of.view.observations);
    html! {
        (results::notes(run))
        @if let Some(alarm) = said.as_ref().and_then(|said| said.alarm.as_ref()) {
            div.alarm role="note" { p { (alarm) } }
        }
        @if run.verdict.is_some() && series.len() > 1 { (verdict::card(run, 3)) }
        @for of in series { (one_series(run, of, anchor, drawings)) }
        @if let Some(said) = said.filter(|said| !said.runs.is_empty()) {
            (heading(3, None, "How the runs scatter"))
            ul.notes { @for said in &said.runs { li { (said) } } }
        }
        (invalid(run))
        details.topic {
            summary { (heading(3, None, &format!("Every run ({})", observations().count()))) }
            div id=(format!("{anchor}-runs")) {
                @for of in series {
                    @if let Some(title) = of.title() { (heading(4, None, title)) }
                    (every_run(&of.view))
                }
            }
        }
        details.topic {
            summary { (heading(3, None, "Hosts and set-up")) }
            div id=(format!("{anchor}-hosts")) {
                @if let Some(first) = observations().next() { (hosts::facts(&first.run.hosts, 4)) }
                (hosts::configuration(run, 4))
            }
        }
    }
}

/// What one series shows: its effects, its curves, its cells.
fn one_series(run: &Run, of: &Series<'_>, anchor: &str, drawings: &mut Drawings) -> Markup {
    let view = &of.view;
    let curves = study::multiples(view);
    let groups = study::groups(view);
    // Below its own title, where it has one.
    let level = if of.title().is_some() { 4 } else { 3 };
    let anchor = match of.name() {
        Some(name) => format!("{anchor}-{name}"),
        None => anchor.to_owned(),
    };
    html! {
        @if let Some(title) = of.title() { (heading(3, Some(&format!("{anchor}-title")), title)) }
        (effects(run, of, &anchor, level))
        @if run.verdict.is_some() && of.title().is_none() { (verdict::card(run, 3)) }
        (drawn(&CURVES, curves, level, &anchor, drawings))
        (drawn(&GROUPS, groups, level, &anchor, drawings))
        (matrix(view, level))
    }
}

/// Charts that stand together under a heading.
struct ChartGroup {
    heading: &'static str,
    class: &'static str,
}

const CURVES: ChartGroup = ChartGroup {
    heading: "Curves, all with the same axes",
    class: "multiples",
};
const GROUPS: ChartGroup = ChartGroup {
    heading: "Every test, all with the same axis",
    class: "groups",
};

/// Charts of a study under their heading; nothing without any.
fn drawn(
    group: &ChartGroup,
    multiples: study::Multiples,
    level: u8,
    anchor: &str,
    drawings: &mut Drawings,
) -> Markup {
    let study::Multiples { charts, left_out } = multiples;
    let charts: Vec<Chart> = charts.into_iter().map(Chart::cleaned).collect();
    html! {
        @if !charts.is_empty() {
            (heading(level, None, group.heading))
            div.(group.class) { (page::drawn_charts(charts, anchor, level + 1, drawings)) }
            @if left_out > 0 { p.muted { "The matrix has " (left_out) " more combinations." } }
        }
    }
}

/// What each factor does: by the tests of the study, else by the share of the variation that it explains.
fn effects(run: &Run, of: &Series<'_>, anchor: &str, level: u8) -> Markup {
    let explained = study::conclusions(&of.view);
    let Some(findings) = run.findings() else {
        return html! {
            (heading(level, None, "What each factor does"))
            ul.conclusions { @for said in &explained { li { (said) } } }
        };
    };
    let findings = study::in_series(findings, of.name());
    let said = study::said(&findings);
    let table = study::effects_table(&findings);
    html! {
        (heading(level, None, "What each factor does"))
        ul.conclusions {
            @for said in &said.effects { li { (said) } }
            @for said in &explained { li { (said) } }
        }
        @if !table.rows.is_empty() {
            details.topic {
                summary { (heading(level, None, &format!("Every effect ({})", table.rows.len()))) }
                div id=(format!("{anchor}-effects")) {
                    p {
                        "A main effect is averaged over the other factors with equal weights; an interaction (×) is the ratio "
                        "of two such effects. n counts runs, each of which was set up anew. p is corrected for all "
                        (findings.tests) " tests (Holm): if there is no effect at all, any is shown with a probability of at most "
                        "5 %. Could show: the true effect that four of five such studies show."
                    }
                    (page::scrolled(&table, "Every effect"))
                }
            }
        }
    }
}

/// A row of the matrix: what its columns have in common, and the runs of each column.
type Row<'v, 'a> = (Levels, BTreeMap<usize, Vec<&'v Observation<'a>>>);

/// The factor whose levels are the columns: the one with the fewest.
fn column_factor(view: &StudyView<'_>) -> Option<usize> {
    const MAX_COLUMNS: usize = 8;
    let all = view.factors.iter().enumerate();
    let (at, factor) = all.rev().min_by_key(|(_, factor)| factor.levels.len())?;
    (view.factors.len() > 1 && factor.levels.len() <= MAX_COLUMNS).then_some(at)
}

fn rows<'v, 'a>(view: &'v StudyView<'a>, column: Option<usize>) -> Vec<Row<'v, 'a>> {
    let mut rows: BTreeMap<Levels, BTreeMap<usize, Vec<&Observation<'a>>>> = BTreeMap::new();
    for one in &view.observations {
        let mut key = one.levels.clone();
        let level = column.map_or(0, |at| std::mem::take(&mut key[at]));
        rows.entry(key)
            .or_default()
            .entry(level)
            .or_default()
            .push(one);
    }
    rows.into_iter().collect()
}

/// Means of every cell, shaded by how much each is of the largest.
fn matrix(view: &StudyView<'_>, level: u8) -> Markup {
    let column = column_factor(view);
    let rows = rows(view, column);
    let largest = view.largest();
    let unit = view.measure.unit(largest);
    let columns: Vec<(usize, String)> = match column {
        Some(at) => (0..view.factors[at].levels.len())
            .map(|level| (level, view.factors[at].said(level)))
            .collect(),
        None => vec![(0, view.measure.name().to_owned())],
    };
    let title = format!(
        "{} by factor ({})",
        crate::charts::capital(view.measure.name()),
        unit.symbol()
    );
    html! {
        (heading(level, None, &title))
        p { "Mean of the runs with its 95 % interval; darker is more. Below, where something limits, what most runs of the cell found." }
        div.scroll.tall[rows.len() > LONG] tabindex="0" role="group" aria-label=(title) {
            table.matrix {
                caption.sr-only { (title) }
                thead { tr {
                    th scope="col" { "Cell" }
                    @for (_, name) in &columns { th.number scope="col" { (name) } }
                } }
                tbody {
                    @for (key, cells) in rows.iter().take(MAX_ROWS) {
                        tr {
                            th scope="row" { (row_name(view, key, column)) }
                            @for (level, _) in &columns { (cell(cells.get(level), unit, largest)) }
                        }
                    }
                }
            }
        }
        @if rows.len() > MAX_ROWS { (rest(rows.len() - MAX_ROWS)) }
    }
}

fn rest(count: usize) -> Markup {
    html! { p.muted { (count) " more rows are not listed here; " code { "linerate export --format csv" } " has them." } }
}

fn row_name(view: &StudyView<'_>, key: &[usize], column: Option<usize>) -> String {
    let name = view.words(key, |at| Some(at) != column);
    if name.is_empty() {
        "all".to_owned()
    } else {
        name
    }
}

fn cell(runs: Option<&Vec<&Observation<'_>>>, unit: Unit, largest: f64) -> Markup {
    let mean = runs.and_then(|runs| study::mean(runs));
    let limit = runs.and_then(|runs| CommonLimit::of(runs.iter().map(|one| one.run)));
    html! {
        @match mean {
            Some(mean) => {
                td.number.(shade(mean.point(), largest)) data-value=(unit.of(mean.point())) {
                    (unit.number(mean.point()))
                    @match mean.estimate.interval {
                        Some(interval) => span.interval { (crate::figures::range(interval, unit)) },
                        None => span.interval { "n = 1" },
                    }
                    @if let Some(limit) = limit { span.interval { (limit.words()) } }
                }
            }
            None => td.number { "–" },
        }
    }
}

/// One of six steps.
fn shade(value: f64, largest: f64) -> &'static str {
    const STEPS: [&str; 6] = ["h0", "h1", "h2", "h3", "h4", "h5"];
    let share = if largest > 0.0 { value / largest } else { 0.0 };
    let step = STEPS
        .iter()
        .zip([0.1, 0.3, 0.5, 0.7, 0.9])
        .find(|(_, end)| share < *end);
    step.map_or("h5", |(step, _)| step)
}

/// Runs that are shown and not averaged.
fn invalid(run: &Run) -> Markup {
    let bad = run
        .parts()
        .iter()
        .filter(|part| part.trials.iter().any(|trial| !trial.valid));
    let why = bad.map(|part| {
        let reasons = part.trials.iter().flat_map(|trial| trial.reasons.clone());
        let reasons: Vec<String> = reasons.collect();
        format!("{}: {}", crate::words::title(part), reasons.join("; "))
    });
    let of = format!("{} runs have trials that do not count", run.parts().len());
    results::alarm(&why.collect::<Vec<_>>(), &of, "")
}

fn every_run(view: &StudyView<'_>) -> Markup {
    let unit = view.measure.unit(view.largest());
    let measured = crate::charts::capital(view.measure.name());
    let columns = [
        words("Cell", |one: &&Observation<'_>| {
            view.words(&one.levels, |_| true)
        }),
        column("Repetition", |one: &&Observation<'_>| {
            let place = one.run.config.place.as_ref();
            Cell::count(place.map(|place| u64::from(place.repetition)))
        }),
        column(
            format!("{measured} ({})", unit.symbol()),
            |one: &&Observation<'_>| Cell::number(Some(one.value), unit),
        ),
        column("Loss (%)", |one: &&Observation<'_>| {
            let losses = one.trials.iter().filter_map(|trial| trial.loss_ratio());
            Cell::percent(losses.max_by(|a, b| a.get().total_cmp(&b.get())))
        }),
        words("Limit", |one: &&Observation<'_>| {
            let verdict = one.run.verdict.as_ref();
            verdict.map_or_else(|| "–".to_owned(), |verdict| limit_name(&verdict.limit))
        }),
        words("Run", |one: &&Observation<'_>| one.run.id.as_str()),
    ];
    let ordered = view.cells().into_values().flatten().take(MAX_ROWS);
    let table = Table::from_rows(&ordered.collect::<Vec<_>>(), columns);
    html! {
        (page::scrolled(&table, "Every run"))
        @if view.observations.len() > MAX_ROWS { (rest(view.observations.len() - MAX_ROWS)) }
    }
}

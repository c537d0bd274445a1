//! The overview of several runs.

use crate::figures::UNKNOWN;
use crate::headline::headlines;
use crate::words;
use linerate_model::run::{Run, RunStatus};
use maud::{Markup, html};

/// One row for each run; row n links to the section `{anchor}-{n}`.
pub(super) fn table(runs: &[Run], anchor: &str) -> Markup {
    html! {
        div.scroll tabindex="0" role="group" aria-label="Overview" {
            table.overview {
                caption.sr-only { "Overview of all runs" }
                thead {
                    tr {
                        th scope="col" { "What" }
                        th scope="col" { "Direction" }
                        th scope="col" { "Result" }
                        th scope="col" { "Limited by" }
                        th scope="col" { "Confidence" }
                        th.number scope="col" { "Trials" }
                    }
                }
                tbody {
                    @for (index, run) in runs.iter().enumerate() {
                        (row(run, &format!("#{anchor}-{}", index + 1)))
                    }
                }
            }
        }
    }
}

fn row(run: &Run, href: &str) -> Markup {
    let results = headlines(run);
    let verdict = run.verdict.as_ref();
    let (trials, bad) = trials(run);
    html! {
        tr {
            th scope="row" {
                a href=(href) { (words::title(run)) }
                @if run.status != RunStatus::Complete {
                    br; span.alarm-text { (words::status(run.status)) }
                }
            }
            td data-label="Direction" { (words::directions(run).unwrap_or("–")) }
            td data-label="Result" {
                @if results.is_empty() {
                    @if run.parts().is_empty() { (UNKNOWN) }
                    @else { (run.parts().len()) " parts" }
                }
                @for result in &results {
                    div { strong { (result.figure) } " " (result.about()) }
                }
            }
            td data-label="Limited by" { (verdict.map_or("no verdict", |v| v.limit.name())) }
            td data-label="Confidence" { (verdict.filter(|v| words::named_limit(v).is_some()).map_or("–", |v| v.confidence.as_str())) }
            td.number data-label="Trials" {
                (trials)
                @if bad > 0 { " " span.alarm-text { (bad) " invalid" } }
            }
        }
    }
}

/// Trials of a run and its parts, and how many of them do not count.
fn trials(run: &Run) -> (usize, usize) {
    let bad = run.trials.iter().filter(|trial| !trial.valid).count();
    run.parts()
        .iter()
        .map(trials)
        .fold((run.trials.len(), bad), |all, part| {
            (all.0 + part.0, all.1 + part.1)
        })
}

//! The verdict: what limits, on which side, how much, how sure, the evidence, the experiment.

use crate::charts::capital;
use crate::figures::percent;
use crate::headline::headlines;
use crate::page::heading;
use crate::{proof, words};
use linerate_model::run::{Experiment, Run, Verdict};
use maud::{Markup, html};

/// The card that opens a run's section.
pub(super) fn card(run: &Run, level: u8) -> Markup {
    html! {
        div.verdict {
            (figures(run, level))
            @if let Some(verdict) = &run.verdict {
                (heading(level, None, &words::limited(&verdict.limit)))
                (said(verdict))
                (others(run))
            } @else {
                (heading(level, None, "No verdict"))
                p { "No rule was applied to this run, so nothing is said about what limits it." }
            }
        }
    }
}

/// The level of headings in the section of a run that is alone.
const ALONE: u8 = 3;

/// The results; those of a run that is alone on its page stand above it already.
fn figures(run: &Run, level: u8) -> Markup {
    let results = headlines(run);
    html! {
        @if !results.is_empty() && level > ALONE {
            dl.results {
                @for result in &results {
                    div {
                        dt { (result.about()) }
                        dd { (result.figure) }
                    }
                }
            }
        } @else if results.is_empty() && run.parts().is_empty() {
            p.muted { "Result: " (crate::figures::UNKNOWN) "." }
        }
    }
}

fn said(verdict: &Verdict) -> Markup {
    html! {
        p.claim { (verdict.claim) }
        (chips(verdict))
        @if verdict.evidence.is_empty() {
            p.muted { "No evidence is given." }
        } @else {
            details {
                summary { "Evidence (" (verdict.evidence.len()) ")" @if verdict.experiment.is_some() { " and experiment" } }
                ul.evidence { @for line in &verdict.evidence { li { (line) } } }
                @if let Some(experiment) = &verdict.experiment { (proof(experiment)) }
            }
        }
    }
}

/// Where it limits, how much that explains and how sure it is; nothing of a verdict that says of no limit.
fn chips(verdict: &Verdict) -> Markup {
    let limit = words::named_limit(verdict);
    html! {
        @if limit.is_some() || verdict.side.is_some() {
            dl.chips {
                @if let Some(limit) = limit {
                    div { dt { "Limit" } dd { (limit.name()) } }
                }
                @if verdict.side.is_some() {
                    div { dt { "Where" } dd { (words::side(verdict.side)) } }
                }
                @if let Some(share) = words::explained(verdict) {
                    div { dt { "Explains" } dd { (percent(share)) } }
                }
                @if limit.is_some() {
                    div.{ "confidence-" (verdict.confidence.as_str()) } {
                        dt { "Confidence" }
                        dd { (words::confidence(verdict)) }
                    }
                }
            }
        }
    }
}

fn proof(experiment: &Experiment) -> Markup {
    let tried = experiment.result.is_some() || experiment.outcome.is_some();
    html! {
        p.label { @if tried { "Experiment" } @else { "To confirm" } }
        dl.experiment {
            @for (label, text) in proof::rows(experiment) { dt { (capital(label)) } dd { (text) } }
        }
    }
}

/// Experiments on findings that are not the verdict.
fn others(run: &Run) -> Markup {
    html! {
        @for record in proof::others(run) {
            p.claim { "Tried before: " (words::limited(&record.limit)) }
            (proof(&record.experiment))
        }
    }
}

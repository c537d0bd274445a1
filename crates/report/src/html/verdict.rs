//! The verdict: what limits, on which side, how much, how sure, the evidence, the experiment.

use super::heading;
use crate::figures::percent;
use crate::headline::headlines;
use crate::words;
use linerate_model::run::{Experiment, Run, Verdict};
use maud::{Markup, html};

/// The card that opens a run's section.
pub(super) fn card(run: &Run, level: u8) -> Markup {
    html! {
        div.verdict {
            (figures(run))
            @if let Some(verdict) = &run.verdict {
                (heading(level, None, &words::limited(verdict.limit)))
                (said(verdict))
            } @else {
                (heading(level, None, "No verdict"))
                p { "No rule was applied to this run, so nothing is said about what limits it." }
            }
        }
    }
}

fn figures(run: &Run) -> Markup {
    let results = headlines(run);
    html! {
        @if !results.is_empty() {
            dl.results {
                @for result in &results {
                    div {
                        dt { (result.about) }
                        dd { (result.figure) }
                    }
                }
            }
        } @else if run.parts.is_empty() {
            p.muted { "Result: " (crate::figures::UNKNOWN) "." }
        }
    }
}

fn said(verdict: &Verdict) -> Markup {
    html! {
        p.claim { (verdict.claim) }
        dl.chips {
            div { dt { "Limit" } dd { (verdict.limit.as_str()) } }
            div { dt { "Side" } dd { (words::side(verdict.side)) } }
            div {
                dt { "Explains" }
                dd {
                    @match verdict.share_ratio {
                        Some(share) => (percent(share)),
                        None => "share not known",
                    }
                }
            }
            div.{ "confidence-" (words::confidence_id(verdict.confidence)) } {
                dt { "Confidence" }
                dd { (words::confidence(verdict.confidence)) }
            }
        }
        @if verdict.evidence.is_empty() {
            p.muted { "No evidence is given." }
        } @else {
            p.label { "Evidence" }
            ul.evidence { @for line in &verdict.evidence { li { (line) } } }
        }
        @if let Some(experiment) = &verdict.experiment { (proof(experiment)) }
    }
}

fn proof(experiment: &Experiment) -> Markup {
    html! {
        p.label { @if experiment.result.is_some() { "Experiment" } @else { "To confirm" } }
        dl.experiment {
            dt { "Change" } dd { (experiment.change) }
            dt { "Expect" } dd { (experiment.expect) }
            dt { "Result" }
            dd { (experiment.result.as_deref().unwrap_or("not run yet")) }
        }
    }
}

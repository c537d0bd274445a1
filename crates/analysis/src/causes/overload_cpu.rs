//! The CPU of either end, where requests came faster than it could ask or answer.

use super::evidence::{Evidence, Overload};
use super::{Case, Cause, clear, not_evaluated, words};
use crate::thresholds::cpu::HOT;
use linerate_model::run::{Confidence, Experiment, RuleOutcome};
use linerate_model::spec::Side;

/// Whether `cause`, the CPU of `side`, is what a rising rate of requests ran into.
pub(super) fn requests(cause: &Cause, evidence: &Evidence<'_>, side: Side) -> RuleOutcome {
    let Some(overload) = Overload::from_evidence(evidence) else {
        return clear("request/response that both ends keep up with does not load a CPU");
    };
    let asks = side == Side::Sender;
    if overload.is_of_the_sender() != asks {
        return clear(if asks {
            "every request was sent; answers were missing"
        } else {
            "the asking end could not send the requests that this end might not have answered"
        });
    }
    if evidence.spins() {
        return not_evaluated(
            "CPU time that shows load: a spinning thread uses a whole core at any rate",
        );
    }
    let Some(pressure) = overload.pressure(side) else {
        return not_evaluated(
            "Not recorded: CPU time of the traffic thread at the lowest rate that was too much",
        );
    };
    let (who, what) = if asks {
        ("asking", "sent")
    } else {
        ("answering", "answered in time")
    };
    let busy = format!(
        "the {who} end's thread ran, or waited for a core, {} of the time",
        words::percent(pressure)
    );
    if pressure < HOT {
        return clear(format!("{}, while {busy}", overload.describe()));
    }
    let missing = overload.missing().map_or_else(
        || "an unknown share of the requests".to_owned(),
        |share| format!("{share} of the requests"),
    );
    cause.found(Case {
        share: None,
        confidence: Confidence::Supported,
        claim: format!(
            "The {who} end's CPU limits: {}, and there {busy}.",
            overload.describe()
        ),
        evidence: vec![format!(
            "At the lowest rate that was too much {missing} were not {what}."
        )],
        experiment: Experiment::in_words(
            format!("let the {who} end run on a faster core, or one that nothing else uses"),
            "the highest rate that is answered in full grows in proportion",
        ),
    })
}

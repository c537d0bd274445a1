//! What the rules that look for one place in the loss ledger have in common.

use super::evidence::{Evidence, LossPlaces, Need, Regime};
use super::{RuleOutcome, clear, not_evaluated, not_recorded, words};
use crate::thresholds::place::LEAST_SHARE;
use linerate_model::run::Place;

/// Lets `judge` decide where `place` took a good share of the lost packets: from where they were lost, and that share.
pub(super) fn examine(
    evidence: &Evidence<'_>,
    place: Place,
    judge: impl FnOnce(&LossPlaces, f64) -> RuleOutcome,
) -> RuleOutcome {
    if evidence.is_latency() || evidence.is_tcp() {
        return clear("no stream of datagrams was sent, so none was dropped there");
    }
    if !Need::Loss.is_met(evidence) {
        return not_recorded(&[Need::Loss]);
    }
    if evidence.regime() == Regime::Sender {
        return clear("the sender offered less than intended before anything was lost");
    }
    if evidence.stressed().is_empty() {
        return clear("no more packets were lost than the goal tolerates");
    }
    let Some(placed) = LossPlaces::from_evidence(evidence) else {
        return not_recorded(&[Need::Ledger]);
    };
    let share = placed.share(&[place]);
    let unknown = placed.share(&[Place::Unknown]);
    if share >= LEAST_SHARE {
        return judge(&placed, share);
    }
    if share + unknown >= LEAST_SHARE {
        return not_evaluated(format!(
            "{} of the lost packets could not be placed: {}",
            words::percent(unknown),
            placed.source(Place::Unknown)
        ));
    }
    clear(format!("{} were dropped there", placed.figure(&[place])))
}

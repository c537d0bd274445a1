//! What the rules that look for one place in the loss ledger have in common.

use super::evidence::{Evidence, Need, Placed, Regime};
use super::{Case, RuleOutcome, clear, not_evaluated, not_recorded, words};
use linerate_model::run::Place;

/// A place that explains less than this share of the loss is not a limit, but noise beside one.
const LEAST_SHARE: f64 = 0.1;

/// Finds a cause where `place` took a good share of the lost packets.
pub(super) fn examine(
    evidence: &Evidence<'_>,
    place: Place,
    case: impl FnOnce(&Placed, f64) -> Case,
) -> RuleOutcome {
    match share(evidence, place) {
        Ok((placed, share)) => case(&placed, share).found(),
        Err(outcome) => outcome,
    }
}

/// Where packets were lost and the share of `place`, if that is a good one; else the outcome of a
/// rule about that place.
pub(super) fn share(evidence: &Evidence<'_>, place: Place) -> Result<(Placed, f64), RuleOutcome> {
    if evidence.is_latency() || evidence.is_tcp() {
        return Err(clear(
            "no stream of datagrams was sent, so none was dropped there",
        ));
    }
    if !Need::Loss.is_met(evidence) {
        return Err(not_recorded(&[Need::Loss]));
    }
    if evidence.regime() == Regime::Sender {
        return Err(clear(
            "the sender offered less than intended before anything was lost",
        ));
    }
    if evidence.stressed().is_empty() {
        return Err(clear("no more packets were lost than the goal tolerates"));
    }
    let Some(placed) = Placed::from_evidence(evidence) else {
        return Err(not_recorded(&[Need::Ledger]));
    };
    let share = placed.share(&[place]);
    let unknown = placed.share(&[Place::Unknown]);
    if share >= LEAST_SHARE {
        return Ok((placed, share));
    }
    if share + unknown >= LEAST_SHARE {
        return Err(not_evaluated(format!(
            "{} of the lost packets could not be placed: {}",
            words::percent(unknown),
            placed.source(Place::Unknown)
        )));
    }
    Err(clear(format!(
        "{} were dropped there",
        placed.figure(&[place])
    )))
}

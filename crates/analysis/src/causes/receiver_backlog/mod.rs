//! The receiver's softnet backlog: packets arrived faster than the soft interrupt took them.

use super::evidence::{Evidence, Need};
use super::{Case, Cause, RuleOutcome, place, proof};
use linerate_model::run::{Change, Confidence, Experiment, Place, Prediction, Quantity};
use linerate_model::spec::Side;

/// Packets were dropped because the softnet backlog was full.
pub(crate) static CAUSE: Cause = Cause {
    id: "receiver-backlog",
    name: "the receiver's softnet backlog",
    side: Some(Side::Receiver),
    subject: "the receiver's backlog",
    summary: "Packets were dropped because the receiving host's softnet backlog was full.",
    needs: &[Need::Loss, Need::Ledger],
    examine: Some(examine),
    ..Cause::BASE
};

fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    place::examine(evidence, Place::ReceiverBacklog, |placed, share| {
        CAUSE.found(Case {
            share: Some(share),
            confidence: Confidence::Supported,
            claim: format!(
                "The receiver's softnet backlog limits: {} were dropped there.",
                placed.figure(&[Place::ReceiverBacklog])
            ),
            evidence: vec![format!(
                "Counted by {}.",
                placed.source(Place::ReceiverBacklog)
            )],
            experiment: fewer_packets(evidence),
        })
    })
}

/// The backlog counts packets, not bytes: datagrams that travel as one need one place in it. A link, a
/// policer and a socket's buffer count bytes, and lose as much as before. Where datagrams are sent as
/// one already and still fill it, something cuts them up on the way into bursts, and sent one by one
/// they are none.
fn fewer_packets(evidence: &Evidence<'_>) -> Experiment {
    let on = !evidence.aggregates();
    proof(
        Change::Aggregation { on },
        [Prediction::at_most(Quantity::LossRatio, 0.5)],
    )
}

//! The receiver's softnet backlog: packets arrived faster than the soft interrupt took them.

use super::evidence::{Evidence, Need};
use super::{Case, Rule, RuleOutcome, place};
use linerate_model::run::{Confidence, Experiment, Limit, Place};
use linerate_model::spec::Side;

/// Packets were dropped because the softnet backlog was full.
pub(super) struct ReceiverBacklog;

impl Rule for ReceiverBacklog {
    fn id(&self) -> &'static str {
        "receiver-backlog"
    }

    fn limit(&self) -> Limit {
        Limit::ReceiverBacklog
    }

    fn summary(&self) -> &'static str {
        "Packets arrived at the receiving host and were dropped because its softnet backlog was full."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Loss, Need::Ledger]
    }

    fn examine(&self, evidence: &Evidence<'_>) -> RuleOutcome {
        place::examine(evidence, Place::ReceiverBacklog, |placed, share| Case {
            limit: Limit::ReceiverBacklog,
            side: Some(Side::Receiver),
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
            experiment: Experiment::in_words(
                "raise net.core.netdev_max_backlog tenfold on the receiver",
                "softnet drops become fewer, unless the core that serves the interface is busy all the time",
            ),
        })
    }
}

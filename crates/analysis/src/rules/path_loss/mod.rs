//! Loss on the path that does not come from load.

mod tcp;
mod udp;

pub(super) use tcp::window_share;

use super::evidence::{Evidence, Need};
use super::{Case, Rule, RuleOutcome};
use linerate_model::run::{Confidence, Experiment, Limit};

/// The path loses packets at every load.
pub(super) struct PathLoss;

impl Rule for PathLoss {
    fn id(&self) -> &'static str {
        "path-loss"
    }

    fn limit(&self) -> Limit {
        Limit::PathLoss
    }

    fn summary(&self) -> &'static str {
        "The path loses about the same share of packets at every load."
    }

    fn needs(&self) -> &'static [Need] {
        &[
            Need::Loss,
            Need::ReceivedRate,
            Need::SeveralLoads,
            Need::Delay,
        ]
    }

    fn examine(&self, evidence: &Evidence<'_>) -> RuleOutcome {
        if evidence.is_tcp() {
            return tcp::examine(evidence);
        }
        udp::examine(evidence)
    }
}

fn case(
    confidence: Confidence,
    share: Option<f64>,
    claim: String,
    evidence: Vec<String>,
) -> RuleOutcome {
    Case {
        limit: Limit::PathLoss,
        side: None,
        share,
        confidence,
        claim,
        evidence,
        experiment: Experiment::in_words(
            "send UDP at a tenth of the load for as many packets",
            "the same share of packets is lost",
        ),
    }
    .found()
}

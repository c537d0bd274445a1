//! Loss on the path that does not come from load.

mod tcp;
mod udp;

use super::evidence::{Evidence, Need};
use super::{Case, Rule, RuleOutcome, proof_from};
use linerate_model::run::{Baseline, Change, Confidence, Experiment, Prediction, Quantity};

/// The path loses packets at every load.
pub(super) struct PathLoss;

impl Rule for PathLoss {
    fn id(&self) -> &'static str {
        "path-loss"
    }

    fn name(&self) -> &'static str {
        "loss on the path"
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

/// Loss that does not come from load stays at a quarter of it; that of a full link, a policer or a slow
/// receiver goes away. The factor of two leaves room for chance: a hundred lost packets are enough.
fn lighter_load() -> Experiment {
    proof_from(
        Baseline::BelowBest,
        Change::Load { factor: 0.25 },
        [Prediction::within(Quantity::LossRatio, 0.5, 2.0)],
    )
}

fn case(
    confidence: Confidence,
    share: Option<f64>,
    claim: String,
    evidence: Vec<String>,
) -> RuleOutcome {
    PathLoss.found(Case {
        side: None,
        share,
        confidence,
        claim,
        evidence,
        experiment: lighter_load(),
    })
}

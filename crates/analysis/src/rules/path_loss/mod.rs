//! Loss on the path that does not come from load.

mod tcp;
mod udp;

use super::evidence::{Evidence, Need};
use super::{Rule, RuleOutcome};

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

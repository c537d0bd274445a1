//! The receiving application: it takes data more slowly than they come, with CPU time to spare.

mod tcp;
mod udp;

use super::evidence::{Evidence, Need};
use super::{Rule, RuleOutcome, clear};

/// The receiving application is too slow by its own doing.
pub(super) struct ReceiverApp;

impl Rule for ReceiverApp {
    fn id(&self) -> &'static str {
        "receiver-app"
    }

    fn name(&self) -> &'static str {
        "the receiver's application"
    }

    fn summary(&self) -> &'static str {
        "A queue always stands before the receiving application while its thread rests: it is too slow on average, whatever its buffer."
    }

    fn needs(&self) -> &'static [Need] {
        &[
            Need::Chronographs,
            Need::Loss,
            Need::Ledger,
            Need::DelayFloor,
            Need::ReceiverCpu,
        ]
    }

    fn examine(&self, evidence: &Evidence<'_>) -> RuleOutcome {
        if evidence.is_latency() {
            return clear("request/response keeps one message in flight");
        }
        if evidence.is_tcp() {
            return tcp::examine(evidence);
        }
        udp::examine(evidence)
    }
}

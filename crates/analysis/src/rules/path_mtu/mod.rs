//! The path's MTU: packets of this size do not get through, smaller ones do.

mod tcp;
mod udp;

use super::evidence::{Evidence, Need};
use super::{Rule, RuleOutcome, clear};

/// Packets are longer than some part of the path carries.
pub(super) struct PathMtu;

impl Rule for PathMtu {
    fn id(&self) -> &'static str {
        "path-mtu"
    }

    fn name(&self) -> &'static str {
        "the path's MTU"
    }

    fn summary(&self) -> &'static str {
        "No packet of the size sent arrives while smaller ones do: part of the path carries less, and nobody says so."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Loss]
    }

    fn examine(&self, evidence: &Evidence<'_>) -> RuleOutcome {
        if evidence.is_tcp() {
            return tcp::examine(evidence);
        }
        if evidence.is_latency() {
            return clear(
                "request/response keeps one message in flight and is judged by its answers",
            );
        }
        udp::examine(evidence)
    }
}

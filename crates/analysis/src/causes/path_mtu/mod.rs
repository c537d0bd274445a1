//! The path's MTU: packets of this size do not get through, smaller ones do.

mod tcp;
mod udp;

use super::evidence::{Evidence, Need};
use super::{Cause, RuleOutcome, clear};

/// Packets are longer than some part of the path carries.
pub(crate) static CAUSE: Cause = Cause {
    id: "path-mtu",
    name: "the path's MTU",
    summary: "No packet of the size sent arrives while smaller ones do, and nobody says so.",
    needs: &[Need::Loss],
    is_whole_story: true,
    examine: Some(examine),
    ..Cause::BASE
};

fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    if evidence.is_tcp() {
        return tcp::examine(evidence);
    }
    if evidence.is_latency() {
        return clear("request/response is judged by its answers");
    }
    udp::examine(evidence)
}

//! The receiving application: it takes data more slowly than they come, with CPU time to spare.

mod tcp;
mod udp;

use super::evidence::{Evidence, Need};
use super::{Cause, RuleOutcome, clear};
use linerate_model::spec::Side;

/// The receiving application is too slow by its own doing.
pub(crate) static CAUSE: Cause = Cause {
    id: "receiver-app",
    name: "the receiver's application",
    side: Some(Side::Receiver),
    subject: "the receiving application",
    summary: "A queue always stands before the receiving application while its thread rests.",
    needs: &[
        Need::Chronographs,
        Need::Loss,
        Need::Ledger,
        Need::DelayFloor,
        Need::ReceiverCpu,
    ],
    examine: Some(examine),
    ..Cause::BASE
};

fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    if evidence.is_latency() {
        return clear(evidence.of_messages());
    }
    if evidence.is_tcp() {
        return tcp::examine(evidence);
    }
    udp::examine(evidence)
}

//! Loss on the path that does not come from load.

mod tcp;
mod udp;

use super::evidence::{Evidence, Need};
use super::{Cause, RuleOutcome, Weighed};
use linerate_model::spec::Transport;

/// The path loses packets at every load.
pub(crate) static CAUSE: Cause = Cause {
    id: "path-loss",
    name: "loss on the path",
    subject: "loss on the path",
    summary: "The path loses about the same share of packets at every load.",
    needs: &[
        Need::Loss,
        Need::ReceivedRate,
        Need::SeveralLoads,
        Need::Delay,
    ],
    examine: Some(examine),
    because,
    ..Cause::BASE
};

fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    if evidence.is_tcp() {
        return tcp::examine(evidence);
    }
    udp::examine(evidence)
}

const fn because(weighed: &Weighed<'_>) -> &'static str {
    match weighed.limited.transport {
        Transport::Tcp => {
            "datagrams get through faster, but for a loss that TCP takes for congestion"
        }
        Transport::Udp => "packets are lost whatever the load",
    }
}

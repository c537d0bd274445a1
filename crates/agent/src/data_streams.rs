//! Streams that are tests of their own: how many there are, and what was seen of them.

use crate::per_address::{Counted, PerAddress};
use linerate_model::agent::AgentEvent;
use linerate_model::spec::MAX_STREAMS;
use linerate_peers::{PeerEvent, PeerKind};
use linerate_session::SessionEvent;
use std::net::{IpAddr, SocketAddr};

/// Addresses that have streams here, and how many.
#[derive(Default)]
pub(crate) struct Addresses(PerAddress);

impl Addresses {
    /// Counts one more stream; how many addresses there were before, or more than may be if this one has too
    /// many streams.
    pub(crate) fn one_more(&self, from: IpAddr) -> (Counted<'_>, u32) {
        let (counted, counts) = self.0.one_more(from);
        // A client that ends a test of all its streams begins the next before the last ones are forgotten.
        let before = if counts.of_address > u32::from(MAX_STREAMS) * 4 {
            u32::MAX
        } else {
            counts.other_addresses
        };
        (counted, before)
    }
}

/// What an event of a client's session is for who runs this server: most of these clients are told nothing.
pub(crate) fn events(
    client: SocketAddr,
    kind: &dyn PeerKind,
    event: &SessionEvent,
) -> Vec<AgentEvent> {
    let protocol = kind.id().to_owned();
    match event {
        SessionEvent::OwnReports(reports) => {
            let counted = reports.iter().map(|report| AgentEvent::Counted {
                client,
                protocol: protocol.clone(),
                traffic: report.into(),
            });
            counted.collect()
        }
        SessionEvent::Peer(PeerEvent::Curtailed(what)) => vec![AgentEvent::Curtailed {
            client,
            protocol,
            what: what.clone(),
        }],
        SessionEvent::TestEnded { code, reason } => vec![AgentEvent::TestEnded {
            client,
            protocol,
            code: *code,
            reason: reason.clone(),
        }],
        _ => Vec::new(),
    }
}

//! Streams that are tests of their own: their number per address, and their events.

use crate::per_address::{Counted, PerAddress};
use linerate_model::agent::AgentEvent;
use linerate_model::spec::MAX_STREAMS;
use linerate_peers::{PeerEvent, PeerKind};
use linerate_session::SessionEvent;
use std::net::{IpAddr, SocketAddr};

/// Number of streams by address.
#[derive(Default)]
pub(crate) struct Addresses(PerAddress);

impl Addresses {
    /// Counts one more stream; returns the number of addresses before, or a value above the limit if this address has
    /// too many streams.
    pub(crate) fn one_more(&self, from: IpAddr) -> (Counted<'_>, u32) {
        let (counted, counts) = self.0.one_more(from);
        // A client that ends a test with all its streams begins the next before the old ones are removed.
        let before = if counts.of_address > u32::from(MAX_STREAMS) * 4 {
            u32::MAX
        } else {
            counts.other_addresses
        };
        (counted, before)
    }
}

/// The server's event for an event of a client's session: most of these clients receive no messages.
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

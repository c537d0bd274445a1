//! Streams that are tests of their own: how many there are, and what was seen of them.

use crate::per_address::{Counted, PerAddress};
use linerate_model::sample::{EndpointReport, StreamReport};
use linerate_model::spec::{MAX_STREAMS, Side};
use linerate_model::{BitRate, ByteCount};
use linerate_peers::{PeerEvent, PeerKind};
use linerate_session::SessionEvent;
use std::fmt::Write as _;
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

/// What happened to a stream from `from`, for who runs this server: most clients are told nothing.
pub(crate) fn describe(from: SocketAddr, kind: &dyn PeerKind, event: &SessionEvent) -> Vec<String> {
    let id = kind.id();
    match event {
        SessionEvent::OwnReports(reports) => reports
            .iter()
            .map(|report| format!("{from} {id}: {}", words(report)))
            .collect(),
        SessionEvent::Peer(PeerEvent::Curtailed(what)) => vec![format!("{from} {id}: {what}")],
        SessionEvent::TestEnded { code, reason } => vec![format!("{from} {id}: {code}: {reason}")],
        _ => Vec::new(),
    }
}

fn words(report: &EndpointReport) -> String {
    let sum = |part: fn(&StreamReport) -> u64| report.streams.iter().map(part).sum::<u64>();
    let bytes = ByteCount::new(sum(|stream| stream.bytes.get()));
    let time = report.streams.iter().map(|stream| stream.duration).max();
    let time = time.unwrap_or_default();
    let done = match report.side {
        Side::Sender => "sent",
        Side::Receiver => "received",
    };
    let mut text = format!(
        "{done} {} bytes in {:.3} s",
        bytes.get(),
        time.as_secs_f64()
    );
    if let Some(rate) = BitRate::from_bytes(bytes, time) {
        // Writing to a string cannot fail.
        let _ = write!(text, ", {rate}");
    }
    let packets = sum(|stream| stream.packets.get());
    if packets > 0 {
        let _ = write!(text, ", {packets} datagrams");
    }
    for sequence in report.streams.iter().filter_map(|s| s.work.sequence()) {
        let expected = sequence.next_expected;
        let lost = expected.saturating_sub(sequence.received.get());
        let _ = write!(
            text,
            ", {lost} of {expected} lost, {} reordered, {} twice",
            sequence.reordered.get(),
            sequence.duplicated.get()
        );
    }
    text
}

//! Datagrams that are longer than the path's MTU: what becomes of them, and what to do.

use super::{Ends, streams};
use linerate_model::PacketCount;
use linerate_model::sample::{DatagramSender, PathMtu};
use linerate_model::signals;
use linerate_model::spec::{Side, Transport};

/// The smallest path of datagrams of which the sender's system knows the MTU.
fn known(ends: &Ends<'_>) -> Option<PathMtu> {
    if ends.spec.transport() != Transport::Udp {
        return None;
    }
    let paths = streams(ends.sender).filter_map(|stream| stream.path.path_mtu);
    paths.min_by_key(|path| path.payload_bytes)
}

/// Whether the sender's system knows a path that is too small for the datagrams.
pub(super) fn is_known(ends: &Ends<'_>) -> bool {
    known(ends).is_some_and(|path| path.payload_bytes < ends.spec.payload())
}

/// Says in how many fragments datagrams went, and which were sent whole before the path's MTU was known.
pub(super) fn fragments(ends: &Ends<'_>, careful: &mut Vec<String>) {
    let payload = ends.spec.payload();
    let Some(path) = known(ends).filter(|path| path.payload_bytes < payload) else {
        return;
    };
    let (mtu, fits) = (path.packet_bytes.get(), path.payload_bytes.get());
    let each = path.packets_of(payload);
    let each = each.map_or_else(String::new, |each| format!("{each} "));
    let counted = made(ends).map_or_else(String::new, |count| format!(" ({count} in all)"));
    careful.push(format!(
        "the path's MTU is {mtu} B: each datagram of {} B of payload goes as {each}IP fragments{counted}; --payload {fits} sends each in one packet",
        payload.get()
    ));
    let before: u64 = streams(ends.sender)
        .filter_map(|stream| stream.work.get::<DatagramSender>()?.before_path_mtu)
        .map(PacketCount::get)
        .fold(0, u64::saturating_add);
    let first = match before {
        0 => return,
        1 => "the first datagram was".to_owned(),
        more => format!("the first {more} datagrams were"),
    };
    careful.push(format!(
        "{first} sent before a router reported the path's MTU: too long to pass, and lost"
    ));
}

/// Fragments that the sender's host made during the trial.
fn made(ends: &Ends<'_>) -> Option<u64> {
    let report = ends.report(Side::Sender)?;
    let made = report.after.gained(&report.before, signals::IP_FRAGMENTS);
    made.filter(|made| *made > 0)
}

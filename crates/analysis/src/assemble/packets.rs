//! Packet accounting: sent, received, lost, duplicated, reordered.

use super::{Ends, streams, total};
use linerate_model::run::Packets;
use linerate_model::sample::{EndpointReport, SequenceCount, StreamReport};
use linerate_model::spec::Transport;
use linerate_model::{LossRatio, PacketCount};
use std::collections::BTreeMap;

/// Counts packets of a datagram test or of request/response over UDP; a TCP byte stream has none.
pub(super) fn count(ends: &Ends<'_>) -> Option<Packets> {
    if ends.is_datagrams() {
        return datagrams(ends);
    }
    (ends.spec.transport() == Transport::Udp)
        .then_some(ends.sender)
        .flatten()
        .map(transactions)
}

/// Request/response: what the requester sent and what was answered in time.
fn transactions(requester: &EndpointReport) -> Packets {
    let timeouts = total(requester, |s| s.work.timeouts().map_or(0, PacketCount::get));
    let answered = total(requester, |s| s.packets.get());
    let sent = answered.saturating_add(timeouts);
    settled(sent, answered.min(sent))
}

fn datagrams(ends: &Ends<'_>) -> Option<Packets> {
    let mut packets = match (ends.sender, ends.receiver) {
        (Some(sender), Some(receiver)) => of_both(sender, receiver),
        (Some(sender), None) => Packets {
            sent: Some(PacketCount::new(total(sender, |s| s.packets.get()))),
            ..Packets::default()
        },
        (None, Some(receiver)) => of_receiver(receiver),
        (None, None) => return None,
    };
    packets.duplicated = counted(ends, |sequence| sequence.duplicated);
    packets.reordered = counted(ends, |sequence| sequence.reordered);
    Some(packets)
}

/// Each stream on its own, so that a surplus in one cannot hide a loss in another.
fn of_both(sender: &EndpointReport, receiver: &EndpointReport) -> Packets {
    let got = by_stream(receiver, received);
    let (mut offered, mut arrived) = (0_u64, 0_u64);
    for (index, given) in by_stream(sender, |stream| stream.packets.get()) {
        let taken = got.get(&index).copied().unwrap_or(0).min(given);
        offered = offered.saturating_add(given);
        arrived = arrived.saturating_add(taken);
    }
    settled(offered, arrived)
}

/// Without the sender's count: gaps in the sequence only, tail loss unseen.
fn of_receiver(receiver: &EndpointReport) -> Packets {
    let got = total(receiver, received);
    let expected = total(receiver, |stream| {
        let seen = stream.work.sequence().map_or(0, |s| s.next_expected);
        seen.max(received(stream))
    });
    settled(expected, got)
}

fn settled(sent: u64, received: u64) -> Packets {
    let lost = sent.saturating_sub(received);
    Packets {
        sent: Some(PacketCount::new(sent)),
        received: Some(PacketCount::new(sent - lost)),
        lost: Some(PacketCount::new(lost)),
        loss_ratio: (sent > 0).then(|| LossRatio::from_parts(lost, sent)),
        ..Packets::default()
    }
}

/// Distinct datagrams that one receiving stream took.
pub(super) fn received(stream: &StreamReport) -> u64 {
    let sequence = stream.work.sequence();
    sequence
        .map_or(stream.packets, |sequence| sequence.received)
        .get()
}

pub(super) fn by_stream(
    report: &EndpointReport,
    part: impl Fn(&StreamReport) -> u64,
) -> BTreeMap<u16, u64> {
    let mut sums = BTreeMap::new();
    for stream in &report.streams {
        let sum: &mut u64 = sums.entry(stream.index).or_default();
        *sum = sum.saturating_add(part(stream));
    }
    sums
}

fn counted(ends: &Ends<'_>, part: impl Fn(&SequenceCount) -> PacketCount) -> Option<PacketCount> {
    streams(ends.receiver)
        .filter_map(|stream| stream.work.sequence())
        .map(|sequence| part(sequence).get())
        .reduce(u64::saturating_add)
        .map(PacketCount::new)
}

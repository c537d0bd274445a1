//! Packet accounting: sent, received, lost, duplicated, reordered.

use super::{Ends, streams, total};
use linerate_model::run::Packets;
use linerate_model::sample::{EndpointReport, SequenceCount, StreamReport};
use linerate_model::spec::Transport;
use linerate_model::{ByteCount, LossRatio, PacketCount};
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

/// What each datagram carried, if that was less than was asked for: a board's build may bound it. Told by the bytes
/// of those that came, or else of those that were sent; not if they were of several sizes.
pub(super) fn clipped(ends: &Ends<'_>) -> Option<ByteCount> {
    if !ends.is_datagrams() {
        return None;
    }
    let of_each = |report: &EndpointReport| {
        let (bytes, packets) = (
            total(report, |stream| stream.bytes.get()),
            total(report, |stream| stream.packets.get()),
        );
        let size = bytes.checked_div(packets)?;
        Some((size, size.checked_mul(packets) == Some(bytes)))
    };
    let ends_in_order = [ends.receiver, ends.sender];
    let (size, is_uniform) = ends_in_order.into_iter().flatten().find_map(of_each)?;
    let is_less = size > 0 && size < ends.spec.payload().get();
    (is_uniform && is_less).then_some(ByteCount::new(size))
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

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::super::trial;
    use super::*;
    use linerate_model::BitRate;
    use linerate_model::run::Trial;
    use linerate_model::spec::{Direction, Pace, Side, TestSpec};

    fn udp(sender: Option<EndpointReport>, receiver: EndpointReport) -> Trial {
        let spec = TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(11_584_000)));
        trial(3, &spec, Direction::Reverse, sender, Some(receiver))
    }

    #[test]
    fn a_sender_that_clips_its_datagrams_is_believed_by_their_size() {
        let of_size = |size| {
            let sender = report(Side::Sender, 1000, size);
            udp(Some(sender), report(Side::Receiver, 990, size))
        };
        let (whole, clipped) = (of_size(1448), of_size(1024));
        assert_eq!(whole.payload_bytes, Some(ByteCount::new(1448)));
        assert!(!whole.reasons.iter().any(|reason| reason.contains("1448 B")));
        assert_eq!(clipped.payload_bytes, Some(ByteCount::new(1024)));
        let said = clipped.reasons.join("; ");
        assert!(said.contains("1024 B of payload, not the 1448 B"), "{said}");
    }

    #[test]
    fn the_mean_of_several_sizes_is_the_size_of_none() {
        let mut mixed = report(Side::Receiver, 2, 1448);
        mixed.streams[0].bytes = ByteCount::new(2001);
        let mixed = udp(None, mixed);
        assert_eq!(mixed.payload_bytes, Some(ByteCount::new(1448)));
    }
}

//! When datagrams were lost: the loss of a trial spread over its reporting intervals.
//!
//! A receiver knows for each interval how far the numbers had got and how many distinct datagrams
//! it had: the difference is missing so far. One that comes late fills a gap of an earlier
//! interval, so what is missing for good at an interval's end is the smallest difference from there
//! on; that never falls, so no interval's loss is negative. What only the sender's total tells (a lost
//! tail, a stream of which nothing came) goes to the last intervals in which more was sent than received.
//!
//! Invariant: the intervals' losses sum to the trial's, whatever the reports say. They are absent where the receiver
//! tells of no intervals: another tool's, which counts for the whole test.

use super::slots::{slot, whole};
use super::{Ends, streams};
use linerate_model::PacketCount;
use linerate_model::run::TrialInterval;
use linerate_model::sample::{EndpointReport, IntervalCount, StreamReport};
use std::time::Duration;

/// Packets of one interval, all streams together.
#[derive(Clone, Copy, Default)]
struct Count {
    sent: u64,
    received: u64,
    lost: u64,
}

/// Spreads `lost` over `intervals`, which stand for `slots`. Only for numbered datagrams of which
/// both ends tell.
pub(super) fn spread(ends: &Ends<'_>, lost: u64, slots: &[u128], intervals: &mut [TrialInterval]) {
    let (Some(sender), Some(receiver)) = (ends.sender, ends.receiver) else {
        return;
    };
    if !ends.is_datagrams() || intervals.is_empty() {
        return;
    }
    // A receiver that tells one sum does not tell when what was lost was lost, unless that is all.
    let is_sum = |stream: &StreamReport| stream.intervals.is_empty() && stream.packets.get() > 0;
    if streams(ends.receiver).any(is_sum) {
        return;
    }
    let mut counts = vec![Count::default(); intervals.len()];
    let length = ends.spec.interval;
    each(sender, length, slots, &mut counts, |count, interval, _| {
        count.sent = count.sent.saturating_add(interval.packets.get());
    });
    let mut left = lost;
    each(
        receiver,
        length,
        slots,
        &mut counts,
        |count, interval, missing| {
            count.received = count.received.saturating_add(interval.packets.get());
            let missing = missing.min(left);
            left -= missing;
            count.lost += missing;
        },
    );
    spread_rest(left, &mut counts);
    for (interval, count) in intervals.iter_mut().zip(counts) {
        interval.lost_packets = Some(PacketCount::new(count.lost));
        let total = count.received.saturating_add(count.lost);
        interval.total_packets = Some(PacketCount::new(total));
    }
}

/// Gives each interval of each stream, and what it lost for good, to the count it belongs to.
fn each(
    report: &EndpointReport,
    length: Duration,
    slots: &[u128],
    counts: &mut [Count],
    mut add: impl FnMut(&mut Count, &IntervalCount, u64),
) {
    for stream in streams(Some(report)) {
        let parts = whole(stream, length);
        let missing = missing(&parts, stream);
        for (position, (interval, missing)) in parts.iter().zip(missing).enumerate() {
            let place = slots.partition_point(|other| *other < slot(position, interval, length));
            let last = counts.len() - 1;
            add(&mut counts[place.min(last)], interval, missing);
        }
    }
}

/// What each interval of a receiving stream lost for good, as far as the numbers that came show.
fn missing(parts: &[IntervalCount], stream: &StreamReport) -> Vec<u64> {
    let mut received = 0_u64;
    let mut gaps: Vec<u64> = Vec::with_capacity(parts.len());
    for part in parts {
        received = received.saturating_add(part.packets.get());
        gaps.push(part.next_expected.unwrap_or(0).saturating_sub(received));
    }
    // A sender has no gaps, and neither has a receiver that does not number.
    if stream.work.sequence().is_none() {
        gaps.fill(0);
    }
    for index in (1..gaps.len()).rev() {
        gaps[index - 1] = gaps[index - 1].min(gaps[index]);
    }
    let before = std::iter::once(0).chain(gaps.iter().copied());
    gaps.iter()
        .zip(before)
        .map(|(now, then)| now - then)
        .collect()
}

/// Gives `left` to the last intervals that sent more than was received or lost, and any rest to the last.
fn spread_rest(mut left: u64, counts: &mut [Count]) {
    for count in counts.iter_mut().rev() {
        let room = count
            .sent
            .saturating_sub(count.received)
            .saturating_sub(count.lost);
        let here = room.min(left);
        left -= here;
        count.lost += here;
    }
    if let Some(last) = counts.last_mut() {
        last.lost += left;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::super::trial;
    use super::*;
    use linerate_model::ByteCount;
    use linerate_model::run::Trial;
    use linerate_model::spec::{Direction, Pace, Side, TestSpec};

    /// Two seconds of 100 datagrams each, of which a receiver without intervals counts so many.
    fn told_as_a_sum(came: u64) -> Trial {
        let mut sender = report(Side::Sender, 200, 1000);
        sender.streams[0].intervals = [0, 1]
            .map(|second| IntervalCount {
                start: Duration::from_secs(second),
                end: Duration::from_secs(second + 1),
                bytes: ByteCount::new(100_000),
                packets: PacketCount::new(100),
                next_expected: None,
            })
            .into();
        let receiver = report(Side::Receiver, came, 1000);
        let mut spec = TestSpec::udp_datagrams(Pace::Unpaced);
        spec.interval = Duration::from_secs(1);
        trial(0, &spec, Direction::Forward, Some(sender), Some(receiver))
    }

    #[test]
    fn a_receiver_without_intervals_says_when_loss_was_only_if_all_was_lost() {
        let lost = |trial: &Trial| -> Vec<_> {
            let each = trial.intervals.iter();
            each.map(|interval| interval.lost_packets).collect()
        };
        assert_eq!(lost(&told_as_a_sum(190)), [None, None]);
        assert_eq!(lost(&told_as_a_sum(200)), [None, None]);
        let all = Some(PacketCount::new(100));
        assert_eq!(lost(&told_as_a_sum(0)), [all, all]);
    }
}

//! When datagrams were lost: the loss of a trial spread over its reporting intervals.
//!
//! A receiver knows for each interval how far the numbers had got and how many distinct datagrams
//! it had: the difference is missing so far. One that comes late fills a gap of an earlier
//! interval, so what is missing for good at an interval's end is the smallest difference from there
//! on; that never falls, so no interval's loss is negative. After a silence the numbers jump: what is missing was sent in
//! the intervals before, and counts there, as far as those sent more than arrived. Where the sender tells no intervals it
//! counts as steady. What only the sender's total tells (a lost
//! tail, a stream of which nothing came) goes to the last intervals in which more was sent than received.
//!
//! Invariant: the intervals' losses sum to the trial's, whatever the reports say. They are absent where the receiver
//! tells of no intervals: another tool's, which counts for the whole test.

use super::slots::{slot, whole};
use super::{Ends, streams};
use linerate_model::PacketCount;
use linerate_model::run::TrialInterval;
use linerate_model::sample::{IntervalCount, StreamReport};
use std::ops::Range;
use std::time::Duration;

/// Packets of one interval.
#[derive(Clone, Copy, Default)]
struct Count {
    sent: u64,
    received: u64,
    lost: u64,
}

impl Count {
    /// What was sent and neither came nor counts as lost yet.
    const fn room(self) -> u64 {
        self.sent
            .saturating_sub(self.received)
            .saturating_sub(self.lost)
    }

    const fn plus(self, other: Self) -> Self {
        Self {
            sent: self.sent.saturating_add(other.sent),
            received: self.received.saturating_add(other.received),
            lost: self.lost.saturating_add(other.lost),
        }
    }
}

/// Spreads `lost` over `intervals`, which stand for `slots`. Only for numbered datagrams of which
/// both ends tell.
pub(super) fn spread(ends: &Ends<'_>, lost: u64, slots: &[u128], intervals: &mut [TrialInterval]) {
    if ends.sender.is_none() || ends.receiver.is_none() {
        return;
    }
    if !ends.is_datagrams() || intervals.is_empty() {
        return;
    }
    // A receiver that tells one sum does not tell when what was lost was lost, unless that is all.
    let is_sum = |stream: &StreamReport| stream.intervals.is_empty() && stream.packets.get() > 0;
    if streams(ends.receiver).any(is_sum) {
        return;
    }
    let length = ends.spec.interval;
    let mut counts = vec![Count::default(); intervals.len()];
    let mut left = lost;
    for sender in streams(ends.sender) {
        let mut lane = vec![Count::default(); intervals.len()];
        send(sender, length, slots, intervals, &mut lane);
        let mut receivers = streams(ends.receiver);
        if let Some(receiver) = receivers.find(|stream| stream.index == sender.index) {
            let mut sent = 0_u64;
            let up_to = |count: &Count| {
                sent = sent.saturating_add(count.sent);
                sent
            };
            let ends: Vec<u64> = lane.iter().map(up_to).collect();
            let gaps = receive(receiver, length, slots, &mut lane);
            for gap in gaps {
                let missing = gap.missing.min(left);
                left -= missing;
                place(missing, &gap, &ends, &mut lane);
            }
        }
        for (sum, count) in counts.iter_mut().zip(lane) {
            *sum = sum.plus(count);
        }
    }
    spread_rest(left, &mut counts);
    for (interval, count) in intervals.iter_mut().zip(counts) {
        interval.lost_packets = Some(PacketCount::new(count.lost));
        let total = count.received.saturating_add(count.lost);
        interval.total_packets = Some(PacketCount::new(total));
    }
}

/// Position of an interval of a stream among `slots`.
fn position(place: usize, interval: &IntervalCount, length: Duration, slots: &[u128]) -> usize {
    let found = slots.partition_point(|other| *other < slot(place, interval, length));
    found.min(slots.len() - 1)
}

/// Counts what `stream` sent in each interval; steadily where it tells only a sum.
fn send(
    stream: &StreamReport,
    length: Duration,
    slots: &[u128],
    intervals: &[TrialInterval],
    lane: &mut [Count],
) {
    for (place, part) in whole(stream, length).iter().enumerate() {
        let count = &mut lane[position(place, part, length, slots)];
        count.sent = count.sent.saturating_add(part.packets.get());
    }
    let total = stream.packets.get();
    let nanos = stream.duration.as_nanos();
    if !stream.intervals.is_empty() || nanos == 0 {
        return;
    }
    let by = |time: Duration| {
        let part = u128::from(total).saturating_mul(time.as_nanos()) / nanos;
        u64::try_from(part).unwrap_or(total).min(total)
    };
    for (count, interval) in lane.iter_mut().zip(intervals) {
        count.sent = by(interval.end).saturating_sub(by(interval.start));
    }
}

/// Numbers of a receiving stream that are missing for good at the end of an interval, and were not before.
struct Gap {
    /// Position of the interval.
    at: usize,
    missing: u64,
    /// The numbers that it got past in the interval.
    numbers: Range<u64>,
}

/// Counts what `stream` received in each interval; returns what was missing then.
fn receive(
    stream: &StreamReport,
    length: Duration,
    slots: &[u128],
    lane: &mut [Count],
) -> Vec<Gap> {
    let parts = whole(stream, length);
    let (mut gaps, mut reached) = (Vec::new(), 0);
    for (place, (part, missing)) in parts.iter().zip(missing(&parts)).enumerate() {
        let at = position(place, part, length, slots);
        lane[at].received = lane[at].received.saturating_add(part.packets.get());
        let next = part.next_expected.unwrap_or(reached).max(reached);
        if missing > 0 {
            gaps.push(Gap {
                at,
                missing,
                numbers: reached..next,
            });
        }
        reached = next;
    }
    gaps
}

/// Places `missing` packets of `gap` where its numbers were sent, as far as more was sent there than came; what is left
/// over goes to the interval in which they were found missing. `ends` has the number after the last that was sent in each
/// interval.
fn place(missing: u64, gap: &Gap, ends: &[u64], lane: &mut [Count]) {
    let first = ends.partition_point(|end| *end <= gap.numbers.start);
    let last = ends.partition_point(|end| *end < gap.numbers.end);
    let last = last.saturating_add(1).min(ends.len());
    let rooms: Vec<(usize, u64)> = (first..last)
        .map(|at| {
            let from = at.checked_sub(1).map_or(0, |before| ends[before]);
            let (start, end) = (gap.numbers.start.max(from), gap.numbers.end.min(ends[at]));
            (at, end.saturating_sub(start).min(lane[at].room()))
        })
        .collect();
    let all: u128 = rooms.iter().map(|(_, room)| u128::from(*room)).sum();
    let mut left = missing;
    for (at, room) in rooms {
        let share = u128::from(missing).saturating_mul(room.into()) / all.max(1);
        let here = u64::try_from(share).unwrap_or(room).min(room).min(left);
        lane[at].lost = lane[at].lost.saturating_add(here);
        left -= here;
    }
    lane[gap.at].lost = lane[gap.at].lost.saturating_add(left);
}

/// What each interval of a receiving stream lost for good, as far as the numbers that came show; nothing of one without.
fn missing(parts: &[IntervalCount]) -> Vec<u64> {
    let mut received = 0_u64;
    let mut gaps: Vec<u64> = Vec::with_capacity(parts.len());
    for part in parts {
        received = received.saturating_add(part.packets.get());
        gaps.push(part.next_expected.unwrap_or(0).saturating_sub(received));
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
        let here = count.room().min(left);
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
    fn losses_without_a_time_are_said_to_have_none() {
        let says = |trial: &Trial| {
            trial
                .reasons
                .iter()
                .any(|why| why.contains("at unknown times"))
        };
        let of = |came: u64, work: fn() -> linerate_model::sample::StreamWork| {
            let mut receiver = report(Side::Receiver, came, 1000);
            receiver.streams[0].work = work();
            let spec = TestSpec::udp_datagrams(Pace::Unpaced);
            let sender = Some(report(Side::Sender, 200, 1000));
            trial(0, &spec, Direction::Forward, sender, Some(receiver))
        };
        let peer = || linerate_model::sample::PeerStream::default().into();
        assert!(says(&of(150, peer)));
        // Nothing is to be placed, or all was lost all the time.
        assert!(!says(&of(200, peer)));
        assert!(!says(&of(0, peer)));
        assert!(!says(&of(150, || {
            linerate_model::sample::DatagramReceiver::default().into()
        })));
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

    /// A stream's intervals of a second, each with what was moved and the next number expected.
    fn seconds(moved: &[(u64, Option<u64>)]) -> Vec<IntervalCount> {
        let second = |(at, (packets, next)): (u64, &(u64, Option<u64>))| IntervalCount {
            start: Duration::from_secs(at),
            end: Duration::from_secs(at + 1),
            bytes: ByteCount::new(packets * 1000),
            packets: PacketCount::new(*packets),
            next_expected: *next,
        };
        (0..).zip(moved).map(second).collect()
    }

    /// What is lost in each second of 100 datagrams each, of which so many came and those numbers were reached.
    fn lost_by_second(sender_tells: bool, came: &[(u64, Option<u64>)]) -> Vec<u64> {
        let seconds_sent = vec![(100, None); came.len()];
        let sent = 100 * came.len() as u64;
        let mut sender = report(Side::Sender, sent, 1000);
        sender.streams[0].duration = Duration::from_secs(came.len() as u64);
        sender.streams[0].intervals = Vec::new();
        if sender_tells {
            sender.streams[0].intervals = seconds(&seconds_sent);
        }
        let got = came.iter().map(|(packets, _)| packets).sum();
        let mut receiver = report(Side::Receiver, got, 1000);
        receiver.streams[0].intervals = seconds(came);
        let mut spec = TestSpec::udp_datagrams(Pace::Unpaced);
        spec.interval = Duration::from_secs(1);
        let trial = trial(0, &spec, Direction::Forward, Some(sender), Some(receiver));
        let lost = trial.intervals.iter().map(|interval| interval.lost_packets);
        lost.map(|lost| lost.unwrap().get()).collect()
    }

    #[test]
    fn what_is_lost_in_a_silence_counts_where_it_was_sent() {
        // Nothing arrives from 2.5 s to 5.5 s.
        let silent = [
            (100, Some(100)),
            (100, Some(200)),
            (50, Some(250)),
            (0, Some(250)),
            (0, Some(250)),
            (50, Some(600)),
            (100, Some(700)),
        ];
        for sender_tells in [true, false] {
            let lost = lost_by_second(sender_tells, &silent);
            assert_eq!(lost, [0, 0, 50, 100, 100, 50, 0]);
        }
    }

    #[test]
    fn what_is_lost_without_a_silence_counts_where_it_is_missed() {
        // Ten of each second's last are still on their way at its end.
        let lossy = [(80, Some(90)), (90, Some(190)), (90, Some(290))];
        assert_eq!(lost_by_second(true, &lossy).iter().sum::<u64>(), 40);
        let at_once = [(100, Some(100)), (40, Some(200)), (100, Some(300))];
        assert_eq!(lost_by_second(true, &at_once), [0, 60, 0]);
    }

    #[test]
    fn a_silence_up_to_the_end_counts_in_the_last_intervals() {
        let ended = [
            (100, Some(100)),
            (30, Some(130)),
            (0, Some(130)),
            (0, Some(130)),
        ];
        assert_eq!(lost_by_second(true, &ended), [0, 70, 100, 100]);
    }
}

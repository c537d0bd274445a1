//! Counts of one running stream: totals, intervals, errors, and the progress that other threads read.

use crate::plan::Intervals;
use linerate_model::sample::{
    ErrorCount, IntervalCount, MAX_SILENCES, Silence, StreamReport, StreamWork, TcpSample,
};
use linerate_model::{ByteCount, MonoInstant, PacketCount};
use linerate_peers::Refusals;
use linerate_sys::failure::{Failure, FailureClass};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Totals of one stream for other threads. Its own cache lines: only its thread writes.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct StreamProgress {
    pub(crate) bytes: AtomicU64,
    pub(crate) packets: AtomicU64,
    /// Datagrams received or skipped so far; zero where they have no sequence number.
    pub(crate) expected: AtomicU64,
    /// Latest reading of TCP, once per interval.
    pub(crate) tcp: Mutex<Option<TcpSample>>,
    pub(crate) finished: AtomicBool,
    /// Whether anything of this stream has arrived, warm-up included.
    pub(crate) heard: AtomicBool,
}

impl StreamProgress {
    /// Marks that something of this stream has arrived.
    pub(crate) fn hear(&self) {
        self.heard.store(true, Ordering::Relaxed);
    }

    /// Publishes a reading of TCP.
    pub(crate) fn read(&self, sample: &TcpSample) {
        *self.tcp.lock().unwrap_or_else(PoisonError::into_inner) = Some(*sample);
    }
}

/// Initial capacity for intervals: none is allocated during a test of common length.
const USUAL_INTERVALS: usize = 16;

/// Shortest time without traffic that is kept: the shortest retransmission timeout of Linux, which loss by chance may cause.
const LEAST_SILENCE: Duration = Duration::from_millis(200);

/// Times the usual gap between two counts that a silence lasts at least: a slow stream is not silent.
const SILENCE_FACTOR: u32 = 10;

/// Totals and intervals of one stream, by arrival time.
pub(crate) struct Tally {
    start: MonoInstant,
    interval: Intervals,
    bytes: u64,
    packets: u64,
    current: IntervalCount,
    current_end: MonoInstant,
    last: MonoInstant,
    /// Counts so far.
    moves: u32,
    silences: Vec<Silence>,
    intervals: Vec<IntervalCount>,
    progress: Arc<StreamProgress>,
}

impl Tally {
    /// Counts from `start`, in intervals of `interval`.
    pub(crate) fn new(
        start: MonoInstant,
        interval: Intervals,
        progress: Arc<StreamProgress>,
    ) -> Self {
        Self {
            start,
            interval,
            bytes: 0,
            packets: 0,
            current: IntervalCount {
                end: interval.length,
                ..IntervalCount::default()
            },
            current_end: start.after(interval.length),
            last: start,
            moves: 0,
            silences: Vec::new(),
            intervals: Vec::with_capacity(interval.most.min(USUAL_INTERVALS)),
            progress,
        }
    }

    /// When counting started.
    pub(crate) const fn start(&self) -> MonoInstant {
        self.start
    }

    /// Packets so far.
    pub(crate) const fn packets(&self) -> u64 {
        self.packets
    }

    /// Records what was moved at `now`. Returns whether an interval ended before it.
    pub(crate) fn count(&mut self, now: MonoInstant, bytes: u64, packets: u64) -> bool {
        let rolled = self.roll(now);
        self.bytes += bytes;
        self.packets += packets;
        self.current.bytes = ByteCount::new(self.current.bytes.get() + bytes);
        self.current.packets = PacketCount::new(self.current.packets.get() + packets);
        if now.saturating_since(self.last) >= LEAST_SILENCE {
            self.note_silence(now);
        }
        self.moves = self.moves.saturating_add(1);
        self.last = self.last.max(now);
        self.progress.bytes.store(self.bytes, Ordering::Relaxed);
        self.progress.packets.store(self.packets, Ordering::Relaxed);
        rolled
    }

    /// Keeps the time from the last count to `now` if it is far longer than usual, and one of the longest.
    #[cold]
    fn note_silence(&mut self, now: MonoInstant) {
        let usual = self.active() / self.moves.saturating_sub(1).max(1);
        let silence = Silence {
            start: self.active(),
            end: now.saturating_since(self.start),
        };
        if self.moves < 2 || silence.length() < usual * SILENCE_FACTOR {
            return;
        }
        if self.silences.len() == MAX_SILENCES {
            let lengths = self.silences.iter().map(|silence| silence.length());
            let Some((shortest, least)) = lengths.enumerate().min_by_key(|(_, length)| *length)
            else {
                return;
            };
            if least >= silence.length() {
                return;
            }
            self.silences.remove(shortest);
        }
        self.silences.push(silence);
    }

    /// Records that datagrams below number `next` were received or skipped.
    pub(crate) fn expect(&mut self, next: u64) {
        self.current.next_expected = Some(next);
        self.progress.expected.store(next, Ordering::Relaxed);
    }

    /// Closes the intervals that ended before `now`. Returns whether there was one.
    pub(crate) fn roll(&mut self, now: MonoInstant) -> bool {
        let before = self.intervals.len();
        while now >= self.current_end && self.intervals.len() < self.interval.most {
            self.intervals.push(self.current);
            let start = self.current.end;
            self.current = IntervalCount {
                start,
                end: start + self.interval.length,
                next_expected: self.current.next_expected,
                ..IntervalCount::default()
            };
            self.current_end = self.start.after(self.current.end);
        }
        self.intervals.len() > before
    }

    /// Time from the start to the last count.
    pub(crate) const fn active(&self) -> Duration {
        self.last.saturating_since(self.start)
    }

    /// Report of a stream that counted for `duration`.
    pub(crate) fn report(
        mut self,
        index: u8,
        duration: Duration,
        work: impl Into<StreamWork>,
    ) -> StreamReport {
        StreamReport {
            bytes: ByteCount::new(self.bytes),
            packets: PacketCount::new(self.packets),
            duration,
            silences: std::mem::take(&mut self.silences),
            intervals: self.into_intervals(duration),
            ..StreamReport::new(u16::from(index), work)
        }
    }

    /// Report of a stream that counts from its first message to its last.
    pub(crate) fn active_report(
        tally: Option<Self>,
        index: u8,
        work: impl Into<StreamWork>,
    ) -> StreamReport {
        let Some(tally) = tally else {
            return StreamReport::new(u16::from(index), work);
        };
        let active = tally.active();
        tally.report(index, active, work)
    }

    /// All intervals; the last one, if not empty, ends at `duration`.
    pub(crate) fn into_intervals(mut self, duration: Duration) -> Vec<IntervalCount> {
        self.roll(self.start.after(duration));
        let open = self.current.bytes.get() > 0 || self.current.packets.get() > 0;
        if open {
            self.current.end = duration.max(self.current.start);
            self.intervals.push(self.current);
        }
        self.intervals
    }
}

/// What to do after a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterFailure {
    /// Try again at once.
    Retry,
    /// Try again, not before this time.
    RetryAt(MonoInstant),
    /// This stream is over.
    GiveUp,
}

/// Error counts of one stream, and when to give up.
#[derive(Debug, Default)]
pub(crate) struct FailureCounts {
    counts: Vec<(Failure, u64)>,
    refusals: u32,
    /// Refusals that end the stream; `None`: the default.
    most_refusals: Option<u32>,
    /// Until when refusals do not end the stream.
    patient_until: Option<MonoInstant>,
    failing_since: Option<MonoInstant>,
    /// Whether a call has succeeded.
    has_worked: bool,
}

/// Number of "port unreachable" answers after which the peer's socket counts as gone: ports do not come back, and
/// routers limit such answers to a few per second.
const MAX_REFUSALS: u32 = 8;

/// Maximum time of other errors without a success in between: routes and neighbours settle within a second.
const MAX_FAILING: Duration = Duration::from_secs(2);

/// Pause after such an error, to avoid a busy loop of failing calls.
const BACK_OFF: Duration = Duration::from_millis(1);

impl FailureCounts {
    /// Counts `failure`, which decides nothing.
    pub(crate) fn note(&mut self, failure: Failure) {
        match self.counts.iter_mut().find(|(known, _)| *known == failure) {
            Some((_, count)) => *count += 1,
            None => self.counts.push((failure, 1)),
        }
    }

    /// Counts `failure` at `now` and decides how to go on.
    pub(crate) fn count(&mut self, failure: Failure, now: MonoInstant) -> AfterFailure {
        self.note(failure);
        match failure.class() {
            FailureClass::WouldBlock | FailureClass::Interrupted => AfterFailure::Retry,
            FailureClass::Impossible => AfterFailure::GiveUp,
            FailureClass::PeerGone if self.patient_until.is_some_and(|until| now < until) => {
                AfterFailure::RetryAt(now.after(BACK_OFF))
            }
            FailureClass::PeerGone => {
                self.refusals += 1;
                if self.refusals < self.most_refusals.unwrap_or(MAX_REFUSALS) {
                    AfterFailure::RetryAt(now.after(BACK_OFF))
                } else {
                    AfterFailure::GiveUp
                }
            }
            // An outage: the stream goes on where it ends. What was due meanwhile is counted as not sent.
            FailureClass::Unreachable if self.has_worked => {
                AfterFailure::RetryAt(now.after(BACK_OFF))
            }
            // Mostly a router's answer to an earlier datagram: the next call goes through.
            FailureClass::TooLong | FailureClass::Unreachable | FailureClass::Other
                if now.saturating_since(*self.failing_since.get_or_insert(now)) < BACK_OFF =>
            {
                AfterFailure::Retry
            }
            FailureClass::NoBuffers
            | FailureClass::Other
            | FailureClass::TooLong
            | FailureClass::Unreachable => {
                let since = *self.failing_since.get_or_insert(now);
                if now.saturating_since(since) > MAX_FAILING {
                    AfterFailure::GiveUp
                } else {
                    AfterFailure::RetryAt(now.after(BACK_OFF))
                }
            }
        }
    }

    /// Sets how refusals of a stream that begins at `start` are treated.
    pub(crate) fn take_refusals(&mut self, refusals: Refusals, start: MonoInstant) {
        match refusals {
            Refusals::FirstEnds => self.most_refusals = Some(1),
            Refusals::SeveralEnd => {}
            Refusals::SeveralEndAfter(time) => self.patient_until = Some(start.after(time)),
        }
    }

    /// A call succeeded.
    pub(crate) const fn success(&mut self) {
        self.failing_since = None;
        self.has_worked = true;
    }

    /// Error counts by call and symbol.
    pub(crate) fn into_counts(self) -> Vec<ErrorCount> {
        let mut sums = BTreeMap::new();
        for (failure, count) in self.counts {
            *sums
                .entry((failure.operation(), failure.name()))
                .or_default() += count;
        }
        let error = |((operation, errno), count): ((&str, String), u64)| ErrorCount {
            operation: operation.to_owned(),
            errno,
            count,
        };
        sums.into_iter().map(error).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally() -> Tally {
        let start = MonoInstant::from_nanos(5_000_000_000);
        let interval = Intervals {
            length: Duration::from_secs(1),
            most: 100,
        };
        Tally::new(start, interval, Arc::default())
    }

    fn after_start(tally: &Tally, millis: u64) -> MonoInstant {
        tally.start().after(Duration::from_millis(millis))
    }

    #[test]
    fn intervals_sum_up_to_the_total_and_have_no_holes() {
        let mut tally = tally();
        for (millis, bytes) in [(0, 10), (999, 20), (3500, 30)] {
            tally.count(after_start(&tally, millis), bytes, 1);
        }
        let total = tally.bytes;
        let intervals = tally.into_intervals(Duration::from_millis(3600));
        let bytes: Vec<_> = intervals.iter().map(|i| i.bytes.get()).collect();
        assert_eq!(bytes, [30, 0, 0, 30]);
        assert_eq!(bytes.iter().sum::<u64>(), total);
        assert!(
            intervals
                .windows(2)
                .all(|pair| pair[0].end == pair[1].start)
        );
        assert_eq!(intervals[3].end, Duration::from_millis(3600));
    }

    #[test]
    fn what_follows_the_last_interval_that_may_be_is_in_one_more() {
        let mut tally = tally();
        tally.interval.most = 2;
        for millis in [500, 1500, 2500, 9500] {
            let rolled = tally.count(after_start(&tally, millis), 1, 0);
            // So long as there are intervals to end: whoever asks then reads the socket's state.
            assert_eq!(rolled, (1000..3000).contains(&millis), "{millis}");
        }
        let intervals = tally.into_intervals(Duration::from_secs(10));
        let ends: Vec<_> = intervals
            .iter()
            .map(|i| (i.end.as_secs(), i.bytes.get()))
            .collect();
        assert_eq!(ends, [(1, 1), (2, 1), (10, 2)]);
    }

    #[test]
    fn an_interval_knows_the_next_number_expected_at_its_end() {
        let mut tally = tally();
        for (millis, next) in [(0, 5), (2500, 9)] {
            tally.count(after_start(&tally, millis), 1, 1);
            tally.expect(next);
        }
        let intervals = tally.into_intervals(Duration::from_millis(2600));
        let next: Vec<_> = intervals.iter().map(|i| i.next_expected).collect();
        assert_eq!(next, [Some(5), Some(5), Some(9)]);
    }

    #[test]
    fn a_gap_far_longer_than_usual_is_a_silence_and_a_slow_stream_is_not_silent() {
        let silences = |millis: &[u64]| {
            let mut tally = tally();
            for at in millis {
                tally.count(after_start(&tally, *at), 1, 1);
            }
            let report = tally.report(0, Duration::from_secs(9), StreamWork::Unreported);
            let times = report.silences.iter().map(|s| (s.start, s.end));
            let millis = times.map(|(start, end)| (start.as_millis(), end.as_millis()));
            millis.collect::<Vec<_>>()
        };
        let steady: Vec<u64> = (0..250).map(|n| n * 10).collect();
        let again = [steady.as_slice(), &[5500, 5510]].concat();
        assert_eq!(silences(&steady), []);
        assert_eq!(silences(&again), [(2490, 5500)]);
        assert_eq!(silences(&[0, 1000, 2000, 3000, 4000]), []);
        assert_eq!(silences(&[0, 3000]), []);
    }

    #[test]
    fn the_longest_silences_are_kept() {
        let mut tally = tally();
        let mut at = 0;
        for gap in (0..2 * MAX_SILENCES as u64).map(|n| 300 + n) {
            for _ in 0..100 {
                tally.count(after_start(&tally, at), 1, 1);
                at += 1;
            }
            at += gap;
        }
        tally.count(after_start(&tally, at), 1, 1);
        let report = tally.report(0, Duration::from_mins(1), StreamWork::Unreported);
        assert_eq!(report.silences.len(), MAX_SILENCES);
        let least = report.silences.iter().map(|silence| silence.length()).min();
        assert!(least >= Some(Duration::from_millis(300 + MAX_SILENCES as u64)));
    }

    #[test]
    fn a_count_says_when_an_interval_ended() {
        let mut tally = tally();
        assert!(!tally.count(after_start(&tally, 10), 1, 1));
        assert!(tally.count(after_start(&tally, 1000), 1, 1));
    }

    #[test]
    fn refusals_end_a_stream_soon_and_full_buffers_never() {
        let now = MonoInstant::from_nanos(0);
        let mut failures = FailureCounts::default();
        for _ in 0..10_000 {
            let failure = Failure::would_block("sendmmsg");
            assert_eq!(failures.count(failure, now), AfterFailure::Retry);
        }
        let gone = Failure::peer_gone("sendmmsg");
        let remedies: Vec<_> = (0..8).map(|_| failures.count(gone, now)).collect();
        assert!(matches!(remedies[6], AfterFailure::RetryAt(_)));
        assert_eq!(remedies[7], AfterFailure::GiveUp);
        let counts = failures.into_counts();
        assert_eq!(counts[0].errno, "EAGAIN");
        assert_eq!(counts[0].count, 10_000);
        assert_eq!(counts[1].count, 8);
    }

    #[test]
    fn the_first_refusal_ends_what_nothing_else_proves_to_be_wanted() {
        let mut failures = FailureCounts::default();
        failures.take_refusals(Refusals::FirstEnds, MonoInstant::default());
        let gone = Failure::peer_gone("sendmmsg");
        let remedy = failures.count(gone, MonoInstant::from_nanos(1));
        assert_eq!(remedy, AfterFailure::GiveUp);
    }

    #[test]
    fn refusals_are_borne_while_a_peer_may_open_its_port() {
        let until = Refusals::SeveralEndAfter(Duration::from_micros(1));
        let mut failures = FailureCounts::default();
        failures.take_refusals(until, MonoInstant::default());
        let gone = Failure::peer_gone("recvmmsg");
        for _ in 0..100 {
            let remedy = failures.count(gone, MonoInstant::from_nanos(999));
            assert!(matches!(remedy, AfterFailure::RetryAt(_)));
        }
        let remedies: Vec<_> = (0..8)
            .map(|_| failures.count(gone, MonoInstant::from_nanos(1_000)))
            .collect();
        assert_eq!(remedies[7], AfterFailure::GiveUp);
    }

    #[test]
    fn a_router_that_says_too_long_ends_no_stream_that_goes_on() {
        let mut failures = FailureCounts::default();
        let failure = Failure::too_long("sendmmsg");
        for second in 0..100 {
            let now = MonoInstant::from_nanos(0).after(Duration::from_secs(second));
            assert_eq!(failures.count(failure, now), AfterFailure::Retry);
            failures.success();
        }
        let start = MonoInstant::from_nanos(0).after(Duration::from_secs(200));
        assert_eq!(failures.count(failure, start), AfterFailure::Retry);
        let soon = start.after(BACK_OFF);
        let again = AfterFailure::RetryAt(soon.after(BACK_OFF));
        assert_eq!(failures.count(failure, soon), again);
        let late = start.after(MAX_FAILING + BACK_OFF);
        assert_eq!(failures.count(failure, late), AfterFailure::GiveUp);
    }

    #[test]
    fn lasting_trouble_ends_a_stream_and_passing_trouble_does_not() {
        let late = MonoInstant::from_nanos(0).after(MAX_FAILING + BACK_OFF);
        let failure = Failure::timed_out("sendmmsg");
        let mut failures = FailureCounts::default();
        failures.count(failure, MonoInstant::from_nanos(0));
        failures.success();
        assert_eq!(failures.count(failure, late), AfterFailure::Retry);
        let later = failures.count(failure, late.after(BACK_OFF));
        assert!(matches!(later, AfterFailure::RetryAt(_)));
        let mut failures = FailureCounts::default();
        failures.count(failure, MonoInstant::from_nanos(0));
        assert_eq!(failures.count(failure, late), AfterFailure::GiveUp);
    }

    #[test]
    fn a_way_that_was_lost_is_waited_for_and_one_that_never_was_is_not() {
        let late = MonoInstant::from_nanos(0).after(MAX_FAILING + BACK_OFF);
        let failure = Failure::unreachable("sendmmsg");
        let mut failures = FailureCounts::default();
        failures.count(failure, MonoInstant::from_nanos(0));
        assert_eq!(failures.count(failure, late), AfterFailure::GiveUp);
        let mut failures = FailureCounts::default();
        failures.success();
        for now in [MonoInstant::from_nanos(0), late, late.after(MAX_FAILING)] {
            let again = AfterFailure::RetryAt(now.after(BACK_OFF));
            assert_eq!(failures.count(failure, now), again);
        }
    }
}

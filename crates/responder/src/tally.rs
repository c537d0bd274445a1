//! Totals and intervals of one stream, by arrival time: the engine's tally in memory of fixed size.

use crate::text::Seconds;
use core::fmt;
use core::time::Duration;
use linerate_wire::MonoInstant;

/// Maximum intervals kept: a minute at the default length.
pub(crate) const MAX_INTERVALS: u8 = 64;
const KEPT: usize = MAX_INTERVALS as usize;

/// Counts of one interval.
#[derive(Debug, Clone, Copy)]
struct Interval {
    bytes: u64,
    packets: u32,
    /// One above the highest sequence number; datagrams only.
    next_expected: u32,
}

const EMPTY: Interval = Interval {
    bytes: 0,
    packets: 0,
    next_expected: 0,
};

/// Counts, with their start and the last time.
#[derive(Debug)]
pub(crate) struct Tally {
    start: Option<MonoInstant>,
    length: Duration,
    last: MonoInstant,
    bytes: u64,
    packets: u64,
    next_expected: u32,
    /// Index of the open interval, and its end.
    current: usize,
    current_end: MonoInstant,
    /// Ended intervals, the open one, and one for everything after the last.
    intervals: [Interval; KEPT + 1],
}

impl Tally {
    pub(crate) const fn new() -> Self {
        Self {
            start: None,
            length: Duration::from_nanos(1),
            last: MonoInstant::from_nanos(0),
            bytes: 0,
            packets: 0,
            next_expected: 0,
            current: 0,
            current_end: MonoInstant::from_nanos(0),
            intervals: [EMPTY; KEPT + 1],
        }
    }

    /// Resets everything, for intervals of this length.
    pub(crate) fn reset(&mut self, length: Duration) {
        self.start = None;
        self.length = length.max(Duration::from_nanos(1));
        self.bytes = 0;
        self.packets = 0;
        self.next_expected = 0;
    }

    /// Start of counting, if it has begun.
    pub(crate) const fn start(&self) -> Option<MonoInstant> {
        self.start
    }

    /// Starts the counting, unless it has begun.
    pub(crate) fn begin(&mut self, start: MonoInstant) {
        if self.start.is_none() {
            self.start = Some(start);
            self.last = start;
            self.current = 0;
            self.current_end = start.after(self.length);
            self.intervals[0] = EMPTY;
        }
    }

    /// Counts what was moved at `now`.
    pub(crate) fn count(&mut self, now: MonoInstant, bytes: u64, packets: u32) {
        self.roll(now);
        self.bytes += bytes;
        self.packets += u64::from(packets);
        self.last = self.last.max(now);
        let current = &mut self.intervals[self.current];
        current.bytes += bytes;
        current.packets += packets;
    }

    /// Records that datagrams below number `next` were received or skipped.
    pub(crate) fn expect(&mut self, next: u64) {
        self.next_expected = u32::try_from(next).unwrap_or(u32::MAX);
        self.intervals[self.current].next_expected = self.next_expected;
    }

    /// Closes the intervals that ended before `now`. What follows the last one kept goes into one more.
    fn roll(&mut self, now: MonoInstant) {
        let Some(start) = self.start else {
            return;
        };
        while now >= self.current_end && self.current < KEPT {
            self.current += 1;
            self.current_end = start.after(self.end_of(self.current));
            self.intervals[self.current] = Interval {
                next_expected: self.next_expected,
                ..EMPTY
            };
        }
    }

    /// End of an interval, from the start.
    fn end_of(&self, interval: usize) -> Duration {
        let intervals = u32::try_from(interval + 1).unwrap_or(u32::MAX);
        self.length.saturating_mul(intervals)
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) const fn packets(&self) -> u64 {
        self.packets
    }

    /// Time from the start to the last count.
    pub(crate) const fn active(&self) -> Duration {
        match self.start {
            Some(start) => self.last.saturating_since(start),
            None => Duration::ZERO,
        }
    }

    /// Closes a stream that lasted `duration`.
    pub(crate) fn close(&mut self, duration: Duration) {
        if let Some(start) = self.start {
            self.roll(start.after(duration));
        }
    }

    /// Writes the intervals of a closed stream that lasted `duration`; the last, if not empty, ends there.
    pub(crate) fn write(
        &self,
        out: &mut dyn fmt::Write,
        duration: Duration,
        numbers: Numbers,
    ) -> fmt::Result {
        out.write_str("[")?;
        let kept = self.intervals.iter().take(self.current + 1).enumerate();
        for (at, interval) in kept.filter(|_| self.start.is_some()) {
            let is_open = at == self.current;
            if is_open && interval.bytes == 0 && interval.packets == 0 {
                break;
            }
            let start = self.end_of(at).saturating_sub(self.length);
            let end = if is_open {
                duration.max(start)
            } else {
                self.end_of(at)
            };
            let (start, end) = (Seconds(start), Seconds(end));
            let comma = if at == 0 { "" } else { "," };
            write!(
                out,
                r#"{comma}{{"start_s":{start},"end_s":{end},"bytes":{},"packets":{}"#,
                interval.bytes, interval.packets
            )?;
            if numbers == Numbers::Shown {
                write!(out, r#","next_expected":{}"#, interval.next_expected)?;
            }
            out.write_str("}")?;
        }
        out.write_str("]")
    }
}

/// Whether intervals include the next sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    Hidden,
    Shown,
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::sample::IntervalCount;

    fn intervals(tally: &mut Tally, duration: Duration, numbers: Numbers) -> Vec<IntervalCount> {
        let mut text = String::new();
        tally.close(duration);
        tally.write(&mut text, duration, numbers).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    const START: MonoInstant = MonoInstant::from_nanos(5_000_000_000);

    fn at(millis: u64) -> MonoInstant {
        START.after(Duration::from_millis(millis))
    }

    fn tally() -> Tally {
        let mut tally = Tally::new();
        tally.reset(Duration::from_secs(1));
        tally.begin(START);
        tally
    }

    #[test]
    fn intervals_sum_up_to_the_total_and_have_no_holes() {
        let mut tally = tally();
        for (millis, bytes) in [(0, 10), (999, 20), (3500, 30)] {
            tally.count(at(millis), bytes, 1);
        }
        let all = intervals(&mut tally, Duration::from_millis(3600), Numbers::Hidden);
        let bytes: Vec<_> = all.iter().map(|i| i.bytes.get()).collect();
        assert_eq!(bytes, [30, 0, 0, 30]);
        assert!(all.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(all[3].end.as_millis(), 3600);
        assert_eq!((tally.bytes(), tally.packets()), (60, 3));
    }

    #[test]
    fn an_interval_knows_the_next_number_expected_at_its_end() {
        let mut tally = tally();
        for (millis, next) in [(0, 5), (2500, 9)] {
            tally.count(at(millis), 1, 1);
            tally.expect(next);
        }
        let all = intervals(&mut tally, Duration::from_millis(2600), Numbers::Shown);
        let next: Vec<_> = all.iter().map(|i| i.next_expected).collect();
        assert_eq!(next, [Some(5), Some(5), Some(9)]);
    }

    #[test]
    fn what_follows_the_last_interval_that_is_kept_is_in_one_more() {
        let mut tally = tally();
        for second in 0..100 {
            tally.count(at(second * 1000), 1, 1);
        }
        let all = intervals(&mut tally, Duration::from_secs(100), Numbers::Hidden);
        assert_eq!(all.len(), KEPT + 1);
        assert_eq!(all[KEPT].bytes.get(), 100 - KEPT as u64);
        assert_eq!(all[KEPT].end.as_secs(), 100);
    }

    #[test]
    fn one_that_was_used_counts_afresh_and_an_empty_one_has_no_intervals() {
        let mut tally = tally();
        tally.count(at(1500), 7, 1);
        tally.reset(Duration::from_secs(1));
        assert_eq!(intervals(&mut tally, Duration::ZERO, Numbers::Shown), []);
        tally.begin(at(0));
        tally.count(at(1), 1, 1);
        let all = intervals(&mut tally, Duration::from_millis(1), Numbers::Hidden);
        assert_eq!((all.len(), all[0].bytes.get()), (1, 1));
    }
}

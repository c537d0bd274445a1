//! Sizes of announced batches: announced messages must be exchanged, so no batch may last much longer than the test.

use linerate_model::MonoInstant;
use linerate_model::spec::{Stop, TestSpec};
use std::collections::VecDeque;
use std::time::Duration;

/// Maximum messages of one batch, as in sfnt-pingpong.
const MAX_BATCH_MESSAGES: u32 = 1000;

/// Batches announced in advance, so that the peer never waits for the next.
const AHEAD: usize = 2;

/// Growth factor of batches while the path's round trip is not known.
const GROWTH: u32 = 16;

/// Announcements of one test.
#[derive(Debug)]
pub(super) struct Batches {
    began: MonoInstant,
    /// When messages begin to count.
    counted: MonoInstant,
    /// When announcements stop; `None` if a message count ends the test.
    ends: Option<MonoInstant>,
    /// Messages that may still be announced, without the untimed ones.
    left: u64,
    last: u32,
    outstanding: VecDeque<u32>,
    exchanged: u64,
}

impl Batches {
    pub(super) fn from_spec(spec: &TestSpec, now: MonoInstant) -> Self {
        let most = spec.work.transactions().at_most.unwrap_or(u64::MAX);
        let (ends, left) = match spec.stop {
            Stop::After(time) => (Some(now.after(spec.warm_up.saturating_add(time))), most),
            Stop::Transactions(count) => (None, count),
            Stop::Bytes(_) => (None, 0),
        };
        Self {
            began: now,
            counted: now.after(spec.warm_up),
            ends,
            left,
            last: 0,
            outstanding: VecDeque::new(),
            exchanged: 0,
        }
    }

    /// Timed messages of the next batch; `None` if there is none at present.
    pub(super) fn next(&mut self, now: MonoInstant) -> Option<u32> {
        let knows_nothing = self.exchanged == 0 && !self.outstanding.is_empty();
        if self.outstanding.len() >= AHEAD || self.left == 0 || knows_nothing {
            return None;
        }
        let mut count = self
            .last
            .saturating_mul(GROWTH)
            .clamp(1, MAX_BATCH_MESSAGES);
        if let Some(ends) = self.ends {
            let left = ends.saturating_since(now);
            if left.is_zero() {
                return None;
            }
            // Announced batches use a part of the rest.
            let ahead: u64 = self.outstanding.iter().map(|n| u64::from(*n) + 1).sum();
            let fit = self.fit(now, left).unwrap_or(u64::MAX);
            let room = u32::try_from(fit.saturating_sub(ahead)).unwrap_or(u32::MAX);
            if room == 0 && ahead > 0 {
                return None;
            }
            count = count.min(room.max(1));
        }
        // What is announced during the warm-up may be exchanged before its end.
        if now >= self.counted {
            count = count.min(u32::try_from(self.left).unwrap_or(u32::MAX));
            self.left -= u64::from(count);
        }
        self.last = count;
        self.outstanding.push_back(count);
        Some(count)
    }

    /// Number of messages that fit into `time`, if a rate is known.
    fn fit(&self, now: MonoInstant, time: Duration) -> Option<u64> {
        let spent = now.saturating_since(self.began).as_nanos();
        let each = spent.checked_div(u128::from(self.exchanged))?.max(1);
        u64::try_from(time.as_nanos() / each).ok()
    }

    /// The oldest batch has been exchanged.
    pub(super) fn spent(&mut self) {
        let count = self.outstanding.pop_front().unwrap_or(0);
        self.exchanged += u64::from(count) + 1;
    }

    /// Stops the announcements.
    pub(super) const fn end(&mut self) {
        self.left = 0;
    }

    /// Whether everything announced has been exchanged.
    pub(super) fn is_even(&self) -> bool {
        self.outstanding.is_empty()
    }

    /// Messages exchanged in complete batches.
    pub(super) const fn exchanged(&self) -> u64 {
        self.exchanged
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::spec::{ClosedLoop, TestWork, TransactionBounds, Transport};

    /// Batches of a test over a path with this round trip, and how long it took.
    fn run(stop: Stop, rtt: Duration) -> (Vec<u32>, Duration) {
        let spec = TestSpec {
            stop,
            ..TestSpec::ping_pong(Transport::Udp)
        };
        let start = MonoInstant::from_nanos(1);
        let mut now = start;
        let mut batches = Batches::from_spec(&spec, now);
        let mut made = Vec::new();
        loop {
            while let Some(count) = batches.next(now) {
                made.push(count);
            }
            let Some(&count) = batches.outstanding.front() else {
                return (made, now.saturating_since(start));
            };
            now = now.after(rtt * (count + 1));
            batches.spent();
        }
    }

    #[test]
    fn at_most_so_many_messages_are_announced_once_they_count() {
        let spec = TestSpec {
            warm_up: Duration::from_millis(10),
            work: TestWork::ClosedLoop(ClosedLoop {
                transactions: TransactionBounds {
                    at_most: Some(700),
                    ..TransactionBounds::default()
                },
                ..ClosedLoop::new(Transport::Udp)
            }),
            ..TestSpec::ping_pong(Transport::Udp)
        };
        let mut now = MonoInstant::from_nanos(1);
        let counted = now.after(spec.warm_up);
        let mut batches = Batches::from_spec(&spec, now);
        let mut made = 0;
        loop {
            while let Some(count) = batches.next(now) {
                made += u64::from(count) * u64::from(now >= counted);
            }
            let Some(&count) = batches.outstanding.front() else {
                break;
            };
            now = now.after(Duration::from_micros(20) * (count + 1));
            batches.spent();
        }
        assert_eq!(made, 700);
        assert!(now < counted.after(Duration::from_millis(500)));
    }

    #[test]
    fn a_test_by_time_ends_soon_after_it_on_any_path() {
        let second = Duration::from_secs(1);
        for micros in [5, 100, 3000, 40_000, 300_000] {
            let rtt = Duration::from_micros(micros);
            let (made, took) = run(Stop::After(second), rtt);
            assert!(took >= second, "{rtt:?}: {took:?}");
            assert!(
                took <= second + Duration::from_millis(50) + 8 * rtt,
                "{rtt:?}: {took:?} {made:?}"
            );
        }
    }

    #[test]
    fn a_fast_path_gets_whole_batches_and_a_count_is_kept() {
        let (made, _) = run(Stop::Transactions(5000), Duration::from_micros(10));
        assert_eq!(made.iter().sum::<u32>(), 5000);
        assert_eq!(made[..4], [1, 16, 256, 1000]);
    }
}

//! Queue and transmission line: when each frame's last bit is sent.

use linerate_model::{BitRate, ByteCount, MonoInstant};
use std::collections::VecDeque;
use std::time::Duration;

/// A line of constant rate with a tail-drop queue before it.
///
/// Departures follow the absolute clock: `max(arrival, end of the frame before) + bits / rate`,
/// with fractions of a nanosecond carried over, so neither late calls nor rounding change the rate.
#[derive(Debug, Default)]
pub(super) struct Line {
    free_at: MonoInstant,
    /// Fraction of a nanosecond in `free_at`, in nanoseconds / rate.
    fraction: u64,
    /// Frames not completely sent, with the time of their last bit.
    waiting: VecDeque<(MonoInstant, u32)>,
    waiting_bytes: u64,
}

impl Line {
    /// Bytes of frames not completely sent at `now`.
    pub(super) fn backlog(&mut self, now: MonoInstant) -> ByteCount {
        while let Some((_, length)) = self.waiting.pop_front_if(|(out, _)| *out <= now) {
            self.waiting_bytes -= u64::from(length);
        }
        ByteCount::new(self.waiting_bytes)
    }

    /// Queues a frame that arrives at `now`; returns when its last bit is sent.
    pub(super) fn put(
        &mut self,
        now: MonoInstant,
        rate: Option<BitRate>,
        length: u32,
        overhead: u32,
    ) -> MonoInstant {
        let Some(rate) = rate else {
            return now;
        };
        if now > self.free_at {
            self.free_at = now;
            self.fraction = 0;
        }
        let bits = u64::from(length + overhead) * 8;
        let work = bits * 1_000_000_000 + self.fraction;
        self.free_at = self.free_at.after(Duration::from_nanos(work / rate.bps()));
        self.fraction = work % rate.bps();
        self.waiting.push_back((self.free_at, length));
        self.waiting_bytes += u64::from(length);
        self.free_at
    }

    /// Discards the fraction of a nanosecond, which depends on the rate.
    pub(super) fn change_rate(&mut self) {
        self.fraction = 0;
    }
}

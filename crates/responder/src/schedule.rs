//! When the next datagrams are due: the engine's absolute schedule without 128-bit arithmetic.
//!
//! Slot `k` is due at `start + k × payload bits / rate`: whole nanoseconds are added up and so is the remainder of the
//! division, so no error adds up. A sender that comes late makes up for it within the engine's bounds.

use crate::time::{Instant, NANOS_PER_SECOND, Nanos};

/// Lateness up to which missed slots are still sent.
const CATCH_UP: Nanos = Nanos::from_millis(10);
/// Lateness below which missed slots are sent at once.
const MAX_CAUGHT_UP_LATENESS: Nanos = Nanos(200_000);

/// Slots at a constant rate from a start time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    /// Nanoseconds from slot to slot, and what is left of that in parts of `rate`.
    gap: Nanos,
    left: u64,
    rate: u64,
    next: Instant,
    /// Parts of a nanosecond that the slots so far have added up to.
    parts: u64,
    not_before: Instant,
    skipped: u64,
}

impl Schedule {
    /// Slots of `payload` bytes at `rate` bit/s from `start`; `None` for a rate of zero, or below a slot in 300 years.
    pub(crate) fn new(start: Instant, rate: u64, payload: u16) -> Option<Self> {
        let weight = u64::from(payload) * 8 * NANOS_PER_SECOND;
        Some(Self {
            gap: Nanos(weight.checked_div(rate)?),
            left: weight % rate,
            rate,
            next: start,
            parts: 0,
            not_before: start,
            skipped: 0,
        })
    }

    /// The same rate from another start.
    pub(crate) const fn restarted(self, start: Instant) -> Self {
        Self {
            next: start,
            parts: 0,
            not_before: start,
            skipped: 0,
            ..self
        }
    }

    /// Slots given up because the sender was too late for them.
    pub(crate) const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// When the next slot is due.
    pub(crate) const fn next(&self) -> Instant {
        self.next
    }

    /// When the next datagram is to be sent: now, or then.
    pub(crate) fn due(&mut self, now: Instant) -> Result<(), Instant> {
        if now < self.next {
            return Err(self.next);
        }
        let late = now.since(self.next);
        if late > MAX_CAUGHT_UP_LATENESS && now < self.not_before {
            return Err(self.not_before);
        }
        if late > CATCH_UP {
            self.skip_to(now);
        }
        Ok(())
    }

    /// Gives up the slots before the last that is due by `now`.
    fn skip_to(&mut self, now: Instant) {
        let mut following = *self;
        following.advance();
        while following.next <= now {
            self.advance();
            self.skipped += 1;
            following.advance();
        }
    }

    /// Gives up the slots due before `end`.
    pub(crate) fn give_up_before(&mut self, end: Instant) {
        while self.next < end {
            self.advance();
            self.skipped += 1;
        }
    }

    fn advance(&mut self) {
        self.next = self.next.after(self.gap);
        self.parts += self.left;
        if self.parts >= self.rate {
            self.parts -= self.rate;
            self.next = self.next.after(Nanos(1));
        }
    }

    /// A slot was served at `now`.
    pub(crate) fn served(&mut self, now: Instant) {
        self.advance();
        self.not_before = now.after(Nanos(self.gap.0.saturating_mul(4) / 5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_engine::schedule::{Due, Schedule as Host};
    use linerate_model::{BitRate, MonoInstant};
    use proptest::prelude::*;
    use std::time::Duration;

    proptest! {
        /// Whatever the pauses of a sender, both send at the same times and skip the same slots.
        #[test]
        fn slots_are_those_of_the_engines_schedule(
            rate in 1_000_u64..1_000_000_000,
            payload in 18_u16..1472,
            pauses in prop::collection::vec(0_u64..30_000_000, 1..300),
        ) {
            let start = Instant::from_nanos(77);
            let mut ours = Schedule::new(start, rate, payload).unwrap();
            let from = MonoInstant::from_nanos(77);
            let rate = BitRate::from_bps(rate);
            let mut host = Host::new(from, rate, payload.into(), Duration::ZERO, 1).unwrap();
            let mut now = 77;
            for pause in pauses {
                let same = MonoInstant::from_nanos(now);
                match (ours.due(Instant::from_nanos(now)), host.due(same)) {
                    (Ok(()), Due::Now { .. }) => {
                        ours.served(Instant::from_nanos(now));
                        host.served(same, 1);
                    }
                    (Err(until), Due::Wait(deadline)) => {
                        prop_assert_eq!(until.as_nanos(), deadline.as_nanos());
                        now = until.as_nanos();
                        continue;
                    }
                    (ours, host) => prop_assert!(false, "{ours:?} {host:?}"),
                }
                prop_assert_eq!(ours.skipped(), host.skipped());
                prop_assert_eq!(
                    ours.next().as_nanos(),
                    host.deadline(host.next_slot()).as_nanos()
                );
                now += pause;
            }
        }
    }

    #[test]
    fn a_rate_of_zero_has_no_slots_and_what_is_given_up_is_counted() {
        assert!(Schedule::new(Instant::default(), 0, 100).is_none());
        // A slot per millisecond.
        let mut schedule = Schedule::new(Instant::default(), 800_000, 100).unwrap();
        schedule.give_up_before(Instant::from_nanos(5_000_000));
        assert_eq!(schedule.skipped(), 5);
        assert_eq!(schedule.next().as_nanos(), 5_000_000);
    }
}

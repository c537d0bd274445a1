//! When the next packets are due: an absolute schedule that neither drifts nor bursts.
//!
//! Slot `k` is due at `start + k × payload bits / rate`, computed afresh each time in 128 bits, so
//! no error adds up. Pure: `now` is an argument.
//!
//! A sender that comes late makes up for it only within bounds. Up to [`CATCH_UP`] late it sends
//! the missed slots, and if it is more than 200 µs late at no more than 1.25 times the
//! intended rate. Later than that the missed slots are skipped and counted: the stall shows as
//! offered load below the intended one, not as a burst that the path under test would be blamed for.

use linerate_model::{BitRate, MonoInstant};
use std::time::Duration;

/// Lateness up to which missed slots are still sent. A time slice that another process of a busy
/// host takes (3 to 4 ms by default in Linux) fits in; a real stall does not.
pub const CATCH_UP: Duration = Duration::from_millis(10);

/// Lateness below which missed slots are sent at once: what a late timer costs in normal
/// operation (50 to 150 µs on virtual machines).
const MAX_CAUGHT_UP_LATENESS: Duration = Duration::from_micros(200);

/// What a schedule asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Send up to `count` packets now; the first of them is `late` after its time.
    Now {
        /// Packets of one batch.
        count: u64,
        /// How late the first is.
        late: Duration,
    },
    /// Nothing before this time.
    Wait(MonoInstant),
}

/// Slots at a constant rate from a start time.
#[derive(Debug, Clone)]
pub struct Schedule {
    start: MonoInstant,
    /// Nanosecond-bits per slot: payload bits × 10⁹.
    slot_weight: u128,
    rate_bps: u128,
    burst: u64,
    next: u64,
    skipped: u64,
    not_before: MonoInstant,
}

impl Schedule {
    /// Slots of `payload` bytes at `rate` from `start`, in batches that cover at most `window` of
    /// time and at most `capacity` slots, but at least one. `None` for a rate or payload of zero.
    pub fn new(
        start: MonoInstant,
        rate: BitRate,
        payload: usize,
        window: Duration,
        capacity: usize,
    ) -> Option<Self> {
        let slot_weight = payload as u128 * 8 * 1_000_000_000;
        let rate_bps = u128::from(rate.bps());
        let burst = (window.as_nanos() * rate_bps).checked_div(slot_weight)?;
        (rate_bps > 0).then(|| Self {
            start,
            slot_weight,
            rate_bps,
            burst: u64::try_from(burst.clamp(1, capacity.max(1) as u128)).unwrap_or(1),
            next: 0,
            skipped: 0,
            not_before: start,
        })
    }

    /// The same rate and batches from another start.
    #[must_use]
    pub fn restarted(&self, start: MonoInstant) -> Self {
        Self {
            start,
            next: 0,
            skipped: 0,
            not_before: start,
            ..self.clone()
        }
    }

    /// When slot `slot` is due.
    pub fn deadline(&self, slot: u64) -> MonoInstant {
        let offset = u128::from(slot) * self.slot_weight / self.rate_bps;
        let nanos = u128::from(self.start.as_nanos()).saturating_add(offset);
        MonoInstant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Number of slots due before `instant`.
    pub fn slots_before(&self, instant: MonoInstant) -> u64 {
        let time = instant.saturating_since(self.start).as_nanos();
        let slots = (time * self.rate_bps).div_ceil(self.slot_weight);
        u64::try_from(slots).unwrap_or(u64::MAX)
    }

    /// The next slot.
    pub const fn next_slot(&self) -> u64 {
        self.next
    }

    /// Slots given up because the sender was too late for them.
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// What to do at `now`.
    pub fn due(&mut self, now: MonoInstant) -> Due {
        let deadline = self.deadline(self.next);
        if now < deadline {
            return Due::Wait(deadline);
        }
        let late = now.saturating_since(deadline);
        if late <= MAX_CAUGHT_UP_LATENESS || now >= self.not_before {
            self.skip_if_hopeless(now, late);
            let count = self.burst;
            return Due::Now { count, late };
        }
        Due::Wait(self.not_before)
    }

    /// Gives up the slots that were due before `now` if the oldest is too late to be made up.
    fn skip_if_hopeless(&mut self, now: MonoInstant, late: Duration) {
        if late > CATCH_UP {
            let latest = self.slots_before(now.after(Duration::from_nanos(1))) - 1;
            self.skipped += latest - self.next;
            self.next = latest;
        }
    }

    /// `count` slots were served by a batch that began at `now`.
    pub fn served(&mut self, now: MonoInstant, count: u64) {
        self.next += count;
        let gap = u128::from(count) * self.slot_weight / self.rate_bps;
        let gap = u64::try_from(gap * 4 / 5).unwrap_or(u64::MAX);
        self.not_before = now.after(Duration::from_nanos(gap));
    }
}

#[cfg(test)]
mod tests;

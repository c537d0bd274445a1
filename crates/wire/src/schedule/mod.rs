//! When the next packets are due: an absolute schedule that neither drifts nor bursts.
//!
//! Slot `k` is due at `start + k × payload bits / rate`. Whole nanoseconds are added up and so is the remainder of
//! the division, so no error adds up. 64 bits do: 128 would take 2 KB of a device's memory. Pure: `now` is an argument.
//!
//! A sender that comes late makes up for it only within bounds. Up to [`CATCH_UP`] late, or what [`Schedule::catching_up`]
//! sets, it sends the missed slots, and if it is more than 200 µs late at no more than 1.25 times the
//! intended rate, with a tolerance of [`BURST_TOLERANCE`]. Later than that the missed slots are skipped and counted: the stall shows as
//! offered load below the intended one, not as a burst that the path under test would be blamed for.

use crate::MonoInstant;
use core::time::Duration;

/// Maximum lateness with which missed slots are still sent. A time slice that another process of a busy host takes (3
/// to 4 ms by default in Linux) fits in; a real stall does not.
pub const CATCH_UP: Duration = Duration::from_millis(10);

/// Maximum lateness with which missed slots are sent at once: that of a timer in normal operation (50 to 150 µs on
/// virtual machines).
const MAX_CAUGHT_UP_LATENESS: Duration = Duration::from_micros(200);

/// How much earlier than at 1.25 times the rate a late sender may send (GCRA's tolerance): the time that the batch before took
/// to leave is not lost to a sender that is as fast as its host.
pub const BURST_TOLERANCE: Duration = Duration::from_nanos(TOLERANCE_NS);

const TOLERANCE_NS: u64 = 50_000;

/// Result of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Send up to `count` packets now; the first of them is `late`.
    Now {
        /// Packets of one batch.
        count: u64,
        /// How late the first is.
        late: Duration,
    },
    /// Send nothing before this time.
    Wait(MonoInstant),
}

/// Times of slots, for another loop that counts them as [`Schedule::served`] does, one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots {
    /// Time of the next slot.
    pub next_due: MonoInstant,
    /// Whole nanoseconds between two slots.
    pub gap: u64,
    /// What is left of the division, added to `parts` with each slot; a nanosecond more when they reach `rate_bps`.
    pub left: u64,
    /// Fraction of a nanosecond of the next slot's time, in parts of `rate_bps`.
    pub parts: u64,
    /// Rate, bits per second.
    pub rate_bps: u64,
}

/// Maximum rate, above that of any link: up to it the products below fit 64 bits.
const MAX_RATE_BPS: u64 = 100_000_000_000_000;

const NANOS: u64 = 1_000_000_000;

/// Slots at a constant rate from a start time.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    slot_bits: u64,
    /// Interval between slots: nanoseconds, and the remainder of the division in parts of `rate_bps`.
    gap: u64,
    left: u64,
    rate_bps: u64,
    burst: u64,
    next: u64,
    next_due: MonoInstant,
    /// Fraction of a nanosecond of the next slot's time, in parts of `rate_bps`.
    parts: u64,
    skipped: u64,
    /// When the slots served so far would be over at 1.25 times the rate.
    not_before: MonoInstant,
    catch_up: Duration,
}

impl Schedule {
    /// Slots of `payload` bytes at `rate_bps` from `start`, in batches that cover at most `window` of time and at most
    /// `capacity` slots, but at least one. `None` for a rate or payload of zero.
    pub fn new(
        start: MonoInstant,
        rate_bps: u64,
        payload: usize,
        window: Duration,
        capacity: usize,
    ) -> Option<Self> {
        let rate_bps = rate_bps.min(MAX_RATE_BPS);
        let slot_weight = (payload as u64).checked_mul(8 * NANOS)?;
        let window = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX);
        let burst = window.saturating_mul(rate_bps).checked_div(slot_weight)?;
        Some(Self {
            slot_bits: slot_weight / NANOS,
            gap: slot_weight.checked_div(rate_bps)?,
            left: slot_weight % rate_bps,
            rate_bps,
            burst: burst.clamp(1, capacity.max(1) as u64),
            next: 0,
            next_due: start,
            parts: 0,
            skipped: 0,
            not_before: start,
            catch_up: CATCH_UP,
        })
    }

    /// The schedule that still sends slots which are as late as `catch_up`.
    #[must_use]
    pub const fn catching_up(self, catch_up: Duration) -> Self {
        Self { catch_up, ..self }
    }

    /// The schedule with the same rate and batches from another start.
    #[must_use]
    pub const fn restarted(self, start: MonoInstant) -> Self {
        Self {
            next: 0,
            next_due: start,
            parts: 0,
            skipped: 0,
            not_before: start,
            ..self
        }
    }

    /// Time of this slot, which must not be before the next one.
    pub fn deadline(&self, slot: u64) -> MonoInstant {
        self.ahead(slot.saturating_sub(self.next)).0
    }

    /// Time of the slot `slots` after the next, with its fraction of a nanosecond.
    fn ahead(&self, slots: u64) -> (MonoInstant, u64) {
        /// Two factors of the nanoseconds in a second, for a division in steps.
        const STEPS: [u64; 2] = [100_000, 10_000];
        let bits = slots.saturating_mul(self.slot_bits);
        let (mut nanos, mut left) = (bits / self.rate_bps, bits % self.rate_bps);
        for step in STEPS {
            left *= step;
            nanos = nanos
                .saturating_mul(step)
                .saturating_add(left / self.rate_bps);
            left %= self.rate_bps;
        }
        let parts = left + self.parts;
        nanos = nanos.saturating_add(parts / self.rate_bps);
        let due = self.next_due.as_nanos().saturating_add(nanos);
        (MonoInstant::from_nanos(due), parts % self.rate_bps)
    }

    /// Number of slots due before `instant`, including past ones.
    pub fn slots_before(&self, instant: MonoInstant) -> u64 {
        let time = instant.as_nanos().saturating_sub(self.next_due.as_nanos());
        let (secs, nanos) = (time / NANOS, time % NANOS);
        // Bits of that time at this rate, and billionths of one.
        let (giga, rest) = (self.rate_bps / NANOS * nanos, self.rate_bps % NANOS * nanos);
        let bits = self
            .rate_bps
            .saturating_mul(secs)
            .saturating_add(giga + rest / NANOS);
        // Subtract the fraction of the next slot's time.
        let (parts, billionths) = (self.parts / NANOS, rest % NANOS);
        let less = self.parts % NANOS;
        let Some(bits) = bits.checked_sub(parts + u64::from(billionths < less)) else {
            return self.next;
        };
        let is_more = billionths != less;
        let slots = bits / self.slot_bits + u64::from(is_more || bits % self.slot_bits > 0);
        self.next.saturating_add(slots)
    }

    /// Index of the next slot.
    pub const fn next_slot(&self) -> u64 {
        self.next
    }

    /// Time of the next slot.
    pub const fn next_due(&self) -> MonoInstant {
        self.next_due
    }

    /// The next slots, for a loop elsewhere.
    pub const fn slots(&self) -> Slots {
        Slots {
            next_due: self.next_due,
            gap: self.gap,
            left: self.left,
            parts: self.parts,
            rate_bps: self.rate_bps,
        }
    }

    /// Slots given up because the sender was too late for them.
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// What to send at `now`.
    #[inline]
    pub fn due(&mut self, now: MonoInstant) -> Due {
        if now < self.next_due {
            return Due::Wait(self.next_due);
        }
        let late = now.saturating_since(self.next_due);
        let is_allowed = now.after(BURST_TOLERANCE) >= self.not_before;
        if now <= self.next_due.after(MAX_CAUGHT_UP_LATENESS) || is_allowed {
            if now > self.next_due.after(self.catch_up) {
                // All but the last one due by now.
                self.give_up(self.slots_before(now.after(Duration::from_nanos(1))) - 1);
            }
            let count = self.burst;
            return Due::Now { count, late };
        }
        let until = self.not_before.as_nanos().saturating_sub(TOLERANCE_NS);
        Due::Wait(MonoInstant::from_nanos(until))
    }

    /// Gives up the slots due before `end`.
    pub fn give_up_before(&mut self, end: MonoInstant) {
        self.give_up(self.slots_before(end));
    }

    /// Gives up the slots before `slot`.
    fn give_up(&mut self, slot: u64) {
        let slots = slot - self.next;
        (self.next_due, self.parts) = self.ahead(slots);
        self.skipped += slots;
        self.next = slot;
    }

    /// Records that `count` slots were served by a batch that began at `now`.
    #[inline]
    pub fn served(&mut self, now: MonoInstant, count: u64) {
        let mut gap = self.gap.saturating_mul(count);
        self.parts += self.left * count;
        if self.parts >= self.rate_bps {
            gap = gap.saturating_add(self.parts / self.rate_bps);
            self.parts %= self.rate_bps;
        }
        self.next += count;
        self.next_due = MonoInstant::from_nanos(self.next_due.as_nanos().saturating_add(gap));
        let least = gap.saturating_mul(4) / 5;
        let from = self.not_before.max(now).as_nanos();
        self.not_before = MonoInstant::from_nanos(from.saturating_add(least));
    }
}

#[cfg(test)]
mod tests;

//! How the minimum one-way delay of a stream moved while it ran: the sign of a standing queue that builds up.
//!
//! The time of a test is cut into [`FLOOR_STEPS`] equal steps by when datagrams were *sent*, and the minimum transit of
//! each is kept. Minimum values do not see scheduling noise, and the clocks' offset cancels when they are compared with
//! each other.

use linerate_peers::{Stamp, distance_48};
use std::time::Duration;

/// Steps of a test. At 1 Mbit/s and one second a step still has four datagrams of 1448 bytes.
const FLOOR_STEPS: usize = 20;

/// Collects the minimum transit of each step.
pub(crate) struct DelayFloor {
    step_nanos: u64,
    first: Option<(Stamp, u64)>,
    floors: [Option<i64>; FLOOR_STEPS],
}

impl DelayFloor {
    /// For a stream that sends for `time`; `None` if its duration is unknown.
    pub(crate) fn over(time: Option<Duration>) -> Self {
        let nanos = time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        Self {
            step_nanos: nanos / FLOOR_STEPS as u64,
            first: None,
            floors: [None; FLOOR_STEPS],
        }
    }

    /// Counts a datagram that was sent at `sent` (sender's clock) and took `transit` (plus an offset).
    pub(crate) fn record(&mut self, sent: Stamp, transit: u64) {
        let (first_sent, first_transit) = *self.first.get_or_insert((sent, transit));
        let Ok(since) = u64::try_from(sent.since(first_sent)) else {
            return;
        };
        let Some(step) = since.checked_div(self.step_nanos) else {
            return;
        };
        let step = usize::try_from(step)
            .unwrap_or(FLOOR_STEPS)
            .min(FLOOR_STEPS - 1);
        let relative = distance_48(transit, first_transit);
        let floor = self.floors[step].get_or_insert(relative);
        *floor = relative.min(*floor);
    }

    /// Nanoseconds above the overall minimum, per step; `None` in a step in which nothing arrived. Empty if the
    /// duration is unknown or nothing arrived at all.
    pub(crate) fn finish(self) -> Vec<Option<u64>> {
        let Some(lowest) = self.floors.iter().flatten().min().copied() else {
            return Vec::new();
        };
        let above = |floor: Option<i64>| floor.map(|floor| floor.abs_diff(lowest));
        self.floors.into_iter().map(above).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::MonoInstant;

    /// Sends a datagram a millisecond for a second; the clocks differ by 2^40 ns.
    fn floors(delay: impl Fn(u64) -> u64) -> Vec<Option<u64>> {
        let mut floor = DelayFloor::over(Some(Duration::from_secs(1)));
        for millis in 0..1000 {
            let sent = millis * 1_000_000;
            let arrived = MonoInstant::from_nanos(sent + delay(millis) + (1 << 40));
            let stamp = Stamp::from_instant(MonoInstant::from_nanos(sent));
            floor.record(stamp, stamp.transit_to(arrived));
        }
        floor.finish()
    }

    #[test]
    fn a_queue_that_fills_rises_step_by_step() {
        let found = floors(|millis| 1000 + millis * 10_000);
        let expected: Vec<_> = (0..20).map(|step| Some(step * 50 * 10_000)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn single_late_datagrams_do_not_show() {
        let found = floors(|millis| if millis % 7 == 0 { 9_000_000 } else { 1000 });
        assert!(found.iter().all(|floor| *floor == Some(0)));
    }

    #[test]
    fn an_unknown_length_gives_nothing() {
        let mut floor = DelayFloor::over(None);
        floor.record(Stamp::from_instant(MonoInstant::from_nanos(5)), 7);
        assert!(floor.finish().is_empty());
    }
}

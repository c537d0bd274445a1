//! The real clocks. Only this module reads time.

use linerate_model::{Clock, MonoInstant, WallTime};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::time::Duration;

/// `CLOCK_MONOTONIC`, the clock that kernel timestamps of sockets can be compared with.
#[derive(Debug, Clone, Copy, Default)]
pub struct MonoClock;

impl Clock for MonoClock {
    fn now(&self) -> MonoInstant {
        MonoInstant::from_nanos(nanos(clock_gettime(ClockId::Monotonic)))
    }
}

/// Wall time, for labels.
pub fn wall_now() -> WallTime {
    WallTime::from_unix(clock_gettime(ClockId::Realtime).tv_sec)
        .expect("invariant: the kernel's time is in the calendar")
}

/// CPU time of the calling thread, user and system.
pub fn thread_cpu_time() -> Duration {
    Duration::from_nanos(nanos(clock_gettime(ClockId::ThreadCPUTime)))
}

/// Sleeps until `deadline`; returns at once if it has passed. Wakes late by the timer slack and
/// the scheduler's delay, never early.
pub fn sleep_until(deadline: MonoInstant) {
    let left = deadline.saturating_since(MonoClock.now());
    if !left.is_zero() {
        #[expect(clippy::disallowed_methods, reason = "the one place that sleeps")]
        std::thread::sleep(left);
    }
}

/// Kernel times are never negative on a running system.
fn nanos(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_never_ends_early() {
        let deadline = MonoClock.now().after(Duration::from_millis(2));
        sleep_until(deadline);
        assert!(MonoClock.now() >= deadline);
    }
}

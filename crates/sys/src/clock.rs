//! The real clocks. Only this module reads time.

use linerate_model::{Clock, MonoInstant, WallTime};
use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};
use std::time::Duration;

/// `CLOCK_MONOTONIC`, the clock that kernel timestamps of sockets can be compared with.
#[derive(Debug, Clone, Copy, Default)]
pub struct MonoClock;

impl Clock for MonoClock {
    fn now(&self) -> MonoInstant {
        MonoInstant::from_nanos(nanos(clock_gettime(ClockId::Monotonic)))
    }
}

/// Whether `CLOCK_MONOTONIC` is the kernel's own here, which programs in the kernel read: not where this process is in a time
/// namespace with an offset (`time_namespaces(7)`).
pub fn is_kernels_own() -> bool {
    let offsets = std::fs::read_to_string("/proc/self/timens_offsets");
    // Kernels before 5.6 have no such namespaces.
    offsets.map_or(true, |text| !has_offset(&text))
}

/// Whether a process's offsets move its monotonic clock.
fn has_offset(offsets: &str) -> bool {
    let lines = offsets.lines().map(str::split_ascii_whitespace);
    let mut monotonic = lines.filter_map(|mut words| {
        let is_it = matches!(words.next()?, "monotonic" | "1");
        is_it.then(|| words.any(|number| number != "0"))
    });
    monotonic.next().unwrap_or(false)
}

/// Resolution of `CLOCK_MONOTONIC` that the system reports (`clock_getres`).
pub fn resolution() -> Duration {
    Duration::from_nanos(nanos(clock_getres(ClockId::Monotonic)))
}

/// Wall time, for labels; the calendar's end where the clock was set beyond it.
pub fn wall_now() -> WallTime {
    WallTime::nearest(clock_gettime(ClockId::Realtime).tv_sec)
}

/// Wall time, nanoseconds since 1970-01-01T00:00:00Z, to compare two hosts' clocks; the last one that fits (the year 2262)
/// where the clock was set beyond it.
pub fn unix_nanos() -> i64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(now.tv_nsec)
}

/// Whether `deadline` has been reached.
pub fn has_passed(deadline: MonoInstant) -> bool {
    MonoClock.now() >= deadline
}

/// CPU time of the calling thread, user and system.
pub fn thread_cpu_time() -> Duration {
    Duration::from_nanos(nanos(clock_gettime(ClockId::ThreadCPUTime)))
}

/// Offset between `CLOCK_MONOTONIC` and `CLOCK_REALTIME` at one moment, to convert kernel timestamps in wall time.
/// Measure it anew for each batch, because wall time can be set.
#[derive(Debug, Clone, Copy)]
pub struct MonotonicOffset {
    monotonic: u64,
    real: u64,
}

impl MonotonicOffset {
    /// Reads both clocks within about a microsecond.
    pub fn measure() -> Self {
        const MAX_GAP_NS: u64 = 1_000;
        const TRIES: u32 = 3;
        let mut best = Self::once();
        for _ in 1..TRIES {
            if best.1 <= MAX_GAP_NS {
                break;
            }
            let again = Self::once();
            if again.1 < best.1 {
                best = again;
            }
        }
        best.0
    }

    /// The best of `tries` readings: the one whose two readings of the monotonic clock were closest, and the time
    /// between them; the offset's error is at most half of it.
    pub(crate) fn measure_best(tries: u32) -> (Self, Duration) {
        let readings = (0..tries.max(1)).map(|_| Self::once());
        let best = readings.min_by_key(|(_, gap)| *gap);
        let (offset, gap) = best.expect("invariant: at least one try");
        (offset, Duration::from_nanos(gap))
    }

    /// Absolute difference of two offsets, nanoseconds.
    pub(crate) const fn distance(self, other: Self) -> u64 {
        let (here, there) = (
            self.real.wrapping_sub(self.monotonic),
            other.real.wrapping_sub(other.monotonic),
        );
        here.wrapping_sub(there).cast_signed().unsigned_abs()
    }

    /// The offset after wall time was set by `step`.
    #[cfg(test)]
    pub(crate) fn as_if_set_by(self, step: Duration) -> Self {
        let step = u64::try_from(step.as_nanos()).unwrap_or(u64::MAX);
        Self {
            real: self.real.wrapping_add(step),
            ..self
        }
    }

    /// The monotonic time of wall time `real`, in nanoseconds since 1970.
    pub const fn monotonic(self, real: u64) -> MonoInstant {
        MonoInstant::from_nanos(self.monotonic.wrapping_add(real.wrapping_sub(self.real)))
    }

    /// The wall time at `instant`, in nanoseconds since 1970.
    pub const fn real(self, instant: MonoInstant) -> u64 {
        self.real
            .wrapping_add(instant.as_nanos().wrapping_sub(self.monotonic))
    }

    /// One reading, and the time between its two readings of the monotonic clock, nanoseconds.
    fn once() -> (Self, u64) {
        let before = nanos(clock_gettime(ClockId::Monotonic));
        let real = nanos(clock_gettime(ClockId::Realtime));
        let gap = nanos(clock_gettime(ClockId::Monotonic)) - before;
        let monotonic = before + gap / 2;
        (Self { monotonic, real }, gap)
    }
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
    fn wall_stamps_before_and_after_the_reading_convert() {
        let offset = MonotonicOffset {
            monotonic: 100,
            real: 1_000,
        };
        assert_eq!(offset.monotonic(1_005), MonoInstant::from_nanos(105));
        assert_eq!(offset.monotonic(950), MonoInstant::from_nanos(50));
    }

    #[test]
    fn a_time_namespace_with_an_offset_is_known() {
        for (offsets, moved) in [
            (
                "monotonic           0         0\nboottime            7         0\n",
                false,
            ),
            (
                "monotonic        1000         0\nboottime            0         0\n",
                true,
            ),
            ("monotonic           0        -5\n", true),
            ("", false),
        ] {
            assert_eq!(has_offset(offsets), moved, "{offsets}");
        }
    }

    #[test]
    fn sleeping_never_ends_early() {
        let deadline = MonoClock.now().after(Duration::from_millis(2));
        sleep_until(deadline);
        assert!(MonoClock.now() >= deadline);
    }
}

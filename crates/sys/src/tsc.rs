//! Rate of the processor's time stamp counter.

use std::sync::OnceLock;

/// How the rate is determined, for the facts of a host.
pub const SOURCE: &str = "counted against CLOCK_MONOTONIC for 10 ms";

/// Ticks per second of the time stamp counter, counted once per process (10 ms); `None` on processors without one.
///
/// The error is that of four readings of the monotonic clock, well below 100 ppm. It says how fast the counter
/// runs now: whether it does so always is `constant_tsc` and `nonstop_tsc` in `/proc/cpuinfo`.
pub fn rate_hz() -> Option<u64> {
    static RATE: OnceLock<Option<u64>> = OnceLock::new();
    *RATE.get_or_init(counted)
}

#[cfg(not(target_arch = "x86_64"))]
fn counted() -> Option<u64> {
    None
}

#[cfg(target_arch = "x86_64")]
fn counted() -> Option<u64> {
    use crate::clock::{MonoClock, sleep_until};
    use linerate_model::Clock as _;
    use std::time::Duration;

    const FOR: Duration = Duration::from_millis(10);
    let (began, first) = reading();
    sleep_until(MonoClock.now().after(FOR));
    let (ended, last) = reading();
    let nanos = u128::from(ended.checked_sub(began)?);
    let ticks = u128::from(last.checked_sub(first)?);
    let hertz = (ticks * 1_000_000_000).checked_div(nanos)?;
    u64::try_from(hertz).ok().filter(|hertz| *hertz > 0)
}

/// Nanoseconds of the monotonic clock and the counter at that moment: the closest of a few pairs.
#[cfg(target_arch = "x86_64")]
fn reading() -> (u64, u64) {
    use crate::clock::MonoClock;
    use linerate_model::Clock as _;

    const PAIRS: usize = 8;
    let pair = || {
        let before = MonoClock.now().as_nanos();
        // SAFETY: every x86-64 processor has the instruction, and Linux lets all programs use it unless one
        // has forbidden it to itself (`PR_SET_TSC`), which this one never does.
        let ticks = unsafe { std::arch::x86_64::_rdtsc() };
        let gap = MonoClock.now().as_nanos() - before;
        (gap, (before + gap / 2, ticks))
    };
    let closest = (0..PAIRS).map(|_| pair()).min_by_key(|(gap, _)| *gap);
    closest.map_or((0, 0), |(_, reading)| reading)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_a_processor_and_is_counted_once() {
        let rate = rate_hz();
        if cfg!(target_arch = "x86_64") {
            let hertz = rate.unwrap();
            assert!((100_000_000..20_000_000_000).contains(&hertz), "{hertz}");
        }
        assert_eq!(rate_hz(), rate);
    }
}

//! The calling thread's own accounting and timers.

use crate::clock::sleep_until;
use linerate_model::MonoInstant;
use rustix::thread::set_current_timer_slack;
use rustix::thread::{ClockId, clock_nanosleep_absolute};
use rustix::time::Timespec;
use std::io;
use std::num::NonZeroU64;
use std::time::Duration;

/// Number of the calling thread, by which `/proc` lists it.
pub fn id() -> u32 {
    rustix::thread::gettid()
        .as_raw_nonzero()
        .get()
        .unsigned_abs()
}

/// Run delay of the calling thread since it started: time runnable but waiting for a core, the second field of
/// `/proc/thread-self/schedstat`. `None` where the kernel does not account it.
pub fn run_delay() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    parse_run_delay(&text)
}

fn parse_run_delay(text: &str) -> Option<Duration> {
    let mut fields = text.split_ascii_whitespace();
    let nanos = fields.nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

/// CPU time of a thread since it started: the first field of its `schedstat`. `None` where there is no such thread, or the
/// kernel does not account it.
pub fn cpu_time(process: u32, thread: u32) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{process}/task/{thread}/schedstat")).ok()?;
    let nanos = text.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

/// Removes the default timer slack of 50 µs from timed sleeps of the calling thread (`PR_SET_TIMERSLACK`).
pub fn want_exact_timers() -> io::Result<()> {
    Ok(set_current_timer_slack(NonZeroU64::new(1))?)
}

/// Sleeps until `deadline` by one absolute timer: no drift from reading the clock first. May return early on a signal.
pub fn sleep_to(deadline: MonoInstant) {
    let nanos = deadline.as_nanos();
    let time = Timespec {
        tv_sec: i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(nanos % 1_000_000_000).unwrap_or(0),
    };
    match clock_nanosleep_absolute(ClockId::Monotonic, &time) {
        Ok(()) | Err(rustix::io::Errno::INTR) => {}
        Err(_) => sleep_until(deadline),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::MonoClock;
    use linerate_model::Clock;

    #[test]
    fn the_second_field_is_the_run_delay() {
        assert_eq!(
            parse_run_delay("123 456 7\n"),
            Some(Duration::from_nanos(456))
        );
        assert_eq!(parse_run_delay("123"), None);
        assert_eq!(parse_run_delay("a b c"), None);
    }

    #[test]
    fn an_absolute_sleep_does_not_end_early() {
        want_exact_timers().unwrap();
        let deadline = MonoClock.now().after(Duration::from_millis(1));
        sleep_to(deadline);
        assert!(MonoClock.now() >= deadline);
    }
}

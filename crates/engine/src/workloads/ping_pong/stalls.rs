//! Time without any message under way because none was granted: a closed loop measures nothing then.

use linerate_model::MonoInstant;
use std::time::Duration;

/// Share of the test from which it is reported, as a divisor: batches of a thousand messages of 5 µs each, one every 5
/// ms, lose less to a driver that is woken at once.
const NOTED_SHARE: u32 = 20;

/// Waits for grants between messages.
#[derive(Debug, Default)]
pub(super) struct Stalls {
    since: Option<MonoInstant>,
    total: Duration,
}

impl Stalls {
    /// No message is granted at `now`.
    pub(super) fn wait(&mut self, now: MonoInstant) {
        self.since.get_or_insert(now);
    }

    /// Messages are granted again at `now`; time before `counted` is not part of the test.
    pub(super) fn end(&mut self, now: MonoInstant, counted: MonoInstant) {
        if let Some(since) = self.since.take() {
            self.total += now.saturating_since(since.max(counted));
        }
    }

    /// Note for a test that lasted `active`, if the share is high.
    pub(super) fn note(&self, active: Duration) -> Option<String> {
        if self.total <= active / NOTED_SHARE {
            return None;
        }
        let share = 100.0 * self.total.as_secs_f64() / active.as_secs_f64().max(f64::MIN_POSITIVE);
        Some(format!(
            "the exchange stood still for {share:.0} % of the time, between batches: this end announced the next one late; leave a core free of pinned and spinning threads"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> MonoInstant {
        MonoInstant::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn waits_between_batches_are_told_from_a_twentieth_of_the_test_on() {
        let mut stalls = Stalls::default();
        // Before anything counts, and partly so.
        for (wait, end) in [(0, 400), (900, 1040)] {
            stalls.wait(at(wait));
            stalls.wait(at(wait + 20));
            stalls.end(at(end), at(1000));
        }
        // None was waited for.
        stalls.end(at(1050), at(1000));
        // The last batch is followed by none.
        stalls.wait(at(1900));
        assert_eq!(stalls.total, Duration::from_millis(40));
        assert_eq!(stalls.note(Duration::from_millis(900)), None);
        let note = stalls.note(Duration::from_millis(400)).unwrap();
        assert!(note.contains("for 10 % of the time"), "{note}");
    }
}

//! How long a client waits for a peer that is alive but does not go on: pings cost it nothing, so they extend nothing.
//!
//! All steps until traffic flows share one deadline. When the time of a test is over, what still drains must be seen to
//! arrive: each count that grew, of either end, extends the deadline, up to the time that a slow link may need. A peer that
//! did not go on is not waited for again.

use super::test::Test;
use crate::session::{Progress, TIMEOUT};
use linerate_model::MonoInstant;
use std::time::Duration;

/// An end of a test.
#[derive(Debug, Clone, Copy)]
pub(super) enum Whose {
    Ours,
    Theirs,
}

/// Deadlines of one test.
#[derive(Debug, Default)]
pub(super) struct Patience {
    /// By when traffic has to flow.
    set_up: MonoInstant,
    /// By when the test has to be over, whatever still arrives.
    last: MonoInstant,
    /// How long after the last count that grew.
    pause: Duration,
    /// The highest counts seen, of this end and of the peer.
    moved: [u64; 2],
}

impl Patience {
    /// For a test that begins now, after a greeting that took as long as `spent`. A server gives each step `timeout` and says
    /// why one failed, so it has more than that; less only after a greeting as slow as none is.
    pub(super) fn new(now: MonoInstant, timeout: Duration, spent: Duration) -> Self {
        let half = timeout / 2;
        Self {
            set_up: now.after((timeout + half).saturating_sub(spent).max(half)),
            ..Self::default()
        }
    }

    /// What is left for setting up.
    pub(super) fn set_up(&self, now: MonoInstant) -> Duration {
        self.set_up.saturating_since(now)
    }

    /// Traffic begins; how long it may take.
    pub(super) fn start(&mut self, now: MonoInstant, test: &Test, timeout: Duration) -> Duration {
        // Counts come once in an interval.
        self.pause = timeout + test.interval.min(test.time);
        // A control connection with more time than usual is slow itself, and the report is long.
        let slow = timeout.saturating_sub(TIMEOUT);
        self.last = now.after(test.allowed + farewell(timeout) + slow);
        self.left(now, now.after(test.time))
    }

    /// Counts of an end; how much longer the test may take, if they grew.
    pub(super) fn counted(
        &mut self,
        now: MonoInstant,
        whose: Whose,
        progress: &Progress,
    ) -> Option<Duration> {
        let bytes = progress.bytes.get();
        let count = bytes.saturating_add(progress.packets.get());
        let moved = &mut self.moved[whose as usize];
        let grew = count > *moved;
        *moved = count.max(*moved);
        grew.then(|| self.left(now, now))
    }

    /// How much longer the test may take, as a part of a message has come: a report takes its time on a slow line.
    pub(super) fn arriving(&self, now: MonoInstant) -> Duration {
        self.left(now, now)
    }

    fn left(&self, now: MonoInstant, from: MonoInstant) -> Duration {
        from.after(self.pause).min(self.last).saturating_since(now)
    }
}

/// How long a peer that was too late has to say that it has dropped the test.
pub(super) fn farewell(timeout: Duration) -> Duration {
    timeout / 5
}

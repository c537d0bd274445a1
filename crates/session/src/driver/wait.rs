//! How a driver waits: for the peer, for its traffic, or for what is due.

use super::{Arrivals, Driver};
use crate::endpoints::Endpoints;
use crate::error::Result;
use crate::line::LineRead;
use crate::listener::StreamListener;
use crate::state::{State, Test};
use linerate_model::spec::WaitMode;
use linerate_model::{Clock as _, MonoInstant};
use linerate_peers::Input;
use linerate_sys::clock::MonoClock;
use std::time::Duration;

/// How long a read waits while there is something to be seen that wakes nobody: the first bytes of a stream
/// without control connection, samples of a profile.
const BUSY_WAIT: Duration = Duration::from_millis(5);

/// How long a read waits otherwise: bounds how late an interrupt is noticed. A wake-up takes some 50 µs of a core
/// that may be the traffic's.
const IDLE_WAIT: Duration = Duration::from_millis(100);

/// How long after its deadline a session that hears something goes on: the rest of a message that keeps it may be
/// under way. A peer that never pauses does not keep it beyond this.
const HEARING_GRACE: Duration = Duration::from_secs(1);

/// How long it waits while the traffic spins. On a core that it shares with this thread every wake-up holds up two
/// or three round trips, and a 99th percentile rests on ten in a thousand.
const SPIN_WAIT: Duration = Duration::from_millis(500);

impl Driver {
    /// Reads what has come, waiting a moment if nothing has; then lets the session see its deadline.
    pub(super) fn read(&mut self) -> Result<()> {
        let mut buffer = [0; 16 * 1024];
        let endpoints = self.state.test().map(|test| &test.endpoints);
        let mut beside = endpoints.map_or_else(Vec::new, Endpoints::wakeup_fds);
        if let (false, Some(endpoints)) = (self.line.is_control(), endpoints) {
            beside.extend(endpoints.quiet_sockets());
        }
        if let Arrivals::Here(streams) = &self.arrivals {
            beside.extend(streams.datagram_sockets());
        }
        beside.extend(self.listener.as_ref().map(StreamListener::fd));
        let left = |due: MonoInstant| due.saturating_since(MonoClock.now());
        let dues = [self.session.deadline(), self.state.next_progress()];
        // Whatever is due is done by the next turn: one that is not must not spin.
        let dues = dues.into_iter().flatten();
        let wait = dues
            .map(|due| left(due).max(Duration::from_millis(1)))
            .min();
        let patience = self.patience();
        let wait = wait.map_or(patience, |wait| wait.min(patience));
        match self.line.read(&mut buffer, wait, &beside)? {
            LineRead::Bytes(length) => {
                self.was_heard = true;
                self.tell(Input::Bytes(&buffer[..length]))?;
                self.tell_overdue(HEARING_GRACE)
            }
            LineRead::End => self.tell(Input::Eof),
            LineRead::Nothing => self.tell_overdue(Duration::ZERO),
        }
    }

    /// Lets the session see that its deadline has passed by so much.
    fn tell_overdue(&mut self, by: Duration) -> Result<()> {
        let deadline = self.session.deadline();
        if deadline.is_some_and(|deadline| MonoClock.now() >= deadline.after(by)) {
            self.tell(Input::Timeout)?;
        }
        Ok(())
    }

    /// How long a read may wait if nothing is due before.
    fn patience(&self) -> Duration {
        let is_busy = |test: &Test| !self.line.is_control() || test.endpoints.is_sampling();
        match &self.state {
            State::Running { test, .. } | State::Reported(test) if is_busy(test) => BUSY_WAIT,
            State::Open(test) | State::Running { test, .. } | State::Reported(test)
                if test.spec.wait == WaitMode::Spin =>
            {
                SPIN_WAIT
            }
            _ => IDLE_WAIT,
        }
    }
}

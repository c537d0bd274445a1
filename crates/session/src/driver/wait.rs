//! How a driver waits: for the peer, for its traffic, or for a deadline.

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

/// Maximum wait of a read while something without a wake-up must be polled: the first bytes of a stream without control
/// connection, samples of a profile.
const BUSY_WAIT: Duration = Duration::from_millis(5);

/// Maximum wait of a read otherwise: bounds the delay of an interrupt. A wake-up takes some 50 µs of a core that may be
/// the traffic's.
const IDLE_WAIT: Duration = Duration::from_millis(100);

/// How long after its deadline a session goes on while bytes arrive: the rest of a message may be under way. A peer
/// that never pauses does not extend it further.
const HEARING_GRACE: Duration = Duration::from_secs(1);

/// Maximum wait of a read while the traffic spins: bounds the delay of an interrupt. On a core that it shares with this
/// thread every wake-up delays two or three packets or round trips, and a 99th percentile of 1000 a second rests on ten.
/// Longer than it mostly takes until the next heartbeat, message or reading, each once a second.
const SPIN_WAIT: Duration = Duration::from_millis(800);

impl Driver {
    /// Reads what has arrived, waiting a moment if nothing has; then reports a passed deadline to the session.
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
        // Deadlines are handled by the next turn; one that cannot be handled must not cause spinning.
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

    /// Reports to the session that its deadline has passed, `by` ago.
    fn tell_overdue(&mut self, by: Duration) -> Result<()> {
        let deadline = self.session.deadline();
        if deadline.is_some_and(|deadline| MonoClock.now() >= deadline.after(by)) {
            self.tell(Input::Timeout)?;
        }
        Ok(())
    }

    /// Maximum wait of a read without a deadline before.
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

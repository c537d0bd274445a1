//! The parts of a test's life that are the same at both ends:
//! numbering, the end of senders, and the early end.

use super::link::{Link, text};
use super::message::{Finished, Kind, Message, Refused, Role, TestNumber};
use super::phase::State;
use crate::error::ProtocolError;
use crate::session::{Action, Limits, RefusalCode, Sent, StopCause, TestEnd};
use crate::steps::Phase as _;
use linerate_model::spec::{Direction, MAX_DURATION, Side, Stop, TestSpec};
use linerate_model::{MonoInstant, PacketCount};
use std::time::Duration;

/// What a session must remember of the test under way.
#[derive(Debug, Clone, Default)]
pub(super) struct Test {
    pub(super) number: u32,
    pub(super) streams: u16,
    pub(super) sends: bool,
    pub(super) receives: bool,
    /// Longest that traffic may take before something must be wrong.
    pub(super) allowed: Duration,
    pub(super) connected: Both,
    /// Who has sent all it wanted.
    pub(super) finished: Both,
    pub(super) reported: Both,
    pub(super) stopped: Both,
}

/// Something that each end does once per test.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Both {
    pub(super) here: bool,
    pub(super) there: bool,
}

impl Both {
    pub(super) const fn done(self) -> bool {
        self.here && self.there
    }
}

/// Time that traffic may take beyond what was asked: send buffers drain slowly on slow links (4 MiB take
/// 34 s at 1 Mbit/s), and the receiver waits for stragglers.
const DRAIN: Duration = Duration::from_mins(1);

impl Test {
    pub(super) fn new(number: u32, spec: &TestSpec, role: Role, limits: &Limits) -> Self {
        let forward = spec.direction != Direction::Reverse;
        let reverse = spec.direction != Direction::Forward;
        let (sends, receives) = match role {
            Role::Client => (forward, reverse),
            Role::Server => (reverse, forward),
        };
        let time = match spec.stop {
            Stop::After(time) => time,
            Stop::Bytes(_) | Stop::Transactions(_) => limits.max_duration.min(MAX_DURATION),
        };
        Self {
            number,
            streams: spec.streams,
            sends,
            receives,
            allowed: time.saturating_add(spec.warm_up).saturating_add(DRAIN),
            ..Self::default()
        }
    }

    /// The sides this end plays.
    pub(super) fn sides(&self) -> Vec<Side> {
        let sender = self.sends.then_some(Side::Sender);
        let receiver = self.receives.then_some(Side::Receiver);
        sender.into_iter().chain(receiver).collect()
    }

    /// Whether there is one figure per stream.
    pub(super) fn counts_every_stream(&self, sent: &[PacketCount]) -> bool {
        sent.len() == usize::from(self.streams)
    }

    pub(super) const fn number(&self) -> TestNumber {
        TestNumber { test: self.number }
    }
}

/// The part of a session that is the same at both ends.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) link: Link,
    pub(super) state: State,
    pub(super) test: Test,
}

impl Core {
    pub(super) fn new(role: Role, timeout: Duration, now: MonoInstant) -> Self {
        Self {
            link: Link::new(role, timeout, now),
            state: State::Greeting,
            test: Test::default(),
        }
    }

    /// Goes to `state`, which may last `limit`.
    pub(super) fn enter(&mut self, now: MonoInstant, state: State, limit: Option<Duration>) {
        self.state = state;
        self.link.allow(now, limit);
    }

    /// Wants this done.
    pub(super) fn act(&mut self, action: Action) {
        self.link.act(action);
    }

    /// Sends a message that fits its kind.
    pub(super) fn say(&mut self, now: MonoInstant, message: &Message) {
        self.link.send_short(now, message);
    }

    pub(super) fn close(&mut self) {
        self.state = State::Closed;
        self.link.act(Action::Closed);
    }

    /// Ends the session with an error and what is still to be said about it.
    pub(super) fn fail(&mut self, now: MonoInstant, error: &ProtocolError) {
        self.link.fail(now, error);
        self.state = State::Closed;
    }

    pub(super) fn out_of_turn(&self, input: &'static str, detail: &str) -> ProtocolError {
        ProtocolError::OutOfTurn {
            state: self.state.name(),
            input,
            detail: detail.to_owned(),
        }
    }

    pub(super) fn unexpected(&self, kind: Kind, offset: u64, cause: &str) -> ProtocolError {
        ProtocolError::Unexpected {
            state: self.state.name(),
            message: kind.name(),
            offset,
            cause: cause.to_owned(),
        }
    }

    /// This end's senders have stopped.
    pub(super) fn finished_here(
        &mut self,
        now: MonoInstant,
        sent: Vec<PacketCount>,
    ) -> Result<(), ProtocolError> {
        let right = self.state == State::Running && self.test.sends && !self.test.finished.here;
        if !right {
            return Err(self.out_of_turn("Finished", ": this end has nothing to send now"));
        }
        if !self.test.counts_every_stream(&sent) {
            return Err(self.out_of_turn("Finished", ": one figure per stream is needed"));
        }
        self.test.finished.here = true;
        let test = self.test.number;
        self.link
            .send_short(now, &Message::Finished(Finished { test, sent }));
        Ok(())
    }

    /// The far senders have stopped.
    pub(super) fn finished_there(&mut self, body: Finished) -> Result<(), &'static str> {
        if !self.test.receives {
            return Err("it has nothing to send in this test");
        }
        if self.test.finished.there {
            return Err("it has already said so");
        }
        if !self.test.counts_every_stream(&body.sent) {
            return Err("it does not have one figure per stream");
        }
        self.test.finished.there = true;
        self.link.act(Action::PeerFinished {
            sent: Sent::Packets(body.sent),
        });
        Ok(())
    }

    /// This end wants the test to end early.
    pub(super) fn abort(&mut self, now: MonoInstant, code: RefusalCode, reason: &str) {
        let reason = text(reason);
        let message = reason.clone();
        let test = self.test.number;
        self.link.send_short(
            now,
            &Message::Abort(Refused {
                test,
                code,
                message,
            }),
        );
        self.stop(now, StopCause::Local, code, reason);
    }

    fn stop(&mut self, now: MonoInstant, cause: StopCause, code: RefusalCode, reason: String) {
        self.link.act(Action::Stop {
            cause,
            code,
            reason,
        });
        self.test.stopped = Both::default();
        let limit = self.link.timeout() * 2;
        self.enter(now, State::Stopping, Some(limit));
    }

    /// The peer wants the test to end early. If both do at once, each answers the other.
    pub(super) fn aborted_by_peer(&mut self, now: MonoInstant, body: &Refused) {
        if self.state != State::Stopping {
            self.stop(now, StopCause::Peer, body.code, text(&body.message));
        }
    }

    /// This end has dropped the test.
    pub(super) fn stopped_here(&mut self, now: MonoInstant) -> Result<(), ProtocolError> {
        if self.state != State::Stopping || self.test.stopped.here {
            return Err(self.out_of_turn("Stopped", ": it was not asked to stop"));
        }
        self.test.stopped.here = true;
        self.link
            .send_short(now, &Message::Aborted(self.test.number()));
        self.leave_stopping(now);
        Ok(())
    }

    /// The peer has dropped the test.
    pub(super) fn stopped_there(&mut self, now: MonoInstant) -> Result<(), &'static str> {
        if self.state != State::Stopping || self.test.stopped.there {
            return Err("no test is being aborted");
        }
        self.test.stopped.there = true;
        self.leave_stopping(now);
        Ok(())
    }

    fn leave_stopping(&mut self, now: MonoInstant) {
        if self.test.stopped.done() {
            self.link.act(Action::TestOver(TestEnd::Aborted));
            self.enter(now, State::Idle, None);
        }
    }

    /// What the peer said when it ended the session.
    pub(super) fn turned_away(&self, code: RefusalCode, message: &str) -> ProtocolError {
        ProtocolError::TurnedAway {
            state: self.state.name(),
            code,
            message: text(message),
        }
    }

    /// A step took too long although the peer is alive.
    pub(super) fn overdue(&self, limit: Duration, hint: &'static str) -> ProtocolError {
        ProtocolError::Overdue {
            state: self.state.name(),
            limit,
            hint,
        }
    }
}

//! Parts of a test's lifecycle that both ends share: numbering, the end of senders, and aborts.

use super::link::{Core, text};
use super::message::{Finished, Kind, Message, Refused};
use super::phase::State;
use super::test::Both;
use crate::error::{ProtocolError, Result};
use crate::session::{Action, RefusalCode, Sent, StopCause, TestEnd};
use linerate_model::{MonoInstant, PacketCount};

impl Core {
    pub(super) fn unexpected(&self, kind: Kind, offset: u64, cause: &str) -> ProtocolError {
        self.steps.unexpected(kind.name(), offset, cause)
    }

    /// This end's senders have stopped.
    pub(super) fn finished_here(&mut self, now: MonoInstant, sent: Vec<PacketCount>) -> Result<()> {
        let right =
            self.steps.state == State::Running && self.test.sends && !self.test.finished.here;
        if !right {
            return Err(self
                .steps
                .out_of_turn("Finished", ": this end has nothing to send now"));
        }
        if !self.test.counts_every_stream(&sent) {
            return Err(self
                .steps
                .out_of_turn("Finished", ": one figure per stream is needed"));
        }
        self.test.finished.here = true;
        let test = self.test.number;
        self.say(now, &Message::Finished(Finished { test, sent }));
        Ok(())
    }

    /// The peer's senders have stopped.
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
        self.steps.act(Action::PeerFinished {
            sent: Sent::Packets(body.sent),
        });
        Ok(())
    }

    /// Aborts the test from this end.
    pub(super) fn abort(&mut self, now: MonoInstant, code: RefusalCode, reason: &str) {
        let reason = text(reason);
        let message = reason.clone();
        let test = self.test.number;
        self.say(
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
        self.test.stopped = Both::default();
        self.steps.stop(now, cause, code, reason);
    }

    /// The peer aborts the test. If both ends do at once, each answers the other.
    pub(super) fn aborted_by_peer(&mut self, now: MonoInstant, body: &Refused) {
        if self.steps.state != State::Stopping {
            self.stop(now, StopCause::Peer, body.code, text(&body.message));
        }
    }

    /// This end has dropped the test.
    pub(super) fn stopped_here(&mut self, now: MonoInstant) -> Result<()> {
        if self.steps.state != State::Stopping || self.test.stopped.here {
            return Err(self
                .steps
                .out_of_turn("Stopped", ": it was not asked to stop"));
        }
        self.test.stopped.here = true;
        self.say(now, &Message::Aborted(self.test.number()));
        self.leave_stopping();
        Ok(())
    }

    /// The peer has dropped the test.
    pub(super) fn stopped_there(&mut self) -> Result<(), &'static str> {
        if self.steps.state != State::Stopping || self.test.stopped.there {
            return Err("no test is being aborted");
        }
        self.test.stopped.there = true;
        self.leave_stopping();
        Ok(())
    }

    fn leave_stopping(&mut self) {
        if self.test.stopped.done() {
            self.steps.act(Action::TestOver(TestEnd::Aborted));
            self.steps.rest(State::Idle);
        }
    }

    /// Error for a session that the peer ended, with its reason.
    pub(super) fn turned_away(&self, code: RefusalCode, message: &str) -> ProtocolError {
        self.steps.turned_away(code, text(message))
    }
}

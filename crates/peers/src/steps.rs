//! Common part of the sessions of other tools' protocols: state, actions, deadline.

use crate::error::ProtocolError;
use crate::inbox::Inbox;
use crate::session::{
    Action, Ending, Input, Progress, Refusal, RefusalCode, Session, StopCause, TestEnd,
};
use linerate_model::MonoInstant;
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

/// How much longer than the server's limit a test may go on: for data and the client's end message that are still under
/// way.
pub(crate) const OVERTIME: Duration = Duration::from_secs(5);

/// A state of a session.
pub(crate) trait Phase: fmt::Debug + Copy + PartialEq + Send {
    /// The test is being aborted: the driver stops what it has started.
    const STOPPING: Self;
    /// The session is over.
    const CLOSED: Self;
    /// Its kebab-case name, for messages and logs.
    fn name(self) -> &'static str;
    /// Whether a test is under way.
    fn has_test(self) -> bool;
}

/// State of a session, its pending actions and the deadline of the present step.
#[derive(Debug)]
pub(crate) struct Steps<P> {
    pub(crate) state: P,
    pub(crate) actions: VecDeque<Action>,
    /// Silence of the peer after which it counts as gone.
    pub(crate) timeout: Duration,
    /// Deadline of the present step, and its limit.
    due: Option<(MonoInstant, Duration)>,
}

impl<P: Phase> Steps<P> {
    /// Session that begins in this state, without a deadline.
    pub(crate) const fn resting(state: P, timeout: Duration) -> Self {
        Self {
            state,
            actions: VecDeque::new(),
            timeout,
            due: None,
        }
    }

    /// Session that begins in this state, with `timeout` to hear from the peer.
    pub(crate) fn waiting(state: P, timeout: Duration, now: MonoInstant) -> Self {
        let mut steps = Self::resting(state, timeout);
        steps.enter(now, state, timeout);
        steps
    }

    pub(crate) fn act(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    /// Refuses the requested test.
    pub(crate) fn refuse(&mut self, code: RefusalCode, message: String) {
        let refusal = Refusal { code, message };
        self.act(Action::TestOver(TestEnd::Refused(refusal)));
    }

    /// Enters a state with the deadline `limit` from now.
    pub(crate) fn enter(&mut self, now: MonoInstant, state: P, limit: Duration) {
        self.state = state;
        self.due = Some((now.after(limit), limit));
    }

    /// Enters a state without a deadline.
    pub(crate) const fn rest(&mut self, state: P) {
        self.state = state;
        self.due = None;
    }

    /// Ends the session.
    pub(crate) fn close(&mut self) {
        self.rest(P::CLOSED);
        self.act(Action::Closed);
    }

    /// Ends the test early.
    pub(crate) fn stop(
        &mut self,
        now: MonoInstant,
        cause: StopCause,
        code: RefusalCode,
        reason: String,
    ) {
        self.act(Action::Stop {
            cause,
            code,
            reason,
        });
        self.enter(now, P::STOPPING, self.timeout * 2);
    }

    /// Deadline of the present step.
    pub(crate) fn due(&self) -> Option<MonoInstant> {
        self.due.map(|(due, _)| due)
    }

    /// Limit of the present step, if it has passed.
    pub(crate) fn overdue(&self, now: MonoInstant) -> Option<Duration> {
        let (due, limit) = self.due?;
        (now >= due).then_some(limit)
    }

    /// Error for an input of the driver that is invalid in this state; `detail` begins with a space or a comma.
    pub(crate) fn out_of_turn(&self, input: &'static str, detail: &str) -> ProtocolError {
        ProtocolError::OutOfTurn {
            state: self.state.name(),
            input,
            detail: detail.to_owned(),
        }
    }

    /// Error for a peer that was silent for this time.
    pub(crate) fn silent(&self, silence: Duration) -> ProtocolError {
        ProtocolError::Silent {
            state: self.state.name(),
            silence,
        }
    }

    /// Error for a driver that did not finish in this time.
    pub(crate) fn hangs(&self, limit: Duration) -> ProtocolError {
        self.late(limit, "a traffic thread here hangs")
    }

    /// Error for a step that took longer than this.
    pub(crate) fn late(&self, limit: Duration, hint: &'static str) -> ProtocolError {
        let state = self.state.name();
        ProtocolError::Overdue { state, limit, hint }
    }
}

/// A session of states with deadlines: its protocol's part.
pub(crate) trait Stepping: fmt::Debug + Send {
    type State: Phase;

    fn steps(&self) -> &Steps<Self::State>;

    fn steps_mut(&mut self) -> &mut Steps<Self::State>;

    /// Takes one input, in any state but closed.
    fn take(&mut self, now: MonoInstant, input: Input<'_>) -> Result<(), ProtocolError>;

    /// Runs after every input that was taken.
    fn taken(&mut self, _now: MonoInstant) {}

    /// Queues a message to the peer before an error ends the session.
    fn complain(&mut self, _now: MonoInstant, _error: &ProtocolError) {}

    /// Ends the session.
    fn close(&mut self) {
        self.steps_mut().close();
    }

    /// Next timer of the protocol, besides the state's deadline.
    fn next(&self) -> Option<MonoInstant> {
        self.steps().due()
    }
}

/// A session of states with deadlines over a control connection: its protocol's part.
pub(crate) trait Conversing: fmt::Debug + Send {
    type State: Phase;

    fn steps(&self) -> &Steps<Self::State>;

    fn parts(&mut self) -> (&mut Steps<Self::State>, &mut Inbox);

    /// Buffers received bytes.
    fn feed(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        self.parts().1.feed(bytes);
        Ok(())
    }

    /// Processes the buffered bytes as far as possible.
    fn advance(&mut self, now: MonoInstant) -> Result<(), ProtocolError>;

    /// The peer has closed, and no test is being aborted.
    fn eof(&mut self) -> Result<(), ProtocolError> {
        let state = self.steps().state.name();
        Err(self.parts().1.eof(state))
    }

    fn timeout(&mut self, now: MonoInstant) -> Result<(), ProtocolError>;

    /// Handles the driver's inputs about its test.
    fn answered(&mut self, now: MonoInstant, input: Input<'_>) -> Result<(), ProtocolError>;

    /// Ends the test under way early.
    fn break_off(&mut self, now: MonoInstant, code: RefusalCode, reason: &str) {
        self.parts().0.break_off(now, code, reason);
    }

    /// Queues a message to the peer before the session ends politely.
    fn part(&mut self) {}

    /// Takes the driver's progress.
    fn progress(&mut self, _now: MonoInstant, _progress: Progress) {}

    /// Queues a message to the peer before an error ends the session.
    fn complain(&mut self, _now: MonoInstant, _error: &ProtocolError) {}

    /// Cancels the protocol's own timers: the session is over.
    fn forget(&mut self) {}

    /// Next timer of the protocol, besides the state's deadline.
    fn next(&self) -> Option<MonoInstant> {
        self.steps().due()
    }
}

impl<T: Conversing> Stepping for T {
    type State = T::State;

    fn steps(&self) -> &Steps<Self::State> {
        Conversing::steps(self)
    }

    fn steps_mut(&mut self) -> &mut Steps<Self::State> {
        self.parts().0
    }

    fn take(&mut self, now: MonoInstant, input: Input<'_>) -> Result<(), ProtocolError> {
        let state = Conversing::steps(self).state;
        match input {
            Input::Bytes(bytes) => {
                self.feed(bytes)?;
                return self.advance(now);
            }
            Input::Stopped | Input::Eof if state == T::State::STOPPING => {
                self.parts().0.act(Action::TestOver(TestEnd::Aborted));
                self.close();
            }
            Input::Eof => return self.eof(),
            Input::Timeout => return self.timeout(now),
            Input::End(Ending::Test { code, reason }) => {
                if state.has_test() {
                    self.break_off(now, code, &reason);
                }
            }
            Input::End(Ending::Session) => {
                self.part();
                self.close();
            }
            Input::Progress(progress) => self.progress(now, progress),
            other => return self.answered(now, other),
        }
        Ok(())
    }

    fn complain(&mut self, now: MonoInstant, error: &ProtocolError) {
        Conversing::complain(self, now, error);
    }

    fn close(&mut self) {
        self.forget();
        let (steps, inbox) = self.parts();
        inbox.clear();
        steps.close();
    }

    fn next(&self) -> Option<MonoInstant> {
        Conversing::next(self)
    }
}

impl<T: Stepping> Session for T {
    fn handle(&mut self, now: MonoInstant, input: Input<'_>) -> Result<(), ProtocolError> {
        let state = self.steps().state;
        // The driver may not have processed the end of the test yet.
        let is_late = state == T::State::STOPPING && input.is_of_traffic();
        if is_late || state == T::State::CLOSED {
            return Ok(());
        }
        let outcome = self.take(now, input);
        match &outcome {
            Ok(()) => self.taken(now),
            Err(error) => {
                self.complain(now, error);
                self.close();
            }
        }
        outcome
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.steps_mut().actions.pop_front()
    }

    fn deadline(&self) -> Option<MonoInstant> {
        self.next()
    }

    fn state(&self) -> &'static str {
        self.steps().state.name()
    }
}

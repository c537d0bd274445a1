//! Common part of the sessions of other tools' protocols: state, actions, deadline.

use crate::error::{MAX_TEXT, ProtocolError, Result, clean};
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

/// Time that traffic may take beyond what was asked: send buffers drain slowly on slow links (4 MiB take
/// 34 s at 1 Mbit/s), and the receiver waits for stragglers.
const DRAIN: Duration = Duration::from_mins(1);

/// Time that a short test may take beyond what was asked, beside six times its length: it cannot fill such buffers, and a
/// peer that never ends costs no more than that.
const SHORT_DRAIN: Duration = Duration::from_secs(5);

/// How long the traffic of a test of this length may take beyond that.
pub(crate) fn drain(time: Duration) -> Duration {
    DRAIN.min(SHORT_DRAIN.saturating_add(time.saturating_mul(6)))
}

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

/// State of a session, its pending bytes and actions, and the deadline of the present step.
#[derive(Debug)]
pub(crate) struct Steps<P> {
    pub(crate) state: P,
    pub(crate) inbox: Inbox,
    pub(crate) actions: VecDeque<Action>,
    /// Silence of the peer after which it counts as gone.
    pub(crate) timeout: Duration,
    /// Whether the user gave a key.
    pub(crate) has_key: bool,
    /// Deadline of the present step, and its limit.
    due: Option<(MonoInstant, Duration)>,
    /// Deadline of all steps of the present phase: a peer that goes from step to step gains nothing.
    phase: Option<MonoInstant>,
}

impl<P: Phase> Steps<P> {
    /// Session that begins in this state, without a deadline.
    pub(crate) fn resting(state: P, timeout: Duration) -> Self {
        Self {
            state,
            inbox: Inbox::default(),
            actions: VecDeque::new(),
            timeout,
            has_key: false,
            due: None,
            phase: None,
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

    /// Client: the requested test cannot be made from this end.
    pub(crate) fn cannot(&mut self, code: RefusalCode, message: String) {
        let refusal = Refusal { code, message };
        self.act(Action::TestOver(TestEnd::Impossible(refusal)));
    }

    /// The server refuses the requested test.
    pub(crate) fn refuse(&mut self, code: RefusalCode, message: String) {
        let refusal = Refusal { code, message };
        self.act(Action::TestOver(TestEnd::Refused(refusal)));
    }

    /// A phase of several steps begins, which together have until `limit` from now.
    pub(crate) fn begin_phase(&mut self, now: MonoInstant, limit: Duration) {
        self.phase = Some(now.after(limit));
    }

    /// Enters a state with the deadline `limit` from now, or that of the phase if it is earlier.
    pub(crate) fn enter(&mut self, now: MonoInstant, state: P, limit: Duration) {
        self.state = state;
        let left = self.phase.map(|phase| phase.saturating_since(now));
        let limit = left.map_or(limit, |left| left.min(limit));
        self.due = Some((now.after(limit), limit));
    }

    /// Enters a state without a deadline.
    pub(crate) fn rest(&mut self, state: P) {
        self.state = state;
        self.due = None;
        if !state.has_test() {
            self.phase = None;
        }
    }

    /// Ends the session.
    pub(crate) fn close(&mut self) {
        self.inbox.clear();
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
        self.phase = None;
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

/// Implements where a session keeps its common part, for [`Stepping`].
macro_rules! stepping_at {
    ($($at:ident).+) => {
        type State = State;

        fn steps(&self) -> &$crate::steps::Steps<State> {
            &self.$($at).+
        }

        fn steps_mut(&mut self) -> &mut $crate::steps::Steps<State> {
            &mut self.$($at).+
        }
    };
}
pub(crate) use stepping_at;

/// A session of states with deadlines: its protocol's part.
pub(crate) trait Stepping: fmt::Debug + Send {
    type State: Phase;

    fn steps(&self) -> &Steps<Self::State>;

    fn steps_mut(&mut self) -> &mut Steps<Self::State>;

    /// Takes one input, in any state but closed.
    fn take(&mut self, now: MonoInstant, input: Input<'_>) -> Result<()> {
        let state = self.steps().state;
        match input {
            Input::Bytes(bytes) => {
                self.feed(now, bytes)?;
                return self.advance(now);
            }
            Input::Stopped if state == Self::State::STOPPING => return self.aborted(now),
            Input::Eof => return self.eof(now),
            Input::Timeout => return self.timeout(now),
            Input::End(Ending::Test { code, reason }) => {
                if state.has_test() {
                    self.break_off(now, code, &reason);
                }
            }
            Input::End(Ending::Traffic) => self.end_traffic(now),
            Input::End(Ending::Session) => {
                self.part(now);
                self.close();
            }
            Input::Progress(progress) => self.progress(now, progress),
            other => return self.answered(now, other),
        }
        Ok(())
    }

    /// Buffers received bytes.
    fn feed(&mut self, _now: MonoInstant, bytes: &[u8]) -> Result<()> {
        self.steps_mut().inbox.feed(bytes);
        Ok(())
    }

    /// Processes the buffered bytes as far as possible.
    fn advance(&mut self, _now: MonoInstant) -> Result<()> {
        self.steps_mut().inbox.clear();
        Ok(())
    }

    /// The peer has closed.
    fn eof(&mut self, now: MonoInstant) -> Result<()> {
        self.cut_off(now)
    }

    /// The peer has closed where the protocol does not: an error, unless a test is being aborted.
    fn cut_off(&mut self, now: MonoInstant) -> Result<()> {
        let steps = self.steps();
        if steps.state == Self::State::STOPPING {
            return self.aborted(now);
        }
        Err(steps.inbox.eof(steps.state.name()))
    }

    /// A deadline may have passed.
    fn timeout(&mut self, now: MonoInstant) -> Result<()> {
        if self.timed(now) {
            return Ok(());
        }
        match self.steps().overdue(now) {
            Some(limit) if self.steps().state == Self::State::STOPPING => {
                Err(self.steps().hangs(limit))
            }
            Some(limit) => self.overdue(now, limit),
            None => Ok(()),
        }
    }

    /// Runs the protocol's own timers; returns whether that has ended the present step.
    fn timed(&mut self, _now: MonoInstant) -> bool {
        false
    }

    /// The deadline of the present step, `limit` after its beginning, has passed, and no test is being aborted.
    fn overdue(&mut self, _now: MonoInstant, limit: Duration) -> Result<()> {
        Err(self.steps().silent(limit))
    }

    /// Handles the driver's inputs about its test.
    fn answered(&mut self, _now: MonoInstant, input: Input<'_>) -> Result<()> {
        Err(self.steps().out_of_turn(input.name(), ""))
    }

    /// Ends the traffic at the user's request.
    fn end_traffic(&mut self, _now: MonoInstant) {}

    /// Ends the test under way early.
    fn break_off(&mut self, now: MonoInstant, code: RefusalCode, reason: &str) {
        self.steps_mut().break_off(now, code, reason);
    }

    /// The driver has dropped the test that ended early: in most protocols that ends the session.
    fn aborted(&mut self, _now: MonoInstant) -> Result<()> {
        self.close_with(TestEnd::Aborted)
    }

    /// The driver cannot prepare the test: the session ends, at a server with [`TestEnd::Refused`], at a client with
    /// [`TestEnd::Impossible`].
    fn unprepared(&mut self, refusal: &Refusal, end: fn(Refusal) -> TestEnd) -> Result<()> {
        self.close_with(end(Refusal {
            code: refusal.code,
            message: clean(&refusal.message, MAX_TEXT),
        }))
    }

    /// Ends the session with its test.
    fn close_with(&mut self, end: TestEnd) -> Result<()> {
        self.steps_mut().act(Action::TestOver(end));
        self.close();
        Ok(())
    }

    /// Queues a message to the peer before the session ends politely.
    fn part(&mut self, _now: MonoInstant) {}

    /// Takes the driver's progress.
    fn progress(&mut self, _now: MonoInstant, _progress: Progress) {}

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

impl<T: Stepping> Session for T {
    fn handle(&mut self, now: MonoInstant, input: Input<'_>) -> Result<()> {
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

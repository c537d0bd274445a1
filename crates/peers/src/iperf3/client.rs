//! Client. The drawing in [`super`] shows both ends.

use super::inbox::{framed, name};
use super::results::{self, End, PeerResults};
use super::streams::{Cookie, Counters, Streams};
use super::{Iperf3, byte, code, far_log, params};
use crate::error::{MAX_TEXT, ProtocolError, Result, clean};
use crate::login::LoginAttempt;
use crate::moves::{client_sends, server_sends, states, whole_time};
use crate::session::{
    Action, ClientConfig, Input, PeerEvent, RefusalCode, Sent, StopCause, StreamTarget, TestEnd,
};
use crate::steps::{Phase as _, Stepping, Steps, drain, stepping_at};
use linerate_model::MonoInstant;
use linerate_model::facts::Facts;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{Side, TestSpec};
use std::time::Duration;

/// Pause between the last byte sent and the end message: the server does not count what arrives later.
const SETTLE: Duration = Duration::from_millis(150);

/// How long a server may take to close: since 3.21 it closes first.
const PARTING: Duration = Duration::from_secs(2);

states! {
    /// State of a client.
    pub(super) enum State {
        /// The cookie is sent; the server has not asked for parameters.
        Greeting = "greeting",
        /// Between the server's request for parameters and the test.
        Idle = "idle",
        /// Parameters are sent.
        Preparing = "preparing",
        /// This end opens its streams.
        Connecting = "connecting",
        /// Waits for the server to have all streams, and to begin.
        Starting = "starting",
        /// Receivers run; waits for the traffic to begin.
        Started = "started",
        Running = "running",
        /// The server was told that the test is over.
        Ending = "ending",
        /// The server waits for this end's results.
        Exchanging = "exchanging",
        /// Waits for the server's results.
        Awaiting = "awaiting-results",
        /// Waits for the server to finish.
        Showing = "showing",
        /// Waits for the server to close.
        Parting = "parting",
        /// Reads the server's error.
        Failing = "failing",
        /// The test ends early.
        Stopping = "stopping",
        Closed = "closed",
    }
    with a test: Preparing | Connecting | Starting | Started | Running | Ending | Exchanging | Awaiting | Showing;
}

impl State {
    /// Whether the server's next byte is a state.
    const fn reads_states(self) -> bool {
        matches!(
            self,
            Self::Greeting
                | Self::Idle
                | Self::Preparing
                | Self::Starting
                | Self::Started
                | Self::Running
                | Self::Ending
                | Self::Exchanging
                | Self::Showing
        )
    }
}

/// A client session.
#[derive(Debug)]
pub(super) struct Client {
    steps: Steps<State>,
    /// The state in which the server's error came.
    failed_in: State,
    cookie: Cookie,
    /// User to authenticate, with the time at which the session began.
    login: Option<LoginAttempt>,
    wants_output: bool,
    began: MonoInstant,
    /// When to tell the server that the test is over.
    ends: Option<MonoInstant>,
    /// When this end's senders had stopped, and how much later the server was notified.
    finished: Option<MonoInstant>,
    settled: Duration,
    spec: TestSpec,
    own: Option<Vec<EndpointReport>>,
}

impl Client {
    pub(super) fn new(config: ClientConfig, now: MonoInstant) -> Self {
        let cookie = Cookie::from_random(&config.random);
        let mut steps = Steps::waiting(State::Greeting, config.timeout, now);
        steps.has_key = config.credential.is_some();
        steps.act(Action::Send(cookie.as_bytes().to_vec()));
        Self {
            steps,
            failed_in: State::Greeting,
            cookie,
            login: config.login,
            wants_output: config.far_output,
            began: now,
            ends: None,
            finished: None,
            settled: Duration::ZERO,
            spec: TestSpec::tcp_bulk(),
            own: None,
        }
    }

    fn say(&mut self, state: u8) {
        self.steps.act(Action::Send(vec![state]));
    }

    const fn is_moving(&self) -> bool {
        matches!(
            self.steps.state,
            State::Running | State::Ending | State::Exchanging
        )
    }

    /// Whether reports are expected: receivers report once the server has ended the traffic, senders before.
    const fn takes_reports(&self) -> bool {
        matches!(self.steps.state, State::Exchanging)
            || (self.is_moving() && !server_sends(&self.spec))
    }

    /// Handles a state byte of the server.
    fn hear(&mut self, now: MonoInstant, state: u8) -> Result<()> {
        match (self.steps.state, state) {
            (State::Greeting, byte::PARAM_EXCHANGE) => self.welcome(),
            (State::Greeting, byte::ACCESS_DENIED) => {
                return Err(self.turned_away(121, 0));
            }
            (State::Preparing, byte::CREATE_STREAMS) => {
                self.steps.step(now, State::Connecting);
                self.steps.open(
                    StreamTarget::Ports(Vec::new()),
                    Streams {
                        cookie: self.cookie,
                        counters: Counters::Bits64,
                    },
                );
            }
            (State::Starting, byte::TEST_START) => {
                if server_sends(&self.spec) {
                    self.steps.act(Action::Start(Side::Receiver));
                }
                self.steps.step(now, State::Started);
            }
            (State::Started, byte::TEST_RUNNING) => self.run(now),
            (State::Running | State::Ending, byte::EXCHANGE_RESULTS) => self.ended_there(now),
            (State::Showing, byte::DISPLAY_RESULTS) => {
                self.say(byte::IPERF_DONE);
                self.steps.act(Action::HalfClose);
                self.steps.enter(now, State::Parting, PARTING);
            }
            (_, byte::SERVER_ERROR) => {
                self.failed_in = self.steps.state;
                self.steps.step(now, State::Failing);
            }
            (at, byte::SERVER_TERMINATE) => {
                let code = RefusalCode::Interrupted;
                let message = "the server was stopped by its user".to_owned();
                if !at.has_test() {
                    return Err(self.steps.turned_away(code, message));
                }
                self.stop(now, StopCause::Peer, code, message);
            }
            _ => return Err(self.unexpected(state)),
        }
        Ok(())
    }

    fn unexpected(&self, state: u8) -> ProtocolError {
        let cause = match self.steps.state {
            State::Greeting => format!(
                "the byte {state:#04x} is not how an iperf3 server begins: check host and port, and that `iperf3 -s` runs there"
            ),
            _ => format!("the byte {state:#04x} has no place there"),
        };
        self.steps.unexpected(
            name(state),
            self.steps.inbox.offset().saturating_sub(1),
            cause,
        )
    }

    fn turned_away(&self, code: i32, errno: i32) -> ProtocolError {
        let (code, message) = code::explain(code, errno);
        self.steps.turned_away(code, message)
    }

    fn welcome(&mut self) {
        self.steps.rest(State::Idle);
        self.steps.meet_server(super::MAX_STREAMS, Facts::default());
    }

    fn begin(&mut self, now: MonoInstant, spec: TestSpec) {
        if self.steps.refuses(&Iperf3, &spec) {
            return;
        }
        let login = self.login.as_ref();
        let token = match login.map(|login| login.token(self.began, now)).transpose() {
            Ok(token) => token,
            Err(why) => {
                let why = format!("--login: {why}");
                return self.steps.cannot(RefusalCode::Invalid, why);
            }
        };
        let mut wanted = params::to_json(&spec);
        if let Some(token) = token {
            wanted["authtoken"] = token.into();
        }
        if self.wants_output || far_log::is_worth_it(&spec) {
            wanted["get_server_output"] = 1.into();
        }
        self.steps.act(Action::Send(framed(&wanted)));
        self.spec = spec;
        self.steps.begin_phase(now, self.steps.timeout * 2);
        self.steps.step(now, State::Preparing);
    }

    /// Starts the traffic. If only the server sends, this end's clock ends it.
    fn run(&mut self, now: MonoInstant) {
        let whole = whole_time(&self.spec);
        if client_sends(&self.spec) {
            self.steps.act(Action::Start(Side::Sender));
        } else {
            self.ends = Some(now.after(whole));
        }
        let limit = whole.saturating_add(drain(whole));
        self.steps
            .begin_phase(now, limit.saturating_add(self.steps.timeout));
        self.steps.enter(now, State::Running, limit);
    }

    /// Time is up: tells the server.
    fn end(&mut self, now: MonoInstant) {
        self.ends = None;
        self.settled = self
            .finished
            .map_or(Duration::ZERO, |finished| now.saturating_since(finished));
        self.say(byte::TEST_END);
        self.await_end(now, State::Ending);
    }

    /// The server has stopped its side and wants results.
    fn ended_there(&mut self, now: MonoInstant) {
        if self.steps.state == State::Running && client_sends(&self.spec) && self.own.is_none() {
            self.steps.act(Action::StopSenders);
        }
        self.ends = None;
        if server_sends(&self.spec) {
            self.steps.act(Action::PeerFinished { sent: Sent::Untold });
        }
        self.await_end(now, State::Exchanging);
        self.exchange(now);
    }

    /// Enters a state in which what is under way may still drain.
    fn await_end(&mut self, now: MonoInstant, state: State) {
        let rest = drain(whole_time(&self.spec));
        let limit = self.steps.timeout.saturating_add(rest);
        self.steps.enter(now, state, limit);
    }

    /// Sends this end's results, once they exist and the server asks for them.
    fn exchange(&mut self, now: MonoInstant) {
        if self.steps.state != State::Exchanging {
            return;
        }
        let Some(own) = &self.own else { return };
        let value = results::to_json(End::Client, &self.spec, own, Duration::ZERO);
        self.steps.act(Action::Send(framed(&value)));
        self.steps.step(now, State::Awaiting);
    }

    fn take_results(&mut self, now: MonoInstant) -> Result<bool> {
        let state = self.steps.state.name();
        let own = self.own.as_deref().unwrap_or_default();
        let inbox = &mut self.steps.inbox;
        let taken = results::take_of_server(inbox, &self.spec, own, state)?;
        let Some(PeerResults {
            mut reports,
            output,
        }) = taken
        else {
            return Ok(false);
        };
        results::align(&self.spec, own, &mut reports).map_err(|cause| {
            let offset = self.steps.inbox.offset();
            self.steps.unexpected("results", offset, cause)
        })?;
        results::leave_out(&mut reports, self.settled);
        self.steps.report(reports);
        let output = output.filter(|_| self.wants_output);
        self.steps
            .actions
            .extend(output.map(|text| Action::Peer(PeerEvent::Output(text))));
        self.steps.step(now, State::Showing);
        Ok(true)
    }

    /// Reads a server's error: two words, or up to 3.20 one after a failed authentication. `last` says that no more
    /// will arrive.
    fn take_error(&mut self, now: MonoInstant, last: bool) -> Result<bool> {
        let (code, errno) = match self.steps.inbox.take::<8>() {
            Some([c0, c1, c2, c3, e0, e1, e2, e3]) => (
                i32::from_be_bytes([c0, c1, c2, c3]),
                i32::from_be_bytes([e0, e1, e2, e3]),
            ),
            None if last => match self.steps.inbox.take::<4>() {
                Some(code) => (i32::from_be_bytes(code), 0),
                None => return Ok(false),
            },
            None => return Ok(false),
        };
        let (refusal, reason) = code::explain(code, errno);
        match self.failed_in {
            State::Greeting | State::Idle => return Err(self.turned_away(code, errno)),
            State::Preparing => {
                self.steps.refuse(refusal, reason);
                self.close();
            }
            _ => self.stop(now, StopCause::Peer, refusal, reason),
        }
        Ok(true)
    }

    fn abort(&mut self, now: MonoInstant, code: RefusalCode, reason: &str) {
        self.say(byte::CLIENT_TERMINATE);
        self.stop(now, StopCause::Local, code, clean(reason, MAX_TEXT));
    }

    fn stop(&mut self, now: MonoInstant, cause: StopCause, code: RefusalCode, reason: String) {
        self.ends = None;
        self.steps.stop(now, cause, code, reason);
    }
}

impl Stepping for Client {
    stepping_at!(steps);

    fn advance(&mut self, now: MonoInstant) -> Result<()> {
        loop {
            let more = match self.steps.state {
                State::Awaiting => self.take_results(now)?,
                State::Failing => self.take_error(now, false)?,
                state if state.reads_states() => match self.steps.inbox.take_byte() {
                    Some(state) => {
                        self.hear(now, state)?;
                        true
                    }
                    None => false,
                },
                // While this end connects its streams the server may only send an error.
                State::Connecting => false,
                _ => {
                    self.steps.inbox.clear();
                    false
                }
            };
            if !more {
                return Ok(());
            }
        }
    }

    fn eof(&mut self, now: MonoInstant) -> Result<()> {
        match self.steps.state {
            State::Parting => return self.close_with(TestEnd::Complete),
            // 3.22 closes without a message on a failed login, and before 3.21 no reason was given either.
            State::Preparing if self.steps.inbox.pending().is_empty() => {
                return Err(self.steps.turned_away(RefusalCode::Denied, "it closed the connection when it had seen the parameters: it does not make such a test, or asks for a user and password that it knows (see --login); its own messages say which".to_owned()));
            }
            State::Failing => {
                self.take_error(now, true)?;
                if self.steps.state == State::Closed {
                    return Ok(());
                }
            }
            _ => {}
        }
        self.cut_off(now)
    }

    fn timed(&mut self, now: MonoInstant) -> bool {
        let is_time = self.ends.is_some_and(|ends| now >= ends);
        let ends = is_time && self.steps.state == State::Running;
        if ends {
            self.end(now);
        }
        ends
    }

    fn overdue(&mut self, now: MonoInstant, limit: Duration) -> Result<()> {
        match self.steps.state {
            State::Parting => self.close_with(TestEnd::Complete),
            State::Greeting => Err(self.steps.silent(limit)),
            State::Failing => Err(self.steps.late(limit, "its error message never ended")),
            _ => {
                let reason = self.steps.nothing_came("the server", limit);
                self.abort(now, RefusalCode::Timeout, &reason);
                Ok(())
            }
        }
    }

    fn answered(&mut self, now: MonoInstant, input: Input<'_>) -> Result<()> {
        match input {
            Input::Begin(spec) if self.steps.state == State::Idle => self.begin(now, *spec),
            // The driver may not have processed the end of the test yet.
            Input::Connected | Input::Finished { .. } | Input::Reports(_)
                if self.steps.state == State::Failing => {}
            Input::Connected if self.steps.state == State::Connecting => {
                self.steps.step(now, State::Starting);
                return self.advance(now);
            }
            Input::Finished { .. } if client_sends(&self.spec) && self.is_moving() => {
                let after = now.after(SETTLE);
                self.finished = Some(now);
                self.ends = Some(self.ends.map_or(after, |ends| ends.min(after)));
            }
            Input::Reports(reports) if self.own.is_none() && self.takes_reports() => {
                self.own = Some(reports);
                self.exchange(now);
            }
            other => return Err(self.steps.out_of_turn(other.name(), "")),
        }
        Ok(())
    }

    fn break_off(&mut self, now: MonoInstant, code: RefusalCode, reason: &str) {
        self.abort(now, code, reason);
    }

    fn part(&mut self, _now: MonoInstant) {
        if self.steps.state.has_test() {
            self.say(byte::CLIENT_TERMINATE);
        }
    }

    fn complain(&mut self, _now: MonoInstant, _error: &ProtocolError) {
        if self.steps.state.has_test() {
            self.say(byte::CLIENT_TERMINATE);
        }
    }

    fn next(&self) -> Option<MonoInstant> {
        let ends = self.ends.filter(|_| self.steps.state == State::Running);
        self.steps.due().into_iter().chain(ends).min()
    }

    fn close(&mut self) {
        self.ends = None;
        self.steps.close();
    }

    /// Ends the traffic at the user's request; before there is traffic, aborts.
    fn end_traffic(&mut self, now: MonoInstant) {
        match self.steps.state {
            State::Running if client_sends(&self.spec) => self.steps.act(Action::StopSenders),
            State::Running => self.end(now),
            State::Preparing | State::Connecting | State::Starting | State::Started => {
                self.abort(now, RefusalCode::Interrupted, "stopped by its user");
            }
            _ => {}
        }
    }
}

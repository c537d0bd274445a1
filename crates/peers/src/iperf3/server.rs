//! Server. The drawing in [`super`] shows both ends.

use super::inbox::{framed, name};
use super::params::{self, GUARD, Params};
use super::results::{self, End};
use super::streams::{COOKIE_LEN, Cookie, Counters, Streams};
use super::{DRAIN, MAX_PARAMS, byte, code, log};
use crate::error::{Excerpt, ProtocolError, Result};
use crate::moves::{Movement, client_sends, server_sends, states};
use crate::session::{
    Action, Input, Limits, Progress, RefusalCode, ServerConfig, StopCause, TestEnd,
};
use crate::steps::{OVERTIME, Phase as _, Stepping, Steps, stepping_at};
use linerate_model::MonoInstant;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{Direction, Pace, Side, Stop, TestSpec};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Timeout for a client's parameters and results, as in iperf3.
const PATIENCE: Duration = Duration::from_secs(30);

/// Timeout of a receiving server without data, as in iperf3.
const NO_DATA: Duration = Duration::from_mins(2);

states! {
    /// State of a server.
    pub(super) enum State {
        /// Waits for the cookie.
        Greeting = "greeting",
        /// Waits for the parameters.
        Asking = "asking",
        /// The driver prepares the test.
        Preparing = "preparing",
        /// The client opens its streams.
        Connecting = "connecting",
        Running = "running",
        /// The client has ended the test; waits for its results.
        Exchanging = "exchanging",
        /// Has the client's results; drains the receive queues and waits for this end's reports.
        Draining = "draining",
        /// Waits for the client to finish.
        Parting = "parting",
        /// The test ends early.
        Stopping = "stopping",
        Closed = "closed",
    }
    with a test: Preparing | Connecting | Running | Exchanging | Draining;
}

/// A server session.
#[derive(Debug)]
pub(super) struct Server {
    steps: Steps<State>,
    config: ServerConfig,
    cookie: Cookie,
    test: Params,
    own: Option<Vec<EndpointReport>>,
    /// The client's reports, kept until this end's are complete.
    theirs: Vec<EndpointReport>,
    /// When the session began.
    opened: MonoInstant,
    /// When traffic began, and its counted time up to the client's end message.
    began: MonoInstant,
    elapsed: Duration,
    /// Progress of the traffic, to detect a stall.
    moved: Movement,
}

impl Server {
    pub(super) fn new(config: ServerConfig, now: MonoInstant) -> Self {
        Self {
            steps: Steps::waiting(State::Greeting, config.timeout, now),
            config,
            cookie: Cookie::from_wire([0; COOKIE_LEN]),
            test: Params {
                spec: TestSpec::tcp_bulk(),
                counters: Counters::Bits32,
                wants_output: false,
                version: String::new(),
            },
            own: None,
            theirs: Vec::new(),
            opened: now,
            began: now,
            elapsed: Duration::ZERO,
            moved: Movement::from(now),
        }
    }

    fn say(&mut self, state: u8) {
        self.steps.act(Action::Send(vec![state]));
    }

    /// Sends an error: a code, and no errno.
    fn say_error(&mut self, code: i32) {
        let words = [code.to_be_bytes(), 0_i32.to_be_bytes()].concat();
        self.steps
            .act(Action::Send([&[byte::SERVER_ERROR][..], &words].concat()));
    }

    /// iperf3's code for a refusal. For a test that names a congestion control, it is the one for a congestion control
    /// that the host lacks.
    const fn code_of(&self, refusal: RefusalCode) -> i32 {
        let names_one = self.test.spec.socket.congestion_control.is_some();
        match refusal {
            RefusalCode::Unsupported if names_one => code::CONGESTION,
            other => code::for_refusal(other),
        }
    }

    const fn is_moving(&self) -> bool {
        matches!(
            self.steps.state,
            State::Running | State::Exchanging | State::Draining
        )
    }

    fn take_cookie(&mut self, now: MonoInstant) -> bool {
        let Some(cookie) = self.steps.inbox.take() else {
            return false;
        };
        self.cookie = Cookie::from_wire(cookie);
        if let Some((code, _)) = &self.config.turn_away {
            match code {
                RefusalCode::Busy => self.say(byte::ACCESS_DENIED),
                code => {
                    let code = code::for_refusal(*code);
                    self.say_error(code);
                }
            }
            self.close();
            return false;
        }
        self.steps.meet_client(&self.config);
        self.say(byte::PARAM_EXCHANGE);
        self.steps.enter(now, State::Asking, PATIENCE);
        true
    }

    fn take_params(&mut self, now: MonoInstant) -> Result<bool> {
        let (state, offset) = (self.steps.state.name(), self.steps.inbox.offset());
        let Some(value) = self
            .steps
            .inbox
            .take_json(state, "parameters", MAX_PARAMS)?
        else {
            return Ok(false);
        };
        if let Some(reason) = self.turns_away(now, &value) {
            self.say_error(code::AUTHENTICATION);
            self.steps.refuse(RefusalCode::Denied, reason);
            self.close();
            return Ok(false);
        }
        let test = params::read(&value).map_err(|wrong| {
            self.say_error(wrong.code);
            ProtocolError::Body {
                state,
                message: "parameters",
                offset,
                bytes: Excerpt::from_bytes(value.to_string().as_bytes()),
                cause: wrong.cause,
            }
        })?;
        if let Some((code, reason)) = exceeds(&self.config.limits, &test.spec) {
            self.say_error(code);
            self.steps.refuse(RefusalCode::Limit, reason);
            self.close();
            return Ok(false);
        }
        let spec = Box::new(as_sent(&test.spec, &self.config.limits));
        let format = Arc::new(Streams {
            cookie: self.cookie,
            counters: test.counters,
        });
        self.test = test;
        self.steps.enter(now, State::Preparing, PATIENCE);
        self.steps.act(Action::Prepare { spec, format });
        Ok(true)
    }

    /// Why the login is refused; `None` if it is accepted or none is required.
    fn turns_away(&self, now: MonoInstant, params: &Value) -> Option<String> {
        let gate = self.config.logins.as_ref()?;
        let token = params.get("authtoken").and_then(Value::as_str);
        let admitted = gate.admit(token, self.opened, now);
        admitted.err().map(|why| why.to_string())
    }

    /// Handles a state byte of the client.
    fn hear(&mut self, now: MonoInstant, state: u8) -> Result<()> {
        match (self.steps.state, state) {
            (State::Running, byte::TEST_END) => {
                let warm_up = self.test.spec.warm_up;
                self.elapsed = now.saturating_since(self.began).saturating_sub(warm_up);
                if server_sends(&self.test.spec) {
                    self.steps.act(Action::StopSenders);
                }
                self.say(byte::EXCHANGE_RESULTS);
                self.steps.enter(now, State::Exchanging, PATIENCE);
            }
            (State::Parting, byte::IPERF_DONE) => return self.close_with(TestEnd::Complete),
            // A client that cannot open its streams sends one of these.
            (at, byte::CLIENT_TERMINATE | byte::IPERF_DONE) if at.has_test() => {
                let reason = match state {
                    byte::CLIENT_TERMINATE => "the client was stopped by its user".to_owned(),
                    _ => "the client gave the test up; see its own messages".to_owned(),
                };
                self.steps
                    .stop(now, StopCause::Peer, RefusalCode::Interrupted, reason);
            }
            _ => {
                return Err(self.steps.unexpected(
                    name(state),
                    self.steps.inbox.offset().saturating_sub(1),
                    format!("the byte {state:#04x} has no place there"),
                ));
            }
        }
        Ok(())
    }

    fn start(&mut self, now: MonoInstant) {
        self.say(byte::TEST_START);
        if client_sends(&self.test.spec) {
            self.steps.act(Action::Start(Side::Receiver));
        }
        self.say(byte::TEST_RUNNING);
        if server_sends(&self.test.spec) {
            self.steps.act(Action::Start(Side::Sender));
        }
        self.moved = Movement::from(now);
        self.began = now;
        let most = self.config.limits.max_duration.saturating_add(OVERTIME);
        let limit = match self.test.spec.stop {
            Stop::After(time) => {
                let whole = time.saturating_add(self.test.spec.warm_up);
                whole.saturating_add(GUARD).min(most)
            }
            Stop::Bytes(_) | Stop::Transactions(_) => most,
        };
        self.steps.enter(now, State::Running, limit);
    }

    fn take_results(&mut self, now: MonoInstant) -> Result<bool> {
        let state = self.steps.state.name();
        // An interrupted client sends this byte instead; no length of results begins with it.
        if self.steps.inbox.pending().first() == Some(&byte::CLIENT_TERMINATE) {
            self.steps.inbox.take_byte();
            self.hear(now, byte::CLIENT_TERMINATE)?;
            return Ok(true);
        }
        let taken = results::take(&mut self.steps.inbox, End::Client, &self.test.spec, state)?;
        let Some((_, reports)) = taken else {
            return Ok(false);
        };
        if client_sends(&self.test.spec) {
            let sent = results::sent(&self.test.spec, &reports);
            self.steps.act(Action::PeerFinished { sent });
        }
        self.theirs = reports;
        self.steps.enter(now, State::Draining, DRAIN);
        self.answer_results(now);
        Ok(true)
    }

    /// Sends this end's results, once both ends' are complete.
    fn answer_results(&mut self, now: MonoInstant) {
        if self.steps.state != State::Draining {
            return;
        }
        let Some(mut own) = self.own.take() else {
            return;
        };
        let reports = std::mem::take(&mut self.theirs);
        results::add_tail(&mut own, &reports);
        let value = self.results(&own);
        self.steps.act(Action::Send(framed(&value)));
        self.steps.report(reports);
        self.say(byte::DISPLAY_RESULTS);
        self.steps.enter(now, State::Parting, self.steps.timeout);
    }

    fn results(&self, own: &[EndpointReport]) -> Value {
        let mut value = results::to_json(End::Server, &self.test.spec, own, self.elapsed);
        if let (true, Some(map)) = (self.test.wants_output, value.as_object_mut()) {
            let text = log::write(&self.config.version, &self.test.spec, own);
            map.insert("server_output_text".to_owned(), json!(text));
        }
        value
    }

    fn abort(&mut self, now: MonoInstant, refusal: RefusalCode, code: i32, reason: &str) {
        match refusal {
            RefusalCode::Interrupted => self.say(byte::SERVER_TERMINATE),
            _ => self.say_error(code),
        }
        self.steps.break_off(now, refusal, reason);
    }
}

/// The limit that the test exceeds, with iperf3's code for it.
fn exceeds(limits: &Limits, spec: &TestSpec) -> Option<(i32, String)> {
    let reason = limits.exceeded_by(spec)?;
    let is_rate = limits.max_rate.is_some_and(|most| match spec.pace() {
        Pace::At(rate) => rate > most,
        Pace::Unpaced => true,
    });
    let code = if spec.streams > limits.max_streams {
        code::STREAMS
    } else if is_rate {
        code::RATE
    } else {
        code::DURATION
    };
    Some((code, reason))
}

/// The test as this end's streams run it: a sender goes on until the client ends the test.
fn as_sent(spec: &TestSpec, limits: &Limits) -> TestSpec {
    let stop = match (spec.direction, spec.stop) {
        (Direction::Forward, stop) => stop,
        (_, Stop::After(time)) => Stop::After(time.saturating_add(GUARD)),
        _ => Stop::After(limits.max_duration),
    };
    TestSpec {
        stop,
        ..spec.clone()
    }
}

impl Stepping for Server {
    stepping_at!(steps);

    fn advance(&mut self, now: MonoInstant) -> Result<()> {
        loop {
            let more = match self.steps.state {
                State::Greeting => self.take_cookie(now),
                State::Asking => self.take_params(now)?,
                State::Exchanging => self.take_results(now)?,
                State::Stopping | State::Closed => {
                    self.steps.inbox.clear();
                    false
                }
                _ => match self.steps.inbox.take_byte() {
                    Some(state) => {
                        self.hear(now, state)?;
                        true
                    }
                    None => false,
                },
            };
            if !more {
                return Ok(());
            }
        }
    }

    fn eof(&mut self, now: MonoInstant) -> Result<()> {
        match self.steps.state {
            State::Parting => self.close_with(TestEnd::Complete),
            _ => self.cut_off(now),
        }
    }

    fn overdue(&mut self, now: MonoInstant, limit: Duration) -> Result<()> {
        let seconds = limit.as_secs_f64();
        match self.steps.state {
            State::Greeting | State::Asking => Err(self.steps.silent(limit)),
            State::Parting => self.close_with(TestEnd::Complete),
            State::Connecting => {
                let reason = format!("the data streams did not come within {seconds} s");
                self.abort(now, RefusalCode::Timeout, code::STREAM, &reason);
                Ok(())
            }
            State::Exchanging => {
                let reason = format!("the client sent no results within {seconds} s");
                self.abort(now, RefusalCode::Timeout, code::RESULTS, &reason);
                Ok(())
            }
            State::Draining => {
                let reason = format!("the server's streams did not end within {seconds} s");
                self.abort(now, RefusalCode::Timeout, code::RESULTS, &reason);
                Ok(())
            }
            _ => {
                let reason = format!("the client did not end the test within {seconds} s");
                self.abort(now, RefusalCode::Timeout, code::GUARD, &reason);
                Ok(())
            }
        }
    }

    fn answered(&mut self, now: MonoInstant, input: Input<'_>) -> Result<()> {
        match input {
            Input::Prepared(Ok(_)) if self.steps.state == State::Preparing => {
                self.say(byte::CREATE_STREAMS);
                self.steps.enter(now, State::Connecting, PATIENCE);
            }
            Input::Prepared(Err(refusal)) if self.steps.state == State::Preparing => {
                self.say_error(self.code_of(refusal.code));
                return self.unprepared(&refusal, TestEnd::Refused);
            }
            Input::Connected if self.steps.state == State::Connecting => self.start(now),
            // Only the client ends a test: a sender that stops earlier waits.
            Input::Finished { .. } if server_sends(&self.test.spec) && self.is_moving() => {}
            Input::Reports(reports) if self.own.is_none() && self.is_moving() => {
                self.own = Some(reports);
                self.answer_results(now);
            }
            other => return Err(self.steps.out_of_turn(other.name(), "")),
        }
        Ok(())
    }

    fn break_off(&mut self, now: MonoInstant, code: RefusalCode, reason: &str) {
        self.abort(now, code, self.code_of(code), reason);
    }

    fn part(&mut self, _now: MonoInstant) {
        if self.steps.state.has_test() {
            self.say(byte::SERVER_TERMINATE);
        }
    }

    fn progress(&mut self, now: MonoInstant, progress: Progress) {
        if self.steps.state != State::Running || !client_sends(&self.test.spec) {
            return;
        }
        if self.moved.has_stalled(now, progress.bytes.get(), NO_DATA) {
            let reason = "no data reached this end for two minutes";
            self.abort(now, RefusalCode::Timeout, code::NO_DATA, reason);
        }
    }

    fn complain(&mut self, _now: MonoInstant, error: &ProtocolError) {
        let said = self.steps.actions.iter().any(
            |action| matches!(action, Action::Send(bytes) if bytes.first() == Some(&byte::SERVER_ERROR)),
        );
        let broken = matches!(
            error,
            ProtocolError::Body { .. }
                | ProtocolError::Length { .. }
                | ProtocolError::Unexpected { .. }
        );
        if broken && !said {
            self.say_error(code::MESSAGE);
        }
    }
}

//! Server. The drawing in [`super`] shows both ends.

use super::link::{Core, text};
use super::message::{
    Delegate, Delegated, Describe, Described, Lease, Leased, Message, Prepare, Ready, Refused,
    Report, Role, TestNumber, TestProgress, TooLong, Welcome,
};
use super::phase::State;
use super::streams::Streams;
use super::test::Test;
use crate::error::{ProtocolError, Result, clean};
use crate::key::test_token;
use crate::session::{
    Action, DelegatedTest, Fence, Input, InterfaceDescription, LeaseGrant, LeaseRequest, PeerEvent,
    PeerHello, Progress, Refusal, RefusalCode, ServerConfig, StreamPorts, TestEnd,
};
use crate::steps::{Phase as _, Stepping, stepping_at};
use linerate_model::MonoInstant;
use linerate_model::facts::Facts;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{Side, validate};
use std::time::Duration;

/// Bytes a second over the slowest line to a client, a console of 9600 baud with what it repeats.
const SLOWEST_LINE: u64 = 500;
/// Longest that a report is given beyond the timeout.
const MOST_REPORTING: Duration = Duration::from_mins(2);

/// A server session.
#[derive(Debug)]
pub(super) struct Server {
    core: Core,
    config: ServerConfig,
    /// Version of the client.
    client: String,
    /// The lease that the client's tests are of.
    fence: Option<Fence>,
    /// Token of the present test's data streams.
    token: u32,
}

impl Server {
    pub(super) fn new(config: ServerConfig, now: MonoInstant) -> Self {
        Self {
            core: Core::new(
                Role::Server,
                config.credential.as_ref(),
                config.timeout,
                now,
            ),
            config,
            client: String::new(),
            fence: None,
            token: 0,
        }
    }

    fn message(&mut self, now: MonoInstant, message: Message, offset: u64) -> Result<()> {
        let (kind, state) = (message.kind(), self.core.steps.state);
        let is_present = message.test() == Some(self.core.test.number);
        match message {
            Message::Ping if state.is_greeted() => {}
            Message::Farewell(body) => {
                return Err(self.core.turned_away(body.code, &body.message));
            }
            Message::Bye => self.core.steps.close(),
            Message::Hello(_) | Message::Seal(_)
                if state == State::Greeting && self.config.turn_away.is_some() =>
            {
                if let Some((code, message)) = self.config.turn_away.take() {
                    self.turn_away(now, code, &message);
                }
            }
            Message::Hello(hello) if state == State::Greeting => {
                self.client = clean(&hello.version, super::MAX_NAME);
                self.fence = hello.fence;
                self.core.steps.rest(State::Admitting);
                self.core.steps.act(Action::Admit);
            }
            Message::Seal(_) if state == State::Greeting => {
                return Err(self.core.key_error(
                    "this server has no key: start it with --key, or leave --key away at the client",
                ));
            }
            Message::Prepare(body) if state == State::Idle => self.prepare(now, body),
            Message::Delegate(body) if state == State::Idle => self.delegate(now, body),
            Message::Describe(body) if state == State::Idle => self.describe(now, body),
            Message::Lease(body) if state == State::Idle => self.lease(now, body),
            // The client aborted before it received the refusal.
            Message::Abort(body) if state == State::Idle && is_present => {
                let test = body.test;
                let aborted = Message::Aborted(TestNumber { test });
                self.core.say(now, &aborted);
            }
            Message::Aborted(_) if state == State::Idle && is_present => {}
            _ if !state.has_test() || !is_present => {
                let cause = "no such test is under way";
                return Err(self.core.unexpected(kind, offset, cause));
            }
            _ => {
                return self
                    .test_message(now, message)
                    .map_err(|cause| self.core.unexpected(kind, offset, cause));
            }
        }
        Ok(())
    }

    fn test_message(&mut self, now: MonoInstant, message: Message) -> Result<(), &'static str> {
        match (message, self.core.steps.state) {
            (Message::Abort(body), _) => self.core.aborted_by_peer(now, &body),
            (Message::Aborted(_), _) => return self.core.stopped_there(),
            // Sent before the peer knew that the test was aborted, or that its senders had stopped.
            (_, State::Stopping) | (Message::EndTraffic(_), State::Reporting) => {}
            (Message::Start(_), State::Connecting) if self.core.test.connected.here => {
                self.start(now);
            }
            (Message::Finished(body), State::Running | State::Reporting) => {
                return self.core.finished_there(body);
            }
            (Message::EndTraffic(_), State::Running) if self.core.test.sends => {
                self.core.steps.act(Action::StopSenders);
            }
            (Message::Acknowledge(_), State::Reporting) => {
                self.core.steps.act(Action::TestOver(TestEnd::Complete));
                self.core.steps.rest(State::Idle);
            }
            _ => return Err("it has no place there"),
        }
        Ok(())
    }

    /// Refuses the client after its first message.
    fn turn_away(&mut self, now: MonoInstant, code: RefusalCode, message: &str) {
        self.core.farewell(now, code, message);
        self.core.steps.close();
    }

    fn admitted(&mut self, now: MonoInstant, place: Result<(), Refusal>) -> Result<()> {
        if let Err(Refusal { code, message }) = place {
            self.turn_away(now, code, &message);
            return Ok(());
        }
        self.welcome(now);
        self.core.steps.rest(State::Idle);
        self.core.steps.meet(PeerHello {
            version: std::mem::take(&mut self.client),
            session: self.config.session.clone(),
            facts: Facts::default(),
            limits: self.config.limits,
            fence: self.fence,
        });
        self.advance(now)
    }

    fn welcome(&mut self, now: MonoInstant) {
        let mut welcome = Welcome {
            version: clean(&self.config.version, super::MAX_NAME),
            session: clean(&self.config.session, super::MAX_NAME),
            limits: self.config.limits,
            facts: std::mem::take(&mut self.config.facts),
        };
        let whole = Message::Welcome(Box::new(welcome.clone()));
        if let Err(TooLong { length, .. }) = self.core.send(now, &whole) {
            let note = format!("facts of {length} bytes are too long to send");
            welcome.facts = [("facts-missing", note)].into_iter().collect();
            let short = Message::Welcome(Box::new(welcome));
            self.core.say(now, &short);
        }
    }

    fn prepare(&mut self, now: MonoInstant, body: Prepare) {
        self.core.test = Test::new(body.test, &body.spec, Role::Server, &self.config.limits);
        self.step(now, State::Preparing);
        if let Err(error) = validate(&body.spec) {
            self.refuse(now, RefusalCode::Invalid, &error.to_string());
        } else if let Some(reason) = self.config.limits.exceeded_by(&body.spec) {
            self.refuse(now, RefusalCode::Limit, &reason);
        } else {
            self.token = test_token(&self.config.random, body.test);
            let format = Streams { token: self.token };
            self.core.steps.prepare(*body.spec, format);
        }
    }

    /// Lets the owner of this end make a test with another server.
    fn delegate(&mut self, now: MonoInstant, body: Delegate) {
        let spec = &body.delegation.spec;
        self.core.test = Test::new(body.test, spec, Role::Server, &self.config.limits);
        let limit = self.core.test.delegated(self.core.steps.timeout);
        self.core.steps.enter(now, State::Delegating, limit);
        if let Err(error) = validate(spec) {
            self.refuse(now, RefusalCode::Invalid, &error.to_string());
        } else if let Some(reason) = self.config.limits.exceeded_by(spec) {
            self.refuse(now, RefusalCode::Limit, &reason);
        } else {
            let event = PeerEvent::Delegate(body.delegation);
            self.core.steps.act(Action::Peer(event));
        }
    }

    fn delegated(&mut self, now: MonoInstant, outcome: Box<DelegatedTest>) {
        let test = self.core.test.number;
        let message = Message::Delegated(Delegated { test, outcome });
        match self.core.send(now, &message) {
            Ok(_) => self.core.steps.rest(State::Idle),
            Err(TooLong { length, most }) => {
                let reason = format!(
                    "the reports of both ends have {length} bytes, more than the {most} that fit one message: use fewer streams or a shorter test"
                );
                self.refuse(now, RefusalCode::Limit, &reason);
            }
        }
    }

    /// Lets the owner of this end look at an interface, for a client that may make the test there.
    fn describe(&mut self, now: MonoInstant, body: Describe) {
        let spec = &body.request.spec;
        self.core.test = Test::new(body.test, spec, Role::Server, &self.config.limits);
        self.step(now, State::Describing);
        if let Err(error) = validate(spec) {
            self.refuse(now, RefusalCode::Invalid, &error.to_string());
        } else if let Some(reason) = self.config.limits.exceeded_by(spec) {
            self.refuse(now, RefusalCode::Limit, &reason);
        } else {
            self.core
                .steps
                .act(Action::Describe(Box::new(body.request)));
        }
    }

    fn described(&mut self, now: MonoInstant, description: Box<InterfaceDescription>) {
        let test = self.core.test.number;
        let message = Message::Described(Described { test, description });
        match self.core.send(now, &message) {
            Ok(_) => self.core.steps.rest(State::Idle),
            Err(TooLong { length, .. }) => {
                let reason = format!("facts of {length} bytes are too long to send");
                self.refuse(now, RefusalCode::Limit, &reason);
            }
        }
    }

    /// Lets the owner of this end decide on a lease.
    fn lease(&mut self, now: MonoInstant, body: Lease) {
        let mut request = body.request;
        if let LeaseRequest::Take { holder, .. } = &mut request {
            *holder = clean(holder, super::MAX_NAME);
        }
        self.core.test = Test::without_traffic(body.test);
        self.step(now, State::Leasing);
        self.core.steps.act(Action::Peer(PeerEvent::Lease(request)));
    }

    fn leased(&mut self, now: MonoInstant, grant: LeaseGrant) {
        let test = self.core.test.number;
        self.core.say(now, &Message::Leased(Leased { test, grant }));
        self.core.steps.rest(State::Idle);
    }

    /// Enters a set-up step with the silence timeout.
    fn step(&mut self, now: MonoInstant, state: State) {
        let limit = self.core.steps.timeout;
        self.core.steps.enter(now, state, limit);
    }

    fn refuse(&mut self, now: MonoInstant, code: RefusalCode, message: &str) {
        let refused = Message::Refused(Refused {
            test: self.core.test.number,
            code,
            message: text(message),
        });
        self.core.say(now, &refused);
        self.core.steps.refuse(code, message.to_owned());
        self.core.steps.rest(State::Idle);
    }

    fn prepared(&mut self, now: MonoInstant, ports: StreamPorts) -> Result<()> {
        let ours = self.core.test.sides();
        super::check_ports(&ports, ours.into_iter(), self.core.test.streams).map_err(|cause| {
            self.core
                .steps
                .out_of_turn("Prepared", &format!(": {cause}"))
        })?;
        let ready = Message::Ready(Ready {
            test: self.core.test.number,
            ports,
            token: self.token,
        });
        self.core.say(now, &ready);
        self.step(now, State::Connecting);
        Ok(())
    }

    fn connected(&mut self, now: MonoInstant) {
        self.core.test.connected.here = true;
        let connected = Message::Connected(self.core.test.number());
        self.core.say(now, &connected);
        self.step(now, State::Connecting);
    }

    fn start(&mut self, now: MonoInstant) {
        if self.core.test.receives {
            self.core.steps.act(Action::Start(Side::Receiver));
        }
        let started = Message::Started(self.core.test.number());
        self.core.say(now, &started);
        if self.core.test.sends {
            self.core.steps.act(Action::Start(Side::Sender));
        }
        let limit = self.core.test.allowed;
        self.core.steps.enter(now, State::Running, limit);
    }

    fn report(&mut self, now: MonoInstant, reports: Vec<EndpointReport>) -> Result<()> {
        if self.core.test.sends && !self.core.test.finished.here {
            let detail = ": reports come after Finished if this end sends";
            return Err(self.core.steps.out_of_turn("Reports", detail));
        }
        let test = self.core.test.number;
        let report = Message::Report(Report { test, reports });
        match self.core.send(now, &report) {
            Ok(length) => {
                // The client may still be draining what is under way, and a report takes its time on a slow line.
                let slow = Duration::from_secs(length as u64 / SLOWEST_LINE).min(MOST_REPORTING);
                let drained = self.core.steps.due().map(|due| due.saturating_since(now));
                let limit = (self.core.steps.timeout + slow).max(drained.unwrap_or_default());
                self.core.steps.enter(now, State::Reporting, limit);
            }
            Err(TooLong { length, most }) => {
                let reason = format!(
                    "the server's report of {length} bytes is longer than the {most} that fit one message: \
                     use fewer streams, a shorter test or a longer interval"
                );
                self.core.abort(now, RefusalCode::Limit, &reason);
            }
        }
        Ok(())
    }
}

impl Stepping for Server {
    stepping_at!(core.steps);

    fn feed(&mut self, now: MonoInstant, bytes: &[u8]) -> Result<()> {
        self.core.feed(now, bytes);
        Ok(())
    }

    fn advance(&mut self, now: MonoInstant) -> Result<()> {
        while let Some((message, offset)) = self.core.next(now)? {
            self.message(now, message, offset)?;
        }
        Ok(())
    }

    fn aborted(&mut self, now: MonoInstant) -> Result<()> {
        self.core.stopped_here(now)
    }

    fn answered(&mut self, now: MonoInstant, input: Input<'_>) -> Result<()> {
        let state = self.core.steps.state;
        match input {
            Input::Admitted(place) if state == State::Admitting => self.admitted(now, place),
            Input::Prepared(Ok(ports)) if state == State::Preparing => self.prepared(now, ports),
            Input::Prepared(Err(Refusal { code, message })) if state == State::Preparing => {
                self.refuse(now, code, &message);
                Ok(())
            }
            Input::Delegated(Ok(outcome)) if state == State::Delegating => {
                self.delegated(now, outcome);
                Ok(())
            }
            Input::Delegated(Err(Refusal { code, message })) if state == State::Delegating => {
                self.refuse(now, code, &message);
                Ok(())
            }
            Input::Described(Ok(description)) if state == State::Describing => {
                self.described(now, description);
                Ok(())
            }
            Input::Described(Err(Refusal { code, message })) if state == State::Describing => {
                self.refuse(now, code, &message);
                Ok(())
            }
            Input::Leased(Ok(grant)) if state == State::Leasing => {
                self.leased(now, grant);
                Ok(())
            }
            Input::Leased(Err(Refusal { code, message })) if state == State::Leasing => {
                self.refuse(now, code, &message);
                Ok(())
            }
            // The client aborted it meanwhile.
            Input::Delegated(_) | Input::Described(_) | Input::Leased(_) => Ok(()),
            Input::Connected if state == State::Connecting && !self.core.test.connected.here => {
                self.connected(now);
                Ok(())
            }
            Input::Finished { sent } => self.core.finished_here(now, sent),
            Input::Reports(reports) if state == State::Running => self.report(now, reports),
            other => Err(self.core.steps.out_of_turn(other.name(), "")),
        }
    }

    fn break_off(&mut self, now: MonoInstant, code: RefusalCode, reason: &str) {
        // After its report the server is done, and the client may be too.
        if !matches!(self.core.steps.state, State::Stopping | State::Reporting) {
            self.core.abort(now, code, reason);
        }
    }

    fn part(&mut self, now: MonoInstant) {
        if self.core.steps.state.is_greeted() {
            let reason = "the server is shutting down";
            self.core.farewell(now, RefusalCode::Interrupted, reason);
        }
    }

    fn progress(&mut self, now: MonoInstant, progress: Progress) {
        if self.core.steps.state == State::Running {
            let test = self.core.test.number;
            let message = Message::Progress(TestProgress { test, progress });
            self.core.say(now, &message);
        }
    }

    fn taken(&mut self, now: MonoInstant) {
        self.core.keep_alive(now);
    }

    fn complain(&mut self, now: MonoInstant, error: &ProtocolError) {
        self.core.complain(now, error);
    }

    fn next(&self) -> Option<MonoInstant> {
        self.core.deadline()
    }

    fn timeout(&mut self, now: MonoInstant) -> Result<()> {
        self.core.check_silence(now)?;
        let Some(limit) = self.core.steps.overdue(now) else {
            return Ok(());
        };
        let seconds = limit.as_secs_f64();
        let reason = match self.core.steps.state {
            State::Greeting => {
                return Err(self.core.steps.late(limit, "it never finished its hello"));
            }
            State::Stopping => {
                let hint = "a traffic thread at one end hangs";
                return Err(self.core.steps.late(limit, hint));
            }
            State::Reporting => {
                let hint = "the client never said that it is done";
                return Err(self.core.steps.late(limit, hint));
            }
            State::Delegating => {
                format!("the test with the other server did not end within {seconds} s")
            }
            State::Describing => {
                format!("the server could not describe its interface within {seconds} s")
            }
            State::Leasing => {
                format!("the server did not decide on the lease within {seconds} s")
            }
            State::Preparing => {
                format!("the server could not make ready within {seconds} s")
            }
            State::Connecting if self.core.test.connected.here => {
                format!("the client did not start the test within {seconds} s")
            }
            State::Connecting => format!(
                "the data streams did not reach the server within {seconds} s: \
                 a firewall or NAT may let only the control connection pass; \
                 `linerate ports` lists what must be open"
            ),
            _ => format!("the test did not end within {seconds} s, the most it is given here"),
        };
        self.core.abort(now, RefusalCode::Timeout, &reason);
        Ok(())
    }

    /// End of the connection: regular between tests.
    fn eof(&mut self, _now: MonoInstant) -> Result<()> {
        if self.core.steps.state == State::Idle && self.core.is_at_boundary() {
            self.core.steps.close();
            return Ok(());
        }
        Err(self.core.eof())
    }
}

//! Client. The drawing in [`super`] shows both ends.

use super::link::{Core, text};
use super::message::{Delegate, Describe, Hello, Lease, Message, Prepare, Ready, Role, Welcome};
use super::patience::{Patience, Whose, farewell};
use super::phase::State;
use super::streams::Streams;
use super::test::Test;
use crate::error::{ProtocolError, Result, clean};
use crate::session::{
    Action, ClientConfig, Delegation, DescriptionRequest, Input, LeaseRequest, Limits, PeerEvent,
    PeerHello, Progress, RefusalCode, StreamTarget, TestEnd,
};
use crate::steps::{Phase as _, Stepping, stepping_at};
use linerate_model::MonoInstant;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{Side, TestSpec, validate};
use std::time::Duration;

/// A client session.
#[derive(Debug)]
pub(super) struct Client {
    core: Core,
    /// What the server allows; known after its welcome.
    limits: Limits,
    patience: Patience,
    began: MonoInstant,
    /// How long the greeting took, until the first test: that has so much less time to be set up.
    greeted_in: Duration,
}

impl Client {
    pub(super) fn new(config: &ClientConfig, now: MonoInstant) -> Self {
        let credential = config.credential.as_ref();
        let mut core = Core::new(Role::Client, credential, config.timeout, now);
        let hello = Message::Hello(Hello {
            tool: "linerate".to_owned(),
            version: clean(&config.version, super::MAX_NAME),
            fence: config.fence,
        });
        core.say(now, &hello);
        Self {
            core,
            limits: Limits::default(),
            patience: Patience::default(),
            began: now,
            greeted_in: Duration::ZERO,
        }
    }

    fn message(&mut self, now: MonoInstant, message: Message, offset: u64) -> Result<()> {
        let (kind, state) = (message.kind(), self.core.steps.state);
        match message {
            Message::Ping if state.is_greeted() => Ok(()),
            Message::Farewell(body) => Err(self.core.turned_away(body.code, &body.message)),
            Message::Welcome(body) if state == State::Greeting => {
                self.welcome(now, *body);
                Ok(())
            }
            _ if !state.has_test() || message.test() != Some(self.core.test.number) => Err(self
                .core
                .unexpected(kind, offset, "no such test is under way")),
            _ => self
                .test_message(now, message)
                .map_err(|cause| self.core.unexpected(kind, offset, cause)),
        }
    }

    fn test_message(&mut self, now: MonoInstant, message: Message) -> Result<(), &'static str> {
        match (message, self.core.steps.state) {
            (Message::Abort(body), _) => {
                self.core.aborted_by_peer(now, &body);
                Ok(())
            }
            (Message::Aborted(_), _) => self.core.stopped_there(),
            // Sent before the peer knew that the test was aborted.
            (_, State::Stopping) => Ok(()),
            (Message::Ready(body), State::Preparing) => self.ready(now, body),
            (Message::Delegated(body), State::Delegating) => {
                let steps = &mut self.core.steps;
                steps.act(Action::Peer(PeerEvent::Delegated(body.outcome)));
                steps.act(Action::TestOver(TestEnd::Complete));
                steps.rest(State::Idle);
                Ok(())
            }
            (Message::Described(body), State::Describing) => {
                let steps = &mut self.core.steps;
                steps.act(Action::Peer(PeerEvent::Described(body.description)));
                steps.rest(State::Idle);
                Ok(())
            }
            (Message::Leased(body), State::Leasing) => {
                let steps = &mut self.core.steps;
                steps.act(Action::Peer(PeerEvent::Leased(body.grant)));
                steps.rest(State::Idle);
                Ok(())
            }
            (
                Message::Refused(body),
                State::Delegating | State::Describing | State::Leasing | State::Preparing,
            ) => {
                self.refused(body.code, text(&body.message));
                Ok(())
            }
            (Message::Connected(_), State::Connecting) => self.connected_there(now),
            (Message::Started(_), State::Starting) => {
                self.started(now);
                Ok(())
            }
            (Message::Progress(body), State::Running) => {
                self.counted(now, Whose::Theirs, &body.progress);
                self.core
                    .steps
                    .act(Action::Peer(PeerEvent::Progress(body.progress)));
                Ok(())
            }
            (Message::Finished(body), State::Running) => self.core.finished_there(body),
            (Message::Report(body), State::Running) => self.reported_there(now, body.reports),
            _ => Err("it has no place there"),
        }
    }

    fn welcome(&mut self, now: MonoInstant, body: Welcome) {
        self.greeted_in = now.saturating_since(self.began);
        self.limits = body.limits;
        self.core.steps.rest(State::Idle);
        self.core.steps.meet(PeerHello {
            version: clean(&body.version, super::MAX_NAME),
            session: clean(&body.session, super::MAX_NAME),
            facts: body.facts,
            limits: body.limits,
            fence: None,
        });
    }

    fn begin(&mut self, now: MonoInstant, spec: Box<TestSpec>) {
        if let Err(error) = validate(&spec) {
            return self
                .core
                .steps
                .cannot(RefusalCode::Invalid, error.to_string());
        }
        let number = self.core.test.number.wrapping_add(1);
        self.core.test = Test::new(number, &spec, Role::Client, &self.limits);
        let spent = std::mem::take(&mut self.greeted_in);
        self.patience = Patience::new(now, self.core.steps.timeout, spent);
        let prepare = Message::Prepare(Prepare { test: number, spec });
        self.core.say(now, &prepare);
        self.set_up(now, State::Preparing);
    }

    /// Has the server make a test with another server.
    fn delegate(&mut self, now: MonoInstant, delegation: Box<Delegation>) {
        if let Err(error) = validate(&delegation.spec) {
            return self
                .core
                .steps
                .cannot(RefusalCode::Invalid, error.to_string());
        }
        if delegation.key.is_some() && !self.core.channel.has_key() {
            let message = "the other server's key is sent only to an agent that has a key itself: start it with --key";
            return self
                .core
                .steps
                .cannot(RefusalCode::Denied, message.to_owned());
        }
        let number = self.core.test.number.wrapping_add(1);
        self.core.test = Test::new(number, &delegation.spec, Role::Client, &self.limits);
        // The server has as long for each step there as this end has here, and says why one failed.
        let limit = self.core.test.delegated(self.core.steps.timeout) + self.core.steps.timeout;
        let limit = limit + delegation.delay;
        let delegate = Message::Delegate(Delegate {
            test: number,
            delegation,
        });
        self.core.say(now, &delegate);
        self.core.steps.enter(now, State::Delegating, limit);
    }

    /// Asks for the interface that a test would use at the server.
    fn describe(&mut self, now: MonoInstant, request: DescriptionRequest) {
        if let Err(error) = validate(&request.spec) {
            return self
                .core
                .steps
                .cannot(RefusalCode::Invalid, error.to_string());
        }
        let number = self.core.test.number.wrapping_add(1);
        self.core.test = Test::new(number, &request.spec, Role::Client, &self.limits);
        let describe = Message::Describe(Describe {
            test: number,
            request,
        });
        self.core.say(now, &describe);
        let limit = self.core.steps.timeout;
        self.core.steps.enter(now, State::Describing, limit);
    }

    /// Asks for a lease on the server's host.
    fn lease(&mut self, now: MonoInstant, request: LeaseRequest) {
        let test = self.core.test.number.wrapping_add(1);
        self.core.test = Test::without_traffic(test);
        let lease = Message::Lease(Lease { test, request });
        self.core.say(now, &lease);
        let limit = self.core.steps.timeout;
        self.core.steps.enter(now, State::Leasing, limit);
    }

    fn refused(&mut self, code: RefusalCode, message: String) {
        self.core.steps.refuse(code, message);
        self.core.steps.rest(State::Idle);
    }

    fn ready(&mut self, now: MonoInstant, body: Ready) -> Result<(), &'static str> {
        let theirs = self.core.test.sides().into_iter().map(Side::other);
        super::check_ports(&body.ports, theirs, self.core.test.streams)?;
        let format = Streams { token: body.token };
        let target = StreamTarget::Ports(body.ports);
        self.core.steps.open(target, format);
        self.set_up(now, State::Connecting);
        Ok(())
    }

    fn connected_here(&mut self, now: MonoInstant) -> Result<()> {
        if self.core.test.connected.here {
            return Err(self
                .core
                .steps
                .out_of_turn("Connected", ": for the second time"));
        }
        self.core.test.connected.here = true;
        self.start(now);
        Ok(())
    }

    fn connected_there(&mut self, now: MonoInstant) -> Result<(), &'static str> {
        if self.core.test.connected.there {
            return Err("it has already said so");
        }
        self.core.test.connected.there = true;
        self.start(now);
        Ok(())
    }

    fn start(&mut self, now: MonoInstant) {
        if !self.core.test.connected.done() {
            return;
        }
        if self.core.test.receives {
            self.core.steps.act(Action::Start(Side::Receiver));
        }
        let start = Message::Start(self.core.test.number());
        self.core.say(now, &start);
        self.set_up(now, State::Starting);
    }

    /// Enters a step before traffic flows.
    fn set_up(&mut self, now: MonoInstant, state: State) {
        let limit = self.patience.set_up(now);
        self.core.steps.enter(now, state, limit);
    }

    fn counted(&mut self, now: MonoInstant, whose: Whose, progress: &Progress) {
        if let Some(limit) = self.patience.counted(now, whose, progress) {
            self.extend(now, limit);
        }
    }

    /// Gives the traffic at least so much more time.
    fn extend(&mut self, now: MonoInstant, limit: Duration) {
        // What comes early shortens nothing.
        let due = self.core.steps.due().unwrap_or(now);
        let limit = limit.max(due.saturating_since(now));
        self.core.steps.enter(now, State::Running, limit);
    }

    fn started(&mut self, now: MonoInstant) {
        if self.core.test.sends {
            self.core.steps.act(Action::Start(Side::Sender));
        }
        let (test, timeout) = (&self.core.test, self.core.steps.timeout);
        let limit = self.patience.start(now, test, timeout);
        self.core.steps.enter(now, State::Running, limit);
    }

    fn reported_here(&mut self, now: MonoInstant) -> Result<()> {
        let test = &self.core.test;
        if test.reported.here || (test.sends && !test.finished.here) {
            let detail = ": reports come once, after Finished if this end sends";
            return Err(self.core.steps.out_of_turn("Reports", detail));
        }
        self.core.test.reported.here = true;
        self.end(now);
        Ok(())
    }

    fn reported_there(
        &mut self,
        now: MonoInstant,
        reports: Vec<EndpointReport>,
    ) -> Result<(), &'static str> {
        self.check_report(&reports)?;
        self.core.test.reported.there = true;
        self.core.steps.report(reports);
        self.end(now);
        Ok(())
    }

    fn check_report(&self, reports: &[EndpointReport]) -> Result<(), &'static str> {
        let test = &self.core.test;
        if test.reported.there {
            return Err("it has already reported");
        }
        if test.receives && !test.finished.there {
            return Err("it has not said that its senders finished");
        }
        let mut theirs: Vec<Side> = test.sides().into_iter().map(Side::other).collect();
        let mut sides: Vec<Side> = reports.iter().map(|report| report.side).collect();
        theirs.sort();
        sides.sort();
        let streams = usize::from(test.streams);
        if sides != theirs || reports.iter().any(|report| report.streams.len() > streams) {
            return Err("its sides or streams are not those of the test");
        }
        Ok(())
    }

    fn end(&mut self, now: MonoInstant) {
        if self.core.test.reported.done() {
            let done = Message::Acknowledge(self.core.test.number());
            self.core.say(now, &done);
            self.core.steps.act(Action::TestOver(TestEnd::Complete));
            self.core.steps.rest(State::Idle);
        }
    }
}

impl Stepping for Client {
    stepping_at!(core.steps);

    fn feed(&mut self, now: MonoInstant, bytes: &[u8]) -> Result<()> {
        self.core.feed(now, bytes);
        Ok(())
    }

    fn advance(&mut self, now: MonoInstant) -> Result<()> {
        while let Some((message, offset)) = self.core.next(now)? {
            self.message(now, message, offset)?;
        }
        if self.core.steps.state == State::Running && !self.core.is_at_boundary() {
            self.extend(now, self.patience.arriving(now));
        }
        Ok(())
    }

    fn aborted(&mut self, now: MonoInstant) -> Result<()> {
        self.core.stopped_here(now)
    }

    fn eof(&mut self, _now: MonoInstant) -> Result<()> {
        Err(self.core.eof())
    }

    fn answered(&mut self, now: MonoInstant, input: Input<'_>) -> Result<()> {
        let state = self.core.steps.state;
        match input {
            Input::Begin(spec) if state == State::Idle => {
                self.begin(now, spec);
                Ok(())
            }
            Input::Delegate(delegation) if state == State::Idle => {
                self.delegate(now, delegation);
                Ok(())
            }
            Input::Describe(request) if state == State::Idle => {
                self.describe(now, *request);
                Ok(())
            }
            Input::Lease(request) if state == State::Idle => {
                self.lease(now, request);
                Ok(())
            }
            Input::Connected if state == State::Connecting => self.connected_here(now),
            Input::Finished { sent } => self.core.finished_here(now, sent),
            Input::Reports(_) if state == State::Running => self.reported_here(now),
            other => Err(self.core.steps.out_of_turn(other.name(), "")),
        }
    }

    fn break_off(&mut self, now: MonoInstant, code: RefusalCode, reason: &str) {
        if self.core.steps.state != State::Stopping {
            self.core.abort(now, code, reason);
        }
    }

    fn progress(&mut self, now: MonoInstant, progress: Progress) {
        if self.core.steps.state == State::Running {
            self.counted(now, Whose::Ours, &progress);
        }
    }

    fn part(&mut self, now: MonoInstant) {
        if self.core.steps.state.is_greeted() {
            self.core.say(now, &Message::Bye);
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
        match self.core.steps.state {
            State::Greeting => Err(self.core.steps.late(limit, "it never finished its hello")),
            State::Stopping => Err(self
                .core
                .steps
                .late(limit, "a traffic thread at one end hangs")),
            _ => {
                let timeout = self.core.steps.timeout;
                let seconds = timeout.as_secs_f64();
                let reason = match self.core.steps.state {
                    State::Delegating => {
                        "the time of the test is over, and the server did not report what came of it"
                            .to_owned()
                    }
                    State::Describing => {
                        format!("the server did not describe its interface within {seconds} s")
                    }
                    State::Leasing => {
                        format!("the server did not decide on the lease within {seconds} s")
                    }
                    State::Running => format!(
                        "the time of the test is over, and the server neither reported nor counted more within {seconds} s"
                    ),
                    state => format!(
                        "the server is alive but did not start the test within {} s (state {})",
                        seconds * 1.5,
                        state.name()
                    ),
                };
                self.core.abort(now, RefusalCode::Timeout, &reason);
                let steps = &mut self.core.steps;
                steps.enter(now, State::Stopping, farewell(timeout));
                Ok(())
            }
        }
    }

    /// Ends the traffic at the user's request; before there is traffic, aborts.
    fn end_traffic(&mut self, now: MonoInstant) {
        match self.core.steps.state {
            State::Running => {
                if self.core.test.sends {
                    self.core.steps.act(Action::StopSenders);
                }
                if self.core.test.receives {
                    let end = Message::EndTraffic(self.core.test.number());
                    self.core.say(now, &end);
                }
            }
            State::Delegating
            | State::Describing
            | State::Leasing
            | State::Preparing
            | State::Connecting
            | State::Starting => {
                let reason = "stopped by the user of the other end";
                self.core.abort(now, RefusalCode::Interrupted, reason);
            }
            _ => {}
        }
    }
}

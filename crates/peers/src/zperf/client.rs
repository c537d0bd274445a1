//! Client: the conversation with the board's shell and, in parallel, the session of the traffic.

use super::command::{Job, job};
use super::output::Upload;
use super::report;
use super::shell::{Board, Config, Event, Shell, ShellError};
use super::{PORT, Release, Zperf};
use crate::error::Result;
use crate::iperf2::Iperf2;
use crate::moves::states;
use crate::session::{
    Action, ClientConfig, Ending, Input, Limits, PeerEvent, PeerHello, PeerKind as _, RefusalCode,
    Sent, ServerConfig, Session, StopCause, StreamEvent, TestEnd, Wire,
};
use crate::steps::{Stepping, Steps, stepping_at};
use linerate_model::facts::Facts;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{Direction, Side, Stop, TestSpec, Transport};
use linerate_model::{MonoInstant, PacketCount};
use std::time::Duration;

states! {
    /// Where the session is.
    pub(super) enum State {
        /// Waits for the shell's answer.
        Greeting = "greeting",
        Idle = "idle",
        /// Waits for the board's server.
        Starting = "starting",
        /// Traffic flows to the board.
        Sending = "sending",
        /// The traffic is over; waits for the board's counts and the end of its server.
        Collecting = "collecting",
        /// This host prepares to listen for the board's traffic.
        Listening = "listening",
        /// The board sends.
        Receiving = "receiving",
        /// The test ends early.
        Stopping = "stopping",
        Closed = "closed",
    }
    with a test: Starting | Sending | Listening | Receiving;
}

/// How long after the board's report its TCP stream may go on: queued data still goes out. Some versions stop at the
/// first write that would block, and forget the connection without closing it.
const STREAM_END: Duration = Duration::from_secs(5);

/// Results of the test under way.
#[derive(Debug, Default)]
struct TestResults {
    /// Reports of the board over the network.
    answer: Vec<EndpointReport>,
    /// How traffic to the board ended.
    end: Option<TestEnd>,
    /// Report of this end's receiver.
    own: Option<EndpointReport>,
    /// The board's count of what it sent, and the bytes of each write or datagram.
    upload: Option<Upload>,
    size: u32,
    /// When to give up a TCP stream of the board whose end has not arrived.
    stream_end: Option<MonoInstant>,
}

/// A client session.
#[derive(Debug)]
pub(super) struct Client {
    config: ClientConfig,
    steps: Steps<State>,
    shell: Shell,
    release: Option<Release>,
    /// Session of traffic to the board, for all tests.
    sender: Box<dyn Session>,
    /// Session of the board's traffic in this test, once it has begun.
    receiver: Option<Box<dyn Session>>,
    spec: TestSpec,
    known: TestResults,
    /// Test that begins when the shell has ended the last one.
    next: Option<TestSpec>,
}

impl Client {
    pub(super) fn new(config: ClientConfig, release: Option<Release>, now: MonoInstant) -> Self {
        let shell = Config {
            wire: config.wire.unwrap_or(Wire::Serial),
            release,
            timeout: config.timeout,
            first_answer: config.first_answer,
        };
        let traffic = ClientConfig {
            credential: None,
            ..config.clone()
        };
        let mut steps = Steps::resting(State::Greeting, config.timeout);
        steps.has_key = config.credential.is_some();
        let mut client = Self {
            steps,
            shell: Shell::new(shell, now),
            release,
            sender: Iperf2.client(traffic, now),
            receiver: None,
            spec: TestSpec::tcp_bulk(),
            known: TestResults::default(),
            next: None,
            config,
        };
        // Its greeting: nobody has been met yet.
        while client.sender.poll_action().is_some() {}
        client.type_out();
        client
    }

    /// Sends the shell's pending commands.
    fn type_out(&mut self) {
        while let Some(bytes) = self.shell.poll_send() {
            self.steps.act(Action::Send(bytes));
        }
    }

    /// The session of the traffic under way.
    fn traffic(&mut self) -> Option<&mut Box<dyn Session>> {
        match self.steps.state {
            State::Sending => Some(&mut self.sender),
            State::Receiving => self.receiver.as_mut(),
            _ => None,
        }
    }

    fn hear(&mut self, now: MonoInstant, input: Input<'_>) -> Result<()> {
        match (self.steps.state, input) {
            (_, Input::Bytes(bytes)) => {
                self.shell.feed(now, bytes)?;
                // A board that never stops printing leaves the driver no time to report timeouts.
                self.timeout(now)?;
            }
            (_, Input::Eof) => self.shell.eof()?,
            (_, Input::Timeout) => self.timeout(now)?,
            (_, Input::End(Ending::Session)) => self.close(),
            (State::Idle, Input::Begin(spec)) => self.begin(now, *spec),
            (State::Collecting, Input::Begin(spec)) => self.next = Some(*spec),
            (State::Listening, Input::Prepared(Ok(ports))) => {
                let port = ports.iter().flat_map(|(_, ports)| ports).next();
                self.upload(now, port.copied().unwrap_or(PORT));
            }
            (State::Listening, Input::Prepared(Err(refusal))) => {
                self.steps.state = State::Idle;
                self.steps
                    .act(Action::TestOver(TestEnd::Impossible(refusal)));
            }
            (State::Receiving, Input::Stream(event @ StreamEvent::Opened { .. }))
                if self.receiver.is_none() =>
            {
                let mut receiver = self.server(now);
                receiver.handle(now, Input::Stream(event))?;
                self.receiver = Some(receiver);
            }
            (
                State::Starting | State::Listening | State::Receiving,
                Input::End(Ending::Traffic),
            ) => self.stop(RefusalCode::Interrupted, "ended by the user"),
            (
                State::Starting | State::Listening | State::Receiving,
                Input::End(Ending::Test { code, reason }),
            ) => self.stop(code, &reason),
            (State::Stopping, Input::Stopped) => return self.aborted(now),
            (State::Receiving, Input::Reports(reports)) => {
                self.known.own = reports.last().cloned();
                self.hand_on(now, Input::Reports(reports))?;
            }
            (State::Sending | State::Receiving, input) => self.hand_on(now, input)?,
            // The driver may not have processed the end of the test yet.
            (_, Input::End(_) | Input::Progress(_) | Input::Stream(_)) => {}
            (State::Collecting | State::Idle, input) if input.is_of_traffic() => {}
            (_, input) => return Err(self.steps.out_of_turn(input.name(), "")),
        }
        Ok(())
    }

    /// Passes an input to the session of the traffic, if there is one.
    fn hand_on(&mut self, now: MonoInstant, input: Input<'_>) -> Result<()> {
        match self.traffic() {
            Some(traffic) => traffic.handle(now, input),
            None => Ok(()),
        }
    }

    fn timeout(&mut self, now: MonoInstant) -> Result<()> {
        let is_due = |deadline: Option<MonoInstant>| deadline.is_some_and(|due| now >= due);
        if let Some(traffic) = self.traffic()
            && is_due(traffic.deadline())
        {
            traffic.handle(now, Input::Timeout)?;
        }
        if self.steps.state == State::Receiving && is_due(self.known.stream_end) {
            self.give_up_stream();
        }
        if is_due(self.shell.deadline()) {
            self.shell.pass(now)?;
        }
        Ok(())
    }

    fn begin(&mut self, now: MonoInstant, spec: TestSpec) {
        if self.steps.refuses(&Zperf::DEFAULT, &spec) {
            return;
        }
        self.known = TestResults::default();
        self.spec = spec;
        if self.spec.direction == Direction::Reverse {
            self.steps.state = State::Listening;
            let transport = self.spec.transport();
            self.steps.act(Action::Listen {
                transport,
                port: PORT,
            });
        } else {
            self.steps.state = State::Starting;
            let job = job(&self.spec, self.config.local, self.config.remote_port);
            self.shell.begin(now, job);
        }
    }

    /// Starts the board's sender: this host listens at `port`.
    fn upload(&mut self, now: MonoInstant, port: u16) {
        let job = job(&self.spec, self.config.local, port);
        if let Job::Upload { size, .. } = job {
            self.known.size = size;
        }
        self.steps.state = State::Receiving;
        self.shell.begin(now, job);
    }

    /// Ends a stream whose end does not arrive, and counts what did.
    fn give_up_stream(&mut self) {
        self.known.stream_end = None;
        let failed = self.known.upload.as_ref().and_then(|upload| upload.errors);
        let failed = failed.map_or(0, PacketCount::get);
        self.steps.act(Action::Peer(PeerEvent::Note(format!(
            "the board said that it was done (failed writes: {failed}) and never closed its TCP stream: it stops at a write that would wait; for some minutes this host may take its next stream, from the same port, for the old one"
        ))));
        self.steps.act(Action::PeerFinished { sent: Sent::Untold });
    }

    /// Server session for the board's traffic.
    fn server(&self, now: MonoInstant) -> Box<dyn Session> {
        let time = match self.spec.stop {
            Stop::After(time) => time,
            Stop::Bytes(_) | Stop::Transactions(_) => Duration::ZERO,
        };
        let limits = Limits {
            // The stream ends itself; this limit is for one whose end is lost.
            max_duration: time.saturating_add(self.config.timeout),
            ..Limits::default()
        };
        let config = ServerConfig {
            version: self.config.version.clone(),
            timeout: self.config.timeout,
            limits,
            ..ServerConfig::new(self.config.local, self.config.random)
        };
        Iperf2.server(config, now)
    }

    /// Aborts the test. The board is told at the session's end, if at all.
    fn stop(&mut self, code: RefusalCode, reason: &str) {
        self.receiver = None;
        self.steps.state = State::Stopping;
        self.steps.act(Action::Stop {
            cause: StopCause::Local,
            code,
            reason: reason.to_owned(),
        });
    }

    /// Handles the events of the shell and the actions of the traffic's session.
    fn advance(&mut self, now: MonoInstant) -> Result<()> {
        loop {
            self.type_out();
            if let Some(event) = self.shell.poll_event() {
                self.heed(now, event)?;
            } else if let Some(action) = self.traffic().and_then(|traffic| traffic.poll_action()) {
                self.pass_on(now, action)?;
            } else {
                return Ok(());
            }
        }
    }

    /// Handles an event of the shell.
    fn heed(&mut self, now: MonoInstant, event: Event) -> Result<()> {
        match (self.steps.state, event) {
            (State::Greeting, Event::Ready(board)) => self.greet(board)?,
            (State::Starting, Event::Serving) => {
                self.steps.state = State::Sending;
                let asked = Input::Begin(Box::new(self.spec.clone()));
                self.sender.handle(now, asked)?;
            }
            (State::Collecting, Event::Served(numbers)) => {
                let numbers = numbers.zip(self.release);
                let answer = std::mem::take(&mut self.known.answer);
                let answered = answer.iter().find(|report| report.side == Side::Receiver);
                let peer_report = numbers.as_ref().and_then(|(numbers, release)| {
                    report::receiver(&self.spec, numbers, *release, answered)
                });
                let note = numbers
                    .filter(|_| self.spec.transport() == Transport::Tcp)
                    .and_then(|(numbers, release)| report::words(&numbers, release));
                let end = self.known.end.take().unwrap_or(TestEnd::Complete);
                if end == TestEnd::Complete {
                    let reports = peer_report.map_or(answer, |peer_report| vec![peer_report]);
                    self.steps.act(Action::Peer(PeerEvent::Report(reports)));
                    self.steps
                        .actions
                        .extend(note.map(|note| Action::Peer(PeerEvent::Note(note))));
                }
                self.over(now, end);
            }
            (State::Receiving, Event::Uploaded(_)) if self.receiver.is_none() => {
                let reason = "the board says that it has sent, but nothing of it came here: see that its host= is the address that it sends from, and that no firewall drops its traffic";
                self.stop(RefusalCode::Timeout, reason);
            }
            (State::Receiving, Event::Uploaded(numbers)) => {
                let is_stream = numbers.transport == Transport::Tcp;
                self.known.stream_end = is_stream.then(|| now.after(STREAM_END));
                self.known.upload = Some(numbers);
                self.conclude(now);
            }
            _ => {}
        }
        Ok(())
    }

    fn greet(&mut self, board: Board) -> Result<(), ShellError> {
        let release = board.release.ok_or(ShellError::NoRelease)?;
        self.release = Some(release);
        self.steps.state = State::Idle;
        let mut facts = Facts::default();
        facts.os = Some(format!("Zephyr {release}"));
        facts.zperf = Some(board.zperf);
        self.steps.meet(PeerHello {
            facts,
            ..PeerHello::default()
        });
        Ok(())
    }

    /// Carries out an action of the traffic's session, or passes it to the driver.
    fn pass_on(&mut self, now: MonoInstant, action: Action) -> Result<()> {
        match action {
            Action::Peer(PeerEvent::Report(reports)) => self.known.answer = reports,
            Action::Prepare { spec, format } => {
                let spec = TestSpec {
                    direction: Direction::Reverse,
                    interval: self.spec.interval,
                    observe: self.spec.observe,
                    ..*spec
                };
                let spec = Box::new(spec);
                self.steps.act(Action::Prepare { spec, format });
            }
            Action::TestOver(end) if self.steps.state == State::Sending => {
                self.known.end = Some(end);
                self.steps.state = State::Collecting;
                self.shell.traffic_ended(now);
            }
            Action::TestOver(TestEnd::Complete) => self.conclude(now),
            Action::TestOver(end) => return self.close_with(end),
            Action::Closed if self.known.own.is_none() => {
                let hint = "what the board sent had no end that could be seen";
                return Err(self.steps.late(self.config.timeout, hint));
            }
            // The peer is known already, and its reports are kept until the board's counts arrive.
            Action::Peer(_) | Action::Closed => {}
            other => self.steps.act(other),
        }
        Ok(())
    }

    /// Ends a test in which the board sent, once both ends have reported.
    fn conclude(&mut self, now: MonoInstant) {
        let Some((own, upload)) = self.known.own.as_ref().zip(self.known.upload.as_ref()) else {
            return;
        };
        let sender = report::sender(&self.spec, upload, self.known.size, own);
        let peer_report = sender.map(|sender| Action::Peer(PeerEvent::Report(vec![sender])));
        self.steps.actions.extend(peer_report);
        self.receiver = None;
        self.over(now, TestEnd::Complete);
    }

    fn over(&mut self, now: MonoInstant, end: TestEnd) {
        self.steps.state = State::Idle;
        self.steps.act(Action::TestOver(end));
        if let Some(spec) = self.next.take() {
            self.begin(now, spec);
        }
    }
}

impl Stepping for Client {
    stepping_at!(steps);

    fn take(&mut self, now: MonoInstant, input: Input<'_>) -> Result<()> {
        self.hear(now, input)?;
        self.advance(now)
    }

    fn close(&mut self) {
        // An input may have closed the session before its error is seen.
        if self.steps.state == State::Closed {
            return;
        }
        self.shell.give_up();
        self.type_out();
        self.receiver = None;
        self.steps.close();
    }

    fn next(&self) -> Option<MonoInstant> {
        let traffic = match self.steps.state {
            State::Closed => return None,
            State::Sending => self.sender.deadline(),
            State::Receiving => self.known.stream_end,
            _ => None,
        };
        let receiver = self
            .receiver
            .as_ref()
            .and_then(|receiver| receiver.deadline());
        let others = traffic.into_iter().chain(receiver);
        others.chain(self.shell.deadline()).min()
    }
}

//! Client. The drawing in [`super`] shows both ends.

use super::Netperf;
use super::block::{self, Block, Size, kind};
use super::classic::{self, LocalCounts};
use super::streams::Streams;
use super::test::Test;
use crate::error::{ProtocolError, Result};
use crate::moves::{states, whole_time};
use crate::session::{Action, ClientConfig, Input, RefusalCode, StopCause, StreamTarget, TestEnd};
use crate::steps::{Phase as _, Stepping, Steps, drain, stepping_at};
use linerate_model::facts::Facts;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{Direction, Side, TestSpec, Transport};
use linerate_model::{MonoInstant, PacketCount};
use std::net::IpAddr;
use std::time::Duration;

states! {
    /// State of a client.
    pub(super) enum State {
        /// The first request is sent; its answer reveals the block size.
        Greeting = "greeting",
        Idle = "idle",
        /// The request is sent.
        Preparing = "preparing",
        /// This end opens its stream.
        Connecting = "connecting",
        /// Traffic flows, or this end's reports are still to come.
        Running = "running",
        /// Waits for the server's results.
        Awaiting = "awaiting-results",
        /// The test ends early.
        Stopping = "stopping",
        Closed = "closed",
    }
    with a test: Preparing | Connecting | Running | Awaiting;
}

/// A client session.
#[derive(Debug)]
pub(super) struct Client {
    steps: Steps<State>,
    local: IpAddr,
    size: Size,
    /// Answers to the greeting still to arrive.
    greetings: usize,
    spec: TestSpec,
    /// When the server ends the test by itself.
    guard: MonoInstant,
    /// Whether this end's senders have stopped.
    is_sent: bool,
    /// This end's counts, to interpret the server's.
    seen: LocalCounts,
    has_reported: bool,
    results: Option<Block>,
}

impl Client {
    pub(super) fn new(config: &ClientConfig, now: MonoInstant) -> Self {
        let mut steps = Steps::waiting(State::Greeting, config.timeout, now);
        steps.has_key = config.credential.is_some();
        steps.act(Action::Send(block::greeting()));
        Self {
            steps,
            local: config.local,
            size: Size::Long,
            greetings: 0,
            spec: TestSpec::tcp_bulk(),
            guard: now,
            is_sent: false,
            seen: LocalCounts::default(),
            has_reported: false,
            results: None,
        }
    }

    const fn sends(&self) -> bool {
        matches!(self.spec.direction, Direction::Forward)
    }

    /// Checks that the pending bytes can begin a block.
    fn see_beginning(&self) -> Result<()> {
        match Block::beginning(self.steps.inbox.pending()) {
            Some(kind) => Err(self.unexpected(kind, 0)),
            None => Ok(()),
        }
    }

    /// Determines the block size; returns whether it is known.
    fn meet(&mut self) -> bool {
        let pending = self.steps.inbox.pending();
        let Some(size) = Size::of_greeting(pending) else {
            return false;
        };
        self.size = size;
        self.greetings = 1;
        if size == Size::Short {
            self.greetings = block::SHORT_ANSWERS;
            self.steps.act(Action::Send(block::rest_of_greeting()));
        }
        true
    }

    /// Handles one block of the server.
    fn hear(&mut self, now: MonoInstant, block: Block) -> Result<()> {
        let test = Test::from_spec(&self.spec);
        let response = test.kind() + 1;
        match (self.steps.state, block.kind) {
            (State::Greeting, kind::DEBUG_OK) => {
                self.greetings -= 1;
                if self.greetings == 0 {
                    self.welcome();
                }
            }
            (State::Preparing, _) if block.status != 0 => {
                let (code, message) = refusal(test, block.status);
                self.steps.refuse(code, message);
                self.close();
            }
            (State::Preparing, kind) if kind == response => self.open(now, &block)?,
            (State::Connecting | State::Running | State::Awaiting, _) if block.status != 0 => {
                let reason = format!("the server gave the test up: {}", error_words(block.status));
                self.steps
                    .stop(now, StopCause::Peer, RefusalCode::Internal, reason);
            }
            (State::Running | State::Awaiting, kind)
                if test.is_results(kind) && self.results.is_none() =>
            {
                // The server has seen the end of the stream: stop repeating it.
                if self.steps.state == State::Running && self.sends() && !self.is_sent {
                    self.steps.act(Action::StopSenders);
                }
                self.results = Some(block);
                self.finish()?;
            }
            (_, kind) => return Err(self.unexpected(kind, block.status)),
        }
        Ok(())
    }

    fn unexpected(&self, kind: u32, status: u32) -> ProtocolError {
        let cause = match self.steps.state {
            State::Greeting => format!(
                "a block of type {kind} is not how a netserver answers: check host and port, and that `netserver` runs there"
            ),
            _ => format!("a block of type {kind} and status {status} has no place there"),
        };
        self.steps
            .unexpected("a block", self.steps.inbox.offset(), cause)
    }

    fn welcome(&mut self) {
        self.steps.rest(State::Idle);
        self.steps.meet_server(1, Facts::default());
    }

    fn begin(&mut self, now: MonoInstant, spec: TestSpec) {
        if self.steps.refuses(&Netperf, &spec) {
            return;
        }
        let request = classic::request(&spec, self.local).write(self.size);
        self.steps.act(Action::Send(request));
        self.spec = spec;
        (self.is_sent, self.has_reported) = (false, false);
        (self.seen, self.results) = (LocalCounts::default(), None);
        self.steps.begin_phase(now, self.steps.timeout * 2);
        self.steps.step(now, State::Preparing);
    }

    /// Opens the data stream to the server's port.
    fn open(&mut self, now: MonoInstant, response: &Block) -> Result<()> {
        let test = Test::from_spec(&self.spec);
        let named = response.word(test.port_at());
        let port = u16::try_from(named).ok().filter(|port| *port > 0);
        let port = port.ok_or_else(|| {
            self.steps.unexpected(
                "a response",
                self.steps.inbox.offset(),
                format!("{named} is not a data port"),
            )
        })?;
        self.guard = now.after(classic::guard(&self.spec));
        self.steps.step(now, State::Connecting);
        let least = match self.spec.transport() {
            Transport::Tcp => 1,
            Transport::Udp => u16::try_from(self.spec.payload().get()).unwrap_or(u16::MAX),
        };
        self.steps.open(
            StreamTarget::Ports(vec![(test.server_side(), vec![port])]),
            Streams { least },
        );
        Ok(())
    }

    /// Starts the traffic: the server's side started with its response.
    fn run(&mut self, now: MonoInstant) {
        self.steps
            .act(match Test::from_spec(&self.spec).server_side() {
                Side::Receiver => Action::Start(Side::Sender),
                Side::Sender => Action::Start(Side::Receiver),
            });
        let whole = whole_time(&self.spec);
        let limit = whole.saturating_add(drain(whole));
        let longest = limit.max(self.guard.saturating_since(now));
        self.steps
            .begin_phase(now, longest.saturating_add(self.steps.timeout));
        self.steps.enter(now, State::Running, limit);
    }

    /// This end is done: waits for results. A server that missed the end of the stream ends the test by its own clock.
    fn await_results(&mut self, now: MonoInstant) -> Result<()> {
        let rest = match self.spec.transport() {
            Transport::Tcp => drain(whole_time(&self.spec)),
            Transport::Udp => self.guard.saturating_since(now),
        };
        self.steps.enter(
            now,
            State::Awaiting,
            self.steps.timeout.saturating_add(rest),
        );
        self.finish()
    }

    /// Ends the test once both ends have reported.
    fn finish(&mut self) -> Result<()> {
        let Some(results) = self.results.take_if(|_| self.has_reported) else {
            return Ok(());
        };
        let report = self.report(&results)?;
        self.steps.report(report);
        self.close_with(TestEnd::Complete)
    }

    fn report(&self, results: &Block) -> Result<Vec<EndpointReport>> {
        let report = classic::report(&self.spec, results, self.seen);
        report.map_err(|cause| {
            self.steps.unreadable(
                "results",
                self.steps.inbox.offset(),
                &results.write(self.size),
                cause,
            )
        })
    }
}

/// L4 payload that this end's receivers took, bytes.
fn taken(reports: &[EndpointReport]) -> u64 {
    let receivers = reports
        .iter()
        .filter(|report| report.side == Side::Receiver);
    let streams = receivers.flat_map(|report| &report.streams);
    streams.map(|stream| stream.bytes.get()).sum()
}

/// Why a server refuses a test, by its error number.
fn refusal(test: Test, status: u32) -> (RefusalCode, String) {
    /// netserver's error number for an unknown test.
    const UNKNOWN_TEST: u32 = 998;
    if status == UNKNOWN_TEST {
        let message = format!("this netserver does not know {}", test.as_str());
        return (RefusalCode::Unsupported, message);
    }
    let message = format!(
        "the server could not begin {}: {}",
        test.as_str(),
        error_words(status)
    );
    (RefusalCode::Internal, message)
}

/// Text for an error number of the server's operating system, which is not known.
fn error_words(status: u32) -> String {
    format!("it says error {}, see errno there", status.cast_signed())
}

impl Stepping for Client {
    stepping_at!(steps);

    fn advance(&mut self, now: MonoInstant) -> Result<()> {
        loop {
            match self.steps.state {
                State::Greeting if self.greetings == 0 => {
                    self.see_beginning()?;
                    if !self.meet() {
                        return Ok(());
                    }
                }
                // Blocks that arrive while this end connects are handled after that.
                State::Connecting if self.steps.inbox.pending().len() <= self.size.bytes() => {
                    return Ok(());
                }
                State::Stopping | State::Closed => {
                    self.steps.inbox.clear();
                    return Ok(());
                }
                _ => {}
            }
            self.see_beginning()?;
            let Some(block) = self.steps.inbox.take_block(self.size) else {
                return Ok(());
            };
            self.hear(now, block)?;
        }
    }

    fn overdue(&mut self, now: MonoInstant, limit: Duration) -> Result<()> {
        if self.steps.state == State::Greeting {
            return Err(self.steps.silent(limit));
        }
        let reason = self.steps.nothing_came("the server", limit);
        self.steps.time_out(now, &reason);
        Ok(())
    }

    fn answered(&mut self, now: MonoInstant, input: Input<'_>) -> Result<()> {
        match input {
            Input::Begin(spec) if self.steps.state == State::Idle => self.begin(now, *spec),
            Input::Connected if self.steps.state == State::Connecting => {
                self.run(now);
                return self.advance(now);
            }
            Input::Finished { sent } if self.steps.state == State::Running && !self.is_sent => {
                self.is_sent = true;
                self.seen.sent = sent.iter().map(|count| PacketCount::get(*count)).sum();
            }
            Input::Reports(reports) if self.steps.state == State::Running && !self.has_reported => {
                self.has_reported = true;
                self.seen.taken = taken(&reports);
                return self.await_results(now);
            }
            other => return Err(self.steps.out_of_turn(other.name(), "")),
        }
        Ok(())
    }

    /// Ends the traffic at the user's request. A server that sends cannot be stopped without losing its results.
    fn end_traffic(&mut self, now: MonoInstant) {
        if self.steps.state == State::Running && self.sends() {
            self.steps.act(Action::StopSenders);
        } else if self.steps.state.has_test() && self.steps.state != State::Awaiting {
            self.steps.interrupt(now);
        }
    }
}

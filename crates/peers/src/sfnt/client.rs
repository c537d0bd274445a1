//! Client. The drawing in [`super`] shows both ends.

use super::batches::Batches;
use super::options::{Options, obstacle};
use super::streams::Streams;
use super::wire::{Layout, put_address, put_int};
use super::{Release, Sfnt};
use crate::error::{Excerpt, ProtocolError};
use crate::moves::{states, whole_time};
use crate::session::{
    Action, ClientConfig, Grant, Input, RefusalCode, StopCause, StreamEvent, StreamOrder,
    StreamPorts, StreamTarget, TestEnd,
};
use crate::steps::{Phase as _, Stepping, Steps, drain, stepping_at};
use linerate_model::MonoInstant;
use linerate_model::spec::{Side, TestSpec, Transport};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

states! {
    /// Where a client is.
    pub(super) enum State {
        /// The server's version is not received yet.
        Greeting = "greeting",
        Idle = "idle",
        /// This end binds its datagram socket.
        Preparing = "preparing",
        /// The server has the options; its data address is not received yet.
        Opening = "opening",
        /// This end connects its stream.
        Connecting = "connecting",
        Running = "running",
        /// All that was announced has been exchanged.
        Ending = "ending",
        /// The test ends early, and the session with it.
        Stopping = "stopping",
        Closed = "closed",
    }
    with a test: Preparing | Opening | Connecting | Running | Ending;
}

/// A client session.
#[derive(Debug)]
pub(super) struct Client {
    steps: Steps<State>,
    local: IpAddr,
    layout: Layout,
    spec: TestSpec,
    /// Test for which the data stream was opened, if it is open.
    opened_for: Option<TestSpec>,
    batches: Batches,
}

impl Client {
    pub(super) fn new(config: &ClientConfig, now: MonoInstant) -> Self {
        let spec = TestSpec::ping_pong(Transport::Udp);
        let mut steps = Steps::waiting(State::Greeting, config.timeout, now);
        steps.has_key = config.credential.is_some();
        Self {
            steps,
            local: config.local.to_canonical(),
            layout: Layout::V1_6,
            batches: Batches::from_spec(&spec, now),
            spec,
            opened_for: None,
        }
    }

    fn unexpected(&self) -> Result<(), ProtocolError> {
        let pending = Excerpt::from_bytes(self.steps.inbox.pending());
        if pending.is_empty() {
            return Ok(());
        }
        Err(self.steps.unexpected(
            "bytes",
            self.steps.inbox.end(),
            format!("{pending}: a server has nothing to say there"),
        ))
    }

    /// Reads the server's version, which it sends first.
    fn take_release(&mut self) -> Result<(), ProtocolError> {
        let state = self.steps.state.name();
        let said = self
            .steps
            .inbox
            .take_message(state, "version", |c| Ok((c.text()?, c.text()?)));
        let said = said.map_err(|error| match error {
            ProtocolError::Body { offset, bytes, .. } => ProtocolError::Unexpected {
                state,
                message: "something else than its version",
                offset,
                cause: format!(
                    "{bytes} is not how sfnt-pingpong begins: check host and port, and that sfnt-pingpong runs there"
                ),
            },
            other => other,
        })?;
        let Some((version, checksum)) = said else {
            return Ok(());
        };
        let release = Release {
            version: version.unwrap_or_default(),
            checksum: checksum.unwrap_or_default(),
        };
        self.layout = Layout::from_release(&release);
        let facts = [
            ("sfnt-version", release.version),
            ("sfnt-checksum", release.checksum),
        ];
        self.steps.rest(State::Idle);
        self.steps.meet_server(1, facts.into_iter().collect());
        self.unexpected()
    }

    fn begin(&mut self, now: MonoInstant, spec: TestSpec) {
        if self.steps.refuses(&Sfnt::DEFAULT, &spec) {
            return;
        }
        if let Some(why) = self.cannot(&spec) {
            return self.steps.cannot(RefusalCode::Unsupported, why.to_owned());
        }
        self.steps.begin_phase(now, self.steps.timeout * 2);
        let opened = self.opened_for.is_some();
        self.spec = spec;
        if opened {
            self.steps.open(StreamTarget::SameStreams, Streams);
            return self.steps.enter(now, State::Connecting, self.steps.timeout);
        }
        let options = Options::from_spec(&self.spec).encode(self.layout);
        self.steps.act(Action::Send(options));
        match self.spec.transport() {
            Transport::Tcp => self.steps.enter(now, State::Opening, self.steps.timeout),
            Transport::Udp => {
                let spec = Box::new(self.spec.clone());
                let format = Arc::new(Streams);
                self.steps.act(Action::Prepare { spec, format });
                self.steps.enter(now, State::Preparing, self.steps.timeout);
            }
        }
    }

    /// Why this test is impossible with this peer or on the open stream; `None` if it is possible.
    fn cannot(&self, spec: &TestSpec) -> Option<&'static str> {
        let has_ipv4_only = spec.transport() == Transport::Udp && self.layout < Layout::V1_6;
        if let Some(why) = obstacle(spec, self.layout) {
            Some(why)
        } else if has_ipv4_only && self.local.is_ipv6() {
            Some("sfnt-pingpong up to 1.5 has UDP over IPv4 only: use -4, or TCP")
        } else if (self.opened_for.as_ref()).is_some_and(|first| !is_alike(first, spec)) {
            Some("a session of sfnt-pingpong keeps its transport, waiting and cores")
        } else {
            None
        }
    }

    /// Sends the address of the bound datagram socket.
    fn prepared(&mut self, now: MonoInstant, ports: &StreamPorts) -> Result<(), ProtocolError> {
        let port = match ports.as_slice() {
            [(Side::Sender, ports)] => ports.first().copied().filter(|port| *port > 0),
            _ => None,
        };
        let Some(port) = port else {
            let detail = " without the port of its datagram socket";
            return Err(self.steps.out_of_turn("Prepared", detail));
        };
        let mut bytes = Vec::new();
        put_address(&mut bytes, SocketAddr::new(self.local, port), self.layout);
        self.steps.act(Action::Send(bytes));
        self.steps.enter(now, State::Opening, self.steps.timeout);
        self.advance(now)
    }

    /// Reads the address of the server's data socket.
    fn take_place(&mut self, now: MonoInstant) -> Result<(), ProtocolError> {
        let (state, layout) = (self.steps.state.name(), self.layout);
        let place = match self.spec.transport() {
            Transport::Tcp => self.steps.inbox.take_message(state, "data port", |c| {
                let _preloaded = c.text()?;
                c.int().map(i64::from)
            })?,
            Transport::Udp => self.steps.inbox.take_message(state, "UDP address", |c| {
                let _preloaded = c.text()?;
                c.address(layout).map(|address| address.port().into())
            })?,
        };
        let Some(place) = place else { return Ok(()) };
        let port = u16::try_from(place).ok().filter(|port| *port > 0);
        let port = port.ok_or_else(|| {
            let (offset, cause) = (self.steps.inbox.end(), format!("{place} is not a port"));
            self.steps.unexpected("a data port", offset, cause)
        })?;
        self.opened_for = Some(self.spec.clone());
        self.steps.open(
            StreamTarget::Ports(vec![(Side::Receiver, vec![port])]),
            Streams,
        );
        self.steps.step(now, State::Connecting);
        self.unexpected()
    }

    fn run(&mut self, now: MonoInstant) {
        let whole = whole_time(&self.spec);
        let limit = whole.saturating_add(drain(whole));
        self.steps
            .begin_phase(now, limit.saturating_add(self.steps.timeout));
        self.steps.act(Action::Start(Side::Sender));
        self.batches = Batches::from_spec(&self.spec, now);
        self.steps.enter(now, State::Running, limit);
        self.go_on(now);
    }

    /// Announces as many batches as allowed; ends the traffic when all are exchanged.
    fn go_on(&mut self, now: MonoInstant) {
        while let Some(timed) = self.batches.next(now) {
            self.announce(timed.saturating_add(1));
        }
        if self.batches.is_even() {
            self.steps.act(Action::StopSenders);
            self.steps.enter(now, State::Ending, self.steps.timeout);
        }
    }

    fn announce(&mut self, messages: u32) {
        let size = self.spec.payload();
        let mut bytes = Vec::new();
        put_int(&mut bytes, i32::try_from(messages).unwrap_or(i32::MAX));
        put_int(&mut bytes, i32::try_from(size.get()).unwrap_or(i32::MAX));
        self.steps.act(Action::Send(bytes));
        self.steps
            .act(Action::Stream(StreamOrder::Grant(Grant { messages, size })));
    }

    /// The exchange ended before all announced messages were exchanged.
    fn broken_off(&mut self, now: MonoInstant) {
        let done = self.batches.exchanged();
        let reason = match self.spec.transport() {
            Transport::Udp => format!(
                "after {done} messages or a few more, one or its answer was lost or came too late: sfnt-pingpong repeats nothing and cannot go on, start it there again; `linerate serve` there measures loss"
            ),
            Transport::Tcp => format!(
                "after {done} messages or a few more, the data connection broke or an answer did not come: see the messages of sfnt-pingpong there, and start it again"
            ),
        };
        self.steps
            .stop(now, StopCause::Peer, RefusalCode::Timeout, reason);
    }
}

/// Whether two tests can share a session.
fn is_alike(first: &TestSpec, next: &TestSpec) -> bool {
    let common = |spec: &TestSpec| (spec.transport(), spec.wait, spec.pinning);
    common(first) == common(next) && first.socket == next.socket
}

impl Stepping for Client {
    stepping_at!(steps);

    fn feed(&mut self, _now: MonoInstant, bytes: &[u8]) -> Result<(), ProtocolError> {
        self.steps
            .inbox
            .feed_bounded(bytes, self.steps.state.name())
    }

    fn advance(&mut self, now: MonoInstant) -> Result<(), ProtocolError> {
        match self.steps.state {
            State::Greeting => self.take_release(),
            State::Opening => self.take_place(now),
            // The server may answer the options before this end has bound its socket.
            State::Preparing => Ok(()),
            State::Stopping | State::Closed => {
                self.steps.inbox.clear();
                Ok(())
            }
            State::Idle | State::Connecting | State::Running | State::Ending => self.unexpected(),
        }
    }

    fn overdue(&mut self, now: MonoInstant, limit: Duration) -> Result<(), ProtocolError> {
        let state = self.steps.state.name();
        match self.steps.state {
            State::Greeting => Err(self.steps.silent(limit)),
            State::Ending => Err(self.steps.hangs(limit)),
            _ => {
                let reason = format!(
                    "nothing came of it within {} s in state {state}",
                    limit.as_secs_f64()
                );
                self.steps.time_out(now, &reason);
                Ok(())
            }
        }
    }

    fn answered(&mut self, now: MonoInstant, input: Input<'_>) -> Result<(), ProtocolError> {
        match (self.steps.state, input) {
            (State::Idle, Input::Begin(spec)) => self.begin(now, *spec),
            // The driver may not have processed the end of the test yet.
            (State::Stopping, Input::Stream(StreamEvent::GrantSpent))
            | (State::Ending, Input::Finished { .. }) => {}
            (State::Preparing, Input::Prepared(Ok(ports))) => return self.prepared(now, &ports),
            (State::Preparing, Input::Prepared(Err(refusal))) => {
                return self.unprepared(&refusal, TestEnd::Impossible);
            }
            (State::Connecting, Input::Connected) => self.run(now),
            (State::Running, Input::Stream(StreamEvent::GrantSpent)) => {
                self.batches.spent();
                self.go_on(now);
            }
            (State::Running, Input::Finished { .. }) => self.broken_off(now),
            (State::Ending, Input::Reports(_)) => {
                self.steps.report(Vec::new());
                self.steps.act(Action::TestOver(TestEnd::Complete));
                self.steps.rest(State::Idle);
            }
            (_, other) => return Err(self.steps.out_of_turn(other.name(), "")),
        }
        Ok(())
    }

    fn part(&mut self, _now: MonoInstant) {
        // A server that waits for an announcement is told that there are no more.
        if self.steps.state == State::Idle && self.opened_for.is_some() {
            self.steps.act(Action::Send(0_i32.to_le_bytes().to_vec()));
        }
    }

    /// Ends the traffic at the user's request, after the announced batches.
    fn end_traffic(&mut self, now: MonoInstant) {
        match self.steps.state {
            State::Running => self.batches.end(),
            State::Preparing | State::Opening | State::Connecting => {
                self.steps.interrupt(now);
            }
            _ => {}
        }
    }
}

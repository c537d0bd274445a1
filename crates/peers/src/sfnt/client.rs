//! The end that asks for tests. The drawing in [`super`] shows both ends.

use super::batches::Batches;
use super::options::{Options, refusal};
use super::wire::{Inbox, Layout, put_address, put_int};
use super::{MAX_TEXT, Release};
use crate::error::{ProtocolError, clean};
use crate::framing::Framing;
use crate::session::{
    Action, ClientConfig, Grant, Input, Limits, PeerHello, RefusalCode, Session, StopCause,
    StreamPorts,
};
use linerate_model::MonoInstant;
use linerate_model::sample::Facts;
use linerate_model::spec::{MAX_DURATION, Side, Stop, TestSpec, Transport, validate};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// How long a test may take beyond its time: a batch that was announced goes to its end.
const DRAIN: Duration = Duration::from_mins(1);

/// Where a client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The server has not said what it is.
    Greeting,
    Idle,
    /// This end binds its datagram socket.
    Preparing,
    /// The server has the options; it has not said where its data socket is.
    Opening,
    /// This end connects its stream.
    Connecting,
    Running,
    /// All that was announced has been exchanged.
    Ending,
    /// The test ends early, and the session with it.
    Stopping,
    Closed,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            Self::Greeting => "greeting",
            Self::Idle => "idle",
            Self::Preparing => "preparing",
            Self::Opening => "opening",
            Self::Connecting => "connecting",
            Self::Running => "running",
            Self::Ending => "ending",
            Self::Stopping => "stopping",
            Self::Closed => "closed",
        }
    }

    const fn has_test(self) -> bool {
        matches!(
            self,
            Self::Preparing | Self::Opening | Self::Connecting | Self::Running | Self::Ending
        )
    }
}

/// A client session.
#[derive(Debug)]
pub(super) struct Client {
    state: State,
    inbox: Inbox,
    actions: VecDeque<Action>,
    timeout: Duration,
    local: IpAddr,
    /// A key was given, which this protocol does not have.
    has_key: bool,
    /// When the present step must be over, and how long it had.
    due: Option<(MonoInstant, Duration)>,
    layout: Layout,
    spec: TestSpec,
    /// The test that the data stream was opened for, if it is open.
    opened_for: Option<TestSpec>,
    batches: Batches,
}

impl Client {
    pub(super) fn new(config: &ClientConfig, now: MonoInstant) -> Self {
        let spec = TestSpec::ping_pong(Transport::Udp);
        Self {
            state: State::Greeting,
            inbox: Inbox::default(),
            actions: VecDeque::new(),
            timeout: config.timeout,
            local: config.local.to_canonical(),
            has_key: config.credential.is_some(),
            due: Some((now.after(config.timeout), config.timeout)),
            layout: Layout::V1_6,
            batches: Batches::of(&spec, now),
            spec,
            opened_for: None,
        }
    }

    fn act(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    fn enter(&mut self, now: MonoInstant, state: State, limit: Duration) {
        self.state = state;
        self.due = Some((now.after(limit), limit));
    }

    fn rest(&mut self) {
        self.state = State::Idle;
        self.due = None;
    }

    fn close(&mut self) {
        self.state = State::Closed;
        self.due = None;
        self.inbox.clear();
        self.act(Action::Closed);
    }

    fn take(&mut self, now: MonoInstant, input: Input<'_>) -> Result<(), ProtocolError> {
        match input {
            Input::Bytes(bytes) => {
                self.inbox.feed(bytes, self.state.name())?;
                self.advance(now)
            }
            Input::Eof => self.eof(),
            Input::Timeout => self.timeout(now),
            Input::Begin(spec) if self.state == State::Idle => {
                self.begin(now, *spec);
                Ok(())
            }
            Input::EndTraffic => {
                self.end_traffic(now);
                Ok(())
            }
            Input::Abort { code, reason } => {
                if self.state.has_test() {
                    self.stop(now, StopCause::Local, code, clean(&reason, MAX_TEXT));
                }
                Ok(())
            }
            Input::Stopped if self.state == State::Stopping => {
                self.act(Action::TestAborted);
                self.close();
                Ok(())
            }
            Input::Bye => {
                self.say_goodbye();
                self.close();
                Ok(())
            }
            Input::Progress(_) => Ok(()),
            other => self.answered(now, other),
        }
    }

    /// What the driver says of the test that it makes.
    fn answered(&mut self, now: MonoInstant, input: Input<'_>) -> Result<(), ProtocolError> {
        match (self.state, input) {
            // The driver may not have seen yet that the test is over.
            (
                State::Stopping,
                Input::Prepared { .. }
                | Input::Refused { .. }
                | Input::Connected
                | Input::Finished { .. }
                | Input::Reports(_)
                | Input::Spent,
            )
            | (State::Ending, Input::Finished { .. }) => Ok(()),
            (State::Preparing, Input::Prepared { ports, .. }) => self.prepared(now, &ports),
            (State::Preparing, Input::Refused { code, message }) => {
                let message = clean(&message, MAX_TEXT);
                self.act(Action::Refused { code, message });
                self.close();
                Ok(())
            }
            (State::Connecting, Input::Connected) => {
                self.run(now);
                Ok(())
            }
            (State::Running, Input::Spent) => {
                self.batches.spent();
                self.go_on(now);
                Ok(())
            }
            (State::Running, Input::Finished { .. }) => {
                self.broken_off(now);
                Ok(())
            }
            (State::Ending, Input::Reports(_)) => {
                self.act(Action::PeerReport(Vec::new()));
                self.act(Action::TestOver);
                self.rest();
                Ok(())
            }
            (state, other) => Err(ProtocolError::OutOfTurn {
                state: state.name(),
                input: other.name(),
                detail: String::new(),
            }),
        }
    }

    /// Takes what has come as far as it goes.
    fn advance(&mut self, now: MonoInstant) -> Result<(), ProtocolError> {
        match self.state {
            State::Greeting => self.take_release(),
            State::Opening => self.take_place(now),
            // The server may answer the options before this end has bound its socket.
            State::Preparing => Ok(()),
            State::Stopping | State::Closed => {
                self.inbox.clear();
                Ok(())
            }
            State::Idle | State::Connecting | State::Running | State::Ending => self.unexpected(),
        }
    }

    fn unexpected(&self) -> Result<(), ProtocolError> {
        let pending = self.inbox.pending();
        if pending.is_empty() {
            return Ok(());
        }
        Err(ProtocolError::Unexpected {
            state: self.state.name(),
            message: "bytes",
            offset: self.inbox.end(),
            cause: format!("{pending}: a server has nothing to say there"),
        })
    }

    /// What the server is: it says so first.
    fn take_release(&mut self) -> Result<(), ProtocolError> {
        let state = self.state.name();
        let said = self
            .inbox
            .take(state, "version", |c| Ok((c.text()?, c.text()?)));
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
        self.layout = Layout::of(&release);
        let facts = Facts::from([
            ("sfnt-version".to_owned(), release.version.into()),
            ("sfnt-checksum".to_owned(), release.checksum.into()),
        ]);
        self.rest();
        self.act(Action::PeerHello(Box::new(PeerHello {
            facts,
            limits: Limits {
                max_streams: 1,
                ..Limits::default()
            },
            ..PeerHello::default()
        })));
        self.unexpected()
    }

    fn begin(&mut self, now: MonoInstant, spec: TestSpec) {
        let wrong = validate(&spec).err().map(|error| error.to_string());
        let key = self
            .has_key
            .then(|| "sfnt-pingpong has no keys: leave out --key".to_owned());
        let refused = key.or(wrong).map(|why| (RefusalCode::Invalid, why));
        let refused = refused.or_else(|| {
            let why = self.cannot(&spec)?;
            Some((RefusalCode::Unsupported, why))
        });
        if let Some((code, message)) = refused {
            return self.act(Action::Refused { code, message });
        }
        let opened = self.opened_for.is_some();
        self.spec = spec;
        if opened {
            self.act(Action::ReuseStreams {
                framing: Framing::Sfnt,
            });
            return self.enter(now, State::Connecting, self.timeout);
        }
        let options = Options::of(&self.spec).encode(self.layout);
        self.act(Action::Send(options));
        match self.spec.transport {
            Transport::Tcp => self.enter(now, State::Opening, self.timeout),
            Transport::Udp => {
                let spec = Box::new(self.spec.clone());
                let framing = Some(Framing::Sfnt);
                self.act(Action::Prepare { spec, framing });
                self.enter(now, State::Preparing, self.timeout);
            }
        }
    }

    /// What this test needs and the far end or the open stream cannot give.
    fn cannot(&self, spec: &TestSpec) -> Option<String> {
        let words = |text: &str| Some(text.to_owned());
        if let Some(why) = refusal(spec, self.layout) {
            return Some(why);
        }
        if spec.transport == Transport::Udp && self.layout < Layout::V1_6 && self.local.is_ipv6() {
            return words("sfnt-pingpong up to 1.5 has UDP over IPv4 only: use -4, or TCP");
        }
        let same = |first: &TestSpec| is_alike(first, spec);
        match &self.opened_for {
            Some(first) if !same(first) => {
                words("a session of sfnt-pingpong keeps its transport, waiting and cores")
            }
            _ => None,
        }
    }

    /// The datagram socket is bound: tells where.
    fn prepared(&mut self, now: MonoInstant, ports: &StreamPorts) -> Result<(), ProtocolError> {
        let port = match ports.as_slice() {
            [(Side::Sender, ports)] => ports.first().copied().filter(|port| *port > 0),
            _ => None,
        };
        let Some(port) = port else {
            return Err(ProtocolError::OutOfTurn {
                state: self.state.name(),
                input: "Prepared",
                detail: " without the port of its datagram socket".to_owned(),
            });
        };
        let mut bytes = Vec::new();
        put_address(&mut bytes, SocketAddr::new(self.local, port), self.layout);
        self.act(Action::Send(bytes));
        self.enter(now, State::Opening, self.timeout);
        self.advance(now)
    }

    /// Where the server's data socket is.
    fn take_place(&mut self, now: MonoInstant) -> Result<(), ProtocolError> {
        let (state, layout) = (self.state.name(), self.layout);
        let place = match self.spec.transport {
            Transport::Tcp => self.inbox.take(state, "data port", |c| {
                let _preloaded = c.text()?;
                c.int().map(i64::from)
            })?,
            Transport::Udp => self.inbox.take(state, "UDP address", |c| {
                let _preloaded = c.text()?;
                c.address(layout).map(|address| address.port().into())
            })?,
        };
        let Some(place) = place else { return Ok(()) };
        let port = u16::try_from(place).ok().filter(|port| *port > 0);
        let port = port.ok_or_else(|| ProtocolError::Unexpected {
            state,
            message: "a data port",
            offset: self.inbox.end(),
            cause: format!("{place} is no port"),
        })?;
        self.opened_for = Some(self.spec.clone());
        self.act(Action::OpenStreams {
            ports: vec![(Side::Receiver, vec![port])],
            framing: Framing::Sfnt,
        });
        self.enter(now, State::Connecting, self.timeout * 2);
        self.unexpected()
    }

    fn run(&mut self, now: MonoInstant) {
        let time = match self.spec.stop {
            Stop::After(time) => time,
            Stop::Bytes(_) | Stop::Transactions(_) => MAX_DURATION,
        };
        let limit = time.saturating_add(self.spec.warm_up).saturating_add(DRAIN);
        self.act(Action::StartSenders);
        self.batches = Batches::of(&self.spec, now);
        self.enter(now, State::Running, limit);
        self.go_on(now);
    }

    /// Announces what may be announced; ends the traffic when all of it is done.
    fn go_on(&mut self, now: MonoInstant) {
        while let Some(timed) = self.batches.next(now) {
            self.announce(timed.saturating_add(1));
        }
        if self.batches.is_even() {
            self.act(Action::StopSenders);
            self.enter(now, State::Ending, self.timeout);
        }
    }

    fn announce(&mut self, messages: u32) {
        let size = self.spec.payload_bytes;
        let mut bytes = Vec::new();
        put_int(&mut bytes, i32::try_from(messages).unwrap_or(i32::MAX));
        put_int(&mut bytes, i32::try_from(size.get()).unwrap_or(i32::MAX));
        self.act(Action::Send(bytes));
        self.act(Action::Grant(Grant { messages, size }));
    }

    /// The exchange came to its end before all that was announced was exchanged.
    fn broken_off(&mut self, now: MonoInstant) {
        let done = self.batches.exchanged();
        let reason = match self.spec.transport {
            Transport::Udp => format!(
                "after {done} messages or a few more, one or its answer was lost or came too late: sfnt-pingpong repeats nothing and cannot go on, start it there again; `linerate serve` there measures loss"
            ),
            Transport::Tcp => format!(
                "after {done} messages or a few more, the data connection broke or an answer did not come: see the messages of sfnt-pingpong there, and start it again"
            ),
        };
        self.stop(now, StopCause::Peer, RefusalCode::Timeout, reason);
    }

    /// The user has seen enough. What is announced goes to its end first.
    fn end_traffic(&mut self, now: MonoInstant) {
        match self.state {
            State::Running => self.batches.end(),
            State::Preparing | State::Opening | State::Connecting => {
                let reason = "stopped by its user".to_owned();
                self.stop(now, StopCause::Local, RefusalCode::Interrupted, reason);
            }
            _ => {}
        }
    }

    fn stop(&mut self, now: MonoInstant, cause: StopCause, code: RefusalCode, reason: String) {
        self.act(Action::Stop {
            cause,
            code,
            reason,
        });
        self.enter(now, State::Stopping, self.timeout * 2);
    }

    /// A server that is waiting for the next announcement is told that there is none.
    fn say_goodbye(&mut self) {
        if self.state == State::Idle && self.opened_for.is_some() {
            self.act(Action::Send(0_i32.to_le_bytes().to_vec()));
        }
    }

    fn eof(&mut self) -> Result<(), ProtocolError> {
        if self.state == State::Stopping {
            self.act(Action::TestAborted);
            self.close();
            return Ok(());
        }
        Err(ProtocolError::Eof {
            state: self.state.name(),
            offset: self.inbox.end(),
            pending: self.inbox.pending(),
        })
    }

    fn timeout(&mut self, now: MonoInstant) -> Result<(), ProtocolError> {
        let Some((_, limit)) = self.due.filter(|(due, _)| now >= *due) else {
            return Ok(());
        };
        let state = self.state.name();
        match self.state {
            State::Greeting => Err(ProtocolError::Silent {
                state,
                silence: limit,
            }),
            State::Stopping | State::Ending => Err(ProtocolError::Overdue {
                state,
                limit,
                hint: "a traffic thread here hangs",
            }),
            _ => {
                let reason = format!(
                    "nothing came of it within {} s in state {state}",
                    limit.as_secs_f64()
                );
                self.stop(now, StopCause::Local, RefusalCode::Timeout, reason);
                Ok(())
            }
        }
    }
}

/// Whether two tests can share a session.
fn is_alike(first: &TestSpec, next: &TestSpec) -> bool {
    let common = |spec: &TestSpec| (spec.transport, spec.wait, spec.pinning);
    common(first) == common(next) && first.socket == next.socket
}

impl Session for Client {
    fn handle(&mut self, now: MonoInstant, input: Input<'_>) -> Result<(), ProtocolError> {
        if self.state == State::Closed {
            return Ok(());
        }
        let outcome = self.take(now, input);
        if outcome.is_err() {
            self.close();
        }
        outcome
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn deadline(&self) -> Option<MonoInstant> {
        self.due.map(|(due, _)| due)
    }

    fn state(&self) -> &'static str {
        self.state.name()
    }
}

//! The end that is asked. The drawing in [`super`] shows both ends.

use super::MAX_TEXT;
use super::options::Options;
use super::wire::{Inbox, Layout, put_address, put_int, put_text};
use crate::error::{ProtocolError, clean};
use crate::framing::Framing;
use crate::session::{
    Action, Grant, Input, PeerHello, Progress, RefusalCode, ServerConfig, Session, StopCause,
    StreamPorts,
};
use linerate_model::spec::{MAX_TCP_PAYLOAD, MAX_UDP_PAYLOAD, Side, TestSpec, Transport};
use linerate_model::{ByteCount, MonoInstant};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// How long no message may come: an original client pauses for two seconds at most.
const NO_DATA: Duration = Duration::from_mins(1);

/// How long the responder may take to come to its end.
const DRAIN: Duration = Duration::from_secs(30);

/// Where a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Waits for the options.
    Asking,
    /// The driver makes ready.
    Preparing,
    /// Waits for the address of the client's datagram socket.
    Addressing,
    /// The data stream is being connected.
    Connecting,
    Running,
    /// The client has said that all is over; waits for this end's reports.
    Ending,
    /// The test ends early.
    Stopping,
    Closed,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            Self::Asking => "asking",
            Self::Preparing => "preparing",
            Self::Addressing => "addressing",
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
            Self::Preparing | Self::Addressing | Self::Connecting | Self::Running | Self::Ending
        )
    }
}

/// A server session.
#[derive(Debug)]
pub(super) struct Server {
    state: State,
    inbox: Inbox,
    actions: VecDeque<Action>,
    config: ServerConfig,
    layout: Layout,
    due: Option<(MonoInstant, Duration)>,
    transport: Transport,
    /// Messages that had been answered when they last grew, and when that was seen.
    moved: (u64, MonoInstant),
}

impl Server {
    pub(super) fn new(config: ServerConfig, now: MonoInstant) -> Self {
        let timeout = config.timeout;
        let mut server = Self {
            state: State::Asking,
            inbox: Inbox::default(),
            actions: VecDeque::new(),
            layout: Layout::of(&config.sfnt),
            due: Some((now.after(timeout), timeout)),
            transport: Transport::Tcp,
            moved: (0, now),
            config,
        };
        if server.config.turn_away.is_some() {
            // The protocol has no word for why.
            server.close();
            return server;
        }
        let mut bytes = Vec::new();
        put_text(&mut bytes, Some(&server.config.sfnt.version));
        put_text(&mut bytes, Some(&server.config.sfnt.checksum));
        server.act(Action::Send(bytes));
        server
    }

    fn act(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    fn enter(&mut self, now: MonoInstant, state: State, limit: Duration) {
        self.state = state;
        self.due = Some((now.after(limit), limit));
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
            Input::Abort { code, reason } => {
                if self.state.has_test() {
                    self.stop(now, code, clean(&reason, MAX_TEXT));
                }
                Ok(())
            }
            Input::Stopped if self.state == State::Stopping => {
                self.act(Action::TestAborted);
                self.close();
                Ok(())
            }
            Input::Bye => {
                self.close();
                Ok(())
            }
            Input::Progress(progress) => {
                self.progress(now, progress);
                Ok(())
            }
            other => self.answered(now, other),
        }
    }

    /// What the driver says of the test it was asked to make.
    fn answered(&mut self, now: MonoInstant, input: Input<'_>) -> Result<(), ProtocolError> {
        match (self.state, input) {
            // The driver may not have seen yet that the test is over.
            (
                State::Stopping,
                Input::Prepared { .. }
                | Input::Refused { .. }
                | Input::Connected
                | Input::Finished { .. }
                | Input::Reports(_),
            )
            | (State::Running | State::Ending | State::Stopping, Input::Spent) => Ok(()),
            (State::Preparing, Input::Prepared { ports, .. }) => self.prepared(now, &ports),
            (State::Preparing, Input::Refused { code, message }) => {
                let message = clean(&message, MAX_TEXT);
                self.act(Action::Refused { code, message });
                self.close();
                Ok(())
            }
            (State::Connecting, Input::Connected) => {
                self.act(Action::StartReceivers);
                self.moved = (0, now);
                let limit = self.config.limits.max_duration;
                self.enter(now, State::Running, limit);
                self.advance(now)
            }
            (State::Ending, Input::Reports(_)) => {
                self.act(Action::TestOver);
                self.close();
                Ok(())
            }
            (state, other) => Err(ProtocolError::OutOfTurn {
                state: state.name(),
                input: other.name(),
                detail: String::new(),
            }),
        }
    }

    fn advance(&mut self, now: MonoInstant) -> Result<(), ProtocolError> {
        match self.state {
            State::Asking => self.take_options(now),
            State::Addressing => self.take_address(now),
            State::Running => self.take_announcements(now),
            // A client may announce while this end still connects.
            State::Preparing | State::Connecting => Ok(()),
            State::Ending | State::Stopping | State::Closed => {
                self.inbox.clear();
                Ok(())
            }
        }
    }

    fn take_options(&mut self, now: MonoInstant) -> Result<(), ProtocolError> {
        let (state, layout, offset) = (self.state.name(), self.layout, self.inbox.end());
        let read = |c: &mut super::wire::Cursor<'_>| Options::decode(c, layout);
        let Some(options) = self.inbox.take(state, "options", read)? else {
            return Ok(());
        };
        let limits = self.config.limits;
        let cannot = |cause| ProtocolError::Unexpected {
            state,
            message: "options",
            offset,
            cause,
        };
        let spec = options.to_spec(limits.max_duration).map_err(cannot)?;
        if let Some(why) = limits.exceeded_by(&spec) {
            return Err(cannot(why));
        }
        self.act(Action::PeerHello(Box::new(PeerHello {
            session: self.config.session.clone(),
            limits,
            ..PeerHello::default()
        })));
        self.transport = spec.transport;
        self.prepare(now, spec);
        Ok(())
    }

    fn prepare(&mut self, now: MonoInstant, spec: TestSpec) {
        let timeout = self.config.timeout;
        self.enter(now, State::Preparing, timeout);
        self.act(Action::Prepare {
            spec: Box::new(spec),
            framing: Some(Framing::Sfnt),
        });
    }

    /// The data socket waits: tells where.
    fn prepared(&mut self, now: MonoInstant, ports: &StreamPorts) -> Result<(), ProtocolError> {
        let port = match ports.as_slice() {
            [(Side::Receiver, ports)] => ports.first().copied().filter(|port| *port > 0),
            _ => None,
        };
        let Some(port) = port else {
            return Err(ProtocolError::OutOfTurn {
                state: self.state.name(),
                input: "Prepared",
                detail: " without the port of its data socket".to_owned(),
            });
        };
        let mut bytes = Vec::new();
        put_text(&mut bytes, None);
        let timeout = self.config.timeout;
        match self.transport {
            Transport::Tcp => {
                put_int(&mut bytes, port.into());
                self.enter(now, State::Connecting, timeout);
            }
            Transport::Udp => {
                let local = self.config.local.to_canonical();
                if local.is_ipv6() && self.layout < Layout::V1_6 {
                    return Err(ProtocolError::Unexpected {
                        state: self.state.name(),
                        message: "options",
                        offset: self.inbox.end(),
                        cause: "sfnt-pingpong up to 1.5 has UDP over IPv4 only".to_owned(),
                    });
                }
                put_address(&mut bytes, SocketAddr::new(local, port), self.layout);
                self.enter(now, State::Addressing, timeout);
            }
        }
        self.act(Action::Send(bytes));
        self.advance(now)
    }

    /// The client's datagram socket. Only its port counts: nothing is sent to an address that has not asked.
    fn take_address(&mut self, now: MonoInstant) -> Result<(), ProtocolError> {
        let (state, layout) = (self.state.name(), self.layout);
        let read = |c: &mut super::wire::Cursor<'_>| c.address(layout);
        let Some(address) = self.inbox.take(state, "UDP address", read)? else {
            return Ok(());
        };
        if address.port() == 0 {
            return Err(ProtocolError::Unexpected {
                state,
                message: "UDP address",
                offset: self.inbox.end(),
                cause: "its port is 0".to_owned(),
            });
        }
        let timeout = self.config.timeout;
        self.enter(now, State::Connecting, timeout);
        self.act(Action::OpenStreams {
            ports: vec![(Side::Sender, vec![address.port()])],
            framing: Framing::Sfnt,
        });
        Ok(())
    }

    fn take_announcements(&mut self, now: MonoInstant) -> Result<(), ProtocolError> {
        let most = match self.transport {
            Transport::Tcp => MAX_TCP_PAYLOAD,
            Transport::Udp => MAX_UDP_PAYLOAD,
        };
        let least = u64::from(self.transport == Transport::Tcp);
        while self.state == State::Running {
            let (state, offset) = (self.state.name(), self.inbox.end());
            let said = self.inbox.take(state, "announcement", |c| match c.int()? {
                0 => Ok((0, 0)),
                count => Ok((count, c.int()?)),
            })?;
            let Some((count, size)) = said else {
                return Ok(());
            };
            if (count, size) == (0, 0) {
                self.act(Action::PeerFinished { sent: Vec::new() });
                self.enter(now, State::Ending, DRAIN);
                self.inbox.clear();
                return Ok(());
            }
            let grant = u32::try_from(count).ok().zip(
                u64::try_from(size)
                    .ok()
                    .filter(|size| (least..=most.get()).contains(size)),
            );
            let (messages, size) = grant.ok_or_else(|| ProtocolError::Unexpected {
                state,
                message: "announcement",
                offset,
                cause: format!(
                    "{count} messages of {size} bytes; {least} to {most} bytes are valid"
                ),
            })?;
            self.act(Action::Grant(Grant {
                messages,
                size: ByteCount::new(size),
            }));
        }
        Ok(())
    }

    /// Sees that messages move.
    fn progress(&mut self, now: MonoInstant, progress: Progress) {
        if self.state != State::Running {
            return;
        }
        let answered = progress.packets.get();
        if answered != self.moved.0 {
            self.moved = (answered, now);
        } else if now.saturating_since(self.moved.1) >= NO_DATA {
            let reason = "no message came for a minute".to_owned();
            self.stop(now, RefusalCode::Timeout, reason);
        }
    }

    fn stop(&mut self, now: MonoInstant, code: RefusalCode, reason: String) {
        self.act(Action::Stop {
            cause: StopCause::Local,
            code,
            reason,
        });
        let limit = self.config.timeout * 2;
        self.enter(now, State::Stopping, limit);
    }

    fn eof(&mut self) -> Result<(), ProtocolError> {
        match self.state {
            // It has said all that it has to say.
            State::Ending => Ok(()),
            State::Stopping => {
                self.act(Action::TestAborted);
                self.close();
                Ok(())
            }
            // An original client that is told of another version than its own leaves without a word.
            State::Asking if self.inbox.end() == 0 => Err(ProtocolError::TurnedAway {
                state: self.state.name(),
                code: RefusalCode::Unsupported,
                message: format!(
                    "it left when it was told version {} and checksum {}: it wants its own, which it prints; give them with --sfnt-version and --sfnt-checksum",
                    self.config.sfnt.version, self.config.sfnt.checksum
                ),
            }),
            state => Err(ProtocolError::Eof {
                state: state.name(),
                offset: self.inbox.end(),
                pending: self.inbox.pending(),
            }),
        }
    }

    fn timeout(&mut self, now: MonoInstant) -> Result<(), ProtocolError> {
        let Some((_, limit)) = self.due.filter(|(due, _)| now >= *due) else {
            return Ok(());
        };
        let state = self.state.name();
        match self.state {
            State::Asking | State::Addressing => Err(ProtocolError::Silent {
                state,
                silence: limit,
            }),
            State::Stopping | State::Ending => Err(ProtocolError::Overdue {
                state,
                limit,
                hint: "a traffic thread here hangs",
            }),
            _ => {
                let reason = format!("it did not end within {} s", limit.as_secs_f64());
                self.stop(now, RefusalCode::Timeout, reason);
                Ok(())
            }
        }
    }
}

impl Session for Server {
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

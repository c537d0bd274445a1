//! Server. The drawing in [`super`] shows both ends.

use super::Release;
use super::options::Options;
use super::streams::Streams;
use super::wire::{Layout, put_address, put_int, put_text};
use crate::error::{ProtocolError, Result};
use crate::moves::{Movement, states};
use crate::session::{
    Action, Grant, Input, Progress, RefusalCode, Sent, ServerConfig, StreamEvent, StreamOrder,
    StreamPorts, StreamTarget, TestEnd,
};
use crate::steps::{Phase as _, Stepping, Steps, stepping_at};
use linerate_model::spec::{MAX_TCP_PAYLOAD, MAX_UDP_PAYLOAD, Side, TestSpec, Transport};
use linerate_model::{ByteCount, MonoInstant};
use std::net::SocketAddr;
use std::time::Duration;

/// Timeout without a message: an original client pauses for two seconds at most.
const NO_DATA: Duration = Duration::from_mins(1);

/// Timeout for the end of the responder.
const DRAIN: Duration = Duration::from_secs(30);

states! {
    /// Where a server is.
    pub(super) enum State {
        /// Waits for the options.
        Asking = "asking",
        /// The driver prepares the test.
        Preparing = "preparing",
        /// Waits for the address of the client's datagram socket.
        Addressing = "addressing",
        /// The data stream is being connected.
        Connecting = "connecting",
        Running = "running",
        /// The client has ended the test; waits for this end's reports.
        Ending = "ending",
        /// The test ends early.
        Stopping = "stopping",
        Closed = "closed",
    }
    with a test: Preparing | Addressing | Connecting | Running | Ending;
}

/// A server session.
#[derive(Debug)]
pub(super) struct Server {
    steps: Steps<State>,
    config: ServerConfig,
    /// Release that the client is told.
    release: Release,
    layout: Layout,
    transport: Transport,
    /// Progress of answered messages, to detect a stall.
    moved: Movement,
}

impl Server {
    pub(super) fn new(config: ServerConfig, release: Release, now: MonoInstant) -> Self {
        let mut server = Self {
            steps: Steps::waiting(State::Asking, config.timeout, now),
            layout: Layout::from_release(&release),
            transport: Transport::Tcp,
            moved: Movement::from(now),
            config,
            release,
        };
        if server.config.turn_away.is_some() {
            // The protocol cannot carry a reason.
            server.close();
            return server;
        }
        let mut bytes = Vec::new();
        put_text(&mut bytes, Some(&server.release.version));
        put_text(&mut bytes, Some(&server.release.checksum));
        server.steps.act(Action::Send(bytes));
        server
    }

    fn take_options(&mut self, now: MonoInstant) -> Result<()> {
        let (state, layout, offset) =
            (self.steps.state.name(), self.layout, self.steps.inbox.end());
        let read = |c: &mut super::wire::Cursor<'_>| Options::decode(c, layout);
        let Some(options) = self.steps.inbox.take_message(state, "options", read)? else {
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
        self.steps.meet_client(&self.config);
        self.transport = spec.transport();
        self.prepare(now, spec);
        Ok(())
    }

    fn prepare(&mut self, now: MonoInstant, spec: TestSpec) {
        self.steps.enter(now, State::Preparing, self.steps.timeout);
        self.steps.prepare(spec, Streams);
    }

    /// Sends the address of the data socket.
    fn prepared(&mut self, now: MonoInstant, ports: &StreamPorts) -> Result<()> {
        let port = match ports.as_slice() {
            [(Side::Receiver, ports)] => ports.first().copied().filter(|port| *port > 0),
            _ => None,
        };
        let Some(port) = port else {
            let detail = " without the port of its data socket";
            return Err(self.steps.out_of_turn("Prepared", detail));
        };
        let mut bytes = Vec::new();
        put_text(&mut bytes, None);
        let timeout = self.steps.timeout;
        match self.transport {
            Transport::Tcp => {
                put_int(&mut bytes, port.into());
                self.steps.enter(now, State::Connecting, timeout);
            }
            Transport::Udp => {
                let local = self.config.local.to_canonical();
                if local.is_ipv6() && self.layout < Layout::V1_6 {
                    return Err(self.steps.unexpected(
                        "options",
                        self.steps.inbox.end(),
                        "sfnt-pingpong up to 1.5 has UDP over IPv4 only".to_owned(),
                    ));
                }
                put_address(&mut bytes, SocketAddr::new(local, port), self.layout);
                self.steps.enter(now, State::Addressing, timeout);
            }
        }
        self.steps.act(Action::Send(bytes));
        self.advance(now)
    }

    /// Reads the client's datagram address. Only its port is used: nothing is sent to an unverified address.
    fn take_address(&mut self, now: MonoInstant) -> Result<()> {
        let (state, layout) = (self.steps.state.name(), self.layout);
        let read = |c: &mut super::wire::Cursor<'_>| c.address(layout);
        let Some(address) = self.steps.inbox.take_message(state, "UDP address", read)? else {
            return Ok(());
        };
        if address.port() == 0 {
            return Err(ProtocolError::Unexpected {
                state,
                message: "UDP address",
                offset: self.steps.inbox.end(),
                cause: "its port is 0".to_owned(),
            });
        }
        self.steps.enter(now, State::Connecting, self.steps.timeout);
        self.steps.open(
            StreamTarget::Ports(vec![(Side::Sender, vec![address.port()])]),
            Streams,
        );
        Ok(())
    }

    fn take_announcements(&mut self, now: MonoInstant) -> Result<()> {
        let most = match self.transport {
            Transport::Tcp => MAX_TCP_PAYLOAD,
            Transport::Udp => MAX_UDP_PAYLOAD,
        };
        let least = u64::from(self.transport == Transport::Tcp);
        while self.steps.state == State::Running {
            let (state, offset) = (self.steps.state.name(), self.steps.inbox.end());
            let said =
                self.steps
                    .inbox
                    .take_message(state, "announcement", |c| match c.int()? {
                        0 => Ok((0, 0)),
                        count => Ok((count, c.int()?)),
                    })?;
            let Some((count, size)) = said else {
                return Ok(());
            };
            if (count, size) == (0, 0) {
                self.steps.act(Action::PeerFinished { sent: Sent::Untold });
                self.steps.enter(now, State::Ending, DRAIN);
                self.steps.inbox.clear();
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
            self.steps.act(Action::Stream(StreamOrder::Grant(Grant {
                messages,
                size: ByteCount::new(size),
            })));
        }
        Ok(())
    }
}

impl Stepping for Server {
    stepping_at!(steps);

    fn feed(&mut self, _now: MonoInstant, bytes: &[u8]) -> Result<()> {
        self.steps
            .inbox
            .feed_bounded(bytes, self.steps.state.name())
    }

    fn advance(&mut self, now: MonoInstant) -> Result<()> {
        match self.steps.state {
            State::Asking => self.take_options(now),
            State::Addressing => self.take_address(now),
            State::Running => self.take_announcements(now),
            // A client may announce while this end still connects.
            State::Preparing | State::Connecting => Ok(()),
            State::Ending | State::Stopping | State::Closed => {
                self.steps.inbox.clear();
                Ok(())
            }
        }
    }

    fn eof(&mut self, now: MonoInstant) -> Result<()> {
        match self.steps.state {
            // It has said all that it has to say.
            State::Ending => Ok(()),
            // An original client leaves silently if the version differs from its own.
            State::Asking if self.steps.inbox.end() == 0 => Err(self.steps.turned_away(RefusalCode::Unsupported, format!(
                    "it left when it read version {} and checksum {}: it wants its own, which it prints; give them with --sfnt-version and --sfnt-checksum",
                    self.release.version, self.release.checksum
                ))),
            _ => self.cut_off(now),
        }
    }

    fn overdue(&mut self, now: MonoInstant, limit: Duration) -> Result<()> {
        match self.steps.state {
            State::Asking | State::Addressing => Err(self.steps.silent(limit)),
            State::Ending => Err(self.steps.hangs(limit)),
            _ => {
                let reason = format!("it did not end within {} s", limit.as_secs_f64());
                self.steps.time_out(now, &reason);
                Ok(())
            }
        }
    }

    fn answered(&mut self, now: MonoInstant, input: Input<'_>) -> Result<()> {
        match (self.steps.state, input) {
            // The driver may not have seen yet that the test is over.
            (
                State::Running | State::Ending | State::Stopping,
                Input::Stream(StreamEvent::GrantSpent),
            ) => {}
            (State::Preparing, Input::Prepared(Ok(ports))) => return self.prepared(now, &ports),
            (State::Preparing, Input::Prepared(Err(refusal))) => {
                return self.unprepared(&refusal, TestEnd::Refused);
            }
            (State::Connecting, Input::Connected) => {
                self.steps.act(Action::Start(Side::Receiver));
                self.moved = Movement::from(now);
                let limit = self.config.limits.max_duration;
                self.steps.enter(now, State::Running, limit);
                return self.advance(now);
            }
            (State::Ending, Input::Reports(_)) => return self.close_with(TestEnd::Complete),
            (_, other) => return Err(self.steps.out_of_turn(other.name(), "")),
        }
        Ok(())
    }

    fn progress(&mut self, now: MonoInstant, progress: Progress) {
        let is_running = self.steps.state == State::Running;
        let answered = progress.packets.get();
        if is_running && self.moved.has_stalled(now, answered, NO_DATA) {
            self.steps.time_out(now, "no message came for a minute");
        }
    }
}

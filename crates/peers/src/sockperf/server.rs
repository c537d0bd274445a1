//! The end that reflects: one session for each TCP connection, and for each address that sends datagrams.

use super::MAX_TEXT;
use super::wire::{HEADER_LEN, Header, MAX_MESSAGE};
use crate::error::{Excerpt, ProtocolError, clean};
use crate::framing::Framing;
use crate::session::{Action, Input, PeerHello, RefusalCode, ServerConfig, Session, StopCause};
use linerate_model::spec::{Stop, TestSpec, Transport};
use linerate_model::{ByteCount, MonoInstant};
use std::collections::VecDeque;
use std::time::Duration;

/// Where a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No stream yet.
    Waiting,
    Preparing,
    Running,
    Stopping,
    Closed,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Preparing => "preparing",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Closed => "closed",
        }
    }
}

/// A server session.
#[derive(Debug)]
pub(super) struct Server {
    state: State,
    actions: VecDeque<Action>,
    config: ServerConfig,
    due: Option<MonoInstant>,
}

impl Server {
    pub(super) fn new(config: ServerConfig, now: MonoInstant) -> Self {
        Self {
            state: State::Waiting,
            actions: VecDeque::new(),
            due: Some(now.after(config.timeout)),
            config,
        }
    }

    fn act(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    fn enter(&mut self, now: MonoInstant, state: State, limit: Duration) {
        self.state = state;
        self.due = Some(now.after(limit));
    }

    fn close(&mut self) {
        self.state = State::Closed;
        self.due = None;
        self.act(Action::Closed);
    }

    fn take(&mut self, now: MonoInstant, input: Input<'_>) -> Result<(), ProtocolError> {
        match (self.state, input) {
            (State::Waiting, Input::Guest { transport, bytes }) => {
                self.welcome(now, transport, bytes)?;
            }
            (State::Preparing, Input::Refused { code, message }) => {
                let message = clean(&message, MAX_TEXT);
                self.act(Action::Refused { code, message });
                self.close();
            }
            (State::Preparing, Input::Connected) => {
                self.act(Action::StartReceivers);
                let limit = self.config.limits.max_duration;
                self.enter(now, State::Running, limit);
            }
            (State::Running, Input::Reports(_)) => {
                self.act(Action::TestOver);
                self.close();
            }
            (State::Preparing | State::Running, Input::Abort { code, reason }) => {
                self.stop(now, code, clean(&reason, MAX_TEXT));
            }
            (State::Stopping, Input::Stopped) => {
                self.act(Action::TestAborted);
                self.close();
            }
            (_, Input::Timeout) => self.timeout(now)?,
            (_, Input::Bye | Input::Eof) => self.close(),
            (
                _,
                Input::Abort { .. }
                | Input::Bytes(_)
                | Input::Datagram { .. }
                | Input::EndTraffic
                | Input::Heard { .. }
                | Input::Progress(_),
            )
            | (State::Preparing, Input::Prepared { .. })
            // The driver may not have seen yet that the test is over.
            | (
                State::Stopping,
                Input::Prepared { .. }
                | Input::Refused { .. }
                | Input::Connected
                | Input::Reports(_),
            ) => {}
            (state, other) => {
                return Err(ProtocolError::OutOfTurn {
                    state: state.name(),
                    input: other.name(),
                    detail: String::new(),
                });
            }
        }
        Ok(())
    }

    /// A stream came, and what it begins with.
    fn welcome(
        &mut self,
        now: MonoInstant,
        transport: Transport,
        bytes: &[u8],
    ) -> Result<(), ProtocolError> {
        let limits = self.config.limits;
        let spec = TestSpec {
            payload_bytes: ByteCount::new(MAX_MESSAGE as u64),
            stop: Stop::After(limits.max_duration),
            ..TestSpec::ping_pong(transport)
        };
        let over = limits
            .exceeded_by(&spec)
            .map(|message| (RefusalCode::Limit, message));
        if let Some((code, message)) = self.config.turn_away.clone().or(over) {
            self.act(Action::Refused { code, message });
            self.close();
            return Ok(());
        }
        let header = Header::read(bytes);
        let is_ours = header.is_some_and(|h| h.is_from_client() && h.valid_length().is_some());
        if !is_ours {
            return Err(ProtocolError::Body {
                state: self.state.name(),
                message: "first message",
                offset: 0,
                bytes: Excerpt::of(bytes),
                cause: format!(
                    "it does not begin with the {HEADER_LEN} bytes of a client of sockperf 2.7 or later"
                ),
            });
        }
        self.act(Action::PeerHello(Box::new(PeerHello {
            session: self.config.session.clone(),
            limits,
            ..PeerHello::default()
        })));
        let timeout = self.config.timeout;
        self.enter(now, State::Preparing, timeout);
        self.act(Action::Prepare {
            spec: Box::new(spec),
            framing: Some(Framing::Sockperf),
        });
        Ok(())
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

    fn timeout(&mut self, now: MonoInstant) -> Result<(), ProtocolError> {
        if self.due.is_none_or(|due| now < due) {
            return Ok(());
        }
        let state = self.state.name();
        match self.state {
            State::Waiting => Err(ProtocolError::Silent {
                state,
                silence: self.config.timeout,
            }),
            State::Stopping => Err(ProtocolError::Overdue {
                state,
                limit: self.config.timeout * 2,
                hint: "a traffic thread here hangs",
            }),
            _ => {
                let reason = "it goes on for longer than this server allows".to_owned();
                self.stop(now, RefusalCode::Limit, reason);
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
        self.due
    }

    fn state(&self) -> &'static str {
        self.state.name()
    }
}

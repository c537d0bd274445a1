//! Server: one session for each TCP connection, and for each address that sends datagrams.

use super::streams::Streams;
use super::wire::{HEADER_LEN, Header, MAX_MESSAGE};
use crate::error::Result;
use crate::moves::states;
use crate::session::{Action, Input, RefusalCode, ServerConfig, StreamEvent, TestEnd};
use crate::steps::{Stepping, Steps, stepping_at};
use linerate_model::spec::{Side, Stop, TestSpec, Transport};
use linerate_model::{ByteCount, MonoInstant};
use std::time::Duration;

states! {
    /// Where a server is.
    pub(super) enum State {
        /// No stream yet.
        Waiting = "waiting",
        Preparing = "preparing",
        Running = "running",
        Stopping = "stopping",
        Closed = "closed",
    }
    with a test: Preparing | Running;
}

/// A server session.
#[derive(Debug)]
pub(super) struct Server {
    steps: Steps<State>,
    config: ServerConfig,
}

impl Server {
    pub(super) fn new(config: ServerConfig, now: MonoInstant) -> Self {
        Self {
            steps: Steps::waiting(State::Waiting, config.timeout, now),
            config,
        }
    }

    /// Starts the test of a stream that opened with these bytes.
    fn welcome(&mut self, now: MonoInstant, transport: Transport, bytes: &[u8]) -> Result<()> {
        let limits = self.config.limits;
        let spec = TestSpec {
            stop: Stop::After(limits.max_duration),
            ..TestSpec::ping_pong(transport).with_payload(ByteCount::new(MAX_MESSAGE as u64))
        };
        let over = limits
            .exceeded_by(&spec)
            .map(|message| (RefusalCode::Limit, message));
        if let Some((code, message)) = self.config.turn_away.clone().or(over) {
            self.steps.refuse(code, message);
            self.close();
            return Ok(());
        }
        let header = Header::read(bytes);
        let is_ours = header.is_some_and(|h| h.is_from_client() && h.valid_length().is_some());
        if !is_ours {
            return Err(self.steps.unreadable("first message", 0, bytes, format!(
                    "it does not begin with the {HEADER_LEN} bytes of a client of sockperf 2.7 or later"
                )));
        }
        self.steps.meet_client(&self.config);
        self.steps.enter(now, State::Preparing, self.steps.timeout);
        self.steps.prepare(spec, Streams);
        Ok(())
    }
}

impl Stepping for Server {
    stepping_at!(steps);

    fn overdue(&mut self, now: MonoInstant, limit: Duration) -> Result<()> {
        if self.steps.state == State::Waiting {
            return Err(self.steps.silent(limit));
        }
        let reason = "it goes on for longer than this server allows";
        self.steps.break_off(now, RefusalCode::Limit, reason);
        Ok(())
    }

    fn answered(&mut self, now: MonoInstant, input: Input<'_>) -> Result<()> {
        match (self.steps.state, input) {
            (State::Waiting, Input::Stream(StreamEvent::Opened { transport, bytes })) => {
                self.welcome(now, transport, bytes)?;
            }
            (State::Preparing, Input::Prepared(Err(refusal))) => {
                return self.unprepared(&refusal, TestEnd::Refused);
            }
            (State::Preparing, Input::Connected) => {
                self.steps.act(Action::Start(Side::Receiver));
                let limit = self.config.limits.max_duration;
                self.steps.enter(now, State::Running, limit);
            }
            (State::Running, Input::Reports(_)) => return self.close_with(TestEnd::Complete),
            (_, Input::Stream(StreamEvent::Datagram { .. } | StreamEvent::FirstData { .. }))
            | (State::Preparing, Input::Prepared(Ok(_))) => {}
            (_, other) => return Err(self.steps.out_of_turn(other.name(), "")),
        }
        Ok(())
    }

    fn eof(&mut self, _now: MonoInstant) -> Result<()> {
        self.close();
        Ok(())
    }
}

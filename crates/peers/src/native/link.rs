//! Common part of client and server below the test: bytes in, bytes out, keep-alive, the end.

use super::frame::preamble;
use super::message::{Farewell, Message, Role, TooLong};
use super::phase::State;
use super::seal::Channel;
use super::test::Test;
use crate::error::{MAX_TEXT, ProtocolError, Result, clean};
use crate::key::Credential;
use crate::session::{Action, RefusalCode};
use crate::steps::{Phase as _, Steps};
use linerate_model::MonoInstant;
use std::time::Duration;

/// Silence after which an end sends a ping: a tenth of the usual timeout.
const PING_AFTER: Duration = Duration::from_secs(1);

/// Part of a session that both ends share.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) steps: Steps<State>,
    pub(super) test: Test,
    pub(super) channel: Channel,
    /// Role of the peer.
    from: Role,
    /// Time of the last message from the peer, and of the last one to it.
    heard: MonoInstant,
    sent: MonoInstant,
    /// Whether the peer's preamble was valid.
    introduced: bool,
}

impl Core {
    /// With a credential, the peer has to hold its key.
    pub(super) fn new(
        role: Role,
        credential: Option<&Credential>,
        timeout: Duration,
        now: MonoInstant,
    ) -> Self {
        let mut steps = Steps::waiting(State::Greeting, timeout, now);
        let preamble = preamble();
        let (channel, first) = Channel::new(role, credential, &preamble);
        let from = match role {
            Role::Client => {
                let first = first.map(|part| part.encode().expect("invariant: a part is short"));
                let opening = [preamble, first.unwrap_or_default()].concat();
                steps.act(Action::Send(opening));
                Role::Server
            }
            Role::Server => Role::Client,
        };
        Self {
            steps,
            test: Test::default(),
            channel,
            from,
            heard: now,
            sent: now,
            introduced: false,
        }
    }

    /// Queues a message, and returns its length in bytes; one that is too long is not sent.
    pub(super) fn send(&mut self, now: MonoInstant, message: &Message) -> Result<usize, TooLong> {
        let frame = message.encode()?;
        let length = frame.len();
        self.pass_on(now, frame);
        Ok(length)
    }

    /// Queues a frame, or keeps it until it can be sealed.
    pub(super) fn pass_on(&mut self, now: MonoInstant, frame: Vec<u8>) {
        let bytes = self.channel.carry(self.role(), frame);
        if !bytes.is_empty() {
            self.sent = now;
            self.steps.act(Action::Send(bytes));
        }
    }

    /// Role of this end.
    pub(super) const fn role(&self) -> Role {
        match self.from {
            Role::Client => Role::Server,
            Role::Server => Role::Client,
        }
    }

    /// Queues a message whose size this end bounds.
    pub(super) fn say(&mut self, now: MonoInstant, message: &Message) {
        self.send(now, message)
            .expect("invariant: this end bounds the parts of its short messages");
    }

    pub(super) fn feed(&mut self, now: MonoInstant, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.heard = now;
        }
        self.steps.inbox.feed(bytes);
    }

    /// The next message of the peer, with its offset.
    pub(super) fn next(&mut self, now: MonoInstant) -> Result<Option<(Message, u64)>> {
        let state = self.steps.state;
        // What comes with a hello waits for the owner's answer.
        let is_waiting = matches!(state, State::Admitting | State::Closed);
        if is_waiting || (!self.introduced && !self.introduce(false)?) {
            return Ok(None);
        }
        loop {
            let most = state.most_bytes().min(self.channel.most_bytes(self.from));
            let frames = self.channel.frames(&mut self.steps.inbox);
            match frames.take_frame(self.from, state.name(), most)? {
                Some((message, _)) if self.channel.is_sealing() => self.take_part(now, message)?,
                Some(next) => return Ok(Some(next)),
                // Only now is there room: one message at most is kept.
                None if self.unseal()? => {}
                None => return Ok(None),
            }
        }
    }

    /// Takes the peer's preamble; the server answers with its own, so that each knows the other's version.
    fn introduce(&mut self, last: bool) -> Result<bool> {
        let state = self.steps.state.name();
        let outcome = self.steps.inbox.take_preamble(self.from, state, last);
        let is_linerate = matches!(outcome, Ok(true) | Err(ProtocolError::Version { .. }));
        if is_linerate && self.from == Role::Client {
            self.steps.act(Action::Send(preamble()));
        }
        self.introduced = outcome.clone()?;
        outcome
    }

    /// Whether no message is partly received.
    pub(super) fn is_at_boundary(&self) -> bool {
        self.steps.inbox.pending().is_empty() && self.channel.is_at_boundary()
    }

    /// The error for a connection that has ended.
    pub(super) fn eof(&mut self) -> ProtocolError {
        if let Err(error) = self.judge_greeting() {
            return error;
        }
        self.steps.inbox.eof(self.steps.state.name())
    }

    /// Identifies a foreign peer from the bytes received, however few.
    fn judge_greeting(&mut self) -> Result<()> {
        if !self.introduced {
            self.introduce(true)?;
        }
        Ok(())
    }

    /// Whether the peer has been silent for too long.
    pub(super) fn check_silence(&mut self, now: MonoInstant) -> Result<()> {
        let silence = now.saturating_since(self.heard);
        if silence < self.steps.timeout {
            return Ok(());
        }
        self.judge_greeting()?;
        Err(self.steps.silent(silence))
    }

    /// Sends a ping if this end has been silent.
    pub(super) fn keep_alive(&mut self, now: MonoInstant) {
        let is_silent = now.saturating_since(self.sent) >= PING_AFTER;
        if is_silent && self.steps.state.is_greeted() {
            self.say(now, &Message::Ping);
        }
    }

    pub(super) fn deadline(&self) -> Option<MonoInstant> {
        let state = self.steps.state;
        if state == State::Closed {
            return None;
        }
        let silence = self.heard.after(self.steps.timeout);
        let ping = state.is_greeted().then(|| self.sent.after(PING_AFTER));
        let others = ping.into_iter().chain(self.steps.due());
        others.chain([silence]).min()
    }

    /// Tells the peer why the session is over.
    pub(super) fn farewell(&mut self, now: MonoInstant, code: RefusalCode, message: &str) {
        let message = text(message);
        self.say(now, &Message::Farewell(Farewell { code, message }));
    }

    /// Queues the farewell after an error.
    pub(super) fn complain(&mut self, now: MonoInstant, error: &ProtocolError) {
        let code = match error {
            ProtocolError::Altered { .. }
            | ProtocolError::Body { .. }
            | ProtocolError::Length { .. }
            | ProtocolError::Unexpected { .. } => RefusalCode::Protocol,
            ProtocolError::Key { .. } => RefusalCode::Denied,
            ProtocolError::OutOfTurn { .. } => RefusalCode::Internal,
            ProtocolError::Overdue { .. } => RefusalCode::Timeout,
            _ => return,
        };
        if self.introduced {
            let text = match error {
                ProtocolError::Key { message, .. } => (*message).to_owned(),
                _ => error.to_string(),
            };
            self.farewell(now, code, &text);
        }
    }
}

/// The peer's text, bounded and printable.
pub(super) fn text(text: &str) -> String {
    clean(text, MAX_TEXT)
}

//! What client and server have in common below the test: bytes in, bytes out, keep-alive, the end.

use super::frame::{Inbox, preamble};
use super::message::{Farewell, Message, Role};
use super::phase::State;
use crate::error::{Excerpt, MAX_TEXT, ProtocolError, clean};
use crate::session::{Action, RefusalCode};
use crate::steps::Phase as _;
use linerate_model::MonoInstant;
use std::collections::VecDeque;
use std::time::Duration;

/// Silence after which an end sends a ping: a tenth of the usual timeout.
const PING_AFTER: Duration = Duration::from_secs(1);

/// One end of the connection.
#[derive(Debug)]
pub(super) struct Link {
    role: Role,
    inbox: Inbox,
    actions: VecDeque<Action>,
    timeout: Duration,
    heard: MonoInstant,
    sent: MonoInstant,
    /// Whether the peer's preamble was right.
    introduced: bool,
    /// When the present step must be over, and how long it had.
    due: Option<(MonoInstant, Duration)>,
}

impl Link {
    pub(super) fn new(role: Role, timeout: Duration, now: MonoInstant) -> Self {
        let from = match role {
            Role::Client => Role::Server,
            Role::Server => Role::Client,
        };
        let mut link = Self {
            role,
            inbox: Inbox::new(from),
            actions: VecDeque::new(),
            timeout,
            heard: now,
            sent: now,
            introduced: false,
            due: Some((now.after(timeout), timeout)),
        };
        if role == Role::Client {
            link.act(Action::Send(preamble()));
        }
        link
    }

    pub(super) const fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(super) fn act(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    pub(super) fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Queues a message. One that is too long is not sent; its size comes back.
    pub(super) fn send(
        &mut self,
        now: MonoInstant,
        message: &Message,
    ) -> Result<(), super::message::TooLong> {
        let frame = message.encode()?;
        self.sent = now;
        self.act(Action::Send(frame));
        Ok(())
    }

    /// Queues a message whose size this end bounds.
    pub(super) fn send_short(&mut self, now: MonoInstant, message: &Message) {
        self.send(now, message)
            .expect("invariant: this end bounds the parts of its short messages");
    }

    pub(super) fn feed(&mut self, now: MonoInstant, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.heard = now;
        }
        self.inbox.feed(bytes);
    }

    /// The next message of the peer, with its offset.
    pub(super) fn next(&mut self, state: State) -> Result<Option<(Message, u64)>, ProtocolError> {
        if state == State::Closed {
            return Ok(None);
        }
        if !self.introduced && !self.introduce(state, false)? {
            return Ok(None);
        }
        self.inbox.take_message(state.name(), state.most_bytes())
    }

    /// Takes the peer's preamble; the server answers with its own, so that each knows the other's version.
    fn introduce(&mut self, state: State, last: bool) -> Result<bool, ProtocolError> {
        let outcome = self.inbox.take_preamble(state.name(), last);
        let is_linerate = matches!(outcome, Ok(true) | Err(ProtocolError::Version { .. }));
        if is_linerate && self.role == Role::Server {
            self.act(Action::Send(preamble()));
        }
        self.introduced = outcome.clone()?;
        outcome
    }

    /// Whether no message is half received.
    pub(super) fn is_at_boundary(&self) -> bool {
        self.inbox.pending().is_empty()
    }

    /// The error for a connection that ended in this state.
    pub(super) fn eof(&mut self, state: State) -> ProtocolError {
        if let Err(error) = self.judge_greeting(state) {
            return error;
        }
        ProtocolError::Eof {
            state: state.name(),
            offset: self.inbox.offset() + self.inbox.pending().len() as u64,
            pending: Excerpt::from_bytes(self.inbox.pending()),
        }
    }

    /// Recognises a foreign peer from however little it said.
    fn judge_greeting(&mut self, state: State) -> Result<(), ProtocolError> {
        if !self.introduced {
            self.introduce(state, true)?;
        }
        Ok(())
    }

    /// Whether the peer has been silent for too long.
    pub(super) fn check_silence(
        &mut self,
        now: MonoInstant,
        state: State,
    ) -> Result<(), ProtocolError> {
        let silence = now.saturating_since(self.heard);
        if silence < self.timeout {
            return Ok(());
        }
        self.judge_greeting(state)?;
        Err(ProtocolError::Silent {
            state: state.name(),
            silence,
        })
    }

    /// Gives the present step this long; `None` for ever.
    pub(super) fn allow(&mut self, now: MonoInstant, limit: Option<Duration>) {
        self.due = limit.map(|limit| (now.after(limit), limit));
    }

    /// How long the present step had, if it had longer than that.
    pub(super) fn overdue(&self, now: MonoInstant) -> Option<Duration> {
        self.due
            .and_then(|(due, limit)| (now >= due).then_some(limit))
    }

    /// Sends a ping if this end has been silent.
    pub(super) fn keep_alive(&mut self, now: MonoInstant, state: State) {
        if state.is_greeted() && now.saturating_since(self.sent) >= PING_AFTER {
            self.send_short(now, &Message::Ping);
        }
    }

    pub(super) fn deadline(&self, state: State) -> Option<MonoInstant> {
        if state == State::Closed {
            return None;
        }
        let silence = self.heard.after(self.timeout);
        let ping = state.is_greeted().then(|| self.sent.after(PING_AFTER));
        let due = self.due.map(|(due, _)| due);
        [Some(silence), ping, due].into_iter().flatten().min()
    }

    /// Tells the peer that the session is over, and why.
    pub(super) fn farewell(&mut self, now: MonoInstant, code: RefusalCode, message: &str) {
        let message = clean(message, MAX_TEXT);
        self.send_short(now, &Message::Farewell(Farewell { code, message }));
    }

    /// Queues what is still to be said after an error.
    pub(super) fn fail(&mut self, now: MonoInstant, error: &ProtocolError) {
        let code = match error {
            ProtocolError::Body { .. }
            | ProtocolError::Length { .. }
            | ProtocolError::Unexpected { .. } => Some(RefusalCode::Protocol),
            ProtocolError::OutOfTurn { .. } => Some(RefusalCode::Internal),
            ProtocolError::Overdue { .. } => Some(RefusalCode::Timeout),
            _ => None,
        };
        if let Some(code) = code
            && self.introduced
        {
            self.farewell(now, code, &error.to_string());
        }
        self.act(Action::Closed);
    }
}

/// Text of the peer, bounded and printable.
pub(super) fn text(text: &str) -> String {
    clean(text, MAX_TEXT)
}

//! How a session with a key begins: the handshake, or why there is none.

use super::link::Core;
use super::message::{Message, Role};
use super::seal::Channel;
use crate::error::ProtocolError;
use crate::session::{Action, RefusalCode};
use crate::steps::Phase as _;
use linerate_model::MonoInstant;

impl Core {
    /// Opens the next record; `false` if there is none.
    pub(super) fn unseal(&mut self) -> Result<bool, ProtocolError> {
        let state = self.steps.state.name();
        match &mut self.channel {
            Channel::Open | Channel::Sealing { .. } => Ok(false),
            Channel::Sealed(sealed) => sealed.unseal(&mut self.steps.inbox, state),
        }
    }

    /// Takes the peer's first message, which has to be its part of the handshake.
    pub(super) fn take_part(
        &mut self,
        now: MonoInstant,
        message: Message,
    ) -> Result<(), ProtocolError> {
        let is_client = self.role() == Role::Client;
        match message {
            Message::Seal(part) => self.take_seal(now, &part),
            // Anybody can have said it.
            Message::Farewell(body) if is_client && body.code != RefusalCode::Protocol => {
                let message = format!("{} (said without proof of the key)", body.message);
                Err(self.turned_away(body.code, &message))
            }
            _ if is_client => Err(self.key_error(
                "its protocol cannot seal sessions: use the same version of linerate at both ends",
            )),
            _ => Err(self.key_error(
                "this server wants a key: give the file of its key with --key, and use the same version of linerate",
            )),
        }
    }

    fn take_seal(&mut self, now: MonoInstant, part: &[u8]) -> Result<(), ProtocolError> {
        let Some((answer, waiting)) = self.channel.take(part) else {
            return Err(self.key_error(match self.role() {
                Role::Client => {
                    "it does not hold this key itself: it is not the server it should be"
                }
                Role::Server => {
                    "the client's key is another: give the file of this server's key with --key"
                }
            }));
        };
        if let Some(answer) = answer {
            let frame = answer.encode().expect("invariant: a part is short");
            self.steps.act(Action::Send(frame));
        }
        self.pass_on(now, waiting);
        Ok(())
    }

    /// Error for a peer that has no key, another, or cannot use it.
    pub(super) fn key_error(&self, message: &'static str) -> ProtocolError {
        let state = self.steps.state.name();
        ProtocolError::Key { state, message }
    }
}

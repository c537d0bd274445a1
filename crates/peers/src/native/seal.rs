//! What stands between frames and the connection: nothing without a key, with one a channel that only its holders read and
//! write, in both directions.
//!
//! It is `Noise_NNpsk0_25519_ChaChaPoly_SHA256` (Noise revision 34) with the preamble as prologue: the key is mixed with one
//! ephemeral key of each end, so a recording stays closed to who learns the key later, and nobody between the ends can take
//! over what they have begun. Each direction counts its records: one that was changed, dropped, repeated or moved does not
//! open, and ends the session.
//!
//! ```text
//!  after the preambles:   client  Seal(e)      server  Seal(e, ee)      frames with the messages of the handshake
//!  then each direction:   length:u16  record:[u8; length]               opened, the records' bytes are frames, cut anywhere
//! ```
//!
//! The first message can be sent again by who has recorded it, so the server takes a client's key as proved only with its
//! first record; until then it keeps little of what comes.

use super::message::{Message, Role};
use super::noise::{Primitives, TAG};
use crate::error::{ProtocolError, Result};
use crate::inbox::Inbox;
use crate::key::Credential;
use linerate_wire::frame::SEAL_LEN;
use snow::{Builder, HandshakeState, TransportState};
use std::ops::RangeInclusive;

/// The protocol, by its name in the framework.
pub(super) const PROTOCOL: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";

/// Longest record, its tag included.
const MAX_RECORD: usize = 65_535;
/// Longest record of a client that has not proved that it holds the key: its hello, and no more.
const MAX_FIRST_RECORD: usize = 1024;
/// Longest message of a client before the channel stands.
const MAX_OPENING: u32 = 1024;

/// How frames go over the connection.
#[derive(Debug)]
pub(super) enum Channel {
    /// As they are: this end has no key.
    Open,
    /// The handshake is under way.
    Sealing {
        noise: Box<HandshakeState>,
        /// What the client says when the channel stands.
        waiting: Vec<u8>,
    },
    /// In records.
    Sealed(Sealed),
}

/// A channel that stands.
#[derive(Debug)]
pub(super) struct Sealed {
    noise: Box<TransportState>,
    /// What was in opened records.
    plain: Inbox,
}

impl Channel {
    /// The channel of an end in `role`, with the client's part of the handshake.
    pub(super) fn new(
        role: Role,
        credential: Option<&Credential>,
        prologue: &[u8],
    ) -> (Self, Option<Message>) {
        let Some(credential) = credential else {
            return (Self::Open, None);
        };
        let secret = credential.key.channel_secret();
        let primitives = Primitives {
            ephemeral: credential.ephemeral,
        };
        let params = PROTOCOL.parse().expect("invariant: the name is valid");
        let built = Builder::with_resolver(params, Box::new(primitives))
            .prologue(prologue)
            .and_then(|builder| builder.psk(0, &secret))
            .and_then(|builder| match role {
                Role::Client => builder.build_initiator(),
                Role::Server => builder.build_responder(),
            });
        let noise = built.expect("invariant: the protocol needs a key and has its primitives");
        let mut noise = Box::new(noise);
        let first = (role == Role::Client).then(|| part(&mut noise));
        let waiting = Vec::new();
        (Self::Sealing { noise, waiting }, first)
    }

    /// The bytes for this frame; none if it has to wait.
    pub(super) fn carry(&mut self, role: Role, frame: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Sealing { waiting, .. } if role == Role::Client => {
                waiting.extend(frame);
                Vec::new()
            }
            // A server that refuses who shows no key.
            Self::Open | Self::Sealing { .. } => frame,
            Self::Sealed(sealed) => sealed.seal(&frame),
        }
    }

    /// Longest message that is taken.
    pub(super) fn most_bytes(&self, from: Role) -> u32 {
        match self {
            Self::Sealing { .. } if from == Role::Client => MAX_OPENING,
            _ => u32::MAX,
        }
    }

    /// Whether all that is sent is sealed by a key.
    pub(super) const fn has_key(&self) -> bool {
        matches!(self, Self::Sealed(_))
    }

    /// Whether this end has a key and knows of no other end that does.
    pub(super) const fn is_sealing(&self) -> bool {
        matches!(self, Self::Sealing { .. })
    }

    /// Where frames are; `raw` has what the connection carried.
    pub(super) const fn frames<'a>(&'a mut self, raw: &'a mut Inbox) -> &'a mut Inbox {
        match self {
            Self::Open | Self::Sealing { .. } => raw,
            Self::Sealed(sealed) => &mut sealed.plain,
        }
    }

    /// Takes the peer's part of the handshake: a server's answer and what has waited, as far as there are; `None` if the peer
    /// holds another key.
    pub(super) fn take(&mut self, part: &[u8]) -> Option<(Option<Message>, Vec<u8>)> {
        let Self::Sealing { noise, waiting } = self else {
            return None;
        };
        noise.read_message(part, &mut []).ok()?;
        let answer = (!noise.is_initiator()).then(|| self::part(noise));
        let waiting = std::mem::take(waiting);
        let Self::Sealing { noise, .. } = std::mem::replace(self, Self::Open) else {
            return None;
        };
        *self = Self::Sealed(Sealed::new(*noise));
        Some((answer, waiting))
    }

    /// Whether no frame has come in part.
    pub(super) fn is_at_boundary(&self) -> bool {
        match self {
            Self::Open | Self::Sealing { .. } => true,
            Self::Sealed(sealed) => sealed.plain.pending().is_empty(),
        }
    }
}

/// This end's part of the handshake.
fn part(noise: &mut HandshakeState) -> Message {
    let mut bytes = vec![0; SEAL_LEN];
    let length = noise.write_message(&[], &mut bytes);
    let length = length.expect("invariant: it is this end's turn, and the part is of this length");
    bytes.truncate(length);
    Message::Seal(bytes)
}

impl Sealed {
    fn new(noise: HandshakeState) -> Self {
        let noise = noise.into_transport_mode();
        let noise = noise.expect("invariant: both parts of the handshake are done");
        Self {
            noise: Box::new(noise),
            plain: Inbox::default(),
        }
    }

    /// The records for these bytes.
    fn seal(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut records = Vec::new();
        for plain in bytes.chunks(MAX_RECORD - TAG) {
            let length = plain.len() + TAG;
            let announced = u16::try_from(length).expect("invariant: a chunk fits its record");
            records.extend(announced.to_be_bytes());
            let from = records.len();
            records.resize(from + length, 0);
            self.noise
                .write_message(plain, &mut records[from..])
                .expect("invariant: there is room, and no session has 2^64 records");
        }
        records
    }

    /// Lengths that a record may have.
    fn lengths(&self) -> RangeInclusive<usize> {
        let is_proved = self.noise.is_initiator() || self.noise.receiving_nonce() > 0;
        let most = if is_proved {
            MAX_RECORD
        } else {
            MAX_FIRST_RECORD
        };
        TAG + 1..=most
    }

    /// Opens the next record of `raw`; `false` if more bytes are needed.
    pub(super) fn unseal(&mut self, raw: &mut Inbox, state: &'static str) -> Result<bool> {
        let Some(announced) = raw.pending().first_chunk() else {
            return Ok(false);
        };
        let length = usize::from(u16::from_be_bytes(*announced));
        let (record, offset) = (self.noise.receiving_nonce() + 1, raw.offset());
        let altered = |cause| ProtocolError::Altered {
            state,
            record,
            offset,
            cause,
        };
        let lengths = self.lengths();
        if !lengths.contains(&length) {
            let (least, most) = lengths.into_inner();
            let cause =
                format!("says that it has {length} bytes, where {least} to {most} are valid");
            return Err(altered(cause));
        }
        let end = size_of::<u16>() + length;
        let Some(sealed) = raw.pending().get(size_of::<u16>()..end) else {
            return Ok(false);
        };
        let mut plain = vec![0; length - TAG];
        if self.noise.read_message(sealed, &mut plain).is_err() {
            let cause = "is not the next that the peer sealed".to_owned();
            return Err(altered(cause));
        }
        raw.consume(end);
        self.plain.feed(&plain);
        Ok(true)
    }
}

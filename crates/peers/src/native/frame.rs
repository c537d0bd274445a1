//! Cuts the peer's bytes into preamble and frames, at any split, keeping at most one frame.
//!
//! ```text
//!  once per side:   l i n e r a t e  version:u16        (big-endian)
//!  then frames:     length:u32  kind:u8  body:[u8; length - 1]
//! ```

use super::foreign;
use super::message::{Kind, Message, Role};
use crate::error::{Excerpt, ProtocolError, Result};
use crate::inbox::Inbox;
use linerate_wire::frame::{FRAME_HEADER_LEN, MAGIC, PREAMBLE_LEN, VERSION};

/// The preamble this end sends.
pub(super) fn preamble() -> Vec<u8> {
    [MAGIC.as_slice(), &VERSION.to_be_bytes()].concat()
}

impl Inbox {
    /// Takes the preamble; `false` if more bytes are needed. `last` says that no more will arrive: a peer that sent too
    /// little to be identified is then judged by that.
    pub(super) fn take_preamble(
        &mut self,
        from: Role,
        state: &'static str,
        last: bool,
    ) -> Result<bool> {
        let bytes = self.pending();
        let seen = bytes.len().min(MAGIC.len());
        if bytes[..seen] != MAGIC[..seen] {
            if last || bytes.len() >= PREAMBLE_LEN || foreign::is_told_by_first_byte(bytes) {
                return Err(foreign::identify(from, bytes, state));
            }
            return Ok(false);
        }
        let Some(&[high, low]) = bytes.get(MAGIC.len()..PREAMBLE_LEN) else {
            return Ok(false);
        };
        let theirs = u16::from_be_bytes([high, low]);
        if theirs != VERSION {
            let ours = VERSION;
            return Err(ProtocolError::Version { theirs, ours });
        }
        self.consume(PREAMBLE_LEN);
        Ok(true)
    }

    /// Takes the next message of at most `most` bytes, with its offset; `None` if more bytes are needed.
    pub(super) fn take_frame(
        &mut self,
        from: Role,
        state: &'static str,
        most: u32,
    ) -> Result<Option<(Message, u64)>> {
        let Some(&[a, b, c, d, byte]) = self.pending().first_chunk::<FRAME_HEADER_LEN>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([a, b, c, d]);
        let kind = self.admit(from, state, length, byte, most)?;
        let offset = self.offset();
        let end = 4 + length as usize;
        let Some(body) = self.pending().get(FRAME_HEADER_LEN..end) else {
            return Ok(None);
        };
        let message = Message::decode(kind, body).map_err(|cause| ProtocolError::Body {
            state,
            message: kind.name(),
            offset,
            bytes: Excerpt::from_bytes(body),
            cause: cause.to_string(),
        })?;
        self.consume(end);
        Ok(Some((message, offset)))
    }

    /// Checks a frame's header before its body is awaited.
    fn admit(
        &self,
        from: Role,
        state: &'static str,
        length: u32,
        byte: u8,
        most: u32,
    ) -> Result<Kind> {
        let kind = Kind::from_byte(byte);
        let name = kind.map_or("unknown", Kind::name);
        let cap = kind.map_or(most, |kind| kind.most().min(most));
        if !(1..=cap).contains(&length) {
            return Err(ProtocolError::Length {
                state,
                message: name,
                length,
                most: cap,
                offset: self.offset(),
                bytes: Excerpt::from_bytes(&self.pending()[..FRAME_HEADER_LEN]),
            });
        }
        let refuse = |cause: String| ProtocolError::Unexpected {
            state,
            message: name,
            offset: self.offset(),
            cause,
        };
        let kind = kind.ok_or_else(|| refuse(format!("no message has kind {byte}")))?;
        match kind.sender() {
            Some(role) if role != from => {
                Err(refuse("only the other end of a session sends it".into()))
            }
            _ => Ok(kind),
        }
    }
}

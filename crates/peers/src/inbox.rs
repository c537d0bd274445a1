//! Bytes of a control connection that have not been understood yet. Each protocol adds how it cuts its messages.

use crate::error::{Excerpt, ProtocolError};

/// Bytes of the peer that have not been understood yet.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    /// Offset of `bytes[0]` in what the peer has sent.
    offset: u64,
}

impl Inbox {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Offset of the first pending byte in what the peer has sent.
    pub(crate) const fn offset(&self) -> u64 {
        self.offset
    }

    /// Offset of the next byte to arrive in what the peer has sent.
    pub(crate) const fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }

    pub(crate) fn pending(&self) -> &[u8] {
        &self.bytes
    }

    /// Removes `count` pending bytes.
    pub(crate) fn consume(&mut self, count: usize) {
        self.bytes.drain(..count);
        self.offset += count as u64;
    }

    /// Forgets all that has come: the session is over.
    pub(crate) fn clear(&mut self) {
        self.offset = self.end();
        self.bytes = Vec::new();
    }

    /// Exactly `N` bytes, once they are there.
    pub(crate) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = *self.bytes.first_chunk::<N>()?;
        self.consume(N);
        Some(bytes)
    }

    /// Error for a connection that the peer closed in the middle of the protocol.
    pub(crate) fn eof(&self, state: &'static str) -> ProtocolError {
        ProtocolError::Eof {
            state,
            offset: self.end(),
            pending: Excerpt::from_bytes(&self.bytes),
        }
    }
}

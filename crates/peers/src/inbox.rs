//! Bytes of a control connection that have not been understood yet. Each protocol adds how it cuts its messages.

use crate::error::{Excerpt, ProtocolError};

/// Bytes of the peer that have not been understood yet.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    /// Index of the first pending byte.
    start: usize,
    /// Offset of `bytes[start]` in what the peer has sent.
    offset: u64,
}

impl Inbox {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Offset of the first pending byte in what the peer has sent.
    pub(crate) const fn offset(&self) -> u64 {
        self.offset
    }

    /// Offset of the next byte to arrive in what the peer has sent.
    pub(crate) const fn end(&self) -> u64 {
        self.offset + (self.bytes.len() - self.start) as u64
    }

    pub(crate) fn pending(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Removes `count` pending bytes.
    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
    }

    /// Forgets all that has come: the session is over.
    pub(crate) fn clear(&mut self) {
        *self = Self {
            offset: self.end(),
            ..Self::default()
        };
    }

    /// Exactly `N` bytes, once they are there.
    pub(crate) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = *self.pending().first_chunk::<N>()?;
        self.consume(N);
        Some(bytes)
    }

    /// Error for a connection that the peer closed in the middle of the protocol.
    pub(crate) fn eof(&self, state: &'static str) -> ProtocolError {
        ProtocolError::Eof {
            state,
            offset: self.end(),
            pending: Excerpt::from_bytes(self.pending()),
        }
    }
}

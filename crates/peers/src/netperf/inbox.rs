//! Cuts the far end's bytes into blocks, keeping at most one.

use super::block::{Block, Size};

/// Bytes of the far end that have not been understood yet.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    /// Offset of `bytes[0]` in what the far end has sent.
    offset: u64,
}

impl Inbox {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn pending(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets all that has come: the session is over.
    pub(super) fn clear(&mut self) {
        self.offset += self.bytes.len() as u64;
        self.bytes = Vec::new();
    }

    /// The next block, once all of it is there.
    pub(super) fn take(&mut self, size: Size) -> Option<Block> {
        let block = Block::read(self.bytes.get(..size.bytes())?);
        self.bytes.drain(..size.bytes());
        self.offset += size.bytes() as u64;
        Some(block)
    }
}

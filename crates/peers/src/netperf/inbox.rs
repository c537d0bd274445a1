//! Cuts the peer's bytes into blocks.

use super::block::{Block, Size};
use crate::inbox::Inbox;

impl Inbox {
    /// The next block, once all of it is there.
    pub(super) fn take_block(&mut self, size: Size) -> Option<Block> {
        let block = Block::read(self.pending().get(..size.bytes())?);
        self.consume(size.bytes());
        Some(block)
    }
}

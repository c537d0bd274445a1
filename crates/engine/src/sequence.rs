//! Sequence tracker of one stream, with a host's memory.

use linerate_model::PacketCount;
use linerate_model::sample::SequenceCount;
use linerate_wire::sequence::{Counts, Jump, Memory};

/// Window of 65 536 sequence numbers.
#[derive(Debug)]
pub(crate) struct Remembered {
    words: Box<[u64]>,
    /// Allocated on demand: a stream without loss needs none.
    jumps: Vec<Jump>,
}

impl Default for Remembered {
    fn default() -> Self {
        Self {
            words: vec![0; Self::WORDS].into_boxed_slice(),
            jumps: Vec::new(),
        }
    }
}

impl Memory for Remembered {
    const WORDS: usize = 2048;

    #[inline]
    fn words(&self) -> &[u64] {
        &self.words
    }

    #[inline]
    fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    fn jump(&self, place: usize, _: Jump) -> Jump {
        self.jumps[place]
    }

    fn keep(&mut self, place: usize, jump: Jump) {
        match self.jumps.get_mut(place) {
            Some(oldest) => *oldest = jump,
            None => self.jumps.push(jump),
        }
    }
}

/// Counts for the report, with `foreign` datagrams that carried no sequence number of this stream.
pub(crate) const fn reported(counts: Counts, foreign: u64) -> SequenceCount {
    SequenceCount {
        received: PacketCount::new(counts.received),
        duplicated: PacketCount::new(counts.duplicated),
        reordered: PacketCount::new(counts.reordered),
        reorder_extent_max: PacketCount::new(counts.extent_max),
        next_expected: counts.next_expected,
        too_old: PacketCount::new(counts.too_old),
        foreign: PacketCount::new(foreign),
    }
}

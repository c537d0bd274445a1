//! Sequence tracker of one stream, with a host's memory.

use linerate_model::PacketCount;
use linerate_model::sample::SequenceCount;
use linerate_wire::sequence::{Counts, Jump, Memory};

/// Words of the memory of a stream that has a thread: a window of 65 536 sequence numbers.
pub(crate) const WORDS: usize = 2048;

/// Memory of so many words, on the heap.
#[derive(Debug)]
pub(crate) struct Remembered<const COUNT: usize = WORDS> {
    words: Box<[u64]>,
    /// Allocated on demand: a stream without loss needs none.
    jumps: Vec<Jump>,
}

impl<const COUNT: usize> Default for Remembered<COUNT> {
    fn default() -> Self {
        Self {
            words: vec![0; COUNT].into_boxed_slice(),
            jumps: Vec::new(),
        }
    }
}

#[cfg(test)]
impl<const COUNT: usize> Remembered<COUNT> {
    /// Bytes on the heap.
    pub(crate) const fn allocated(&self) -> usize {
        size_of_val::<[u64]>(&self.words) + self.jumps.capacity() * size_of::<Jump>()
    }
}

impl<const COUNT: usize> Memory for Remembered<COUNT> {
    const WORDS: usize = COUNT;

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

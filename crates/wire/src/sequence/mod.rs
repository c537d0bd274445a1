//! Exact accounting of sequence numbers: distinct, duplicated, reordered, too old.
//!
//! Pure: no clock, no I/O. Loss is not judged here; it is what the sender says it sent minus `received`, so gaps and
//! tail loss need no separate count.
//!
//! A window of sequence numbers below the highest one seen remembers which of them came. Below it a late datagram
//! cannot be told from a duplicate and counts as too old. How large it is, is the [`Memory`]'s.
//!
//! # References
//! - Reordered: sequence number below the next expected one, RFC 4737 §3.4.
//! - Extent: arrivals since the earliest one with a larger number, RFC 4737 §4.2.1. That earliest
//!   one is always the datagram that jumped over the late one, so remembering jumps is exact.
//!   Arrivals are distinct datagrams: duplicates do not lengthen an extent.
//! - Duplicates: RFC 5560.

use crate::distance_48;

/// Classification of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// Not received before.
    Distinct,
    /// Received before.
    Duplicate,
    /// Too late to know whether it was received before.
    TooOld,
}

/// An arrival that skipped numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Jump {
    /// First number skipped.
    pub first_missing: u64,
    /// Distinct datagrams received before the one that jumped.
    pub arrival: u64,
}

/// A tracker's memory of the sequence numbers in its window.
pub trait Memory {
    /// Words of 64 numbers each, a power of two: twice the window, since words are cleared whole as the window
    /// enters them.
    const WORDS: usize;

    /// The words of the bitmap.
    fn words(&self) -> &[u64];

    /// The words of the bitmap, mutable.
    fn words_mut(&mut self) -> &mut [u64];

    /// The jump in this place. `near` is a jump at the present: it supplies the high bits where only the low ones are
    /// stored.
    fn jump(&self, place: usize, near: Jump) -> Jump;

    /// Stores a jump in this place; places are filled in order, cyclically.
    fn keep(&mut self, place: usize, jump: Jump);
}

/// Window size: how far below the next expected number a datagram is distinguished from a duplicate.
pub const fn window<M: Memory>() -> u64 {
    M::WORDS as u64 * BITS / 2
}

/// Maximum jumps in a window: every jump skips at least one number and lands on another, so half as many as numbers.
pub const fn max_jumps<M: Memory>() -> usize {
    M::WORDS * u64::BITS as usize / 4
}

/// Sequence numbers per word.
const BITS: u64 = u64::BITS as u64;

/// Memory of fixed size, with jumps truncated to 32 bits: two per word of the window and 64 numbers.
#[derive(Debug)]
pub struct Fixed<const WORDS: usize, const JUMPS: usize> {
    words: [u64; WORDS],
    jumps: [(u32, u32); JUMPS],
}

impl<const WORDS: usize, const JUMPS: usize> Fixed<WORDS, JUMPS> {
    /// Memory without entries.
    pub const EMPTY: Self = {
        assert!(JUMPS == max_jumps::<Self>() && WORDS.is_power_of_two());
        Self {
            words: [0; WORDS],
            jumps: [(0, 0); JUMPS],
        }
    };
}

impl<const WORDS: usize, const JUMPS: usize> Memory for Fixed<WORDS, JUMPS> {
    const WORDS: usize = WORDS;

    fn words(&self) -> &[u64] {
        &self.words
    }

    fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    fn jump(&self, place: usize, near: Jump) -> Jump {
        let (first_missing, arrival) = self.jumps[place];
        Jump {
            first_missing: widen(first_missing, near.first_missing),
            arrival: widen(arrival, near.arrival),
        }
    }

    fn keep(&mut self, place: usize, jump: Jump) {
        self.jumps[place] = (low(jump.first_missing), low(jump.arrival));
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the half that is wanted")]
const fn low(number: u64) -> u32 {
    number as u32
}

/// The number nearest to `near` that has these low bits.
const fn widen(bits: u32, near: u64) -> u64 {
    let distance = bits.wrapping_sub(low(near)).cast_signed();
    near.wrapping_add_signed(distance as i64)
}

/// Tracks the sequence numbers of one stream at a receiver.
#[derive(Debug)]
pub struct Tracker<M> {
    next_expected: u64,
    memory: M,
    jump_count: usize,
    received: u64,
    duplicated: u64,
    reordered: u64,
    extent_max: u64,
    too_old: u64,
}

/// Counts of a tracker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Distinct datagrams.
    pub received: u64,
    /// Datagrams received again.
    pub duplicated: u64,
    /// Distinct datagrams received after one with a larger number.
    pub reordered: u64,
    /// Maximum reordering extent: arrivals between a reordered datagram and the first with a larger number.
    pub extent_max: u64,
    /// One above the highest number; zero if none arrived.
    pub next_expected: u64,
    /// Datagrams below the window.
    pub too_old: u64,
}

impl<M: Memory + Default> Default for Tracker<M> {
    fn default() -> Self {
        Self::new(M::default())
    }
}

impl<M: Memory> Tracker<M> {
    /// A tracker with this memory, which must be empty.
    pub const fn new(memory: M) -> Self {
        Self {
            next_expected: 0,
            memory,
            jump_count: 0,
            received: 0,
            duplicated: 0,
            reordered: 0,
            extent_max: 0,
            too_old: 0,
        }
    }

    /// Its memory.
    pub const fn memory(&self) -> &M {
        &self.memory
    }

    /// Resets in place: a new value may be too large for a stack.
    pub fn reset(&mut self) {
        self.memory.words_mut().fill(0);
        self.next_expected = 0;
        self.jump_count = 0;
        self.received = 0;
        self.duplicated = 0;
        self.reordered = 0;
        self.extent_max = 0;
        self.too_old = 0;
    }

    /// One above the highest number so far; zero before the first.
    #[inline]
    pub const fn next_expected(&self) -> u64 {
        if self.received == 0 {
            0
        } else {
            self.next_expected
        }
    }

    /// Distinct datagrams so far.
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// Records the datagram with the 48-bit number `wire`.
    #[inline]
    pub fn record(&mut self, wire: u64) -> Arrival {
        let distance = distance_48(wire, self.next_expected);
        let Some(sequence) = self.next_expected.checked_add_signed(distance) else {
            return self.too_old();
        };
        if distance >= 0 {
            self.advance(sequence)
        } else {
            self.late(sequence)
        }
    }

    /// The jump that the next arrival would make.
    const fn present(&self) -> Jump {
        Jump {
            first_missing: self.next_expected,
            arrival: self.received,
        }
    }

    #[inline]
    fn advance(&mut self, sequence: u64) -> Arrival {
        if sequence > self.next_expected {
            let place = self.jump_count % max_jumps::<M>();
            self.memory.keep(place, self.present());
            self.jump_count += 1;
        }
        self.clear_up_to(sequence);
        self.mark(sequence);
        self.next_expected = sequence + 1;
        self.received += 1;
        Arrival::Distinct
    }

    fn late(&mut self, sequence: u64) -> Arrival {
        if self.next_expected - sequence > window::<M>() {
            return self.too_old();
        }
        if self.is_marked(sequence) {
            self.duplicated += 1;
            return Arrival::Duplicate;
        }
        self.mark(sequence);
        self.reordered += 1;
        self.extent_max = self.extent_max.max(self.extent(sequence));
        self.received += 1;
        Arrival::Distinct
    }

    const fn too_old(&mut self) -> Arrival {
        self.too_old += 1;
        Arrival::TooOld
    }

    /// Reordering extent: arrivals since the one that jumped over `sequence`.
    fn extent(&self, sequence: u64) -> u64 {
        let kept = self.jump_count.min(max_jumps::<M>());
        let jump = |back: usize| {
            let place = (self.jump_count - 1 - back) % max_jumps::<M>();
            self.memory.jump(place, self.present())
        };
        let (mut near, mut far) = (0, kept);
        while near < far {
            let middle = usize::midpoint(near, far);
            if jump(middle).first_missing > sequence {
                near = middle + 1;
            } else {
                far = middle;
            }
        }
        if near < kept {
            self.received - jump(near).arrival
        } else {
            0
        }
    }

    /// Clears the words that the window enters by moving to `sequence`.
    #[inline]
    fn clear_up_to(&mut self, sequence: u64) {
        let entered = sequence / BITS;
        let fresh = self.next_expected.div_ceil(BITS);
        for word in fresh.max((entered + 1).saturating_sub(M::WORDS as u64))..=entered {
            self.memory.words_mut()[index::<M>(word)] = 0;
        }
    }

    #[inline]
    fn mark(&mut self, sequence: u64) {
        self.memory.words_mut()[index::<M>(sequence / BITS)] |= 1 << (sequence % BITS);
    }

    fn is_marked(&self, sequence: u64) -> bool {
        self.memory.words()[index::<M>(sequence / BITS)] >> (sequence % BITS) & 1 == 1
    }

    /// Counts so far.
    pub const fn counts(&self) -> Counts {
        Counts {
            received: self.received,
            duplicated: self.duplicated,
            reordered: self.reordered,
            extent_max: self.extent_max,
            next_expected: self.next_expected(),
            too_old: self.too_old,
        }
    }
}

/// Index of a word in the memory.
#[inline]
const fn index<M: Memory>(word: u64) -> usize {
    low(word) as usize & (M::WORDS - 1)
}

#[cfg(test)]
mod tests;

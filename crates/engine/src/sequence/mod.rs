//! Exact accounting of sequence numbers: distinct, duplicated, reordered, too old.
//!
//! Pure: no clock, no I/O; allocates only as jumps become more. Loss is not judged here; it is what
//! the sender says it sent minus `received`, so gaps and tail loss need no separate count.
//!
//! A window of the last [`SEQUENCE_WINDOW`] sequence numbers below the highest one seen remembers which of
//! them came. Below it a late datagram cannot be told from a duplicate and counts as too old.
//!
//! # References
//! - Reordered: sequence number below the next expected one, RFC 4737 §3.4.
//! - Extent: arrivals since the earliest one with a larger number, RFC 4737 §4.2.1. That earliest
//!   one is always the datagram that jumped over the late one, so remembering jumps is exact.
//!   Arrivals are distinct datagrams: duplicates do not lengthen an extent.
//! - Duplicates: RFC 5560.

use linerate_model::PacketCount;
use linerate_model::sample::SequenceCount;
use linerate_peers::distance_48;

/// How far below the next expected number a datagram is still told from a duplicate.
pub const SEQUENCE_WINDOW: u64 = 65_536;

/// Twice the window: words are cleared whole as the window enters them.
const BITMAP_BITS: u64 = 2 * SEQUENCE_WINDOW;
const BITMAP_WORDS: usize = (BITMAP_BITS / 64) as usize;

/// Every jump skips at least one number and lands on another, so a window holds at most half as
/// many jumps as numbers.
const MAX_JUMPS: usize = (SEQUENCE_WINDOW / 2) as usize;

/// What happened to one datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// A datagram not seen before.
    Distinct,
    /// One that came before.
    Duplicate,
    /// One so late that it is not known whether it came before.
    TooOld,
}

/// The sequence numbers of one stream as a receiver sees them.
pub struct Tracker {
    next_expected: u64,
    seen: Box<[u64]>,
    /// The last of them, a ring once it is full: a stream without loss has none, and needs no room for half a window.
    jumps: Vec<Jump>,
    jump_count: usize,
    received: u64,
    duplicated: u64,
    reordered: u64,
    extent_max: u64,
    too_old: u64,
}

/// An arrival that skipped numbers.
#[derive(Debug, Clone, Copy, Default)]
struct Jump {
    /// First number skipped.
    first_missing: u64,
    /// Distinct datagrams that had come before the one that jumped.
    arrival: u64,
}

impl Default for Tracker {
    fn default() -> Self {
        Self::starting_at(0)
    }
}

impl Tracker {
    /// A tracker whose stream starts at `first`. Counts from zero; only tests start elsewhere.
    pub fn starting_at(first: u64) -> Self {
        Self {
            next_expected: first,
            seen: vec![0; BITMAP_WORDS].into_boxed_slice(),
            jumps: Vec::new(),
            jump_count: 0,
            received: 0,
            duplicated: 0,
            reordered: 0,
            extent_max: 0,
            too_old: 0,
        }
    }

    /// One more than the highest number so far; zero before the first.
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

    /// Counts the datagram with the 48-bit number `wire`.
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

    fn advance(&mut self, sequence: u64) -> Arrival {
        if sequence > self.next_expected {
            let jump = Jump {
                first_missing: self.next_expected,
                arrival: self.received,
            };
            match self.jumps.get_mut(self.jump_count % MAX_JUMPS) {
                Some(oldest) => *oldest = jump,
                None => self.jumps.push(jump),
            }
            self.jump_count += 1;
        }
        self.clear_up_to(sequence);
        self.mark(sequence);
        self.next_expected = sequence + 1;
        self.received += 1;
        Arrival::Distinct
    }

    fn late(&mut self, sequence: u64) -> Arrival {
        if self.next_expected - sequence > SEQUENCE_WINDOW {
            return self.too_old();
        }
        if self.is_marked(sequence) {
            self.duplicated += 1;
            return Arrival::Duplicate;
        }
        self.mark(sequence);
        self.reordered += 1;
        let extent = self.extent(sequence);
        self.extent_max = self.extent_max.max(extent);
        self.received += 1;
        Arrival::Distinct
    }

    const fn too_old(&mut self) -> Arrival {
        self.too_old += 1;
        Arrival::TooOld
    }

    /// Arrivals since the one that jumped over `sequence`.
    fn extent(&self, sequence: u64) -> u64 {
        let kept = self.jump_count.min(MAX_JUMPS);
        let jump = |back: usize| self.jumps[(self.jump_count - 1 - back) % MAX_JUMPS];
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

    /// Forgets what the words held that the window enters by moving to `sequence`.
    fn clear_up_to(&mut self, sequence: u64) {
        let entered = sequence / 64;
        let fresh = self.next_expected.div_ceil(64);
        for word in fresh.max((entered + 1).saturating_sub(BITMAP_WORDS as u64))..=entered {
            self.seen[index(word, BITMAP_WORDS)] = 0;
        }
    }

    fn mark(&mut self, sequence: u64) {
        self.seen[index(sequence / 64, BITMAP_WORDS)] |= 1 << (sequence % 64);
    }

    fn is_marked(&self, sequence: u64) -> bool {
        self.seen[index(sequence / 64, BITMAP_WORDS)] >> (sequence % 64) & 1 == 1
    }

    /// The counts, with `foreign` datagrams that carried no number of this stream.
    pub const fn counts(&self, foreign: PacketCount) -> SequenceCount {
        SequenceCount {
            received: PacketCount::new(self.received),
            duplicated: PacketCount::new(self.duplicated),
            reordered: PacketCount::new(self.reordered),
            reorder_extent_max: PacketCount::new(self.extent_max),
            next_expected: self.next_expected(),
            too_old: PacketCount::new(self.too_old),
            foreign,
        }
    }
}

/// `number` modulo `length`, which is a power of two.
fn index(number: u64, length: usize) -> usize {
    usize::try_from(number & (length as u64 - 1)).expect("invariant: below a usize")
}

#[cfg(test)]
mod tests;

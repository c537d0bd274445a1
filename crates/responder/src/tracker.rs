//! Exact accounting of sequence numbers: distinct, duplicated, reordered, too old.
//!
//! The engine's `sequence` in memory of fixed size: the same counts, in a window of [`SEQUENCE_WINDOW`] numbers below
//! the highest one seen instead of 65 536.
//!
//! # References
//! - Reordered, and its extent: RFC 4737 §3.4, §4.2.1
//! - Duplicates: RFC 5560

use crate::wire::distance_48;

/// How far below the next expected number a datagram is still told from a duplicate: what a queue of 1.5 MB on the way
/// can hold back of full frames. Below it a late one counts as too old.
pub const SEQUENCE_WINDOW: u64 = 1024;

/// Twice the window: words are cleared whole as the window enters them.
const WORDS: usize = 64;
const BITS: u64 = 32;
/// Every jump skips at least one number and lands on another, so a window holds at most half as many jumps as numbers.
const MAX_JUMPS: usize = 512;

/// What happened to one datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// A datagram not seen before.
    Distinct,
    /// One that came before, or so late that it is not known whether it did.
    Other,
}

/// The sequence numbers of one stream as a receiver sees them.
#[derive(Debug)]
pub(crate) struct Tracker {
    next_expected: u64,
    seen: [u32; WORDS],
    /// The last of them, a ring.
    jumps: [Jump; MAX_JUMPS],
    jump_count: usize,
    received: u64,
    duplicated: u64,
    reordered: u64,
    extent_max: u64,
    too_old: u64,
}

/// An arrival that skipped numbers; both cut to 32 bits, which a test of an hour does not use up.
#[derive(Debug, Clone, Copy)]
struct Jump {
    /// First number skipped.
    first_missing: u32,
    /// Distinct datagrams that had come before the one that jumped.
    arrival: u32,
}

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) received: u64,
    pub(crate) duplicated: u64,
    pub(crate) reordered: u64,
    pub(crate) extent_max: u64,
    pub(crate) next_expected: u64,
    pub(crate) too_old: u64,
}

impl Tracker {
    pub(crate) const fn new() -> Self {
        Self {
            next_expected: 0,
            seen: [0; WORDS],
            jumps: [Jump {
                first_missing: 0,
                arrival: 0,
            }; MAX_JUMPS],
            jump_count: 0,
            received: 0,
            duplicated: 0,
            reordered: 0,
            extent_max: 0,
            too_old: 0,
        }
    }

    /// Begins anew, in place: a new value would take its 5 KiB of stack.
    pub(crate) const fn reset(&mut self) {
        self.next_expected = 0;
        self.seen = [0; WORDS];
        self.jump_count = 0;
        self.received = 0;
        self.duplicated = 0;
        self.reordered = 0;
        self.extent_max = 0;
        self.too_old = 0;
    }

    /// One more than the highest number so far; zero before the first.
    pub(crate) const fn next_expected(&self) -> u64 {
        if self.received == 0 {
            0
        } else {
            self.next_expected
        }
    }

    /// Distinct datagrams so far.
    pub(crate) const fn received(&self) -> u64 {
        self.received
    }

    /// Counts the datagram with the 48-bit number `wire`.
    pub(crate) fn record(&mut self, wire: u64) -> Arrival {
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

    const fn advance(&mut self, sequence: u64) -> Arrival {
        if sequence > self.next_expected {
            self.jumps[self.jump_count % MAX_JUMPS] = Jump {
                first_missing: low(self.next_expected),
                arrival: low(self.received),
            };
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
            return Arrival::Other;
        }
        self.mark(sequence);
        self.reordered += 1;
        let extent = self.extent(sequence);
        self.extent_max = self.extent_max.max(extent.into());
        self.received += 1;
        Arrival::Distinct
    }

    const fn too_old(&mut self) -> Arrival {
        self.too_old += 1;
        Arrival::Other
    }

    /// Arrivals since the one that jumped over `sequence`.
    fn extent(&self, sequence: u64) -> u32 {
        let kept = self.jump_count.min(MAX_JUMPS);
        let jump = |back: usize| self.jumps[(self.jump_count - 1 - back) % MAX_JUMPS];
        let is_above = |jump: Jump| {
            let above = jump.first_missing.wrapping_sub(low(sequence));
            above.cast_signed() > 0
        };
        let (mut near, mut far) = (0, kept);
        while near < far {
            let middle = usize::midpoint(near, far);
            if is_above(jump(middle)) {
                near = middle + 1;
            } else {
                far = middle;
            }
        }
        if near < kept {
            low(self.received).wrapping_sub(jump(near).arrival)
        } else {
            0
        }
    }

    /// Forgets what the words held that the window enters by moving to `sequence`.
    const fn clear_up_to(&mut self, sequence: u64) {
        let entered = sequence / BITS;
        let fresh = self.next_expected.div_ceil(BITS);
        let oldest = (entered + 1).saturating_sub(WORDS as u64);
        let mut word = if fresh > oldest { fresh } else { oldest };
        while word <= entered {
            self.seen[index(word)] = 0;
            word += 1;
        }
    }

    const fn mark(&mut self, sequence: u64) {
        self.seen[index(sequence / BITS)] |= 1 << (sequence % BITS);
    }

    const fn is_marked(&self, sequence: u64) -> bool {
        self.seen[index(sequence / BITS)] >> (sequence % BITS) & 1 == 1
    }

    pub(crate) const fn counts(&self) -> Counts {
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

#[expect(
    clippy::cast_possible_truncation,
    reason = "the low half is what is wanted"
)]
const fn low(number: u64) -> u32 {
    number as u32
}

const fn index(word: u64) -> usize {
    low(word) as usize % WORDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_engine::sequence::Tracker as Host;
    use linerate_model::PacketCount;
    use proptest::prelude::*;

    fn agrees(sequences: impl IntoIterator<Item = u64>) {
        let (mut tracker, mut host) = (Tracker::new(), Host::default());
        for sequence in sequences {
            tracker.record(sequence);
            host.record(sequence);
        }
        let (ours, theirs) = (tracker.counts(), host.counts(PacketCount::default()));
        assert_eq!(ours.received, theirs.received.get());
        assert_eq!(ours.duplicated, theirs.duplicated.get());
        assert_eq!(ours.reordered, theirs.reordered.get());
        assert_eq!(ours.extent_max, theirs.reorder_extent_max.get());
        assert_eq!(ours.next_expected, theirs.next_expected);
        assert_eq!(ours.too_old, theirs.too_old.get());
    }

    /// Sent numbers with some lost, some doubled and some moved back.
    fn disturbed() -> impl Strategy<Value = Vec<u64>> {
        let fate = (0_u8..100, 0_usize..200, any::<bool>());
        prop::collection::vec(fate, 0..3000).prop_map(|fates| {
            let mut out: Vec<(usize, u64)> = Vec::new();
            for (position, (fate, delay, far)) in fates.into_iter().enumerate() {
                let delay = if far { delay } else { 0 };
                match fate {
                    0..10 => {}
                    10..20 => {
                        out.push((position, position as u64));
                        out.push((position + delay, position as u64));
                    }
                    20..40 => out.push((position + delay, position as u64)),
                    _ => out.push((position, position as u64)),
                }
            }
            out.sort_by_key(|(when, _)| *when);
            out.into_iter().map(|(_, sequence)| sequence).collect()
        })
    }

    proptest! {
        #[test]
        fn counts_are_those_of_the_hosts_receiver(sequences in disturbed()) {
            agrees(sequences);
        }

        #[test]
        fn a_jump_of_any_length_counts_as_at_the_host(
            jumps in prop::collection::vec(0_u64..3_000_000, 0..50),
        ) {
            let next = |at: &mut u64, jump: u64| { *at += jump; Some(*at) };
            agrees(jumps.into_iter().scan(0, next));
        }
    }

    #[test]
    fn beyond_the_window_a_late_one_is_too_old_and_within_it_known() {
        let counted = |sequences: Vec<u64>| {
            let mut tracker = Tracker::new();
            for sequence in sequences {
                tracker.record(sequence);
            }
            tracker.counts()
        };
        let counts = counted((1..SEQUENCE_WINDOW).chain([0, 0]).collect());
        assert_eq!((counts.reordered, counts.duplicated), (1, 1));
        assert_eq!(counts.extent_max, SEQUENCE_WINDOW - 1);
        let counts = counted((1..=SEQUENCE_WINDOW).chain([0]).collect());
        assert_eq!((counts.reordered, counts.too_old), (0, 1));
        let odd = (0..SEQUENCE_WINDOW / 2).map(|k| 2 * k + 1);
        let counts = counted(odd.chain([0]).collect());
        assert_eq!(counts.extent_max, SEQUENCE_WINDOW / 2);
    }

    #[test]
    fn one_that_was_used_counts_afresh() {
        let mut tracker = Tracker::new();
        for sequence in [0, 5, 3, 3, 9000, 1] {
            tracker.record(sequence);
        }
        tracker.reset();
        assert_eq!(tracker.counts(), Tracker::new().counts());
        assert_eq!(tracker.record(4), Arrival::Distinct);
        assert_eq!(tracker.record(3), Arrival::Distinct);
        assert_eq!(tracker.counts().extent_max, 1);
    }
}

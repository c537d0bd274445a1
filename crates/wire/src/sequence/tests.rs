use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Memory of a device.
type Small = Fixed<32, 512>;

/// Memory of a host, on a heap, with room for all jumps of the tests.
#[derive(Debug)]
struct Large(Vec<u64>, Vec<Jump>);

impl Default for Large {
    fn default() -> Self {
        Self(
            vec![0; Self::WORDS],
            vec![Jump::default(); max_jumps::<Self>()],
        )
    }
}

impl Memory for Large {
    const WORDS: usize = 2048;

    fn words(&self) -> &[u64] {
        &self.0
    }

    fn words_mut(&mut self) -> &mut [u64] {
        &mut self.0
    }

    fn jump(&self, place: usize, _: Jump) -> Jump {
        self.1[place]
    }

    fn keep(&mut self, place: usize, jump: Jump) {
        self.1[place] = jump;
    }
}

const SEQUENCE_WINDOW: u64 = window::<Large>();

/// The slow and obvious way to count.
#[derive(Default)]
struct Oracle {
    arrivals: Vec<u64>,
    seen: BTreeSet<u64>,
    window: u64,
    counts: Counts,
}

impl Oracle {
    fn record(&mut self, sequence: u64) {
        let next = self.seen.last().map_or(0, |last| last + 1);
        let count = |field: &mut u64| *field += 1;
        if sequence < next && next - sequence > self.window {
            count(&mut self.counts.too_old);
        } else if !self.seen.insert(sequence) {
            count(&mut self.counts.duplicated);
        } else {
            count(&mut self.counts.received);
            if sequence < next {
                count(&mut self.counts.reordered);
                let first = self.arrivals.iter().position(|other| *other > sequence);
                let extent = (self.arrivals.len() - first.unwrap()) as u64;
                self.counts.extent_max = extent.max(self.counts.extent_max);
            }
            self.arrivals.push(sequence);
        }
        self.counts.next_expected = self.seen.last().map_or(0, |last| last + 1);
    }
}

fn count<M: Memory>(memory: M, sequences: impl IntoIterator<Item = u64>) -> Counts {
    let mut tracker = Tracker::new(memory);
    for sequence in sequences {
        tracker.record(sequence);
    }
    tracker.counts()
}

fn counted(sequences: impl IntoIterator<Item = u64>) -> Counts {
    count(Large::default(), sequences)
}

/// What should be counted in a window of so many.
fn expected(window: u64, sequences: &[u64]) -> Counts {
    let mut oracle = Oracle {
        window,
        ..Oracle::default()
    };
    for sequence in sequences {
        oracle.record(*sequence);
    }
    oracle.counts
}

/// Sent numbers with some lost, some doubled and some moved back.
fn disturbed() -> impl Strategy<Value = Vec<u64>> {
    let fate = (0_u8..100, 0_usize..200, any::<bool>());
    prop::collection::vec(fate, 0..2000).prop_map(|fates| {
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
    fn agrees_with_the_oracle_under_loss_duplication_and_reordering(sequences in disturbed()) {
        let small = expected(window::<Small>(), &sequences);
        prop_assert_eq!(count(Small::EMPTY, sequences.iter().copied()), small);
        prop_assert_eq!(counted(sequences.iter().copied()), expected(SEQUENCE_WINDOW, &sequences));
    }

    #[test]
    fn agrees_with_the_oracle_on_wild_jumps(
        sequences in prop::collection::vec(prop_oneof![0_u64..100, 0..300_000_u64], 0..500),
    ) {
        let small = expected(window::<Small>(), &sequences);
        prop_assert_eq!(count(Small::EMPTY, sequences.iter().copied()), small);
        prop_assert_eq!(counted(sequences.iter().copied()), expected(SEQUENCE_WINDOW, &sequences));
    }

    #[test]
    fn counts_the_same_across_the_wrap(sequences in disturbed()) {
        let start = (1_u64 << 48) - 700;
        let mut tracker = Tracker::new(Large::default());
        tracker.next_expected = start;
        for sequence in &sequences {
            tracker.record((start + sequence) & ((1 << 48) - 1));
        }
        let mut plain = counted(sequences);
        if plain.received > 0 {
            plain.next_expected += start;
        }
        prop_assert_eq!(tracker.counts(), plain);
    }
}

#[test]
fn a_clean_stream_has_nothing_but_received() {
    let counts = counted(0..1_000_000);
    assert_eq!(counts.received, 1_000_000);
    assert_eq!(counts.next_expected, 1_000_000);
    assert_eq!(counts.reordered + counts.duplicated, 0);
}

#[test]
fn the_example_of_rfc_4737_has_extent_two() {
    let counts = counted([0, 1, 2, 3, 6, 4, 5, 7]);
    assert_eq!(counts.reordered, 2);
    assert_eq!(counts.extent_max, 2);
}

#[test]
fn at_the_edge_of_the_window_a_late_one_is_still_known() {
    let counts = counted((1..SEQUENCE_WINDOW).chain([0, 0]));
    assert_eq!(counts.reordered, 1);
    assert_eq!(counts.duplicated, 1);
    assert_eq!(counts.extent_max, SEQUENCE_WINDOW - 1);
    let counts = counted((1..=SEQUENCE_WINDOW).chain([0]));
    assert_eq!(counts.too_old, 1);
}

#[test]
fn every_second_one_lost_then_late_keeps_exact_extents() {
    let odd = (0..SEQUENCE_WINDOW / 2).map(|k| 2 * k + 1);
    let counts = counted(odd.chain([0]));
    assert_eq!(counts.extent_max, SEQUENCE_WINDOW / 2);
}

#[test]
fn a_number_before_the_first_is_too_old_and_harmless() {
    let counts = counted([(1 << 48) - 1]);
    assert_eq!(counts.too_old, 1);
    assert_eq!(counts.next_expected, 0);
}

#[test]
fn a_hostile_jump_costs_one_window() {
    let counts = counted([0, (1 << 47) - 1, (1 << 47) - 2]);
    assert_eq!(counts.received, 3);
    assert_eq!(counts.reordered, 1);
}

#[test]
fn numbers_cut_to_32_bits_are_whole_again() {
    for start in [0, 1 << 40] {
        let late = [start, start + 5, start + 3, start + 3, start + 6, start + 1];
        let counts = count(Small::EMPTY, late);
        assert_eq!((counts.reordered, counts.duplicated), (2, 1), "{start}");
        assert_eq!(counts.extent_max, 3, "{start}");
    }
}

#[test]
fn one_that_was_used_counts_afresh() {
    let mut tracker = Tracker::new(Small::EMPTY);
    for sequence in [0, 5, 3, 3, 9000, 1] {
        tracker.record(sequence);
    }
    tracker.reset();
    assert_eq!(tracker.counts(), Counts::default());
    assert_eq!(tracker.record(4), Arrival::Distinct);
    assert_eq!(tracker.record(3), Arrival::Distinct);
    assert_eq!(tracker.counts().extent_max, 1);
}

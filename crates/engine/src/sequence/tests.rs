use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// The slow and obvious way to count.
#[derive(Default)]
struct Oracle {
    arrivals: Vec<u64>,
    seen: BTreeSet<u64>,
    counts: SequenceCount,
}

impl Oracle {
    fn record(&mut self, sequence: u64) {
        let next = self.seen.last().map_or(0, |last| last + 1);
        let count = |field: &mut PacketCount| *field = PacketCount::new(field.get() + 1);
        if sequence < next && next - sequence > SEQUENCE_WINDOW {
            count(&mut self.counts.too_old);
        } else if !self.seen.insert(sequence) {
            count(&mut self.counts.duplicated);
        } else {
            count(&mut self.counts.received);
            if sequence < next {
                count(&mut self.counts.reordered);
                let first = self.arrivals.iter().position(|other| *other > sequence);
                let extent = (self.arrivals.len() - first.unwrap()) as u64;
                let extent = extent.max(self.counts.reorder_extent_max.get());
                self.counts.reorder_extent_max = PacketCount::new(extent);
            }
            self.arrivals.push(sequence);
        }
        self.counts.next_expected = self.seen.last().map_or(0, |last| last + 1);
    }
}

fn counted(sequences: impl IntoIterator<Item = u64>) -> SequenceCount {
    let mut tracker = Tracker::default();
    for sequence in sequences {
        tracker.record(sequence);
    }
    tracker.counts(PacketCount::new(0))
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
        let mut oracle = Oracle::default();
        for sequence in &sequences {
            oracle.record(*sequence);
        }
        prop_assert_eq!(counted(sequences), oracle.counts);
    }

    #[test]
    fn agrees_with_the_oracle_on_wild_jumps(
        sequences in prop::collection::vec(prop_oneof![0_u64..100, 0..300_000_u64], 0..500),
    ) {
        let mut oracle = Oracle::default();
        for sequence in &sequences {
            oracle.record(*sequence);
        }
        prop_assert_eq!(counted(sequences), oracle.counts);
    }

    #[test]
    fn counts_the_same_across_the_wrap(sequences in disturbed()) {
        let start = (1_u64 << 48) - 700;
        let mut tracker = Tracker::starting_at(start);
        for sequence in &sequences {
            tracker.record((start + sequence) & ((1 << 48) - 1));
        }
        let mut plain = counted(sequences);
        if plain.received.get() > 0 {
            plain.next_expected += start;
        }
        prop_assert_eq!(tracker.counts(PacketCount::new(0)), plain);
    }
}

#[test]
fn a_clean_stream_has_nothing_but_received() {
    let counts = counted(0..1_000_000);
    assert_eq!(counts.received.get(), 1_000_000);
    assert_eq!(counts.next_expected, 1_000_000);
    assert_eq!(counts.reordered.get() + counts.duplicated.get(), 0);
}

#[test]
fn the_example_of_rfc_4737_has_extent_two() {
    let counts = counted([0, 1, 2, 3, 6, 4, 5, 7]);
    assert_eq!(counts.reordered.get(), 2);
    assert_eq!(counts.reorder_extent_max.get(), 2);
}

#[test]
fn at_the_edge_of_the_window_a_late_one_is_still_known() {
    let counts = counted((1..SEQUENCE_WINDOW).chain([0, 0]));
    assert_eq!(counts.reordered.get(), 1);
    assert_eq!(counts.duplicated.get(), 1);
    assert_eq!(counts.reorder_extent_max.get(), SEQUENCE_WINDOW - 1);
    let counts = counted((1..=SEQUENCE_WINDOW).chain([0]));
    assert_eq!(counts.too_old.get(), 1);
}

#[test]
fn every_second_one_lost_then_late_keeps_exact_extents() {
    let odd = (0..SEQUENCE_WINDOW / 2).map(|k| 2 * k + 1);
    let counts = counted(odd.chain([0]));
    assert_eq!(counts.reorder_extent_max.get(), SEQUENCE_WINDOW / 2);
}

#[test]
fn a_number_before_the_first_is_too_old_and_harmless() {
    let counts = counted([(1 << 48) - 1]);
    assert_eq!(counts.too_old.get(), 1);
    assert_eq!(counts.next_expected, 0);
}

#[test]
fn a_hostile_jump_costs_one_window() {
    let counts = counted([0, (1 << 47) - 1, (1 << 47) - 2]);
    assert_eq!(counts.received.get(), 3);
    assert_eq!(counts.reordered.get(), 1);
}

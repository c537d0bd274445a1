//! The order of measuring: every cell in short turns, in rounds, drawn anew for each round.
//!
//! What drifts on a host (its clock, its neighbours, its heat) then meets all cells alike, and two modes
//! of one size are never minutes apart.

use linerate_model::random::Random;
use linerate_peers::Tests;
use std::time::Duration;

/// Turns of each cell unless asked otherwise: as many as an interval over turns needs to be worth a look.
const DEFAULT_ROUNDS: u32 = 5;

/// Shortest turn of its own accord: it begins with a warm-up and a handshake of about as much.
const MIN_TURN: Duration = Duration::from_millis(200);

/// How many turns each cell has, unless the user says.
pub(super) fn usual_rounds(cells: usize, time: Duration, tests: Tests) -> u32 {
    // A cell alone meets nobody; and a peer that has to be started again, or connected to again, for
    // each turn is not asked to.
    if cells <= 1 || tests != Tests::Many {
        return 1;
    }
    let fit = time.as_nanos() / MIN_TURN.as_nanos();
    u32::try_from(fit)
        .unwrap_or(DEFAULT_ROUNDS)
        .clamp(1, DEFAULT_ROUNDS)
}

/// What is measured: so many message sizes, each in so many ways, each in so many turns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    pub(super) sizes: usize,
    pub(super) ways: usize,
    pub(super) rounds: u32,
}

impl Grid {
    /// The cells in the order of measuring, as `size × ways + way`. Each comes `rounds` times. Where a
    /// session carries one way only, each way is a block of its own.
    pub(super) fn order(self, tests: Tests, seed: u64) -> Vec<usize> {
        let mut random = Random::new(seed);
        let cell = |size: usize, way: usize| size * self.ways + way;
        let mut order = Vec::new();
        if tests == Tests::Alike {
            for way in shuffled((0..self.ways).collect(), &mut random) {
                for _ in 0..self.rounds {
                    let sizes = (0..self.sizes).map(|size| cell(size, way));
                    order.extend(shuffled(sizes.collect(), &mut random));
                }
            }
        } else {
            for _ in 0..self.rounds {
                let cells = (0..self.sizes * self.ways).collect();
                order.extend(shuffled(cells, &mut random));
            }
        }
        order
    }
}

fn shuffled(mut list: Vec<usize>, random: &mut Random) -> Vec<usize> {
    random.shuffle(&mut list);
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const GRID: Grid = Grid {
        sizes: 3,
        ways: 4,
        rounds: 5,
    };

    #[test]
    fn every_round_has_every_cell_once_in_an_order_of_its_own() {
        let order = GRID.order(Tests::Many, 7);
        assert_eq!(order.len(), 60);
        let rounds: Vec<_> = order.chunks(12).collect();
        for round in &rounds {
            let cells: BTreeSet<_> = round.iter().copied().collect();
            assert!(cells.into_iter().eq(0..12), "{round:?}");
        }
        let distinct: BTreeSet<_> = rounds.iter().collect();
        assert_eq!(distinct.len(), 5);
    }

    #[test]
    fn the_seed_alone_decides() {
        let of = |seed| GRID.order(Tests::Many, seed);
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
        // Written down, so that a run can be repeated by a later build.
        let small = Grid {
            sizes: 2,
            ways: 2,
            rounds: 2,
        };
        assert_eq!(small.order(Tests::Many, 1), [0, 1, 3, 2, 0, 2, 3, 1]);
    }

    #[test]
    fn a_session_for_one_way_is_left_once_per_way() {
        let order = GRID.order(Tests::Alike, 3);
        assert_eq!(order.len(), 60);
        let mut ways: Vec<_> = order.iter().map(|cell| cell % 4).collect();
        ways.dedup();
        assert_eq!(ways.len(), 4, "{order:?}");
        for round in order.chunks(3) {
            let sizes: BTreeSet<_> = round.iter().map(|cell| cell / 4).collect();
            assert_eq!(sizes.len(), 3, "{round:?}");
        }
    }

    #[test]
    fn no_place_is_a_cell_s_own() {
        // Over 4000 shuffles of four, each is at the first place 1000 ± 27; six standard deviations are 164.
        let mut firsts = [0_i32; 4];
        for seed in 0..4000 {
            let order = Grid {
                sizes: 1,
                ways: 4,
                rounds: 1,
            }
            .order(Tests::Many, seed);
            firsts[order[0]] += 1;
        }
        assert!(
            firsts.iter().all(|count| (count - 1000).abs() < 164),
            "{firsts:?}"
        );
    }

    #[test]
    fn turns_are_not_too_short_and_foreign_peers_are_not_asked_again() {
        let of = |cells, millis, tests| usual_rounds(cells, Duration::from_millis(millis), tests);
        assert_eq!(of(1, 10_000, Tests::Many), 1);
        assert_eq!(of(6, 10_000, Tests::Many), 5);
        assert_eq!(of(6, 700, Tests::Many), 3);
        assert_eq!(of(6, 100, Tests::Many), 1);
        assert_eq!(of(6, 10_000, Tests::Alike), 1);
        assert_eq!(of(6, 10_000, Tests::One), 1);
    }
}

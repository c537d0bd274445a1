//! Which pairs of hosts are tested.

use crate::circle;
use crate::inventory::Inventory;
use linerate_model::mesh::{MeshCoverage, MeshPair};
use linerate_model::random::Random;
use std::collections::{BTreeMap, BTreeSet};

/// Most hosts of which every pair is tested: 199 rounds of 14 s are three quarters of an hour.
pub(crate) const MOST_COMPLETE: usize = 200;

/// The pairs of a mesh.
pub(crate) struct Pairs {
    pub(crate) coverage: MeshCoverage,
    /// Pairs in the rounds in which they were drawn, which are disjoint.
    pub(crate) rounds: Vec<Vec<MeshPair>>,
    /// Pairs without a round.
    pub(crate) more: Vec<MeshPair>,
    pub(crate) unreachable: Vec<MeshPair>,
}

/// Every pair, or random partners for each host.
pub(crate) fn choose(inventory: &Inventory) -> Pairs {
    let count = inventory.hosts.len();
    if count <= MOST_COMPLETE {
        let rounds = (0..circle::rounds(count)).map(|round| circle::round(count, round).collect());
        return oriented(inventory, MeshCoverage::Complete, rounds, &[]);
    }
    let mut random = Random::new(inventory.seed);
    let mut places: Vec<_> = (0..count).collect();
    random.shuffle(&mut places);
    let mut turns: Vec<_> = (0..circle::rounds(count)).collect();
    random.shuffle(&mut turns);
    turns.truncate(inventory.partners);
    let ordered = |(a, b): (usize, usize)| {
        let (a, b) = (places[a], places[b]);
        (a.min(b), a.max(b))
    };
    let rounds: Vec<Vec<_>> = turns
        .iter()
        .map(|turn| circle::round(count, *turn).map(ordered).collect())
        .collect();
    let more = between_racks(inventory, rounds.iter().flatten().copied());
    oriented(inventory, MeshCoverage::Sampled, rounds, &more)
}

/// A pair for each two racks that none of `pairs` connects, of the hosts with the fewest pairs.
fn between_racks(
    inventory: &Inventory,
    pairs: impl Iterator<Item = (usize, usize)>,
) -> Vec<(usize, usize)> {
    let mut racks: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, host) in inventory.hosts.iter().enumerate() {
        if let Some(rack) = &host.rack {
            racks.entry(rack).or_default().push(place);
        }
    }
    let numbers: BTreeMap<&str, usize> = racks.keys().enumerate().map(|(n, r)| (*r, n)).collect();
    let number = |place: usize| {
        numbers
            .get(inventory.hosts[place].rack.as_deref()?)
            .copied()
    };
    let mut seen = BTreeSet::new();
    for (a, b) in pairs {
        // A pair that cannot meet connects nothing.
        if can_meet(inventory, a, b)
            && let (Some(a), Some(b)) = (number(a), number(b))
        {
            seen.insert((a.min(b), a.max(b)));
        }
    }
    let mut load = vec![0usize; inventory.hosts.len()];
    let mut more = Vec::new();
    let hosts: Vec<&Vec<usize>> = racks.values().collect();
    for (first, of_first) in hosts.iter().enumerate() {
        for (second, of_second) in hosts.iter().enumerate().skip(first + 1) {
            if seen.contains(&(first, second)) {
                continue;
            }
            let least = |places: &[usize], load: &[usize], accepts: bool| {
                let able = places.iter().copied();
                let able = able.filter(|place| !accepts || inventory.hosts[*place].accepts);
                able.min_by_key(|place| load[*place])
            };
            let one = least(of_first, &load, false).zip(least(of_second, &load, true));
            let other = || least(of_first, &load, true).zip(least(of_second, &load, false));
            if let Some((a, b)) = one.or_else(other) {
                load[a] += 1;
                load[b] += 1;
                more.push((a.min(b), a.max(b)));
            }
        }
    }
    more
}

fn can_meet(inventory: &Inventory, a: usize, b: usize) -> bool {
    inventory.hosts[a].accepts || inventory.hosts[b].accepts
}

/// Gives each pair the end that dials, and sets aside those of two hosts that accept nothing.
fn oriented(
    inventory: &Inventory,
    coverage: MeshCoverage,
    rounds: impl IntoIterator<Item = Vec<(usize, usize)>>,
    more: &[(usize, usize)],
) -> Pairs {
    let mut unreachable = Vec::new();
    let mut orient = |(a, b): (usize, usize)| {
        let (dialer, listener) = if inventory.hosts[b].accepts {
            (a, b)
        } else {
            (b, a)
        };
        let pair = MeshPair { dialer, listener };
        if can_meet(inventory, a, b) {
            Some(pair)
        } else {
            unreachable.push(pair);
            None
        }
    };
    let rounds = rounds.into_iter();
    let rounds = rounds.map(|round| round.into_iter().filter_map(&mut orient).collect());
    let rounds = rounds.collect();
    let more = more.iter().copied().filter_map(&mut orient).collect();
    Pairs {
        coverage,
        rounds,
        more,
        unreachable,
    }
}

//! Pairs that filled a found link together, planned again one at a time.

use crate::FlowEnds;
use linerate_model::mesh::{MeshPair, SharedLink};
use std::collections::BTreeSet;

/// Most pairs that are planned again: beyond it the links are better declared, for the next mesh.
pub const MOST: usize = 50;

/// A link is full if tests together carried this share of its capacity: a single connection does not fill it all the time.
const FULL: f64 = 0.85;

/// Rounds in which such pairs are apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Apart {
    /// Pairs that share neither a host nor a found link.
    pub rounds: Vec<Vec<MeshPair>>,
    /// Pairs beyond [`MOST`], which are in none.
    pub left: usize,
}

/// Plans the pairs again that passed one of `links` together in one of the plan's `rounds`, and filled it there. `rate` is
/// what a flow carried in that round, bit/s.
///
/// A link is taken to be passed by what its senders send to its receivers, also where that was not in the search.
pub fn apart(
    rounds: &[Vec<MeshPair>],
    links: &[&SharedLink],
    rate: impl Fn(FlowEnds) -> Option<f64>,
) -> Apart {
    let sides = links.iter().map(|link| Sides::of(link));
    let sides: Vec<Sides> = sides.collect();
    let mut together = BTreeSet::new();
    for round in rounds {
        for (link, sides) in links.iter().zip(&sides) {
            // One direction of all pairs of a round is tested after the other.
            for way in 0..2 {
                let flow = |pair: &MeshPair| FlowEnds::of_pair(*pair)[way];
                let over = round.iter().filter(|pair| sides.pass(flow(pair)));
                let over: Vec<&MeshPair> = over.collect();
                let carried = over.iter().filter_map(|pair| rate(flow(pair)));
                if over.len() > 1 && carried.sum::<f64>() >= FULL * link.capacity.point {
                    together.extend(over.into_iter().map(|pair| pair.ends()));
                }
            }
        }
    }
    let all = rounds.iter().flatten();
    let again: Vec<MeshPair> = all
        .filter(|pair| together.contains(&pair.ends()))
        .copied()
        .collect();
    let mut apart = Apart {
        left: again.len().saturating_sub(MOST),
        rounds: Vec::new(),
    };
    for pair in again.into_iter().take(MOST) {
        let meets = |other: &MeshPair| {
            let hosts = [other.dialer, other.listener];
            let is_shared = |sides: &Sides| sides.pass_either(pair) && sides.pass_either(*other);
            hosts.contains(&pair.dialer)
                || hosts.contains(&pair.listener)
                || sides.iter().any(is_shared)
        };
        let rounds = &mut apart.rounds;
        match rounds.iter_mut().find(|round| !round.iter().any(meets)) {
            Some(round) => round.push(pair),
            None => rounds.push(vec![pair]),
        }
    }
    apart
}

/// The hosts on both sides of a link.
struct Sides {
    senders: BTreeSet<usize>,
    receivers: BTreeSet<usize>,
}

impl Sides {
    fn of(link: &SharedLink) -> Self {
        Self {
            senders: link.flows.iter().map(|flow| flow.from).collect(),
            receivers: link.flows.iter().map(|flow| flow.to).collect(),
        }
    }

    fn pass(&self, flow: FlowEnds) -> bool {
        self.senders.contains(&flow.from) && self.receivers.contains(&flow.to)
    }

    /// Whether the link is passed by either direction of a pair.
    fn pass_either(&self, pair: MeshPair) -> bool {
        let mut flows = FlowEnds::of_pair(pair).into_iter();
        flows.any(|flow| self.pass(flow))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::estimate::Estimate;
    use linerate_model::mesh::{LinkCertainty, LinkFlow, SharedPlace};

    /// From each of these hosts to its partner.
    fn link(flows: &[(usize, usize)], capacity: f64) -> SharedLink {
        let flow = |&(from, to): &(usize, usize)| LinkFlow {
            from,
            to,
            alone: None,
        };
        SharedLink {
            flows: flows.iter().map(flow).collect(),
            capacity: Estimate {
                point: capacity,
                interval: None,
                confidence_ratio: 0.95,
                n: 4,
            },
            certainty: LinkCertainty::Proven,
            gain_ratio: None,
            place: SharedPlace::Network,
        }
    }

    fn pair(dialer: usize, listener: usize) -> MeshPair {
        MeshPair { dialer, listener }
    }

    #[test]
    fn pairs_that_filled_a_link_together_are_apart() {
        let rounds = [
            // Two cross, and fill it.
            vec![pair(0, 4), pair(1, 5), pair(2, 3)],
            // Two that were not in the search.
            vec![pair(0, 5), pair(4, 1), pair(2, 3)],
            // One crosses alone.
            vec![pair(0, 1), pair(2, 4)],
        ];
        let to_right = link(&[(0, 4), (1, 5), (2, 6)], 20e6);
        let found = apart(&rounds, &[&to_right], |_| Some(10e6));
        // The direction of the second pair that passes is the other one: forward and reverse are not tested at once.
        assert_eq!(found.rounds, [vec![pair(0, 4)], vec![pair(1, 5)]]);
        assert_eq!(found.left, 0);
        let found = apart(&rounds, &[&to_right], |_| Some(5e6));
        assert_eq!(found, Apart::default());
        let both = [pair(0, 5), pair(1, 4)];
        let found = apart(&[both.to_vec()], &[&to_right], |_| Some(10e6));
        assert_eq!(found.rounds, both.map(|pair| vec![pair]));
    }

    #[test]
    fn pairs_of_two_links_are_tested_at_once_but_for_their_hosts() {
        let (one, two) = (link(&[(0, 2), (1, 3)], 1.0), link(&[(4, 6), (5, 7)], 1.0));
        let rounds = [
            vec![pair(0, 2), pair(1, 3), pair(4, 6), pair(5, 7)],
            vec![pair(0, 3), pair(1, 2)],
        ];
        let found = apart(&rounds, &[&one, &two], |_| Some(1.0));
        let mut seen = 0;
        for round in &found.rounds {
            let over = |range: std::ops::Range<usize>| {
                let here = round.iter().filter(|pair| range.contains(&pair.dialer));
                here.count()
            };
            assert!(over(0..4) <= 1 && over(4..8) <= 1, "{round:?}");
            seen += round.len();
        }
        assert_eq!((seen, found.rounds.len()), (6, 4));
    }

    #[test]
    fn so_many_are_planned_again_and_the_others_counted() {
        let hosts = 2 * (MOST + 7);
        let all: Vec<_> = (0..hosts / 2)
            .map(|host| (host, hosts / 2 + host))
            .collect();
        let round: Vec<_> = all.iter().map(|(from, to)| pair(*from, *to)).collect();
        let found = apart(&[round], &[&link(&all, 1.0)], |_| Some(1.0));
        assert_eq!((found.rounds.len(), found.left), (MOST, 7));
    }
}

//! Links that nobody declared, found by crowds of flows.
//!
//! Two flows alone are blind to a link that is faster than both together; many at once are not.
//!
//! ```text
//!  scan:      all pairs of several random matchings at once; the one whose flows lose most is searched
//!  subsets:   random 60 % of the flows that dropped: flows that share a link rise and fall together
//!  groups:    flows whose ratio stays the same whenever both are active; their sum is the link's capacity
//!  confirm:   all, then all but the others of a group, in turns: does the one that stays rise?
//! ```
//!
//! Does no I/O: [`Search::next_crowd`] says what to run at once, [`Search::record`] takes the rates. A pair is two flows, one
//! each way, since the directions of a link are separate.
//!
//! # References
//! - Interference of concurrent transfers: Legrand, Mazoit, Quinson, INRIA RR-5792 (2006)

mod groups;

use linerate_analysis::statistics::{USUAL_CONFIDENCE, mean};
use linerate_model::estimate::{Estimate, Interval};
use linerate_model::mesh::{CrowdPurpose, GainRatio, LinkCertainty};
use linerate_model::random::Random;
use std::collections::BTreeMap;

/// A flow has dropped below this share of what it carries alone. TCP's rate scatters by some 5 % between tests on an idle
/// path; what costs less than a tenth is no bottleneck.
const DROPPED: f64 = 0.85;
/// Random subsets of the flows that dropped, of few flows; each doubling takes one more.
const SUBSETS: usize = 12;
/// Share of the flows that are active in a subset, of ten. The two ways of a pair are drawn apart: the directions of a link
/// could not be told otherwise.
const ACTIVE_OF_TEN: usize = 6;
/// Readings with the others, and as many without: at a gain of a tenth and a scatter of 5 %, four find it with power 0.8.
const READINGS: usize = 4;
/// A gain below this is within what TCP's rate scatters, however narrow its interval.
const LEAST_GAIN: f64 = 1.1;

/// Pairs that can be active at once, since they share no interface and no declared link: what their flows carry alone,
/// forward and reverse, bit/s. `None` where it is not known.
#[derive(Debug, Clone, PartialEq)]
pub struct Matching {
    /// Forward and reverse rate of each pair.
    pub alone: Vec<[Option<f64>; 2]>,
}

/// Pairs to run at once, all of one matching.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crowd {
    /// Which matching.
    pub matching: usize,
    /// Places of its pairs, and which ways each is active: forward, reverse.
    pub pairs: Vec<(usize, [bool; 2])>,
    /// What it is for.
    pub purpose: CrowdPurpose,
}

/// A link that flows share.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundLink {
    /// The matching of its flows.
    pub matching: usize,
    /// Pair and direction (0 forward, 1 reverse) of each flow.
    pub flows: Vec<(usize, usize)>,
    /// Rate of all its flows together while it was saturated, bit/s.
    pub capacity: Estimate,
    /// How sure it is.
    pub certainty: LinkCertainty,
    /// The intervention; absent if it could not be made.
    pub gain: Option<GainRatio>,
}

/// Where the search is.
#[derive(Debug)]
enum Phase {
    Scan { next: usize },
    Subsets { left: usize },
    Confirm { group: usize, left: usize },
    Done,
}

/// Rates of one round: of each flow that was active and measured.
type Rates = Vec<Option<f64>>;

/// The search for shared links.
#[derive(Debug)]
pub struct Search {
    matchings: Vec<Matching>,
    random: Random,
    phase: Phase,
    /// Rates of each matching's scan.
    scans: Vec<Rates>,
    /// The matching that is searched.
    chosen: usize,
    /// Its flows that dropped, by number: pair times two plus direction.
    dropped: Vec<usize>,
    rounds: Vec<Rates>,
    groups: Vec<Vec<usize>>,
    /// With and without the others, for each group.
    readings: Vec<[Vec<f64>; 2]>,
}

impl Search {
    /// Searches in these matchings.
    pub const fn new(matchings: Vec<Matching>, seed: u64) -> Self {
        Self {
            matchings,
            random: Random::new(seed),
            phase: Phase::Scan { next: 0 },
            scans: Vec::new(),
            chosen: 0,
            dropped: Vec::new(),
            rounds: Vec::new(),
            groups: Vec::new(),
            readings: Vec::new(),
        }
    }

    /// What to run next; `None` when the search is over.
    pub fn next_crowd(&mut self) -> Option<Crowd> {
        let crowd = |matching, flows: Vec<usize>, purpose| {
            let mut ways: BTreeMap<usize, [bool; 2]> = BTreeMap::new();
            for flow in flows {
                ways.entry(flow / 2).or_default()[flow % 2] = true;
            }
            Some(Crowd {
                matching,
                pairs: ways.into_iter().collect(),
                purpose,
            })
        };
        match self.phase {
            Phase::Scan { next } => {
                let flows = (0..self.matchings.get(next)?.alone.len() * 2).collect();
                crowd(next, flows, CrowdPurpose::All)
            }
            Phase::Subsets { .. } => {
                let mut flows = self.dropped.clone();
                let active = (flows.len() * ACTIVE_OF_TEN).div_ceil(10).max(2);
                self.random.shuffle(&mut flows);
                flows.truncate(active);
                flows.sort_unstable();
                crowd(self.chosen, flows, CrowdPurpose::Subset)
            }
            Phase::Confirm { group, left } => {
                let flows = self.dropped.iter().copied();
                if left.is_multiple_of(2) {
                    return crowd(self.chosen, flows.collect(), CrowdPurpose::All);
                }
                let stays = self.representative(group);
                let others = &self.groups[group];
                let flows = flows.filter(|flow| *flow == stays || !others.contains(flow));
                crowd(self.chosen, flows.collect(), CrowdPurpose::WithoutOthers)
            }
            Phase::Done => None,
        }
    }

    /// Takes what the flows of the last crowd carried: pair, forward and reverse rate, bit/s.
    pub fn record(&mut self, crowd: &Crowd, rates: &[(usize, [Option<f64>; 2])]) {
        let pairs = self.matchings[crowd.matching].alone.len();
        let mut round = vec![None; pairs * 2];
        for (pair, both) in rates {
            round[pair * 2] = both[0].filter(|rate| *rate > 0.0);
            round[pair * 2 + 1] = both[1].filter(|rate| *rate > 0.0);
        }
        match self.phase {
            Phase::Scan { next } => {
                self.scans.push(round);
                self.phase = if next + 1 < self.matchings.len() {
                    Phase::Scan { next: next + 1 }
                } else {
                    self.choose()
                };
            }
            Phase::Subsets { left } => {
                self.rounds.push(round);
                self.phase = if left > 1 {
                    Phase::Subsets { left: left - 1 }
                } else {
                    self.group()
                };
            }
            Phase::Confirm { group, left } => {
                let stays = self.representative(group);
                if let Some(rate) = round[stays] {
                    self.readings[group][left % 2].push(rate);
                }
                if left.is_multiple_of(2) {
                    self.rounds.push(round);
                }
                self.phase = match left {
                    0 if group + 1 < self.groups.len() => Self::confirm(group + 1),
                    0 => Phase::Done,
                    _ => Phase::Confirm {
                        group,
                        left: left - 1,
                    },
                };
            }
            Phase::Done => {}
        }
    }

    const fn confirm(group: usize) -> Phase {
        Phase::Confirm {
            group,
            left: READINGS * 2 - 1,
        }
    }

    /// The matching whose flows lose most, if any lose at all.
    fn choose(&mut self) -> Phase {
        let lost = |matching: &usize| -> f64 {
            let flows = self.dropped_in(*matching);
            let share = |flow: &usize| {
                let alone = self.alone(*matching, *flow)?;
                Some(1.0 - self.scans[*matching][*flow]? / alone)
            };
            flows.iter().filter_map(share).sum()
        };
        let all = 0..self.scans.len();
        let most = all.max_by(|a, b| lost(a).total_cmp(&lost(b)).then(b.cmp(a)));
        let Some(chosen) = most else {
            return Phase::Done;
        };
        self.chosen = chosen;
        self.dropped = self.dropped_in(chosen);
        self.rounds.push(self.scans[chosen].clone());
        let flows = self.dropped.len();
        if flows < 2 {
            return Phase::Done;
        }
        let doublings = usize::try_from(flows.ilog2()).unwrap_or_default();
        Phase::Subsets {
            left: SUBSETS + doublings,
        }
    }

    fn group(&mut self) -> Phase {
        let alone: Vec<_> = (0..self.rounds[0].len())
            .map(|flow| self.alone(self.chosen, flow))
            .collect();
        self.groups = groups::find(&self.dropped, &alone, &self.rounds);
        self.readings = vec![[Vec::new(), Vec::new()]; self.groups.len()];
        if self.groups.is_empty() {
            Phase::Done
        } else {
            Self::confirm(0)
        }
    }

    fn alone(&self, matching: usize, flow: usize) -> Option<f64> {
        self.matchings[matching].alone[flow / 2][flow % 2]
    }

    fn dropped_in(&self, matching: usize) -> Vec<usize> {
        let rates = self.scans[matching].iter().enumerate();
        let dropped = rates.filter(|(flow, rate)| {
            let alone = self.alone(matching, *flow);
            rate.zip(alone)
                .is_some_and(|(rate, alone)| rate < DROPPED * alone)
        });
        dropped.map(|(flow, _)| flow).collect()
    }

    /// The flow of a group that stays active while its others are left out: the one that lost most in the scan.
    fn representative(&self, group: usize) -> usize {
        let kept = |flow: &usize| {
            let rate = self.scans[self.chosen][*flow];
            let alone = self.alone(self.chosen, *flow);
            rate.zip(alone).map_or(1.0, |(rate, alone)| rate / alone)
        };
        let flows = self.groups[group].iter().copied();
        let most = flows.min_by(|a, b| kept(a).total_cmp(&kept(b)));
        most.expect("invariant: a group has at least two flows")
    }

    /// The matching that was searched.
    pub const fn searched(&self) -> usize {
        self.chosen
    }

    /// Flows of the searched matching that carried less at once than alone: pair and direction.
    pub fn dropped(&self) -> Vec<(usize, usize)> {
        self.dropped
            .iter()
            .map(|flow| (flow / 2, flow % 2))
            .collect()
    }

    /// The links that were found. Groups that an intervention refuted are none.
    pub fn links(&self) -> Vec<FoundLink> {
        let groups = self.groups.iter().zip(&self.readings);
        let links = groups.filter_map(|(flows, [with, without])| {
            let capacity = self.capacity(flows)?;
            let gain = gain(with, without);
            let certainty = match gain {
                Some(gain) if is_proof(&gain) => LinkCertainty::Proven,
                // The flow that stayed got no more: the others are not what held it back.
                Some(gain) if gain.point < LEAST_GAIN => return None,
                _ => LinkCertainty::Suspected,
            };
            Some(FoundLink {
                matching: self.chosen,
                flows: flows.iter().map(|flow| (flow / 2, flow % 2)).collect(),
                capacity,
                certainty,
                gain,
            })
        });
        links.collect()
    }

    /// What the flows of a group carry together while their link is saturated.
    fn capacity(&self, flows: &[usize]) -> Option<Estimate> {
        let alone = |flow: usize| self.alone(self.chosen, flow);
        let sums = groups::full(&groups::saturated_sums(flows, &alone, &self.rounds));
        let mut estimate = mean(&sums, USUAL_CONFIDENCE).ok()?;
        estimate.interval = estimate.interval.map(|interval| Interval {
            low: interval.low.max(0.0),
            ..interval
        });
        Some(estimate)
    }
}

/// Rate without the others over rate with them, from readings in turns. The bound of [`READINGS`] pairs of turns: what
/// drifts over the search is in both of a pair.
fn gain(with: &[f64], without: &[f64]) -> Option<GainRatio> {
    let logs: Vec<f64> = with
        .iter()
        .zip(without)
        .map(|(with, without)| (without / with).ln())
        .collect();
    let estimate = mean(&logs, USUAL_CONFIDENCE).ok()?;
    Some(GainRatio {
        point: estimate.point.exp(),
        interval: estimate.interval.map(|interval| Interval {
            low: interval.low.exp(),
            high: interval.high.exp(),
        }),
        with_others: count_of(with.len()),
        without_others: count_of(without.len()),
    })
}

fn count_of(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn is_proof(gain: &GainRatio) -> bool {
    let excludes_none = gain.interval.is_some_and(|interval| interval.low > 1.0);
    gain.point >= LEAST_GAIN && excludes_none
}

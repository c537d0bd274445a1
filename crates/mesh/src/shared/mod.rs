//! Links that nobody declared, found by crowds of flows.
//!
//! Two flows alone are blind to a link that is faster than both together; many at once are not.
//!
//! ```text
//!  scan:     all pairs of several random matchings at once; the one whose flows carry least is searched
//!  few:      its pairs few at a time: what each flow carries while nothing that it shares is full
//!  core:     of the flows that were held back at once, the fewest that fill one link: any of them sets the others free
//!  members:  the core less one, with some of the other flows: those that fill the link again pass it
//!  confirm:  the group, its halves and its core, in turns: does each flow rise without the other half, and do their sums
//!            stay one link's?
//! ```
//!
//! The last three are made again for what the links found so far do not explain. Effects are those of whole flows, not of
//! how rates are correlated: TCP shares no link evenly.
//!
//! Does no I/O: [`Search::next_crowd`] says what to run at once, [`Search::record`] takes the rates. A pair is two flows, one
//! each way, since the directions of a link are separate.
//!
//! # References
//! - Interference of concurrent transfers: Legrand, Mazoit, Quinson, INRIA RR-5792 (2006)
//! - The fewest inputs that show an effect: Zeller, Hildebrandt, IEEE Transactions on Software Engineering 28(2) (2002)

mod confirm;
mod core;
mod explain;
mod members;
mod reference;

use confirm::{Confirmation, Outcome};
use core::{CoreSearch, Step};
use linerate_model::estimate::Estimate;
use linerate_model::mesh::{CrowdPurpose, GainRatio, LinkCertainty};
use linerate_model::random::Random;
use members::MemberSearch;
use reference::{Rates, References};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What is left out at the beginning of each flow: TCP's shares of a link that others fill settle in a second.
pub const WARM_UP: Duration = Duration::from_secs(2);
/// After which the tests of a crowd begin: by then all have been asked for.
pub const DELAY: Duration = Duration::from_secs(1);
/// What is left out at the end: flows that end later than others have the link for themselves.
pub const TAIL: Duration = Duration::from_millis(500);
/// Matchings that are scanned.
const MATCHINGS: usize = 4;
/// Crowds in which the pairs are run few at a time; fewer pairs are run alone.
const FEW_CROWDS: usize = 16;
/// Crowds for each link that may be there, on average: half of them to find its flows, as many to confirm them.
const CROWDS_OF_LINK: usize = 40;
/// Links that are searched for at most, as far as the crowds go.
const MOST_LINKS: usize = 16;
/// Readings with the others, and as many without: at a gain of a tenth and a scatter of 5 %, four find it with power 0.8.
const READINGS: usize = 4;
/// A gain below this is within what TCP's rate scatters, however narrow its interval.
const LEAST_GAIN: f64 = 1.1;
/// A rate below this share of what the links found explain has another cause.
const UNEXPLAINED: f64 = 0.85;
/// Searches in a row that found nothing, after which the search is over; of few flows one for each four, at least two.
const MOST_FAILURES: usize = 6;

/// Pairs that can be active at once, since they share no interface and no declared link: what their flows carry at most as
/// far as the rounds of the plan showed, forward and reverse, bit/s. `None` where it is not known.
#[derive(Debug, Clone, PartialEq)]
pub struct Matching {
    /// Forward and reverse rate of each pair.
    pub expected: Vec<[Option<f64>; 2]>,
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
    /// Rate of all its flows together while they alone were active, bit/s.
    pub capacity: Estimate,
    /// How sure it is.
    pub certainty: LinkCertainty,
    /// The intervention.
    pub gain: GainRatio,
}

/// Where the search is.
#[derive(Debug)]
enum Phase {
    Confirm(Confirmation),
    Core(CoreSearch),
    Done,
    Few { next: usize },
    Members(MemberSearch),
    Scan { next: usize },
}

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
    /// Its pairs, few at a time.
    few: Vec<Vec<usize>>,
    reference: References,
    /// Its flows that were held back in the scan, by number: pair times two plus direction.
    held_back: Vec<usize>,
    links: Vec<FoundLink>,
    /// Flows of groups whose sums were not those of one link.
    given_up: BTreeSet<usize>,
    /// Groups whose sums were not those of one link.
    unsteady: usize,
    failures: usize,
    crowds: usize,
}

/// Crowds of a search among so many pairs at once, at most.
pub fn most_crowds(pairs: usize) -> usize {
    MATCHINGS + FEW_CROWDS.min(pairs) + CROWDS_OF_LINK * MOST_LINKS.min(pairs)
}

impl Search {
    /// Searches in the first of these, of which none has more pairs than the first.
    pub fn new(mut matchings: Vec<Matching>, seed: u64) -> Self {
        matchings.truncate(MATCHINGS);
        Self {
            matchings,
            random: Random::new(seed),
            phase: Phase::Scan { next: 0 },
            scans: Vec::new(),
            chosen: 0,
            few: Vec::new(),
            reference: References::default(),
            held_back: Vec::new(),
            links: Vec::new(),
            given_up: BTreeSet::new(),
            unsteady: 0,
            failures: 0,
            crowds: 0,
        }
    }

    /// What to run next; `None` when the search is over.
    pub fn next_crowd(&mut self) -> Option<Crowd> {
        let (matching, flows, purpose) = match &mut self.phase {
            Phase::Scan { next } => {
                let flows = 0..self.matchings.get(*next)?.expected.len() * 2;
                (*next, flows.collect(), CrowdPurpose::All)
            }
            Phase::Few { next } => {
                let pairs = self.few.get(*next)?.iter();
                let flows = pairs.flat_map(|pair| [pair * 2, pair * 2 + 1]);
                (self.chosen, flows.collect(), CrowdPurpose::Few)
            }
            Phase::Core(search) => {
                let flows = search.next(&mut self.random);
                (self.chosen, flows, CrowdPurpose::Subset)
            }
            Phase::Members(search) => (self.chosen, search.next()?, CrowdPurpose::Members),
            Phase::Confirm(confirmation) => {
                let (flows, purpose) = confirmation.next(&mut self.random);
                (self.chosen, flows, purpose)
            }
            Phase::Done => return None,
        };
        let mut ways: BTreeMap<usize, [bool; 2]> = BTreeMap::new();
        for flow in flows {
            ways.entry(flow / 2).or_default()[flow % 2] = true;
        }
        Some(Crowd {
            matching,
            pairs: ways.into_iter().collect(),
            purpose,
        })
    }

    /// Takes what the flows of the last crowd carried: pair, forward and reverse rate, bit/s.
    pub fn record(&mut self, rates: &[(usize, [Option<f64>; 2])]) {
        let flows = rates.iter().flat_map(|(pair, both)| {
            [0, 1].map(|way| Some((pair * 2 + way, both[way].filter(|rate| *rate > 0.0)?)))
        });
        let rates: Rates = flows.flatten().collect();
        self.crowds += 1;
        if !matches!(self.phase, Phase::Scan { .. }) {
            self.reference.record(&rates);
        }
        let phase = std::mem::replace(&mut self.phase, Phase::Done);
        self.phase = self.after(phase, rates);
        let pairs = self.matchings.first().map_or(0, |most| most.expected.len());
        if self.crowds >= most_crowds(pairs) {
            self.phase = Phase::Done;
        }
    }

    fn after(&mut self, phase: Phase, rates: Rates) -> Phase {
        match phase {
            Phase::Scan { next } => {
                self.scans.push(rates);
                if next + 1 < self.matchings.len() {
                    return Phase::Scan { next: next + 1 };
                }
                self.choose();
                Phase::Few { next: 0 }
            }
            Phase::Few { next } if next + 1 < self.few.len() => Phase::Few { next: next + 1 },
            Phase::Few { .. } => self.search_on(),
            Phase::Core(mut search) => match search.record(&rates, &self.reference) {
                Step::Running => Phase::Core(search),
                Step::Nothing => self.failed(&[]),
                Step::Done(core) => {
                    let others = self.reference.not_free(&self.scans[self.chosen]);
                    Self::members(MemberSearch::new(core, &others, &mut self.random))
                }
            },
            Phase::Members(mut search) => {
                match search.record(&rates, &self.reference, &mut self.random) {
                    Step::Done(members) => Phase::Confirm(Confirmation::new(members)),
                    Step::Running | Step::Nothing => Phase::Members(search),
                }
            }
            Phase::Confirm(mut confirmation) => {
                match confirmation.record(&rates, &self.reference) {
                    None => Phase::Confirm(confirmation),
                    Some(outcome) => self.conclude(outcome, confirmation.flows()),
                }
            }
            Phase::Done => Phase::Done,
        }
    }

    fn members(search: MemberSearch) -> Phase {
        match search.next() {
            Some(_) => Phase::Members(search),
            None => Phase::Confirm(Confirmation::new(search.members())),
        }
    }

    fn conclude(&mut self, outcome: Outcome, group: &[usize]) -> Phase {
        match outcome {
            Outcome::Refuted => self.failed(&[]),
            Outcome::Unsteady => {
                self.unsteady += 1;
                self.failed(group)
            }
            Outcome::Link {
                flows,
                capacity,
                certainty,
                gain,
            } => {
                let is_new = self.add(FoundLink {
                    matching: self.chosen,
                    flows: flows.iter().map(|flow| (flow / 2, flow % 2)).collect(),
                    capacity,
                    certainty,
                    gain,
                });
                if is_new {
                    self.failures = 0;
                    self.search_on()
                } else {
                    self.failed(&[])
                }
            }
        }
    }

    /// Adds a link; false if it is one that was found before, which gets the flows that are new.
    fn add(&mut self, found: FoundLink) -> bool {
        let is_same = |link: &&mut FoundLink| {
            let common = found.flows.iter().filter(|flow| link.flows.contains(flow));
            common.count() * 2 > found.flows.len().min(link.flows.len())
        };
        if let Some(link) = self.links.iter_mut().find(is_same) {
            let new = found
                .flows
                .into_iter()
                .filter(|flow| !link.flows.contains(flow));
            let new: Vec<_> = new.collect();
            link.flows.extend(new);
            return false;
        }
        self.links.push(found);
        true
    }

    fn failed(&mut self, flows: &[usize]) -> Phase {
        self.failures += 1;
        self.given_up.extend(flows);
        self.search_on()
    }

    /// Searches what is not explained yet.
    fn search_on(&mut self) -> Phase {
        self.held_back = self.reference.held_back(&self.scans[self.chosen]);
        let left = self.unexplained();
        let most_failures = (self.scans[self.chosen].len() / 4).clamp(2, MOST_FAILURES);
        if left.len() < 2 || self.failures >= most_failures {
            Phase::Done
        } else {
            Phase::Core(CoreSearch::new(left))
        }
    }

    /// Flows that were held back in the scan by more than the links that were found.
    fn unexplained(&self) -> Vec<usize> {
        let scan = &self.scans[self.chosen];
        let alone = scan
            .keys()
            .filter_map(|flow| Some((*flow, self.reference.rate(*flow)?)));
        let links: Vec<_> = self
            .links
            .iter()
            .map(|link| explain::Shared {
                flows: link
                    .flows
                    .iter()
                    .map(|(pair, way)| pair * 2 + way)
                    .collect(),
                capacity: link.capacity.point,
            })
            .collect();
        let expected = explain::expected(&alone.collect(), &links);
        let is_unexplained = |flow: &usize| {
            let rates = scan.get(flow).zip(expected.get(flow));
            !self.given_up.contains(flow)
                && rates.is_some_and(|(rate, expected)| rate < &(expected * UNEXPLAINED))
        };
        let held_back = self.held_back.iter().copied();
        held_back.filter(is_unexplained).collect()
    }

    /// The matching whose flows lose most against what is expected of them.
    fn choose(&mut self) {
        let lost = |matching: &usize| -> f64 {
            let rates = self.scans[*matching].iter();
            let share = |(flow, rate): (&usize, &f64)| {
                let expected = self.matchings[*matching].expected[flow / 2][flow % 2]?;
                Some((1.0 - rate / expected).max(0.0))
            };
            rates.filter_map(share).sum()
        };
        let all = 0..self.scans.len();
        let most = all.max_by(|a, b| lost(a).total_cmp(&lost(b)).then(b.cmp(a)));
        self.chosen = most.unwrap_or_default();
        let mut pairs: Vec<usize> = (0..self.matchings[self.chosen].expected.len()).collect();
        self.random.shuffle(&mut pairs);
        let size = pairs.len().div_ceil(FEW_CROWDS).max(1);
        self.few = pairs.chunks(size).map(<[usize]>::to_vec).collect();
    }

    /// The matching that was searched.
    pub const fn searched(&self) -> usize {
        self.chosen
    }

    /// Groups that held each other back, but not as one link does.
    pub const fn unsteady(&self) -> usize {
        self.unsteady
    }

    /// How many flows of the searched matching carried less at once than few at a time.
    pub const fn held_back(&self) -> usize {
        self.held_back.len()
    }

    /// What a flow of the searched matching, by number, carried while few were active, bit/s.
    pub fn reference(&self, flow: usize) -> Option<f64> {
        self.reference.rate(flow)
    }

    /// The links that were found. Groups that an intervention refuted are none.
    pub fn links(&self) -> &[FoundLink] {
        &self.links
    }
}

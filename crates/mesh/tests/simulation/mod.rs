//! A network in which flows share links as TCP does on average: weighted max-min, with noise, and traps.

use linerate_mesh::shared::{Crowd, Matching, Search};
use linerate_model::mesh::LinkCertainty;
use linerate_model::random::Random;
use std::collections::{BTreeMap, BTreeSet};

/// Rate of each way of a pair with the link that limits it; `None` where that way is not in the crowd.
type BothWays = [Option<(f64, usize)>; 2];

/// Rate of every interface.
const NIC: f64 = 1e9;

/// A kind of network.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene {
    pub(crate) hosts: usize,
    pub(crate) racks: usize,
    /// Capacity of each direction of a rack's uplink, in interfaces; infinite: none.
    pub(crate) uplink: f64,
    /// Scatter of each reading, of the logarithm.
    pub(crate) noise: f64,
    /// Scatter of the flows' lasting shares, of the logarithm: round-trip times differ.
    pub(crate) unfair: f64,
    /// What is not what it seems.
    pub(crate) trap: Trap,
}

/// Something that is not a shared link, or not one link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trap {
    /// A flow whose acknowledgements pass a full link carries less: 0.5 to 0.95 of what it carries else (BBR, whose window
    /// is a few packets where the round trip is short).
    Acknowledgements,
    /// Each uplink is two links, and each test's ports decide over which it goes.
    Ecmp,
    /// A third of the hosts are slow by themselves.
    HostLimits,
    /// A third of the flows lose packets: slow alone and together.
    Lossy,
    None,
}

/// What a search was worth.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Score {
    /// Proven links.
    pub(crate) links: usize,
    /// Those whose flows all pass one link of the network.
    pub(crate) pure: usize,
    /// Those whose capacity is within 5 % of that link's.
    pub(crate) within: usize,
    /// Links of the network that limit two flows at least while all are active.
    pub(crate) there: usize,
    /// Those of them that were found.
    pub(crate) found: usize,
    /// Pairs of flows in one proven link that pass one link of the network.
    pub(crate) right: usize,
    /// Pairs of flows in one proven link that do not.
    pub(crate) wrong: usize,
    /// Pairs of flows that one link limits while all are active, and that were found together.
    pub(crate) seen: usize,
    /// Those that were not.
    pub(crate) missed: usize,
    /// Crowd rounds.
    pub(crate) rounds: usize,
}

struct Network {
    /// Capacities.
    links: Vec<f64>,
    /// How many of them, the first, several pairs pass.
    shared: usize,
    /// Links of each flow of each matching; of an uplink of two links, the first.
    paths: Vec<Vec<Vec<usize>>>,
    weights: Vec<Vec<f64>>,
    bundled: BTreeSet<usize>,
    /// Whether flows whose acknowledgements pass a full link carry less.
    couples: bool,
    /// Scatter of a flow's share from crowd to crowd, of the logarithm.
    unfair: f64,
}

pub(crate) fn run(scene: Scene, seed: u64) -> Score {
    let mut random = Random::new(seed);
    let network = Network::new(scene, &mut random);
    let noise = |random: &mut Random| (scene.noise * random.normal()).exp();
    // What a mesh knows before: the interfaces' rates.
    let matchings = network.paths.iter().map(|paths| Matching {
        expected: vec![[Some(NIC); 2]; paths.len() / 2],
    });
    let mut search = Search::new(matchings.collect(), seed);
    let mut score = Score::default();
    while let Some(crowd) = search.next_crowd() {
        let rates = network.crowd(&crowd, network.couples, &mut random);
        let rates = rates.into_iter();
        let rates: Vec<_> = rates
            .map(|(pair, both)| (pair, both.map(|rate| Some(rate?.0 * noise(&mut random)))))
            .collect();
        search.record(&rates);
        score.rounds += 1;
    }
    network.judge(&search, &mut score);
    score
}

impl Network {
    fn new(scene: Scene, random: &mut Random) -> Self {
        let of_rack = scene.hosts / scene.racks;
        let capacity = NIC * scene.uplink;
        let width: u32 = if scene.trap == Trap::Ecmp { 2 } else { 1 };
        // Up and down of each rack; of two links, each half as fast.
        let mut links = vec![capacity / f64::from(width); scene.racks * 2 * width as usize];
        let host_nic: Vec<usize> = (0..scene.hosts)
            .map(|_| {
                let slow = scene.trap == Trap::HostLimits && random.below(3) == 0;
                let rate = if slow {
                    NIC * (0.2 + 0.5 * random.unit())
                } else {
                    NIC
                };
                // Full duplex: what it sends, then what it receives.
                links.extend([rate, rate]);
                links.len() - 2
            })
            .collect();
        let shared = if capacity.is_finite() {
            scene.racks * 2 * width as usize
        } else {
            0
        };
        let link = |rack: usize, down: usize| (rack * 2 + down) * width as usize;
        let (mut paths, mut weights) = (Vec::new(), Vec::new());
        for _ in 0..4 {
            let mut places: Vec<_> = (0..scene.hosts).collect();
            random.shuffle(&mut places);
            let (mut of_matching, mut preferences) = (Vec::new(), Vec::new());
            for pair in places.chunks_exact(2) {
                for (from, to) in [(pair[0], pair[1]), (pair[1], pair[0])] {
                    let mut path = vec![host_nic[from], host_nic[to] + 1];
                    let racks = (from / of_rack, to / of_rack);
                    if racks.0 != racks.1 && capacity.is_finite() {
                        path.extend([link(racks.0, 0), link(racks.1, 1)]);
                    }
                    if scene.trap == Trap::Lossy && random.below(3) == 0 {
                        links.push(NIC * (0.1 + 0.4 * random.unit()));
                        path.push(links.len() - 1);
                    }
                    of_matching.push(path);
                    preferences.push((scene.unfair * random.normal()).exp());
                }
            }
            paths.push(of_matching);
            weights.push(preferences);
        }
        let uplinks = scene.racks * 2 * 2;
        let bundled = if width == 2 {
            (0..uplinks).collect()
        } else {
            BTreeSet::new()
        };
        Self {
            links,
            shared,
            paths,
            weights,
            bundled,
            couples: scene.trap == Trap::Acknowledgements,
            unfair: scene.unfair,
        }
    }

    /// One of the two links of each bundle on a path.
    fn choose(&self, path: &[usize], random: &mut Random) -> Vec<usize> {
        let one =
            |link: &usize| link + usize::from(self.bundled.contains(link) && random.below(2) == 1);
        path.iter().map(one).collect()
    }

    /// Weighted max-min: rate and bottleneck of each flow.
    fn share(links: &[f64], flows: &[(Vec<usize>, f64)]) -> Vec<(f64, usize)> {
        let mut rates = vec![None; flows.len()];
        let mut left = BTreeMap::new();
        let mut load: BTreeMap<usize, f64> = BTreeMap::new();
        for (path, weight) in flows {
            for link in path {
                left.insert(*link, links[*link]);
                *load.entry(*link).or_default() += weight;
            }
        }
        while rates.iter().any(Option::is_none) {
            let level = |link: &usize| left[link] / load[link];
            let open = load
                .iter()
                .filter(|(_, load)| **load > 1e-9)
                .map(|(link, _)| *link);
            let tight = open.min_by(|a, b| level(a).total_cmp(&level(b)));
            let tight = tight.expect("invariant: a flow without a rate passes a link");
            let level = level(&tight);
            for (flow, (path, weight)) in flows.iter().enumerate() {
                if rates[flow].is_none() && path.contains(&tight) {
                    let rate = level * weight;
                    rates[flow] = Some((rate, tight));
                    for link in path {
                        *left.entry(*link).or_default() -= rate;
                        *load.entry(*link).or_default() -= weight;
                    }
                }
            }
            load.remove(&tight);
        }
        rates.into_iter().flatten().collect()
    }

    fn crowd(&self, crowd: &Crowd, couples: bool, random: &mut Random) -> Vec<(usize, BothWays)> {
        let (paths, weights) = (&self.paths[crowd.matching], &self.weights[crowd.matching]);
        let places: Vec<(usize, usize)> = crowd
            .pairs
            .iter()
            .flat_map(|(pair, ways)| {
                [0, 1]
                    .into_iter()
                    .filter(|way| ways[*way])
                    .map(|way| (*pair, way))
            })
            .collect();
        let flows: Vec<_> = places
            .iter()
            .map(|(pair, way)| pair * 2 + way)
            .map(|flow| {
                let share = weights[flow] * (self.unfair * random.normal()).exp();
                (self.choose(&paths[flow], random), share)
            })
            .collect();
        let rates = if couples {
            self.coupled(paths, &places, flows, random)
        } else {
            Self::share(&self.links, &flows)
        };
        let mut all: BTreeMap<usize, BothWays> = BTreeMap::new();
        for ((pair, way), rate) in places.iter().zip(rates) {
            all.entry(*pair).or_default()[*way] = Some(rate);
        }
        all.into_iter().collect()
    }

    /// Rates where full links delay acknowledgements too.
    fn coupled(
        &self,
        paths: &[Vec<usize>],
        places: &[(usize, usize)],
        mut flows: Vec<(Vec<usize>, f64)>,
        random: &mut Random,
    ) -> Vec<(f64, usize)> {
        let rates = Self::share(&self.links, &flows);
        let full = rates.iter().map(|rate| rate.1);
        let full: BTreeSet<usize> = full.filter(|link| *link < self.shared).collect();
        let mut links = self.links.clone();
        for ((flow, (rate, _)), (pair, way)) in flows.iter_mut().zip(&rates).zip(places) {
            let back = &paths[pair * 2 + 1 - way];
            if back.iter().any(|link| full.contains(link)) {
                flow.0.push(links.len());
                links.push(rate * (0.5 + 0.45 * random.unit()));
            }
        }
        Self::share(&links, &flows)
    }

    /// Flows that each link of the network limits while all are active, where it limits two at least.
    fn limited(&self, matching: usize) -> BTreeMap<usize, Vec<(usize, usize)>> {
        let crowd = Crowd {
            matching,
            pairs: (0..self.paths[matching].len() / 2)
                .map(|pair| (pair, [true; 2]))
                .collect(),
            purpose: linerate_model::mesh::CrowdPurpose::All,
        };
        let mut limited: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        for (pair, both) in self.crowd(&crowd, false, &mut Random::new(0)) {
            for (way, rate) in both.into_iter().enumerate() {
                if let Some((_, link)) = rate.filter(|(_, link)| *link < self.shared) {
                    limited.entry(link).or_default().push((pair, way));
                }
            }
        }
        limited.retain(|_, flows| flows.len() > 1);
        limited
    }

    fn judge(&self, search: &Search, score: &mut Score) {
        let matching = search.searched();
        let paths = &self.paths[matching];
        let passes = |flow: &(usize, usize), link: usize| {
            // Of a bundle no link is passed by every test.
            self.bundled.is_empty() && paths[flow.0 * 2 + flow.1].contains(&link)
        };
        let limited = self.limited(matching);
        score.there = limited.len();
        let links = search.links().iter();
        let proven: Vec<_> = links
            .filter(|link| link.certainty == LinkCertainty::Proven)
            .collect();
        let (mut together, mut found) = (BTreeSet::new(), BTreeSet::new());
        for link in &proven {
            score.links += 1;
            let count = |shared: &usize| {
                link.flows
                    .iter()
                    .filter(|flow| passes(flow, *shared))
                    .count()
            };
            let most = (0..self.shared).max_by_key(count);
            if let Some(most) = most.filter(|most| count(most) * 2 > link.flows.len()) {
                found.insert(most);
                score.pure += usize::from(count(&most) == link.flows.len());
                let error = link.capacity.point / self.links[most] - 1.0;
                score.within += usize::from(error.abs() <= 0.05);
            }
            for (at, a) in link.flows.iter().enumerate() {
                for b in &link.flows[..at] {
                    together.insert((*a.min(b), *a.max(b)));
                    if (0..self.shared).any(|link| passes(a, link) && passes(b, link)) {
                        score.right += 1;
                    } else {
                        score.wrong += 1;
                    }
                }
            }
        }
        score.found = limited.keys().filter(|link| found.contains(link)).count();
        for flows in limited.values() {
            for (at, a) in flows.iter().enumerate() {
                for b in &flows[..at] {
                    let key = (*a.min(b), *a.max(b));
                    if together.contains(&key) {
                        score.seen += 1;
                    } else {
                        score.missed += 1;
                    }
                }
            }
        }
    }
}

impl Score {
    pub(crate) fn add(&mut self, other: Self) {
        self.pure += other.pure;
        self.there += other.there;
        self.found += other.found;
        self.right += other.right;
        self.wrong += other.wrong;
        self.seen += other.seen;
        self.missed += other.missed;
        self.links += other.links;
        self.within += other.within;
        self.rounds += other.rounds;
    }
}

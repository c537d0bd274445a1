//! The search for links that nobody declared: many pairs at once.

use super::agents::Job;
use super::{Measuring, average};
use linerate_client::{DirectionOutcome, TestOutcome};
use linerate_mesh::FlowEnds;
use linerate_mesh::shared::{Crowd, DELAY, FoundLink, Matching, Search, TAIL, WARM_UP};
use linerate_model::mesh::{
    CrowdPurpose, CrowdRate, CrowdRound, LinkFlow, MeshPair, MeshReport, SharedLink, SharedPlace,
};
use linerate_model::random::Random;
use linerate_model::run::Trial;
use linerate_model::spec::{Direction, SocketChoice, Stop, TestSpec};
use linerate_model::{BitRate, Clock as _};
use linerate_sys::clock::MonoClock;
use std::collections::BTreeMap;
use std::time::Duration;

/// Of what rates are counted.
const INTERVAL: Duration = Duration::from_millis(250);
/// TCP connections of each flow: the shares of several scatter less than those of one.
const STREAMS: u16 = 4;
/// Limits of a verdict that are the hosts' own.
const OF_HOSTS: &[&str] = &[
    "other-programs",
    "receiver-app",
    "receiver-cpu",
    "sender-app",
    "sender-cpu",
    "tool",
];

/// Forward and reverse rate of pairs, bit/s.
type Rates = Vec<(usize, [Option<f64>; 2])>;

impl Measuring<'_, '_> {
    /// Searches for shared links, and puts what it found into the report.
    pub(super) fn search(&mut self, report: &mut MeshReport) {
        let fastest = self.fastest();
        let expected = |flow: FlowEnds| {
            let (from, to) = (fastest[0].get(&flow.from)?, fastest[1].get(&flow.to)?);
            Some(from.min(*to))
        };
        let crowds = self.crowds(report, expected);
        let matchings = crowds.iter().map(|pairs| Matching {
            expected: pairs
                .iter()
                .map(|pair| FlowEnds::of_pair(*pair).map(expected))
                .collect(),
        });
        let mut search = Search::new(matchings.collect(), report.plan.seed);
        let begun = MonoClock.now();
        let mut rounds = Vec::new();
        while let Some(crowd) = search.next_crowd() {
            let number = rounds.len() + 1;
            let text = format!(
                "shared links, crowd {number}: {} at once",
                match crowd.pairs.len() {
                    1 => "1 pair".to_owned(),
                    pairs => format!("{pairs} pairs"),
                }
            );
            let most = report.plan.search.map_or(number, |search| search.crowds);
            self.tell(
                number - 1,
                most,
                &text,
                MonoClock.now().saturating_since(begun),
            );
            let rates = self.crowd(&crowds[crowd.matching], &crowd, number, report);
            if self.context.interrupted() {
                let note = "the search for shared links was interrupted: what it found stands here as far as it came";
                report.notes.push(note.to_owned());
                break;
            }
            search.record(&rates);
            rounds.push((crowd.matching, round(crowd.purpose, rates)));
        }
        let searched = search.searched();
        let flows = crowds.get(searched).into_iter().flatten();
        report.crowd_flows = flows.flat_map(|pair| pair.flows()).collect();
        let count = rounds.len();
        let of_searched = rounds.into_iter().filter(|one| one.0 == searched);
        report.crowds = of_searched.map(|(_, round)| round).collect();
        let links = search.links().iter();
        report.links = links
            .map(|link| self.link(&crowds, link, &search))
            .collect();
        report
            .notes
            .push(conclusion(report, &search, crowds.len(), count));
    }

    /// Runs the pairs of a crowd at once; the rates of each pair that was measured.
    fn crowd(
        &mut self,
        pairs: &[MeshPair],
        crowd: &Crowd,
        number: usize,
        report: &mut MeshReport,
    ) -> Rates {
        let socket = self.socket();
        let job = |(pair, ways): &(usize, [bool; 2])| {
            let spec = TestSpec {
                direction: direction(*ways),
                warm_up: WARM_UP,
                streams: STREAMS,
                stop: Stop::After(self.hosts.inventory.time + TAIL),
                interval: INTERVAL,
                socket: socket.clone(),
                ..self.specs[0].clone()
            };
            (pairs[*pair], vec![spec])
        };
        let time = self.hosts.inventory.time;
        let jobs: Vec<Job> = crowd.pairs.iter().map(job).collect();
        let made = self.at_once(&jobs, DELAY);
        let mut rates = Vec::new();
        for (((place, _), made), (pair, specs)) in crowd.pairs.iter().zip(made).zip(&jobs) {
            match made.into_iter().next() {
                Some(Ok((outcome, _))) => rates.push((*place, of_ways(&specs[0], outcome, time))),
                Some(Err(why)) => {
                    let label = self.hosts.label(FlowEnds::of_pair(*pair)[0]);
                    report.notes.push(format!("crowd {number}: {label}: {why}"));
                }
                None => {}
            }
        }
        rates
    }

    /// How the sockets of all crowds are set up. Where the round trip is short, the window of BBR is some packets: a full
    /// link that only its acknowledgements pass holds it back too, as if it were the flow's. Every Linux has Reno, and lets
    /// every user take it.
    fn socket(&self) -> SocketChoice {
        let is_any = self.flows.values().any(|flow| flow.models_path);
        SocketChoice {
            congestion_control: is_any.then(|| "reno".to_owned()),
            ..self.specs[0].socket.clone()
        }
    }

    /// The rounds that are made as crowds: those with most pairs whose flows are known, first those that carried least of
    /// what was `expected` of their flows.
    fn crowds(
        &self,
        report: &MeshReport,
        expected: impl Fn(FlowEnds) -> Option<f64>,
    ) -> Vec<Vec<MeshPair>> {
        let mut rounds: Vec<Vec<MeshPair>> = report.plan.rounds.clone();
        for round in &mut rounds {
            round.retain(|pair| {
                let flows = FlowEnds::of_pair(*pair);
                flows.iter().any(|flow| self.rate(*flow).is_some())
            });
        }
        rounds.retain(|round| round.len() > 1);
        // Of rounds that lost as much, random ones: neighbours in a plan are neighbours in racks.
        Random::new(report.plan.seed).shuffle(&mut rounds);
        let lost = |flow| Some((1.0 - self.rate(flow)? / expected(flow)?).max(0.0));
        let losses = rounds.into_iter().map(|round| {
            let flows = round.iter().flat_map(|pair| FlowEnds::of_pair(*pair));
            (flows.filter_map(lost).sum::<f64>(), round)
        });
        let mut losses: Vec<(f64, Vec<MeshPair>)> = losses.collect();
        losses.sort_by(|(a, one), (b, other)| {
            let by_pairs = other.len().cmp(&one.len());
            by_pairs.then(b.total_cmp(a))
        });
        losses.into_iter().map(|(_, round)| round).collect()
    }

    pub(super) fn rate(&self, flow: FlowEnds) -> Option<f64> {
        average(&self.flows.get(&flow)?.rates)
    }

    /// The highest rate that each host sent, and received.
    fn fastest(&self) -> [BTreeMap<usize, f64>; 2] {
        let mut fastest = [BTreeMap::new(), BTreeMap::new()];
        for flow in self.flows.keys() {
            let Some(rate) = self.rate(*flow) else {
                continue;
            };
            for (hosts, host) in fastest.iter_mut().zip([flow.from, flow.to]) {
                let highest: &mut f64 = hosts.entry(host).or_default();
                *highest = highest.max(rate);
            }
        }
        fastest
    }

    fn link(&self, crowds: &[Vec<MeshPair>], link: &FoundLink, search: &Search) -> SharedLink {
        let flow = |(pair, way): &(usize, usize)| {
            let ends = FlowEnds::of_pair(crowds[link.matching][*pair])[*way];
            LinkFlow {
                from: ends.from,
                to: ends.to,
                alone: search.reference(pair * 2 + way).map(BitRate::from_f64),
            }
        };
        let flows: Vec<_> = link.flows.iter().map(flow).collect();
        let of_hosts = flows.iter().filter(|flow| {
            let LinkFlow { from, to, .. } = **flow;
            let known = self.flows.get(&FlowEnds { from, to });
            let limit = known.and_then(|known| known.limit.as_deref());
            limit.is_some_and(|limit| OF_HOSTS.contains(&limit))
        });
        // What limits most flows alone limits them the sooner together.
        let place = if of_hosts.count() * 2 > flows.len() {
            SharedPlace::Hosts
        } else {
            SharedPlace::Network
        };
        SharedLink {
            flows,
            capacity: link.capacity,
            certainty: link.certainty,
            gain_ratio: Some(link.gain),
            place,
        }
    }
}

fn conclusion(report: &MeshReport, search: &Search, crowds: usize, rounds: usize) -> String {
    if crowds == 0 {
        return "shared links were not searched for: that needs two pairs that can be tested at once"
            .to_owned();
    }
    let pairs = report.crowd_flows.len() / 2;
    let held_back = search.held_back();
    let unsteady = match search.unsteady() {
        0 => "",
        _ => {
            ". Some flows were held back together, but by another amount each time: they may take other paths each time (ECMP)"
        }
    };
    if held_back == 0 {
        return format!(
            "no shared link seen at this load: {pairs} pairs at once, both ways, carried what they carry by themselves ({rounds} crowds)"
        );
    }
    format!(
        "shared links: of {pairs} pairs at once, {held_back} of {} flows carried less than by themselves ({rounds} crowds){unsteady}",
        pairs * 2
    )
}

/// The direction of a test that is active forward, reverse, or both.
const fn direction(ways: [bool; 2]) -> Direction {
    match ways {
        [true, true] => Direction::Duplex,
        [_, false] => Direction::Forward,
        [false, true] => Direction::Reverse,
    }
}

/// Rates of the two ways of a duplex test.
fn of_ways(spec: &TestSpec, outcome: TestOutcome, time: Duration) -> [Option<f64>; 2] {
    let mut ways = [None; 2];
    let directions: Vec<Direction> = outcome
        .directions
        .iter()
        .map(|DirectionOutcome { direction, .. }| *direction)
        .collect();
    let trials = crate::run::trials(0, spec, outcome);
    for (direction, trial) in directions.into_iter().zip(trials) {
        let way = usize::from(direction == Direction::Reverse);
        ways[way] = rate(&trial, time);
    }
    ways
}

/// Receiver-side rate of the first `time` of a trial, bit/s.
fn rate(trial: &Trial, time: Duration) -> Option<f64> {
    let (mut bits, mut seconds) = (0.0, 0.0);
    for interval in trial.intervals.iter().filter(|part| part.end <= time) {
        let length = interval.end.saturating_sub(interval.start).as_secs_f64();
        bits += interval.received_rate?.as_f64() * length;
        seconds += length;
    }
    if seconds > 0.0 {
        Some(bits / seconds)
    } else {
        trial.received_rate.map(BitRate::as_f64)
    }
}

fn round(purpose: CrowdPurpose, rates: Rates) -> CrowdRound {
    let flows = rates.into_iter().flat_map(|(pair, both)| {
        let flow = move |way: usize| {
            let received = BitRate::from_f64(both[way]?);
            Some(CrowdRate {
                flow: pair * 2 + way,
                received,
            })
        };
        [flow(0), flow(1)].into_iter().flatten()
    });
    CrowdRound {
        purpose,
        rates: flows.collect(),
    }
}

//! The search for links that nobody declared: many pairs at once.

use super::agents::Job;
use super::{Measuring, average};
use linerate_client::DirectionOutcome;
use linerate_mesh::shared::{Crowd, FoundLink, Matching, Search};
use linerate_model::mesh::{CrowdRate, CrowdRound, MeshPair, MeshReport, SharedLink, SharedPlace};
use linerate_model::random::Random;
use linerate_model::spec::{Direction, TestSpec};
use linerate_model::{BitRate, Clock as _};
use linerate_sys::clock::MonoClock;
use std::time::Duration;

/// Rounds of the plan that are looked at as crowds.
const MATCHINGS: usize = 8;
/// What is left out at the beginning of each flow: tests of a crowd do not begin in the same instant.
const WARM_UP: Duration = Duration::from_secs(1);
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
        let crowds = self.crowds(report);
        let matchings = crowds.iter().map(|pairs| Matching {
            alone: pairs.iter().map(|pair| self.alone(*pair)).collect(),
        });
        let mut search = Search::new(matchings.collect(), report.plan.seed);
        let begun = MonoClock.now();
        let mut rounds = Vec::new();
        while let Some(crowd) = search.next_crowd() {
            let number = rounds.len() + 1;
            let text = format!(
                "shared links, crowd {number}: {} pairs at once",
                crowd.pairs.len()
            );
            self.tell(
                number,
                number + 1,
                &text,
                MonoClock.now().saturating_since(begun),
            );
            let rates = self.crowd(&crowds[crowd.matching], &crowd, number, report);
            if self.context.interrupted() {
                let note = "the search for shared links was interrupted: what it found stands here as far as it came";
                report.notes.push(note.to_owned());
                break;
            }
            search.record(&crowd, &rates);
            rounds.push((crowd, rates));
        }
        let searched = search.searched();
        let flows = crowds.get(searched).into_iter().flatten();
        report.crowd_flows = flows
            .flat_map(|pair| [(pair.dialer, pair.listener), (pair.listener, pair.dialer)])
            .collect();
        let of_searched = rounds
            .iter()
            .filter(|(crowd, _)| crowd.matching == searched);
        report.crowds = of_searched.map(raw).collect();
        let links = search.links();
        report.links = links.iter().map(|link| self.link(&crowds, link)).collect();
        report
            .notes
            .push(Self::conclusion(report, &search, crowds.len()));
    }

    /// Runs the pairs of a crowd at once; the rates of each pair that was measured.
    fn crowd(
        &self,
        pairs: &[MeshPair],
        crowd: &Crowd,
        number: usize,
        report: &mut MeshReport,
    ) -> Rates {
        let job = |(pair, ways): &(usize, [bool; 2])| {
            let spec = TestSpec {
                direction: direction(*ways),
                warm_up: WARM_UP,
                ..self.specs[0].clone()
            };
            (pairs[*pair], vec![spec])
        };
        let jobs: Vec<Job> = crowd.pairs.iter().map(job).collect();
        let made = self.agents.at_once(&jobs, self.context.interrupt);
        let mut rates = Vec::new();
        for (((place, _), made), (pair, specs)) in crowd.pairs.iter().zip(made).zip(&jobs) {
            match made.into_iter().next() {
                Some(Ok((outcome, _))) => rates.push((*place, of_ways(&specs[0], outcome))),
                Some(Err(why)) => {
                    let label = self.hosts.label((pair.dialer, pair.listener));
                    report.notes.push(format!("crowd {number}: {label}: {why}"));
                }
                None => {}
            }
        }
        rates
    }

    /// The rounds that are made as crowds: those with most pairs whose flows are all known.
    fn crowds(&self, report: &MeshReport) -> Vec<Vec<MeshPair>> {
        let mut rounds: Vec<Vec<MeshPair>> = report.plan.rounds.clone();
        for round in &mut rounds {
            round.retain(|pair| self.alone(*pair).iter().any(Option::is_some));
        }
        rounds.retain(|round| round.len() > 1);
        // Of rounds with as many pairs, random ones: neighbours in a plan are neighbours in racks.
        Random::new(report.plan.seed).shuffle(&mut rounds);
        rounds.sort_by_key(|round| std::cmp::Reverse(round.len()));
        rounds.truncate(MATCHINGS);
        rounds
    }

    fn alone(&self, pair: MeshPair) -> [Option<f64>; 2] {
        pair.flows()
            .map(|flow| average(&self.flows.get(&flow)?.rates))
    }

    fn link(&self, crowds: &[Vec<MeshPair>], link: &FoundLink) -> SharedLink {
        let flow = |(pair, way): &(usize, usize)| crowds[link.matching][*pair].flows()[*way];
        let flows: Vec<_> = link.flows.iter().map(flow).collect();
        let of_hosts = flows.iter().filter(|flow| {
            let limit = self
                .flows
                .get(flow)
                .and_then(|known| known.limit.as_deref());
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
            gain_ratio: link.gain,
            place,
        }
    }

    fn conclusion(report: &MeshReport, search: &Search, crowds: usize) -> String {
        let pairs = report.crowd_flows.len() / 2;
        let dropped = search.dropped().len();
        match (crowds, dropped, report.links.len()) {
            (0, ..) => "shared links were not searched for: that needs two pairs that can be tested at once".to_owned(),
            (_, 0, _) => format!(
                "no shared link seen at this load: {pairs} pairs at once, both ways, carried what they carry alone ({crowds} crowds)"
            ),
            (_, _, 0) => format!(
                "{dropped} flows carried less among {pairs} pairs at once than alone, and no group of them shares a link"
            ),
            _ => format!(
                "of {crowds} crowds the one that lost most was searched: {dropped} of its {} flows carried less than alone",
                pairs * 2
            ),
        }
    }
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
fn of_ways(spec: &TestSpec, outcome: linerate_client::TestOutcome) -> [Option<f64>; 2] {
    let mut ways = [None; 2];
    let directions: Vec<Direction> = outcome
        .directions
        .iter()
        .map(|DirectionOutcome { direction, .. }| *direction)
        .collect();
    let trials = crate::run::trials(0, spec, outcome);
    for (direction, trial) in directions.into_iter().zip(trials) {
        let way = usize::from(direction == Direction::Reverse);
        ways[way] = trial.received_rate.map(BitRate::as_f64);
    }
    ways
}

fn raw((crowd, rates): &(Crowd, Rates)) -> CrowdRound {
    let flows = rates.iter().flat_map(|(pair, both)| {
        let flow = |way: usize| {
            let received = BitRate::from_f64(both[way]?);
            Some(CrowdRate {
                flow: pair * 2 + way,
                received,
            })
        };
        [flow(0), flow(1)].into_iter().flatten()
    });
    CrowdRound {
        purpose: crowd.purpose,
        rates: flows.collect(),
    }
}

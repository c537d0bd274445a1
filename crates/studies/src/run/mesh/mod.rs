//! `linerate mesh`: many hosts test each other, in rounds; a part of a study for each direction of each pair.
//!
//! This host is a third party: it asks one agent to make a test with another, and gets the reports of both. What fails is
//! named with its pair, and the rest goes on.

mod agents;
mod apart;
mod crowds;
mod leases;
#[cfg(test)]
mod tests;

use crate::context::Context;
use crate::recorder::{Header, Recorder, status, this_tool};
use crate::watch::Event;
use agents::{Agents, Job, Made};
use anyhow::Result;
use leases::Leases;
use linerate_analysis::statistics::{USUAL_CONFIDENCE, mean};
use linerate_client::address::PeerAddress;
use linerate_client::{Target, TestOutcome};
use linerate_mesh::outliers::{Common, common, slow};
use linerate_mesh::{FlowEnds, Inventory, plan};
use linerate_model::Clock as _;
use linerate_model::estimate::Interval;
use linerate_model::exit::Failure;
use linerate_model::mesh::{FlowStanding, MeshFlow, MeshPair, MeshPlan, MeshReport, SCHEMA};
use linerate_model::run::{
    Config, Host, HostRole, Run, RunKind, RunRequest, RunWork, StudyCell, StudyPlace,
    StudySettings, Trial, WallClockOffset,
};
use linerate_model::spec::{Direction, Side, Stop, TestSpec};
use linerate_model::tcp::models_the_path;
use linerate_peers::key::Key;
use linerate_store::new_id;
use linerate_sys::clock::{MonoClock, wall_now};
use std::collections::BTreeMap;
use std::time::Duration;

/// Slow pairs that are tested again: more of them are no outliers.
const MOST_AGAIN: usize = 50;

/// The hosts of a mesh, and how they are reached.
#[derive(Debug, Clone)]
pub struct Hosts {
    inventory: Inventory,
    targets: Vec<Target>,
}

impl Hosts {
    /// The hosts of this inventory; running agents among them ask for `key`.
    pub fn new(inventory: Inventory, key: Option<&Key>) -> Result<Self, Failure> {
        let mut targets = Vec::with_capacity(inventory.hosts.len());
        for host in &inventory.hosts {
            let wrong = |error: Failure| {
                let message = format!("host {}: {}", host.name, error.message);
                Failure::new(linerate_model::exit::ExitCode::Plan, message)
            };
            let far = PeerAddress::parse(&host.address).map_err(wrong)?;
            // An agent that ssh starts gets a key of its own.
            let key = key.filter(|_| far.restarted().is_none()).cloned();
            targets.push(Target {
                key,
                ..Target::new(far)
            });
        }
        Ok(Self { inventory, targets })
    }

    fn name(&self, host: usize) -> &str {
        &self.inventory.hosts[host].name
    }

    /// `a → b`.
    fn label(&self, flow: FlowEnds) -> String {
        format!("{} → {}", self.name(flow.from), self.name(flow.to))
    }
}

/// Tests every pair of the plan, those that are slow again, and searches for shared links if the inventory says so.
pub fn mesh(context: &mut Context<'_>, hosts: &Hosts) -> Result<(Run, MeshReport)> {
    let plan = plan(&hosts.inventory)?;
    let specs = [Direction::Forward, Direction::Reverse].map(|direction| spec(hosts, direction));
    let mut recorder = Recorder::begin(context, header(hosts, &plan, &specs[0]))?;
    let agents = Agents::reach(hosts);
    let holder = format!("`linerate mesh` ({})", plan.title);
    let seed = MonoClock.now().as_nanos();
    let mut measuring = Measuring {
        context,
        recorder: &mut recorder,
        hosts,
        agents: &agents,
        leases: Leases::new(holder, seed),
        specs,
        flows: BTreeMap::new(),
        wall_clocks: BTreeMap::new(),
        made: 0,
    };
    measuring.rounds(&plan);
    let again = measuring.again(&plan);
    let mut report = MeshReport {
        schema: SCHEMA.to_owned(),
        run: None,
        flows: Vec::new(),
        crowd_flows: Vec::new(),
        crowds: Vec::new(),
        links: Vec::new(),
        notes: notes(hosts, &agents, &measuring.wall_clocks),
        plan,
    };
    if hosts.inventory.shared_links && !measuring.context.interrupted() {
        measuring.search(&mut report);
        measuring.apart(&mut report);
    }
    report.flows = measuring.found(&again);
    let labels: Vec<_> = report
        .flows
        .iter()
        .map(|&MeshFlow { from, to, .. }| hosts.label(FlowEnds { from, to }))
        .collect();
    let run = recorder.run_mut();
    if let RunWork::Study {
        estimates, parts, ..
    } = &mut run.work
    {
        *estimates = linerate_analysis::estimates(labels.iter().map(String::as_str), parts);
    }
    run.notes.extend(report.notes.iter().cloned());
    let run = recorder.finish(context);
    if context.store.is_some() && context.unsaved.is_none() {
        report.run = Some(run.id.clone());
    }
    Ok((run, report))
}

fn notes(
    hosts: &Hosts,
    agents: &Agents,
    wall_clocks: &BTreeMap<usize, WallClockOffset>,
) -> Vec<String> {
    let all = 0..hosts.inventory.hosts.len();
    let away = all.filter_map(|host| {
        let why = agents.away(host)?;
        Some(format!("host {} is away: {why}", hosts.name(host)))
    });
    let open = (0..hosts.inventory.hosts.len()).filter(|host| agents.is_open(*host));
    let open = open.map(|host| {
        format!(
            "host {} grants no leases (its linerate is older, or it has no key): tests of others may have fallen together with these",
            hosts.name(host)
        )
    });
    let off = wall_clocks.iter().filter_map(|(host, clock)| {
        let off = clock.noticed()?;
        Some(format!(
            "host {}: its clock is {off} of this host's; all times here are this host's",
            hosts.name(*host)
        ))
    });
    away.chain(open).chain(off).collect()
}

fn spec(hosts: &Hosts, direction: Direction) -> TestSpec {
    TestSpec {
        direction,
        stop: Stop::After(hosts.inventory.time),
        ..TestSpec::tcp_bulk()
    }
}

fn header(hosts: &Hosts, plan: &MeshPlan, spec: &TestSpec) -> Header {
    let pairs = plan.rounds.iter().flatten();
    let flows = pairs.flat_map(|pair| FlowEnds::of_pair(*pair));
    let cells = flows.map(|flow| StudyCell {
        cell: hosts.label(flow),
        test: RunRequest::Test { test: spec.clone() },
        beside: None,
    });
    let cells: Vec<_> = cells.collect();
    Header {
        kind: RunKind::Study,
        title: plan.title.clone(),
        target: None,
        asked: RunRequest::Study(StudySettings {
            host: plan.hosts.join(", "),
            repetitions: plan.repetitions,
            seed: plan.seed,
            order: (0..cells.len()).collect(),
            cells,
            control: None,
            budget: None,
            prove: false,
            restart: false,
            series: Vec::new(),
        }),
        hosts: Vec::new(),
    }
}

/// What is known of a flow.
#[derive(Debug, Default)]
struct Flow {
    /// Receiver-side rate of each valid test, bit/s.
    rates: Vec<f64>,
    limit: Option<String>,
    /// Whether its sender's congestion control models the path (BBR).
    models_path: bool,
    failure: Option<String>,
    tests: u32,
}

/// A mesh that is being measured.
struct Measuring<'a, 'c> {
    context: &'a mut Context<'c>,
    recorder: &'a mut Recorder,
    hosts: &'a Hosts,
    agents: &'a Agents,
    leases: Leases,
    /// Forward and reverse.
    specs: [TestSpec; 2],
    flows: BTreeMap<FlowEnds, Flow>,
    /// By host, as last compared with this host's.
    wall_clocks: BTreeMap<usize, WallClockOffset>,
    made: u64,
}

impl Measuring<'_, '_> {
    fn tell(&mut self, done: usize, all: usize, text: &str, elapsed: Duration) {
        let of = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        self.context.watcher.event(Event::Progress {
            share: of(done) / of(all.max(1)),
            text,
            elapsed,
        });
    }

    /// Makes all rounds of the plan, each repetition after the other.
    fn rounds(&mut self, plan: &MeshPlan) {
        let begun = MonoClock.now();
        let all = plan.rounds.len() * plan.repetitions as usize;
        let rounds = (0..plan.repetitions).flat_map(|_| &plan.rounds);
        for (number, round) in rounds.enumerate() {
            let text = format!("round {} of {all}: {} pairs", number + 1, round.len());
            self.tell(number, all, &text, MonoClock.now().saturating_since(begun));
            if self.round(round).is_none() {
                break;
            }
        }
    }

    /// Tests all pairs of a round at once, both ways; `None` if the user wants to stop.
    fn round(&mut self, pairs: &[MeshPair]) -> Option<()> {
        let jobs = pairs.iter().map(|pair| (*pair, self.specs.to_vec()));
        let jobs: Vec<_> = jobs.collect();
        let made = self.at_once(&jobs, Duration::ZERO);
        if self.context.interrupted() {
            return None;
        }
        for (pair, both) in pairs.iter().zip(made) {
            let flows = FlowEnds::of_pair(*pair).into_iter().zip(0..);
            for ((flow, way), made) in flows.zip(both) {
                self.keep(flow, way, made);
            }
        }
        Some(())
    }

    /// Makes these tests of each pair, all pairs at once, while no other controller has tests made at their hosts.
    fn at_once(&mut self, jobs: &[Job], delay: Duration) -> Vec<Vec<Made>> {
        let (agents, interrupt) = (self.agents, self.context.interrupt);
        let watcher = &mut *self.context.watcher;
        let mut note = |text: &str| watcher.event(Event::Note(text));
        let held = self
            .leases
            .take(&agents.leasing(jobs), interrupt, &mut note);
        let made = agents.at_once(jobs, &held, delay, interrupt);
        self.leases.give_back(held);
        made
    }

    fn keep(&mut self, flow: FlowEnds, way: usize, made: Made) {
        let known = self.flows.entry(flow).or_default();
        known.tests += 1;
        let repetition = known.tests;
        let (outcome, hosts) = match made {
            Ok(made) => made,
            Err(why) => {
                let note = format!("{}: not measured: {why}", self.hosts.label(flow));
                known.failure = Some(why);
                self.recorder.run_mut().notes.push(note);
                return;
            }
        };
        let spec = self.specs[way].clone();
        let sender = HostRole::of(spec.direction, Side::Sender);
        let compared = hosts.iter().filter_map(|host| {
            let place = if host.role == sender {
                flow.from
            } else {
                flow.to
            };
            Some((place, host.wall_clock?))
        });
        self.wall_clocks.extend(compared);
        let run = self.part(flow, spec, repetition, outcome, hosts);
        let known = self.flows.entry(flow).or_default();
        let controls = run.trials.iter().filter_map(Trial::tcp);
        let mut controls = controls.map(|tcp| tcp.congestion_control.as_deref());
        known.models_path |= controls.any(models_the_path);
        let valid = run.trials.iter().filter(|trial| trial.valid);
        let rates = valid.filter_map(|trial| trial.received_rate);
        let before = known.rates.len();
        known
            .rates
            .extend(rates.map(linerate_model::BitRate::as_f64));
        if known.rates.len() == before {
            let reasons = run.trials.iter().flat_map(|trial| &trial.reasons);
            let reasons: Vec<_> = reasons.map(String::as_str).collect();
            known.failure = Some(format!("its test is not valid: {}", reasons.join("; ")));
        }
        known.limit = run
            .verdict
            .as_ref()
            .map(|verdict| verdict.limit.id().to_owned());
        self.recorder.part(self.context, run);
    }

    /// The run of one test.
    fn part(
        &mut self,
        flow: FlowEnds,
        spec: TestSpec,
        repetition: u32,
        outcome: TestOutcome,
        hosts: Vec<Host>,
    ) -> Run {
        let started = wall_now();
        let label = self.hosts.label(flow);
        self.made += 1;
        let salt = MonoClock.now().as_nanos().wrapping_add(self.made);
        let notes = outcome.notes.clone();
        let trials = crate::run::trials(0, &spec, outcome);
        let mut run = Run {
            title: Some(format!("{label} (repetition {repetition})")),
            config: Config {
                command: Some(self.context.command.clone()),
                asked: Some(RunRequest::Test { test: spec }),
                place: Some(StudyPlace {
                    cell: label,
                    repetition,
                }),
                ..Config::default()
            },
            hosts,
            notes,
            trials,
            ..Run::new(
                new_id(&started, RunKind::Tcp, salt),
                RunKind::Tcp,
                this_tool(),
            )
        };
        run.started = Some(started);
        run.status = status(&run, false);
        linerate_analysis::conclude(&mut run);
        run
    }

    /// Which flows are slow beside the others.
    fn slow(&self) -> Vec<FlowEnds> {
        let flows: Vec<_> = self.flows.keys().copied().collect();
        let rates: Vec<_> = self
            .flows
            .values()
            .map(|flow| average(&flow.rates))
            .collect();
        let slow = slow(&rates);
        let slow = flows.into_iter().zip(slow).filter(|(_, slow)| *slow);
        slow.map(|(flow, _)| flow).collect()
    }

    /// Tests the pairs with slow flows again, in the rounds of the plan; the flows that were slow at first.
    fn again(&mut self, plan: &MeshPlan) -> Vec<FlowEnds> {
        let slow = self.slow();
        if slow.is_empty() || slow.len() > MOST_AGAIN || self.context.interrupted() {
            return slow;
        }
        for round in &plan.rounds {
            let is_slow = |pair: &MeshPair| {
                let flows = FlowEnds::of_pair(*pair);
                flows.iter().any(|flow| slow.contains(flow))
            };
            let pairs: Vec<_> = round.iter().copied().filter(is_slow).collect();
            if !pairs.is_empty() && self.round(&pairs).is_none() {
                break;
            }
        }
        slow
    }

    /// What is known of each flow; `before` were slow at first.
    fn found(&self, before: &[FlowEnds]) -> Vec<MeshFlow> {
        let now = self.slow();
        let flows: Vec<_> = self.flows.keys().copied().collect();
        let is_slow: Vec<_> = flows.iter().map(|flow| now.contains(flow)).collect();
        let one = |(at, (flow, known)): (usize, (&FlowEnds, &Flow))| {
            let received = mean(&known.rates, USUAL_CONFIDENCE)
                .ok()
                .map(|mut estimate| {
                    estimate.interval = estimate.interval.map(|interval| Interval {
                        low: interval.low.max(0.0),
                        ..interval
                    });
                    estimate
                });
            let standing = match (&received, is_slow[at], before.contains(flow)) {
                (None, ..) => FlowStanding::Failed,
                (_, true, _) => FlowStanding::Slow,
                (_, false, true) => FlowStanding::SlowOnce,
                _ => FlowStanding::Normal,
            };
            let why = match standing {
                FlowStanding::Failed => known.failure.clone(),
                FlowStanding::Slow => Some(self.why(common(&flows, &is_slow, at))),
                FlowStanding::Normal | FlowStanding::SlowOnce => None,
            };
            MeshFlow {
                from: flow.from,
                to: flow.to,
                received,
                limit: known.limit.clone(),
                why,
                standing,
            }
        };
        self.flows.iter().enumerate().map(one).collect()
    }

    fn why(&self, common: Common) -> String {
        match common {
            Common::Nothing => "slow by itself: its hosts are fast with others".to_owned(),
            Common::Receiver(host) => {
                format!(
                    "most flows that {} receives are slow",
                    self.hosts.name(host)
                )
            }
            Common::Sender(host) => {
                format!("most flows that {} sends are slow", self.hosts.name(host))
            }
        }
    }
}

fn average(rates: &[f64]) -> Option<f64> {
    mean(rates, USUAL_CONFIDENCE)
        .ok()
        .map(|estimate| estimate.point)
}

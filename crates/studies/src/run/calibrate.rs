//! `linerate calibrate`: what linerate itself does at most on this host, so that no result is taken for the network's
//! that is the tool's own.

use crate::context::Context;
use crate::recorder::this_tool;
use crate::run::trials;
use crate::watch::Event;
use anyhow::{Context as _, Result};
use linerate_agent::{Agent, AgentPlan};
use linerate_analysis::statistics::{USUAL_CONFIDENCE, mean};
use linerate_client::address::PeerAddress;
use linerate_client::{Client, Target};
use linerate_engine::datapaths::{self, Availability};
use linerate_model::calibration::{Calibration, Ceiling, Platform, SCHEMA};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::random::Random;
use linerate_model::run::Trial;
use linerate_model::spec::{DatapathChoice, Pace, Stop, TestSpec, Transport};
use linerate_model::{ByteCount, Estimate};
use linerate_sys::clock::wall_now;
use std::time::Duration;

/// What to find the ceilings of.
#[derive(Debug, Clone)]
pub struct CalibratePlan {
    /// Datapaths of both ends; those that this host lacks are left out with a note.
    pub datapaths: Vec<DatapathChoice>,
    /// Payloads of datagrams.
    pub payloads: Vec<ByteCount>,
    /// Time of each test.
    pub time: Duration,
    /// Tests of each ceiling.
    pub repetitions: u32,
    /// Seed of the order in which they are made.
    pub seed: u64,
}

/// The ceilings, and what could not be measured and why.
#[derive(Debug, Clone)]
pub struct Calibrated {
    /// What is kept.
    pub calibration: Calibration,
    /// One sentence for each test that was left out.
    pub notes: Vec<String>,
}

/// One ceiling in the making.
struct Cell {
    test: TestSpec,
    offered: Vec<f64>,
    received: Vec<f64>,
}

/// Sends unpaced from this process to itself over loopback, each test in its turn, and keeps the means in the store.
pub fn calibrate(context: &mut Context<'_>, plan: &CalibratePlan) -> Result<Calibrated> {
    let mut notes = Vec::new();
    let mut cells = cells(plan, &mut notes)?;
    if let Some(store) = &context.store {
        store.check_room()?;
    }
    let agent = Agent::start(AgentPlan::listening_on("127.0.0.1:0")?)?;
    let target = Target::new(PeerAddress::parse(&format!("127.0.0.1:{}", agent.port()))?);
    let mut client = Client::connect(&target)?;
    let made = wall_now();
    let measured = measure(context, &mut client, plan, &mut cells, &mut notes);
    let platform = client
        .hosts()
        .first()
        .map(|host| Platform::from_facts(&host.facts));
    drop(client);
    agent.stop()?;
    measured?;
    let calibration = Calibration {
        schema: SCHEMA.to_owned(),
        made,
        version: this_tool().version.unwrap_or_default(),
        platform: platform.unwrap_or_default(),
        ceilings: cells.iter().filter_map(Cell::ceiling).collect(),
    };
    if let Some(store) = context.store.as_ref().filter(|_| !context.interrupted()) {
        store
            .keep_calibration(&calibration)
            .context("keeping the calibration")?;
    }
    Ok(Calibrated { calibration, notes })
}

/// Refuses a datapath that nobody knows; one that this host lacks is left out, and `notes` says why.
fn cells(plan: &CalibratePlan, notes: &mut Vec<String>) -> Result<Vec<Cell>, Failure> {
    let mut cells = Vec::new();
    for datapath in &plan.datapaths {
        let kind = datapaths::find(&datapath.id)
            .map_err(|error| Failure::new(ExitCode::Usage, error.to_string()))?;
        if let Availability::Missing { why, remedy } = kind.availability() {
            notes.push(format!("{datapath}: {why}; {remedy}"));
            continue;
        }
        // What datagrams are aggregated by says nothing of a stream.
        let tcp = datapath.params.is_empty().then(TestSpec::tcp_bulk);
        let udp = plan
            .payloads
            .iter()
            .map(|payload| TestSpec::udp_datagrams(Pace::Unpaced).with_payload(*payload));
        for test in udp.chain(tcp) {
            let test = TestSpec {
                datapath: datapath.clone(),
                stop: Stop::After(plan.time),
                warm_up: plan.time.min(WARM_UP),
                ..test
            };
            match kind.check(&test) {
                Ok(()) => cells.push(Cell {
                    test,
                    offered: Vec::new(),
                    received: Vec::new(),
                }),
                // Nobody asked for streams where there are none.
                Err(_) if test.transport() == Transport::Tcp => {}
                Err(error) => {
                    return Err(Failure::new(ExitCode::Usage, error.to_string()));
                }
            }
        }
    }
    Ok(cells)
}

/// Not counted at the start of each test: buffers grow, cores leave their sleep states.
const WARM_UP: Duration = Duration::from_millis(200);

fn measure(
    context: &mut Context<'_>,
    client: &mut Client,
    plan: &CalibratePlan,
    cells: &mut [Cell],
    notes: &mut Vec<String>,
) -> Result<()> {
    let mut random = Random::new(plan.seed);
    let mut order = Vec::new();
    for _ in 0..plan.repetitions {
        let mut round: Vec<usize> = (0..cells.len()).collect();
        random.shuffle(&mut round);
        order.extend(round);
    }
    for (done, index) in order.iter().enumerate() {
        if context.interrupted() {
            break;
        }
        let Some(cell) = cells.get_mut(*index) else {
            continue;
        };
        let name = cell.name();
        context.watcher.event(Event::Progress {
            share: share(done, order.len()),
            text: &name,
            elapsed: Duration::ZERO,
        });
        let interrupt = context.interrupt;
        let outcome = client.run(&cell.test, &mut |_| {
            !interrupt.load(std::sync::atomic::Ordering::Relaxed)
        })?;
        for trial in trials(0, &cell.test, outcome) {
            if let Err(why) = cell.add(&trial) {
                notes.push(format!("{name}: {why}"));
            }
        }
    }
    context.watcher.event(Event::Ended);
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred tests")]
fn share(done: usize, of: usize) -> f64 {
    done as f64 / of.max(1) as f64
}

impl Cell {
    fn name(&self) -> String {
        let (transport, datapath) = (self.test.transport(), &self.test.datapath);
        format!("{transport} {datapath}, {} B", self.test.payload().get())
    }

    /// Takes in a trial; one that is not valid is left out, and why is returned.
    fn add(&mut self, trial: &Trial) -> Result<(), String> {
        if !trial.valid {
            return Err(trial.reasons.join("; "));
        }
        let rates = trial.offered_load.zip(trial.received_rate);
        let (offered, received) = rates.ok_or("an end reported no rate")?;
        self.offered.push(offered.as_f64());
        self.received.push(received.as_f64());
        Ok(())
    }

    fn ceiling(&self) -> Option<Ceiling> {
        let over = |rates: &[f64]| -> Option<Estimate> { mean(rates, USUAL_CONFIDENCE).ok() };
        Some(Ceiling {
            transport: self.test.transport(),
            datapath: self.test.datapath.clone(),
            payload_bytes: self.test.payload(),
            offered: over(&self.offered)?,
            received: over(&self.received)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::BitRate;

    fn plan(datapaths: &[&str]) -> CalibratePlan {
        CalibratePlan {
            datapaths: datapaths.iter().map(|text| text.parse().unwrap()).collect(),
            payloads: vec![ByteCount::new(64), ByteCount::new(1448)],
            time: Duration::from_millis(50),
            repetitions: 2,
            seed: 1,
        }
    }

    #[test]
    fn every_datapath_has_a_cell_for_each_payload_and_one_for_tcp() {
        let mut notes = Vec::new();
        let cells = cells(&plan(&["sockets"]), &mut notes).unwrap();
        let names: Vec<_> = cells.iter().map(Cell::name).collect();
        assert_eq!(names.len(), 3, "{names:?}");
        assert!(names[1].starts_with("UDP sockets, 1448 B"), "{names:?}");
        assert!(names[2].starts_with("TCP sockets"), "{names:?}");
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn a_ceiling_is_the_mean_of_valid_trials() {
        let mut notes = Vec::new();
        let mut cell = cells(&plan(&["sockets"]), &mut notes).unwrap().remove(0);
        let trial = |rate: u64, valid: bool| {
            let work = linerate_model::run::DatagramsResult::default();
            let direction = linerate_model::spec::Direction::Forward;
            let mut trial = Trial::new(0, Transport::Udp, direction, work);
            trial.offered_load = Some(BitRate::from_bps(rate));
            trial.received_rate = Some(BitRate::from_bps(rate / 2));
            trial.valid = valid;
            trial.reasons = vec!["the clock jumped".to_owned()];
            trial
        };
        assert!(cell.ceiling().is_none());
        cell.add(&trial(1000, true)).unwrap();
        cell.add(&trial(3000, true)).unwrap();
        assert_eq!(
            cell.add(&trial(9000, false)),
            Err("the clock jumped".to_owned())
        );
        let ceiling = cell.ceiling().unwrap();
        assert!((ceiling.offered.point - 2000.0).abs() < 1e-9);
        assert!((ceiling.received.point - 1000.0).abs() < 1e-9);
        assert_eq!(ceiling.offered.n, 2);
    }
}

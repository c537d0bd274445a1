//! What linerate itself sends and counts at most over a wire in the device's place.

use super::plan::{FrameCell, NeighbourMode, SwitchPlan};
use super::ports::{Ports, on_device};
use crate::context::Context;
use crate::run::trials;
use crate::watch::Event;
use anyhow::Result;
use linerate_client::Client;
use linerate_model::calibration::HostCeiling;
use linerate_model::dut::DutChoice;
use linerate_model::run::Trial;
use linerate_model::spec::{DatapathChoice, Pace, Stop, TestSpec};
use linerate_model::{BitRate, Ratio};
use linerate_sys::clock::wall_now;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The ceiling of each frame size and direction.
pub(super) type Ceilings = BTreeMap<FrameCell, HostCeiling>;

/// Tests of each at the highest load, of whose rates the median counts: one that another program disturbs says nothing.
const TURNS: usize = 3;
/// A test whose sender ran for a smaller share of its time was disturbed, and is made again…
const UNDISTURBED: f64 = 0.95;
/// …up to so many in all: then those count that were disturbed least.
const MAX_TURNS: usize = 9;
/// Length of each.
const TIME: Duration = Duration::from_millis(400);

/// Measures them over a veth pair of this host, with the generator of `datapath`.
pub(super) fn ceilings(
    context: &mut Context<'_>,
    plan: &SwitchPlan,
    datapath: &DatapathChoice,
) -> Result<Ceilings> {
    on_wire(plan, datapath, |plan, ports| {
        let mut client = Client::connect(&ports.target)?;
        let mut found = Ceilings::new();
        for cell in plan.cells() {
            if context.interrupted() {
                break;
            }
            found.extend(one(context, plan, ports, &mut client, &cell)?);
        }
        context.watcher.event(Event::Ended);
        Ok(found)
    })
}

/// Works with a veth pair in the device's place, with frames as those of `datapath`. The plan is as for the wire.
pub(super) fn on_wire<T>(
    plan: &SwitchPlan,
    datapath: &DatapathChoice,
    work: impl FnOnce(&SwitchPlan, &mut Ports) -> Result<T>,
) -> Result<T> {
    let wire = DutChoice {
        kind: "wire".to_owned(),
        params: BTreeMap::new(),
    };
    // Over a wire nobody has the address of a router.
    let mut plan = plan.clone();
    plan.neighbours = NeighbourMode::Static;
    on_device(&plan, &wire, |ports, _| {
        for (key, value) in &datapath.params {
            let is_place =
                ports.datapath.params.contains_key(key) && key != DatapathChoice::GENERATOR;
            if !is_place {
                ports.datapath.params.insert(key.clone(), value.clone());
            }
        }
        work(&plan, ports)
    })
}

fn one(
    context: &mut Context<'_>,
    plan: &SwitchPlan,
    ports: &Ports,
    client: &mut Client,
    cell: &FrameCell,
) -> Result<Option<(FrameCell, HostCeiling)>> {
    let search = plan.search_of(cell, &ports.datapath, ports.line_rate)?;
    let spec = TestSpec {
        stop: Stop::After(TIME),
        // On a schedule, as the trials of the search are: to keep one costs time too.
        ..search.spec.with_pace(Pace::At(search.max_load))
    };
    let text = format!("linerate itself over a wire: {}", cell.name(plan));
    let mut turns = Vec::new();
    while turns.len() < MAX_TURNS && undisturbed(&turns) < TURNS && !context.interrupted() {
        context.watcher.event(Event::Progress {
            share: 0.0,
            text: &text,
            elapsed: Duration::ZERO,
        });
        let interrupt = context.interrupt;
        let outcome = client.run(&spec, &mut |_| !interrupt.load(Ordering::Relaxed))?;
        let made = trials(0, &spec, outcome);
        let Some(turn) = made
            .iter()
            .filter_map(Turn::of)
            .min_by_key(|turn| turn.received)
        else {
            break;
        };
        turns.push(turn);
    }
    turns.sort_by_key(|turn| std::cmp::Reverse(turn.running));
    turns.truncate(TURNS);
    turns.sort_by_key(|turn| turn.received);
    let middle = turns.get(turns.len() / 2);
    Ok(middle.map(|turn| {
        let ceiling = HostCeiling {
            offered: turn.offered,
            received: turn.received,
            running_ratio: Some(turn.running),
            made: wall_now(),
        };
        (cell.clone(), ceiling)
    }))
}

/// What one test showed.
struct Turn {
    offered: BitRate,
    received: BitRate,
    /// Share of the time in which the sender ran.
    running: Ratio,
}

impl Turn {
    fn of(trial: &Trial) -> Option<Self> {
        Some(Self {
            offered: trial.offered_load?,
            received: trial.received_rate?,
            running: trial.sender_running_ratio(),
        })
    }
}

/// Whether other programs kept the sender from its core.
pub(super) fn is_disturbed(trial: &Trial) -> bool {
    trial.sender_running_ratio().get() < UNDISTURBED
}

/// Tests that no other program disturbed.
fn undisturbed(turns: &[Turn]) -> usize {
    let clean = turns
        .iter()
        .filter(|turn| turn.running.get() >= UNDISTURBED);
    clean.count()
}

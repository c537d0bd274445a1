//! What linerate itself sends and counts at most over a wire in the device's place.

use super::plan::{FrameCell, SwitchPlan};
use super::ports::{GENERATOR, Ports, on_device};
use crate::context::Context;
use crate::run::trials;
use crate::watch::Event;
use anyhow::Result;
use linerate_client::Client;
use linerate_model::BitRate;
use linerate_model::calibration::HostCeiling;
use linerate_model::dut::DutChoice;
use linerate_model::spec::{DatapathChoice, Pace, Stop, TestSpec};
use linerate_sys::clock::wall_now;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The ceiling of each frame size and direction.
pub(super) type Ceilings = BTreeMap<FrameCell, HostCeiling>;

/// Tests of each at the highest load, of whose rates the median counts: one that another program disturbs says nothing.
const TURNS: usize = 3;
/// Length of each.
const TIME: Duration = Duration::from_millis(400);

/// Measures them over a veth pair of this host, with the generator of `datapath`.
pub(super) fn ceilings(
    context: &mut Context<'_>,
    plan: &SwitchPlan,
    datapath: &DatapathChoice,
) -> Result<Ceilings> {
    let wire = DutChoice {
        kind: "wire".to_owned(),
        params: BTreeMap::new(),
    };
    on_device(plan, &wire, |ports, _| {
        for (key, value) in &datapath.params {
            let is_place = ports.datapath.params.contains_key(key) && key != GENERATOR;
            if !is_place {
                ports.datapath.params.insert(key.clone(), value.clone());
            }
        }
        let mut client = Client::connect(&ports.target)?;
        let mut found = Ceilings::new();
        for cell in plan.cells() {
            if context.interrupted() {
                break;
            }
            found.extend(one(context, plan, ports, &mut client, cell)?);
        }
        context.watcher.event(Event::Ended);
        Ok(found)
    })
}

fn one(
    context: &mut Context<'_>,
    plan: &SwitchPlan,
    ports: &Ports,
    client: &mut Client,
    cell: FrameCell,
) -> Result<Option<(FrameCell, HostCeiling)>> {
    let search = plan.search_of(cell, &ports.datapath, ports.line_rate)?;
    let spec = TestSpec {
        stop: Stop::After(TIME),
        // On a schedule, as the trials of the search are: to keep one costs time too.
        ..search.spec.with_pace(Pace::At(search.max_load))
    };
    let text = format!("linerate itself over a wire: {}", cell.name(plan));
    let (mut offered, mut received) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        context.watcher.event(Event::Progress {
            share: 0.0,
            text: &text,
            elapsed: Duration::ZERO,
        });
        let interrupt = context.interrupt;
        let outcome = client.run(&spec, &mut |_| !interrupt.load(Ordering::Relaxed))?;
        for trial in trials(0, &spec, outcome) {
            offered.extend(trial.offered_load);
            received.extend(trial.received_rate);
        }
    }
    let middle = |mut rates: Vec<BitRate>| {
        rates.sort_unstable();
        rates.get(rates.len() / 2).copied()
    };
    let ceiling = middle(offered).zip(middle(received));
    Ok(ceiling.map(|(offered, received)| {
        let made = wall_now();
        let ceiling = HostCeiling {
            offered,
            received,
            made,
        };
        (cell, ceiling)
    }))
}

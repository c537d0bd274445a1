//! `linerate switch`: what a device between two ports of this host forwards, by frame size and direction.
//!
//! ```text
//!   this process, client ── port A ══ device ══ port B ── this process, agent
//!            └──────────────── control over loopback ─────────┘
//! ```
//! Each frame size and direction is a search of its own, with the peer on a thread of this process, so that all that is
//! known of a search holds here: its goals, its ledger of every frame, its verdict and its probes.

mod ceiling;
mod plan;
mod ports;

pub use plan::{DeviceChoice, DeviceDraft, SwitchPlan};

use super::after::After;
use super::saturate;
use crate::context::Context;
use crate::recorder::{Header, Recorder};
use crate::watch::Scaled;
use anyhow::Result;
use ceiling::{Ceilings, ceilings};
use linerate_model::run::{Forwarding, Run, RunKind, RunWork, frame_rate};
use linerate_model::spec::{DatapathChoice, Pace, Stop, TestSpec};
use linerate_model::{BitRate, Layer, PacketRate};
use plan::FrameCell;
use ports::{Ports, on_device, on_ports};
use std::time::Duration;

/// Measures what the device forwards. A device that is started is taken down again.
pub fn switch(context: &mut Context<'_>, plan: &SwitchPlan, after: After) -> Result<Run> {
    match &plan.device {
        DeviceChoice::Ports { a, b } => {
            let mut params = plan.params.clone();
            params.insert("a".to_owned(), a.clone());
            params.insert("b".to_owned(), b.clone());
            let datapath = DatapathChoice {
                id: DatapathChoice::PORTS.to_owned(),
                params,
            };
            on_ports(datapath, |ports| {
                let settled = Settled::of(context, plan, ports)?;
                ports.searches(context, plan, &settled, after)
            })
        }
        DeviceChoice::Started(choice) => on_device(plan, choice, |ports, device| {
            let settled = Settled::of(context, plan, ports)?;
            let mut inner = Context {
                store: context.store.take(),
                title: context.title.take(),
                command: context.command.clone(),
                device: Some(device),
                ..Context::of_part("", context.interrupt, &mut *context.watcher)
            };
            let run = ports.searches(&mut inner, plan, &settled, after);
            context.unsaved = inner.unsaved.take();
            run
        }),
    }
}

/// What is known before the first search.
struct Settled {
    /// Why frames are not made as asked.
    note: Option<String>,
    /// What linerate does at most with the generator that is used.
    ceilings: Ceilings,
}

impl Settled {
    fn of(context: &mut Context<'_>, plan: &SwitchPlan, ports: &mut Ports) -> Result<Self> {
        let mut note = None;
        if let Some(cell) = plan.cells().next() {
            let search = plan.search_of(cell, &ports.datapath, ports.line_rate)?;
            let few = TestSpec {
                stop: Stop::After(TRY_TIME),
                warm_up: Duration::ZERO,
                ..search.spec.with_pace(Pace::At(search.min_load))
            };
            note = ports.settle_generator(&few)?;
        }
        let ceilings = if ports.are_veth() {
            ceilings(context, plan, &ports.datapath)?
        } else {
            Ceilings::new()
        };
        Ok(Self { note, ceilings })
    }
}

/// Length of the test that tries a generator.
const TRY_TIME: Duration = Duration::from_millis(20);

impl Ports {
    /// A search for each frame size and direction.
    fn searches(
        &self,
        context: &mut Context<'_>,
        plan: &SwitchPlan,
        settled: &Settled,
        after: After,
    ) -> Result<Run> {
        let mut recorder = Recorder::begin(
            context,
            Header {
                kind: RunKind::Switch,
                title: plan.device.name(),
                target: None,
                asked: plan.asked(),
                hosts: self.hosts.clone(),
            },
        )?;
        recorder.run_mut().notes.extend(settled.note.clone());
        if let RunWork::Switch { device, .. } = &mut recorder.run_mut().work {
            device.name = plan.device.name();
            device.facts = context.device.as_ref().map(|device| device.facts().clone());
        }
        let cells: Vec<_> = plan.cells().collect();
        let share = 1.0 / f64::from(u32::try_from(cells.len().max(1)).unwrap_or(u32::MAX));
        for (index, cell) in (0_u32..).zip(cells) {
            if context.interrupted() {
                break;
            }
            let name = cell.name(plan);
            let mut watcher = Scaled {
                inner: &mut *context.watcher,
                name: &name,
                offset: share * f64::from(index),
                scale: share,
            };
            let mut inner = Context {
                device: Context::lend(&mut context.device),
                ..Context::of_part(&context.command, context.interrupt, &mut watcher)
            };
            let search = plan.search_of(cell, &self.datapath, self.line_rate)?;
            let measured = saturate(&mut inner, &self.target, &search);
            let mut part = measured.inspect_err(|error| recorder.give_up(error))?;
            part.title = Some(name.clone());
            part.config.ceiling = settled.ceilings.get(&cell).cloned();
            linerate_analysis::conclude(&mut part);
            let part = after.follow(&mut inner, &self.target, part)?;
            let row = self.row(&part, plan, cell);
            recorder.part(context, part);
            if let RunWork::Switch { forwarding, .. } = &mut recorder.run_mut().work {
                forwarding.extend(row);
            }
        }
        Ok(recorder.finish(context))
    }

    /// What a search found, as a row of the result.
    fn row(&self, part: &Run, plan: &SwitchPlan, cell: FrameCell) -> Option<Forwarding> {
        let mut row = Forwarding::of_search(part, cell.way, plan.overhead)?;
        let bits = row.bit_rate(Layer::L1, PacketRate::from_pps(1.0)).as_f64();
        let line = self.line_rate.map(BitRate::as_f64);
        row.line_rate = line.map(|rate| PacketRate::from_pps(rate / bits));
        let payload = part.config.test().map(TestSpec::payload);
        let ceiling = part.config.ceiling.as_ref().zip(payload);
        row.ceiling = ceiling.and_then(|(most, payload)| frame_rate(most.received, payload));
        Some(row)
    }
}

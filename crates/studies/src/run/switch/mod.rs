//! `linerate switch`: what a device between two ports of this host forwards, by frame size and direction.
//!
//! ```text
//!   this process, client ── port A ══ device ══ port B ── this process, agent
//!            └──────────────── control over loopback ─────────┘
//! ```
//! Port B may also be on another host, whose agent is the peer. Each frame size and direction is a search of its own, so that
//! all that is known of a search holds here: its goals, its ledger of every frame, its verdict and its probes.

mod ceiling;
mod device;
mod held_port;
mod methods;
mod plan;
mod ports;

pub use device::DeviceChoice;
pub(crate) use methods::{ALL as METHODS, Method};
pub use plan::{DeviceDraft, SwitchPlan};

use super::after::{After, proved};
use super::bench::{self, Wire};
use super::{SaturatePlan, saturate};
use crate::context::Context;
use crate::recorder::{Header, Recorder};
use crate::watch::ScaledWatcher;
use anyhow::Result;
use ceiling::{Ceilings, ceilings, on_wire};
use linerate_client::{Client, Target};
use linerate_model::calibration::HostCeiling;
use linerate_model::run::{Forwarding, FrameMix, Run, RunKind, RunWork, frame_rate};
use linerate_model::spec::{DatapathChoice, TestSpec};
use linerate_model::{BitRate, Layer, PacketRate};
use linerate_sys::netns::NetNamespace;
use methods::{Bench, Loads};
use plan::FrameCell;
pub(crate) use ports::check_device;
use ports::{Ports, on_device, on_ports};

/// Measures what the device forwards. A device that is started is taken down again.
/// `target` says how a peer on another host is reached; its address is the plan's.
pub fn switch(
    context: &mut Context<'_>,
    target: &Target,
    plan: &SwitchPlan,
    after: After,
) -> Result<Run> {
    let mut given = |ports: &mut Ports| {
        let settled = Settled::of(context, plan, ports)?;
        ports.searches(context, plan, &settled, after)
    };
    match &plan.device {
        DeviceChoice::Ports { a, b, host_b } => {
            let datapath = plan.datapath(&[("a", a), ("b", b)]);
            match host_b {
                None => on_ports(plan, datapath, given),
                Some(host) => given(&mut Ports::with_peer(plan, datapath, host, target)?),
            }
        }
        DeviceChoice::Mesh(ports) => {
            let mesh = ports.join("+");
            on_ports(plan, plan.datapath(&[(DatapathChoice::MESH, &mesh)]), given)
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
    /// Why frames are not made as asked, and what is not known of these ports.
    notes: Vec<String>,
    /// What linerate does at most with the generator that is used.
    ceilings: Ceilings,
}

impl Settled {
    fn of(context: &mut Context<'_>, plan: &SwitchPlan, ports: &mut Ports) -> Result<Self> {
        let mut notes = Vec::new();
        notes.extend(ports.settle_generator(&plan.lightest_test(&ports.datapath)?)?);
        let why_none = match &plan.device {
            DeviceChoice::Mesh(_) => Some("no wire joins more than two ports"),
            _ if plan.host_b().is_some() => Some("the ports are on two hosts"),
            _ => None,
        };
        let ceilings = if let Some(why) = why_none {
            notes.push(format!("linerate's own ceiling is not measured: {why}"));
            Ceilings::new()
        } else if ports.are_veth() {
            ceilings(context, plan, &ports.datapath)?
        } else {
            Ceilings::new()
        };
        Ok(Self { notes, ceilings })
    }
}

fn name_device(context: &Context<'_>, plan: &SwitchPlan, run: &mut Run) {
    if let RunWork::Switch { device, .. } = &mut run.work {
        device.name = plan.device.name();
        device.facts = context.device.as_ref().map(|device| device.facts().clone());
    }
}

/// The row with its mix of frame lengths, if there is one, and with what the search just made lost: of each length, and
/// between each two ports of a mesh.
fn with_losses(row: Forwarding, plan: &SwitchPlan, cell: &FrameCell, run: &Run) -> Forwarding {
    let searched = run.parts().last().filter(|_| plan.searches());
    let mix = cell.frames.genome().map(|genome| {
        let mix = FrameMix::from(genome);
        let losses = searched.map(|part| linerate_analysis::length_losses(part, &mix));
        FrameMix {
            losses: losses.unwrap_or_default(),
            ..mix
        }
    });
    let pairs = searched.map(linerate_analysis::pair_losses);
    Forwarding {
        mix,
        pairs: pairs.unwrap_or_default(),
        ..row
    }
}

/// Adds what a frame and a byte cost the device.
fn add_cost(run: &mut Run) {
    if let RunWork::Switch {
        forwarding,
        frame_cost,
        parts,
        ..
    } = &mut run.work
    {
        *frame_cost = linerate_analysis::frame_cost(forwarding, parts);
    }
}

impl Ports {
    /// A search for each frame size and direction.
    fn searches(
        &self,
        context: &mut Context<'_>,
        plan: &SwitchPlan,
        settled: &Settled,
        after: After,
    ) -> Result<Run> {
        let header = Header {
            kind: RunKind::Switch,
            title: plan.device.name(),
            target: None,
            asked: plan.asked(),
            hosts: self.hosts.clone(),
        };
        let mut recorder = Recorder::begin(context, header)?;
        recorder.run_mut().notes.extend(settled.notes.clone());
        name_device(context, plan, recorder.run_mut());
        let cells: Vec<_> = plan.cells().collect();
        let share = 1.0 / f64::from(u32::try_from(cells.len().max(1)).unwrap_or(u32::MAX));
        for (index, cell) in (0_u32..).zip(&cells) {
            if context.interrupted() {
                break;
            }
            let name = cell.name(plan);
            let search = plan.search_of(cell, &self.resolved()?, self.line_rate)?;
            let ceiling = settled.ceilings.get(cell);
            let mut row = Some(Forwarding::new(cell.frames.nominal(), cell.way));
            if plan.searches() {
                let mut watcher = ScaledWatcher {
                    inner: &mut *context.watcher,
                    name: &name,
                    offset: share * f64::from(index),
                    scale: share,
                };
                let mut inner = Context {
                    device: Context::lend(&mut context.device),
                    ..Context::of_part(&context.command, context.interrupt, &mut watcher)
                };
                let part = self.searched(&mut inner, plan, &search, &name, ceiling, after);
                let part = part.inspect_err(|error| recorder.give_up(error))?;
                row = Forwarding::of_search(&part, cell.way, plan.overhead);
                recorder.part(context, part);
            }
            let Some(row) = row else { continue };
            let row = with_losses(row, plan, cell, recorder.run_mut());
            let row = self.completed(row, &search.spec, ceiling);
            let notes = &mut recorder.run_mut().notes;
            notes.extend(linerate_analysis::why_bounds_are_wide(&row));
            recorder.forwarding().push(row.clone());
            let bench = Bench {
                context,
                client: Client::connect(&self.target)?,
                recorder: &mut recorder,
                name,
                loads: Loads {
                    lowest: search.min_load,
                    line: plan.line(self.line_rate).and(Some(search.max_load)),
                    ceiling: ceiling.map(|ceiling| ceiling.received),
                },
                spec: search.spec,
                row,
                settings: plan.method_settings.clone(),
            };
            bench.all(&plan.methods_of(cell, &cells))?;
        }
        add_cost(recorder.run_mut());
        Ok(recorder.finish(context))
    }

    /// The search of one frame size and direction, with its verdict.
    fn searched(
        &self,
        context: &mut Context<'_>,
        plan: &SwitchPlan,
        search: &SaturatePlan,
        name: &str,
        ceiling: Option<&HostCeiling>,
        after: After,
    ) -> Result<Run> {
        let mut part = saturate(context, &self.target, search)?;
        part.title = Some(name.to_owned());
        part.config.ceiling = ceiling.cloned();
        linerate_analysis::conclude(&mut part);
        let part = after.unproved().follow(context, &self.target, part)?;
        if !after.prove {
            return Ok(part);
        }
        let mut device = bench::Bench::new(&self.target);
        if ceiling.is_none() {
            return proved(context, &mut device, part);
        }
        let tested = NetNamespace::current()?;
        on_wire(plan, &self.datapath, |_, wire| {
            let network = NetNamespace::current()?;
            tested.enter()?;
            let mut bench = device.with_wire(Wire {
                target: &wire.target,
                datapath: &wire.datapath,
                network,
                tested,
            });
            proved(context, &mut bench, part)
        })
    }

    /// A row with what its measurements do not know.
    fn completed(
        &self,
        row: Forwarding,
        spec: &TestSpec,
        ceiling: Option<&HostCeiling>,
    ) -> Forwarding {
        let bits = row.bit_rate(Layer::L1, PacketRate::from_pps(1.0)).as_f64();
        let line = self.line_rate.map(BitRate::as_f64);
        // Of all ports that send.
        let line = line.map(|rate| rate * f64::from(spec.streams));
        Forwarding {
            line_rate: line.map(|rate| PacketRate::from_pps(rate / bits)),
            ceiling: ceiling.and_then(|most| frame_rate(most.received, spec.payload())),
            ..row
        }
    }
}

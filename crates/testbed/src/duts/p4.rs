//! A P4 program, run by linerate's own executor: one thread that receives, processes and sends.

use super::cables::{Side, dropped};
use super::forwarder::Forwarder;
use super::keeper::Running;
use super::params::params;
use super::pipeline::{PIPELINE, Pipeline};
use super::process::Process;
use super::programs::Program;
use super::{Availability, Dut, DutKind, DutParam, DutSetup};
use crate::{Result, TestbedError};
use linerate_model::dut::{DutCounters, DutPlace};
use std::io;

pub(super) struct P4;

/// What runs P4 programs.
pub(super) const SWITCH: Program = Program::new("linerate-p4", "linerate");

params! {
    [PIPELINE]
    ENTRIES = "entries": "FILE" ("none"),
        "Entries, groups and sessions as in a packet test (STF).";
    DRIVER = "driver": "af_xdp|af_packet" ("af_xdp"),
        "How its ports reach the interfaces.";
    CORE = "core": "CORE" ("any"),
        "Core on which it runs.";
    SPIN = "spin": "true|false" ("false"),
        "Whether it looks for frames without sleeping, which takes a core.";
}

impl DutKind for P4 {
    fn id(&self) -> &'static str {
        "p4"
    }

    fn summary(&self) -> &'static str {
        "A compiled P4 program (BMv2 JSON), run by linerate itself."
    }

    fn params(&self) -> &'static [DutParam] {
        PARAMS
    }

    fn programs(&self, _setup: &DutSetup) -> Availability {
        available()
    }

    fn start(&self, setup: &DutSetup) -> Result<Box<dyn Dut>> {
        let kind = setup.one_of(DRIVER, &["af_xdp", "af_packet"])?;
        let kind = kind.replace('_', "-");
        let core = setup.number(CORE, 0..=1023)?;
        let spins = setup.switch(SPIN, false)?;
        let program = Pipeline::of(setup)?;
        let entries = setup.file(ENTRIES)?;
        let idle = if spins { ", spinning" } else { "" };
        let description = format!("P4 program {program}, linerate's executor over {kind}{idle}");
        let id = self.id();
        let (cables, inside) = Process::start(setup, count, move || {
            let mut command = SWITCH.command();
            command.arg("run").arg(program.file()?).arg("--ask");
            for (number, side) in Side::BOTH.iter().enumerate() {
                let port = side.device_port();
                command.arg("--port").arg(format!("{number}={port},{kind}"));
            }
            if let Some(path) = &entries {
                command.arg("--entries").arg(path);
            }
            if let Some(core) = core {
                command.arg("--core").arg(core.to_string());
            }
            if spins {
                command.arg("--spin");
            }
            let mut switch = Running::start(id, SWITCH, &mut command)?;
            switch.wait_until("to forward", |switch| switch.written(0).contains(" runs"))?;
            Ok(switch)
        })?;
        let version = SWITCH.run(&["--version"], "")?;
        let dut = Forwarder::running(
            setup,
            &description,
            version.trim().to_owned(),
            cables,
            inside,
        );
        Ok(dut)
    }
}

/// Whether the program is here.
pub(super) fn available() -> Availability {
    match SWITCH.path() {
        Some(_) => Availability::Available,
        None => Availability::Missing {
            what: "the program linerate-p4".to_owned(),
            remedy: "install it beside linerate; make build makes both".to_owned(),
        },
    }
}

fn count(switch: &mut Running, counted: &mut DutCounters) -> Result<()> {
    let answer = switch.ask("\n", |answer| answer.ends_with('\n'))?;
    let own = read(&answer).map_err(TestbedError::step("reading its counters"))?;
    for (port, own) in counted.ports.iter().zip(&own.ports) {
        // What the interface received and the program did not: its ring was full.
        let missed = port.received.get().saturating_sub(own.received.get());
        let at = format!("{} ring", port.name);
        counted.drops.push(dropped(DutPlace::PortRx, &at, missed));
    }
    let after = own.drops.into_iter();
    let after = after.filter(|drop| drop.place != DutPlace::PortRx);
    counted.drops.extend(after);
    counted.counters.extend(own.counters);
    counted.stages = own.stages;
    Ok(())
}

/// The counters in a line of JSON.
fn read(answer: &str) -> io::Result<DutCounters> {
    let line = answer.lines().last().unwrap_or_default();
    serde_json::from_str(line).map_err(io::Error::other)
}

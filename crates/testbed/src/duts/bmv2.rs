//! BMv2, the reference switch of P4: `simple_switch` over packet sockets.
//!
//! It counts no drop: its queues for input and output block or lose silently, so what is lost there is in no counter.

use super::cables::Side;
use super::forwarder::Forwarder;
use super::keeper::Running;
use super::params::params;
use super::pipeline::{PIPELINE, Pipeline};
use super::process::Process;
use super::programs::Program;
use super::{Availability, Dut, DutKind, DutParam, DutSetup};
use crate::{Result, TestbedError};
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;

pub(super) struct Bmv2;

const SWITCH: Program = Program::new("simple_switch", "p4lang-bmv2");
const CONSOLE: Program = Program::new("simple_switch_CLI", "p4lang-bmv2");

/// Where its control plane listens, in the device's own network.
const CONTROL: u16 = 9090;

params! {
    [PIPELINE]
    COMMANDS = "commands": "FILE" ("none"),
        "Commands for simple_switch_CLI: entries, groups, sessions.";
}

impl DutKind for Bmv2 {
    fn id(&self) -> &'static str {
        "bmv2"
    }

    fn summary(&self) -> &'static str {
        "A compiled P4 program, run by BMv2's simple_switch."
    }

    fn params(&self) -> &'static [DutParam] {
        PARAMS
    }

    fn programs(&self, setup: &DutSetup) -> Availability {
        let console = setup.text(COMMANDS).map(|_| CONSOLE);
        let mut needed = [SWITCH].into_iter().chain(console);
        match needed.find(|program| program.path().is_none()) {
            None => Availability::Available,
            Some(program) => Availability::Missing {
                what: format!("the program {}", program.name),
                remedy: "build or install BMv2 (github.com/p4lang/behavioral-model) and have it on PATH; p4 runs the same program without it".to_owned(),
            },
        }
    }

    fn start(&self, setup: &DutSetup) -> Result<Box<dyn Dut>> {
        let program = Pipeline::of(setup)?;
        let commands = setup.file(COMMANDS)?;
        let description = format!("P4 program {program}, BMv2 simple_switch");
        let id = self.id();
        // It counts nothing that its ports do not.
        let (cables, inside) = Process::start(
            setup,
            |_, _| Ok(()),
            move || {
                let mut command = SWITCH.talking_command();
                for (number, side) in Side::BOTH.iter().enumerate() {
                    let port = side.device_port();
                    command.arg("-i").arg(format!("{number}@{port}"));
                }
                command.arg("--thrift-port").arg(CONTROL.to_string());
                command.arg(program.file()?);
                let mut switch = Running::start(id, SWITCH, &mut command)?;
                let control = (Ipv4Addr::LOCALHOST, CONTROL);
                switch.wait_until("to listen", |_| TcpStream::connect(control).is_ok())?;
                if let Some(path) = &commands {
                    configure(path).map_err(|error| switch.explain(error))?;
                }
                Ok(switch)
            },
        )?;
        let version = SWITCH.run(&["--version"], "")?;
        let version = format!("BMv2 {}", version.trim());
        let dut = Forwarder::running(setup, &description, version, cables, inside);
        Ok(dut)
    }
}

/// Gives the switch the commands of a file.
fn configure(path: &PathBuf) -> Result<()> {
    let step = || TestbedError::step(format!("giving BMv2 the commands of {}", path.display()));
    let text = fs::read_to_string(path).map_err(step())?;
    let port = CONTROL.to_string();
    let answer = CONSOLE.run(&["--thrift-port", &port], &text)?;
    match refusal(&answer) {
        None => Ok(()),
        Some(refusal) => Err(step()(io::Error::other(refusal.to_owned()))),
    }
}

/// What it refused: it goes on after an error, and ends as if there had been none.
fn refusal(answer: &str) -> Option<&str> {
    let mut lines = answer.lines().map(str::trim);
    lines.find(|line| {
        line.contains("Error:") || line.contains("Invalid") || line.contains("*** Unknown")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_found_among_answers() {
        let answer = "Control utility for runtime P4 table manipulation\nRuntimeCmd: Adding entry to exact match table t\nEntry has been added with handle 0\n";
        assert_eq!(refusal(answer), None);
        let refused = format!("{answer}RuntimeCmd: Error: Invalid table name (u)\nRuntimeCmd: \n");
        let found = refusal(&refused);
        assert_eq!(found, Some("RuntimeCmd: Error: Invalid table name (u)"));
    }
}

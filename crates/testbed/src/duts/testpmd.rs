//! DPDK's reference forwarder, `dpdk-testpmd`, over `AF_PACKET` or AF_XDP: one thread that polls both ports.
//!
//! # References
//! - Testpmd Application User Guide: `show fwd stats`; DPDK's guides of the `AF_PACKET` and AF_XDP poll mode drivers

use super::cables::{Side, dropped};
use super::forwarder::Forwarder;
use super::keeper::Running;
use super::params::params;
use super::process::Process;
use super::programs::Program;
use super::{Availability, Dut, DutKind, DutParam, DutSetup};
use crate::Result;
use linerate_model::dut::{DutCounters, DutPlace};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) struct Testpmd;

const PROGRAM: Program = Program::new("dpdk-testpmd", "dpdk-dev");

linerate_model::named_enum! {
    /// How its ports reach the interfaces.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Driver {
        AfPacket = "af_packet",
        AfXdp = "af_xdp",
    }
}

params! {
    DRIVER = "driver": "af_packet|af_xdp" ("af_packet"),
        "Poll mode driver of its ports.";
    FORWARD = "forward": "io|mac|macswap" ("io"),
        "What it does to frames: nothing, new addresses, swapped addresses.";
    CORE = "core": "CORE" ("any"),
        "Core on which its thread polls.";
}

impl DutKind for Testpmd {
    fn id(&self) -> &'static str {
        "testpmd"
    }

    fn summary(&self) -> &'static str {
        "DPDK's reference forwarder over AF_PACKET or AF_XDP, one thread that polls."
    }

    fn params(&self) -> &'static [DutParam] {
        PARAMS
    }

    fn programs(&self, _setup: &DutSetup) -> Availability {
        Program::all(&[PROGRAM])
    }

    fn start(&self, setup: &DutSetup) -> Result<Box<dyn Dut>> {
        let driver = setup.one_of(DRIVER, &Driver::ALL)?;
        let mode = setup.one_of(FORWARD, &["io", "mac", "macswap"])?;
        let core = setup.number(CORE, 0..=cores() - 1)?;
        if setup.mtu != 1500 {
            return Err(setup.refused("mtu", setup.mtu, "testpmd is started for 1500 bytes"));
        }
        let id = self.id();
        let (cables, mut inside) = Process::start(setup, count, move || {
            let mut program = Running::start(id, PROGRAM, &mut command(driver, mode, core))?;
            program.wait_until("to forward", |program| {
                program.written(0).contains("packets/burst")
            })?;
            Ok(program)
        })?;
        let said = inside.program.get()?.written(0);
        let version = version_in(&said).unwrap_or("DPDK").to_owned();
        let description = format!("testpmd, {driver} driver, {mode} forwarding");
        let dut = Forwarder::running(setup, &description, version, cables, inside);
        Ok(dut)
    }
}

fn cores() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cores).unwrap_or(u32::MAX)
}

fn command(driver: Driver, mode: &str, core: Option<u32>) -> Command {
    let mut command = PROGRAM.talking_command();
    command.args([
        "--no-huge",
        "-m",
        "512",
        "--no-pci",
        "--no-shconf",
        "--no-telemetry",
        "-v",
    ]);
    for plugin in plugins() {
        command.arg("-d").arg(plugin);
    }
    let all = cores() - 1;
    let worker = core.map_or_else(|| format!("(0-{all})"), |core| core.to_string());
    command.arg(format!("--lcores=0@(0-{all}),1@{worker}"));
    for (number, side) in Side::BOTH.iter().enumerate() {
        let name = driver;
        let port = side.device_port();
        command.arg(format!("--vdev=net_{name}{number},iface={port}"));
    }
    command.args([
        "--",
        "-i",
        "--auto-start",
        "--nb-cores=1",
        "--total-num-mbufs=16384",
    ]);
    command.arg(format!("--forward-mode={mode}"));
    command
}

/// Files of the drivers that it needs, of a package that is unpacked and not installed.
fn plugins() -> Vec<PathBuf> {
    const NEEDED: [&str; 4] = ["bus_vdev", "mempool_ring", "net_af_packet", "net_af_xdp"];
    let root = PROGRAM.root();
    if root == Path::new("/") {
        return Vec::new();
    }
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let entries = folder.read_dir().into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let libraries = entries(&root.join("usr/lib")).into_iter();
    let folders = libraries.flat_map(|folder| entries(&folder.join("dpdk")));
    let files: Vec<_> = folders.flat_map(|folder| entries(&folder)).collect();
    let file_of = |plugin: &str| {
        let name = format!("librte_{plugin}.so");
        let is_it = |file: &&PathBuf| {
            let found = file.file_name().map(|found| found.to_string_lossy());
            found.is_some_and(|found| found.starts_with(&name))
        };
        files.iter().find(is_it).cloned()
    };
    NEEDED.iter().filter_map(|plugin| file_of(plugin)).collect()
}

/// `DPDK 22.11.11` in what it says at its start.
fn version_in(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("RTE Version: '")?;
    rest.split('\'').next()
}

/// What it counted of one port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Forwarded {
    received: u64,
    sent: u64,
    send_dropped: u64,
}

fn count(program: &mut Running, counted: &mut DutCounters) -> Result<()> {
    let answer = program.ask("show fwd stats all\n", |answer| forwarded(answer).is_some())?;
    let read = forwarded(&answer).unwrap_or_default();
    for (port, own) in counted.ports.iter().zip(read) {
        let at = format!("{} ring", port.name);
        // What the interface received and the program did not: its ring was full.
        let missed = port.received.get().saturating_sub(own.received);
        counted.drops.push(dropped(DutPlace::PortRx, &at, missed));
        let unsent = dropped(DutPlace::PortTx, &at, own.send_dropped);
        counted.drops.push(unsent);
        let taken = [("taken", own.received), ("given", own.sent)];
        let taken = taken.map(|(what, count)| (format!("{} {what}", port.name), count));
        counted.counters.extend(taken);
    }
    Ok(())
}

/// Both ports in the answer to `show fwd stats all`; `None` while it is not whole:
///
/// ```text
///   ---------------------- Forward statistics for port 0  ----------------------
///   RX-packets: 8              RX-dropped: 0             RX-total: 8
///   TX-packets: 8              TX-dropped: 0             TX-total: 8
/// ```
fn forwarded(answer: &str) -> Option<[Forwarded; 2]> {
    let port = |number: u32| {
        let head = format!("Forward statistics for port {number} ");
        let (_, rest) = answer.split_once(&head)?;
        let value = |name: &str| {
            let (_, rest) = rest.split_once(name)?;
            let (number, _) = rest.trim_start().split_once(char::is_whitespace)?;
            number.parse().ok()
        };
        Some(Forwarded {
            received: value("RX-packets:")?,
            sent: value("TX-packets:")?,
            send_dropped: value("TX-dropped:")?,
        })
    };
    Some([port(0)?, port(1)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = "show fwd stats all\n
  ---------------------- Forward statistics for port 0  ----------------------
  RX-packets: 8              RX-dropped: 0             RX-total: 8
  TX-packets: 3              TX-dropped: 2             TX-total: 5
  ----------------------------------------------------------------------------

  ---------------------- Forward statistics for port 1  ----------------------
  RX-packets: 5              RX-dropped: 1             RX-total: 6
  TX-packets: 8              TX-dropped: 0             TX-total: 8
  ----------------------------------------------------------------------------
";

    #[test]
    fn both_ports_are_read_when_the_answer_is_whole() {
        let port = |received, sent, send_dropped| Forwarded {
            received,
            sent,
            send_dropped,
        };
        assert_eq!(forwarded(ANSWER), Some([port(8, 3, 2), port(5, 8, 0)]));
        let end = ANSWER.rfind("TX-total").unwrap();
        for cut in (0..end).filter(|cut| ANSWER.is_char_boundary(*cut)) {
            // Cut in or before its last number, it is not whole or says the same.
            let read = forwarded(&ANSWER[..cut]);
            assert!(read.is_none() || read == forwarded(ANSWER), "{cut}");
        }
    }

    #[test]
    fn the_version_is_between_quotes() {
        let text = "EAL: RTE Version: 'DPDK 22.11.11'\nEAL: more";
        assert_eq!(version_in(text), Some("DPDK 22.11.11"));
        assert_eq!(version_in("EAL: nothing"), None);
    }
}

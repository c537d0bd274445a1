//! A forwarder of linerate's own: an XDP program at each port that redirects every frame to the other.
//!
//! It costs what is asked of it: `work` instructions for each frame, and each Nth frame is dropped, so that what a
//! tester finds can be compared with what is true.

use super::cables::{Cables, Ipv6, NextHop, Side, dropped, kernel_version, may_make_networks};
use super::forwarder::{Forwarder, Inside};
use super::params::params;
use super::{Availability, Dut, DutKind, DutParam, DutSetup};
use crate::interfaces::{index_of, netlink, within};
use crate::{Result, TestbedError};
use linerate_model::dut::{DutCounters, DutPlace, DutTask};
use linerate_sys::bpf::{
    Assembler, Condition, Counters, DeviceMap, Program, XdpLink, XdpMode, XdpProgram,
};
use linerate_sys::netns::NetNamespace;
use linerate_sys::privilege::{is_in_user_namespace, lacking_for_xdp};
use std::sync::Arc;

pub(super) struct Xdp;

/// Instructions per frame: the kernel checks at most a million paths of instructions.
const MAX_WORK: u32 = 500_000;
/// A native program on a veth pair wants frames that fit into a page, beside their headroom.
const MAX_MTU: u32 = 3_000;

params! {
    WORK = "work": "0…500000" ("0"),
        "Instructions that each frame costs in addition.";
    DROP = "drop": "1/N" ("none"),
        "Drops every Nth frame that a port receives.";
    MODE = "mode": "native|generic" ("native"),
        "Whether it runs in the driver, or in the kernel's stack.";
}

impl DutKind for Xdp {
    fn id(&self) -> &'static str {
        "xdp"
    }

    fn summary(&self) -> &'static str {
        "A forwarder of linerate's own in XDP, with a known cost and known drops."
    }

    fn params(&self) -> &'static [DutParam] {
        PARAMS
    }

    fn availability(&self, _setup: &DutSetup) -> Availability {
        let lacking = lacking_for_xdp();
        let what = if is_in_user_namespace() {
            "root outside of user namespaces, to load XDP programs".to_owned()
        } else if lacking.is_empty() {
            return may_make_networks();
        } else {
            format!("{}, to load XDP programs", lacking.join(" and "))
        };
        let remedy = "run linerate as root".to_owned();
        Availability::Missing { what, remedy }
    }

    fn start(&self, setup: &DutSetup) -> Result<Box<dyn Dut>> {
        let cost = Cost {
            work: setup.number(WORK, 0..=MAX_WORK)?.unwrap_or(0),
            drop_every: drop_every(setup)?,
        };
        let mode = setup.one_of(MODE, &XdpMode::ALL)?;
        if setup.mtu > MAX_MTU && mode == XdpMode::Native {
            let want = format!(
                "a native XDP program takes up to {MAX_MTU} bytes; mode=generic takes more"
            );
            return Err(setup.refused("mtu", setup.mtu, &want));
        }
        let cables = Cables::lay(setup, NextHop::OtherPort, Ipv6::Off)?;
        cables.bring_up()?;
        cables.open_tester_queues()?;
        let [a, b] = within(&cables.device, "the XDP forwarder", move || {
            let end = |own: Side, other| End::attach(own, other, cost, mode);
            Ok([end(Side::A, Side::B)?, end(Side::B, Side::A)?])
        })?;
        let description = format!("XDP forwarder ({mode}), {cost}");
        let version = kernel_version();
        let inside = Programs([a, b]);
        let dut = Forwarder::running(setup, &description, version, cables, inside);
        Ok(dut)
    }
}

/// Reads `1/N`.
fn drop_every(setup: &DutSetup) -> Result<Option<i32>> {
    let Some(text) = setup.text(DROP) else {
        return Ok(None);
    };
    let number = text
        .strip_prefix("1/")
        .and_then(|number| number.parse().ok());
    let number = number.filter(|number| *number > 0);
    let want = || format!("it takes 1/N, N from 1 to {}", i32::MAX);
    number
        .map(Some)
        .ok_or_else(|| setup.refused(DROP, text, &want()))
}

/// What a frame costs, and which are dropped.
#[derive(Debug, Clone, Copy)]
struct Cost {
    work: u32,
    drop_every: Option<i32>,
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} instructions of work per frame", self.work)?;
        match self.drop_every {
            None => Ok(()),
            Some(every) => write!(f, ", drops 1 of {every} frames"),
        }
    }
}

/// The program at one port.
///
/// Field order is teardown order: the attachment first.
struct End {
    link: XdpLink,
    devices: DeviceMap,
    counters: Counters,
    port: Side,
    cost: Cost,
}

/// Counters of a program, by byte in its map.
const DROPPED: i16 = 8;
const COUNTERS: usize = 2;

impl End {
    /// At a port of the calling thread's network.
    fn attach(own: Side, other: Side, cost: Cost, mode: XdpMode) -> Result<Self> {
        let step =
            || TestbedError::step(format!("loading the XDP program of {}", own.device_port()));
        let mut netlink = netlink()?;
        let [index, target] = [
            index_of(&mut netlink, &own.device_port())?,
            index_of(&mut netlink, &other.device_port())?,
        ];
        let counters = Counters::new(COUNTERS).map_err(step())?;
        let devices = DeviceMap::new(1).map_err(step())?;
        devices.set(0, target).map_err(step())?;
        let program = program(&counters, &devices, cost);
        let program = XdpProgram::load(&program).map_err(step())?;
        let link = program.attach(index, mode).map_err(step())?;
        Ok(Self {
            link,
            devices,
            counters,
            port: own,
            cost,
        })
    }

    /// Forwards by the program of another cost, which counts on.
    fn replace(&mut self, cost: Cost) -> Result<()> {
        let port = self.port.device_port();
        let step = || TestbedError::step(format!("replacing the XDP program of {port}"));
        let code = program(&self.counters, &self.devices, cost);
        let program = XdpProgram::load(&code).map_err(step())?;
        self.link.replace(&program).map_err(step())
    }
}

/// Counts the frame, works, drops every Nth, and redirects the others.
fn program(counters: &Counters, devices: &DeviceMap, cost: Cost) -> Program {
    const ABORT: i32 = 0;
    const DROP: i32 = 1;
    let mut code = Assembler::default();
    let (lost, pass) = (code.label(), code.label());
    code.counters(counters.descriptor());
    code.jump_if(Condition::Equal, 0, 0, lost);
    code.copy(6, 0);
    code.set(7, 1);
    code.fetch_add(6, 0, 7);
    code.set(8, 0);
    for _ in 0..cost.work {
        code.add(8, 1);
    }
    if let Some(every) = cost.drop_every {
        // Register 7 is the number of frames before this one.
        code.add(7, 1);
        code.modulo(7, every);
        code.jump_if(Condition::NotEqual, 7, 0, pass);
        code.set(7, 1);
        code.fetch_add(6, DROPPED, 7);
        code.exit_with(DROP);
    }
    code.place(pass);
    code.set(2, 0);
    code.redirect(devices.descriptor(), 2, ABORT);
    code.place(lost);
    code.finish_with(ABORT)
}

/// The programs at both ports.
struct Programs([End; 2]);

impl Inside for Programs {
    fn task(&self) -> Option<DutTask> {
        let works = self.0.iter().any(|end| end.cost.work > 0);
        works.then_some(DutTask::Instructions)
    }

    fn give(&mut self, _device: &Arc<NetNamespace>, is_given: bool) -> Result<()> {
        for end in &mut self.0 {
            let work = if is_given { end.cost.work } else { 0 };
            end.replace(Cost { work, ..end.cost })?;
        }
        Ok(())
    }

    fn count(&mut self, _device: &Arc<NetNamespace>, counted: &mut DutCounters) -> Result<()> {
        for end in &self.0 {
            let port = end.port.device_port();
            let step = TestbedError::step(format!("reading the counters of {port}'s program"));
            let read = end.counters.read().map_err(step)?;
            let intended = dropped(DutPlace::Intended, port.as_str(), read[1]);
            counted.drops.push(intended);
            counted.counters.insert(format!("{port} frames"), read[0]);
        }
        Ok(())
    }
}

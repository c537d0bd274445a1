//! A forwarder of linerate's own: an XDP program at each port that redirects every frame to the other.
//!
//! It costs what is asked of it: `work` instructions for each frame, `miss-work` for one whose flow a cache does not have, and
//! each Nth frame is dropped, so that what a tester finds can be compared with what is true.

use super::cables::{Cables, Ipv6, NextHop, Side, dropped, kernel_version, may_make_networks};
use super::forwarder::{Forwarder, Inside};
use super::params::params;
use super::{Availability, Dut, DutKind, DutParam, DutSetup};
use crate::interfaces::{index_of, netlink, within};
use crate::{Result, TestbedError};
use linerate_model::dut::{DutCounters, DutPlace, DutRelief, DutTask};
use linerate_model::spec::TestSpec;
use linerate_sys::bpf::{
    Assembler, Condition, Counters, DeviceMap, Operation, Program, ProgramRuns, SharedValue, Width,
    XDP_DROP, XdpLink, XdpMode, XdpProgram,
};
use linerate_sys::netns::NetNamespace;
use linerate_sys::privilege::{is_in_user_namespace, lacking_for_xdp};
use std::io;
use std::sync::Arc;

pub(super) struct Xdp;

/// Instructions per frame: the kernel checks at most a million paths of instructions.
const MAX_WORK: u32 = 500_000;
/// The same of what a jump skips.
const MAX_MISS_WORK: u32 = 30_000;
/// A native program on a veth pair wants frames that fit into a page, beside their headroom.
const MAX_MTU: u32 = 3_000;

params! {
    WORK = "work": "0…500000" ("0"),
        "Instructions that each frame costs in addition.";
    CACHE = "cache": "N" ("none"),
        "Flows that it remembers, each at one place: others cost `miss-work`; 1 to 500000.";
    MISS_WORK = "miss-work": "0…30000" ("0"),
        "Instructions that a frame costs in addition whose flow it does not remember.";
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
            cache: cache(setup)?,
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

/// The cache of flows, if it has one.
fn cache(setup: &DutSetup) -> Result<Option<Cache>> {
    let work = setup.number(MISS_WORK, 0..=MAX_MISS_WORK)?;
    match (setup.number(CACHE, 1..=MAX_CACHE)?, work) {
        (None, Some(work)) => {
            let want = "it is of flows that a cache does not have: add cache=N";
            Err(setup.refused(MISS_WORK, work, want))
        }
        (entries, work) => Ok(entries.map(|entries| Cache {
            entries,
            work: work.unwrap_or(0),
        })),
    }
}

/// What a frame costs, and which are dropped.
#[derive(Debug, Clone, Copy)]
struct Cost {
    work: u32,
    cache: Option<Cache>,
    drop_every: Option<i32>,
}

/// Flows that are remembered, each at the place of its hash.
#[derive(Debug, Clone, Copy)]
struct Cache {
    entries: u32,
    /// Instructions for a frame whose flow is not there.
    work: u32,
}

/// Most flows: their memory is below the 4 MiB that older kernels allow.
const MAX_CACHE: u32 = 500_000;

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} instructions of work per frame", self.work)?;
        if let Some(Cache { entries, work }) = self.cache {
            write!(f, ", a cache of {entries} flows, {work} more per miss")?;
        }
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
    program: XdpProgram,
    /// Of programs that it has replaced.
    earlier: ProgramRuns,
    devices: DeviceMap,
    counters: Counters,
    /// Flows of the cache, if there is one.
    flows: Option<SharedValue>,
    port: Side,
    cost: Cost,
}

/// Counters of a program, by byte in its map.
const DROPPED: i16 = 8;
const MISSES: i16 = 16;
const COUNTERS: usize = 3;

/// What the kernel counted of a program, while it did.
const RUNS: &str = "runs";
const RUN_TIME: &str = "run time ns";

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
        let memory = |cache: Cache| SharedValue::new(cache.entries as usize * 8);
        let flows = cost.cache.map(memory).transpose().map_err(step())?;
        let program = program(&counters, &devices, flows.as_ref(), cost);
        let program = XdpProgram::load(&program).map_err(step())?;
        let link = program.attach(index, mode).map_err(step())?;
        Ok(Self {
            link,
            program,
            earlier: ProgramRuns::default(),
            devices,
            counters,
            flows,
            port: own,
            cost,
        })
    }

    /// Forwards by the program of another cost, which counts on.
    fn replace(&mut self, cost: Cost) -> Result<()> {
        let port = self.port.device_port();
        let step = || TestbedError::step(format!("replacing the XDP program of {port}"));
        let code = program(&self.counters, &self.devices, self.flows.as_ref(), cost);
        let program = XdpProgram::load(&code).map_err(step())?;
        self.link.replace(&program).map_err(step())?;
        self.earlier = self.runs().map_err(step())?;
        self.program = program;
        Ok(())
    }

    fn runs(&self) -> io::Result<ProgramRuns> {
        Ok(self.earlier.plus(self.program.runs()?))
    }
}

/// Counts the frame, works, drops every Nth, and redirects the others.
fn program(
    counters: &Counters,
    devices: &DeviceMap,
    flows: Option<&SharedValue>,
    cost: Cost,
) -> Program {
    const ABORT: i32 = 0;
    let mut code = Assembler::default();
    let (counted, pass) = (code.label(), code.label());
    code.copy(9, 1);
    code.counters(counters.descriptor());
    code.jump_if(Condition::NotEqual, 0, 0, counted);
    code.exit_with(ABORT);
    code.place(counted);
    code.copy(6, 0);
    code.set(7, 1);
    code.fetch_add(6, 0, 7);
    work(&mut code, cost.work);
    if let (Some(flows), Some(cache)) = (flows, cost.cache) {
        look_up(&mut code, flows.descriptor(), cache);
    }
    if let Some(every) = cost.drop_every {
        // Register 7 is the number of frames before this one.
        code.add(7, 1);
        code.modulo(7, every);
        code.jump_if(Condition::NotEqual, 7, 0, pass);
        code.set(7, 1);
        code.fetch_add(6, DROPPED, 7);
        code.exit_with(XDP_DROP);
    }
    code.place(pass);
    code.set(2, 0);
    code.redirect(devices.descriptor(), 2, ABORT);
    code.complete()
}

fn work(code: &mut Assembler, instructions: u32) {
    code.set(8, 0);
    for _ in 0..instructions {
        code.add(8, 1);
    }
}

/// Finds the flow of a frame of IPv4 without options in the cache, or works and puts it there. Register 6: the counters, 9: the
/// context; 0 to 5 are lost.
fn look_up(code: &mut Assembler, flows: i32, cache: Cache) {
    /// Offsets in the frame of both addresses and both ports, and the end of the ports.
    const FIELDS: [i16; 3] = [26, 30, 34];
    const END: i32 = 38;
    /// Odd numbers with many changes of bits, for products that spread.
    const SPREAD: [u64; 3] = [
        0x9e37_79b9_7f4a_7c15,
        0xd1b5_4a32_d192_ed03,
        0x2545_f491_4f6c_dd1d,
    ];
    let known = code.label();
    let (frame, end, hash, place) = (1, 2, 3, 4);
    code.frame(9, [frame, end]);
    code.copy(5, frame);
    code.add(5, END);
    code.jump_if_above(5, end, known);
    code.set(hash, 0);
    for (at, spread) in FIELDS.into_iter().zip(SPREAD) {
        code.load(Width::Word, 5, frame, at);
        code.compute_register(Operation::Xor, hash, 5);
        code.set_wide(5, spread);
        code.compute_register(Operation::Multiply, hash, 5);
        code.copy(5, hash);
        code.shift_right(5, 32);
        code.compute_register(Operation::Xor, hash, 5);
    }
    code.copy(place, hash);
    code.shift_right(place, 32);
    code.set_wide(5, cache.entries.into());
    code.compute_register(Operation::Multiply, place, 5);
    code.shift_right(place, 32);
    code.shift_left(place, 3);
    code.map_value(5, flows, 0);
    code.add_register(5, place);
    code.load(Width::Double, place, 5, 0);
    code.jump_if_register(Condition::Equal, place, hash, known);
    code.store(Width::Double, 5, 0, hash);
    code.set(5, 1);
    code.atomic_add_at(6, MISSES, 5);
    work(code, cache.work);
    code.place(known);
}

/// The programs at both ports.
struct Programs([End; 2]);

impl Inside for Programs {
    fn reliefs(&self, _test: &TestSpec) -> Vec<DutRelief> {
        let works = self
            .0
            .iter()
            .any(|end| end.cost.work > 0 || end.cost.cache.is_some());
        let work = DutTask::Instructions;
        let relief = works.then_some(DutRelief::Without { work });
        relief.into_iter().collect()
    }

    fn relieve(
        &mut self,
        _device: &Arc<NetNamespace>,
        _relief: DutRelief,
        is_relieved: bool,
    ) -> Result<()> {
        for end in &mut self.0 {
            end.replace(if is_relieved {
                Cost {
                    work: 0,
                    cache: None,
                    ..end.cost
                }
            } else {
                end.cost
            })?;
        }
        Ok(())
    }

    fn count(&mut self, _device: &Arc<NetNamespace>, counted: &mut DutCounters) -> Result<()> {
        for end in &self.0 {
            let port = end.port.device_port();
            let step = || TestbedError::step(format!("reading the counters of {port}'s program"));
            let read = end.counters.read().map_err(step())?;
            let intended = dropped(DutPlace::Intended, port.as_str(), read[1]);
            counted.drops.push(intended);
            counted.counters.insert(format!("{port} frames"), read[0]);
            let runs = end.runs().map_err(step())?;
            if runs.count > 0 {
                let time = u64::try_from(runs.time.as_nanos()).unwrap_or(u64::MAX);
                counted
                    .counters
                    .insert(format!("{port} {RUNS}"), runs.count);
                counted.counters.insert(format!("{port} {RUN_TIME}"), time);
            }
            if end.cost.cache.is_some() {
                counted.counters.insert(format!("{port} misses"), read[2]);
            }
        }
        Ok(())
    }
}

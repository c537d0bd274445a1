//! `linerate switch`: what a device between two ports of this host forwards, by frame size and direction.
//!
//! ```text
//!   this process, client ── port A ══ device ══ port B ── this process, agent
//!            └──────────────── control over loopback ─────────┘
//! ```
//! Each frame size and direction is a search of its own, with the peer on a thread of this process, so that all that is
//! known of a search holds here: its goals, its ledger of every frame, its verdict and its probes.

use super::{After, SaturatePlan, diagnose, saturate};
use crate::context::Context;
use crate::recorder::{Header, Recorder};
use crate::watch::Scaled;
use anyhow::Result;
use linerate_agent::{Agent, AgentPlan};
use linerate_client::address::PeerAddress;
use linerate_client::{Client, Target};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{Asked, Device, Forwarding, Host, Run, RunKind, RunWork, SwitchSettings};
use linerate_model::spec::{DatapathChoice, Direction, MIN_NUMBERED_PAYLOAD, TestSpec};
use linerate_model::{BitRate, ByteCount, FrameOverhead, Layer, PacketRate};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// What is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceChoice {
    /// Whatever is between two interfaces of this host.
    Ports {
        /// Where frames of the forward direction enter it.
        a: String,
        /// Where they leave it.
        b: String,
    },
}

impl DeviceChoice {
    /// Reads `eth1,eth2`.
    pub fn ports(text: &str) -> Result<Self, String> {
        let ends = text.split_once(',').map(|(a, b)| (a.trim(), b.trim()));
        match ends {
            Some((a, b)) if a == b && !a.is_empty() => Err(format!(
                "both ports are {a}: a device is between two interfaces; give two"
            )),
            Some((a, b)) if !a.is_empty() && !b.is_empty() => Ok(Self::Ports {
                a: a.to_owned(),
                b: b.to_owned(),
            }),
            _ => Err("it takes two interfaces: A,B".to_owned()),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Ports { a, b } => format!("{a} to {b}"),
        }
    }
}

/// A plan in the making, which options change one by one.
#[derive(Debug, Clone)]
pub struct DeviceDraft {
    /// What is measured.
    pub choice: Option<DeviceChoice>,
    /// Lengths of frames.
    pub frame_sizes: Vec<ByteCount>,
    /// Maximum load at L1; `None`: the ports'.
    pub line_rate: Option<BitRate>,
    /// Minimum load.
    pub lowest: PacketRate,
    params: BTreeMap<String, String>,
}

impl Default for DeviceDraft {
    fn default() -> Self {
        Self {
            choice: None,
            frame_sizes: Vec::new(),
            line_rate: None,
            lowest: PacketRate::from_pps(1000.0),
            params: BTreeMap::new(),
        }
    }
}

impl DeviceDraft {
    /// Sets a parameter of the datapath between the ports.
    pub(crate) fn param(&mut self, name: &str, value: &str) {
        self.params.insert(name.to_owned(), value.to_owned());
    }

    pub(crate) fn plan(self, search: SaturatePlan, both: bool) -> Result<SwitchPlan, String> {
        let device = self.choice.ok_or("give two interfaces")?;
        let address = self.params.get("a-ip").map(|text| text.parse::<IpAddr>());
        let overhead = match address {
            Some(Ok(IpAddr::V6(_))) => FrameOverhead::UDP_IPV6,
            _ => FrameOverhead::UDP_IPV4,
        };
        let directions = if both {
            vec![Direction::Forward, Direction::Reverse]
        } else {
            vec![search.spec.direction]
        };
        let plan = SwitchPlan {
            device,
            params: self.params,
            frame_sizes: self.frame_sizes,
            overhead,
            directions,
            line_rate: self.line_rate,
            lowest: self.lowest,
            search,
        };
        plan.specs().map(|_| plan)
    }
}

/// What is measured of a device, and how.
#[derive(Debug, Clone)]
pub struct SwitchPlan {
    /// The device.
    pub device: DeviceChoice,
    /// Lengths of frames from destination address to FCS, a search each.
    pub frame_sizes: Vec<ByteCount>,
    /// Directions, one after the other.
    pub directions: Vec<Direction>,
    /// Where and how exactly each search looks; its loads and payload are those of a frame size.
    search: SaturatePlan,
    params: BTreeMap<String, String>,
    overhead: FrameOverhead,
    line_rate: Option<BitRate>,
    lowest: PacketRate,
}

/// L1 rate up to which a search goes where no port tells its speed.
const USUAL_LINE_RATE: BitRate = BitRate::from_bps(10_000_000_000);

impl SwitchPlan {
    /// The test of each frame size.
    pub(crate) fn specs(&self) -> Result<Vec<TestSpec>, String> {
        let one = |size: &ByteCount| {
            let payload = self.payload(*size)?;
            Ok(self.search.spec.clone().with_payload(payload))
        };
        self.frame_sizes.iter().map(one).collect()
    }

    /// The payload of a frame; an error for one that has no room for the header of the probe.
    fn payload(&self, frame: ByteCount) -> Result<ByteCount, String> {
        let least = self.overhead.bytes_at(Layer::L2, PROBE_BYTES);
        let headers = self.overhead.bytes_at(Layer::L2, 0);
        match frame.get().checked_sub(headers) {
            Some(payload) if payload >= PROBE_BYTES => Ok(ByteCount::new(payload)),
            _ => Err(format!(
                "a frame of {} B is too short: with these headers, number and time of every frame need {least} B",
                frame.get()
            )),
        }
    }

    /// How long all searches take at most.
    pub(crate) fn time(&self) -> Duration {
        let searches = self.frame_sizes.len() * self.directions.len();
        self.search.budget * u32::try_from(searches).unwrap_or(u32::MAX)
    }

    /// What a run says was asked for.
    pub(crate) fn asked(&self) -> Asked {
        Asked::Switch(SwitchSettings {
            device: self.device.name(),
            frame_bytes: self.frame_sizes.clone(),
            directions: self.directions.clone(),
            delay_loads: self.search.delay_loads.clone(),
            search: self.search.settings(),
        })
    }
}

/// Length of the header of every datagram.
const PROBE_BYTES: u64 = MIN_NUMBERED_PAYLOAD.get();

/// The two ports, with what is known of them.
struct Ports {
    datapath: DatapathChoice,
    target: Target,
    hosts: Vec<Host>,
    line_rate: Option<BitRate>,
}

/// Measures what the device forwards.
pub fn switch(context: &mut Context<'_>, plan: &SwitchPlan, after: After) -> Result<Run> {
    let DeviceChoice::Ports { a, b } = &plan.device;
    let agent = Agent::start(AgentPlan {
        interface: Some(b.clone()),
        ..AgentPlan::listening_on("127.0.0.1:0")?
    })?;
    let result = Ports::open(plan, [a, b], agent.port())
        .and_then(|ports| searches(context, plan, &ports, after));
    agent.stop()?;
    result
}

impl Ports {
    fn open(plan: &SwitchPlan, ends: [&String; 2], port: u16) -> Result<Self> {
        let [a, b] = ends;
        let mut target = Target::new(PeerAddress::parse(&format!("127.0.0.1:{port}"))?);
        target.count_at(Some(a))?;
        let hosts = Client::connect(&target)?.hosts();
        let speed = |host: &Host| host.facts.link_speed_bps;
        let params = [("a", a.clone()), ("b", b.clone())];
        let params = params.map(|(key, value)| (key.to_owned(), value));
        Ok(Self {
            datapath: DatapathChoice {
                id: DatapathChoice::PORTS.to_owned(),
                params: plan.params.clone().into_iter().chain(params).collect(),
            },
            target,
            line_rate: hosts.iter().filter_map(speed).min(),
            hosts,
        })
    }

    /// The search with frames of one size in one direction.
    fn search(&self, plan: &SwitchPlan, size: ByteCount, way: Direction) -> Result<SaturatePlan> {
        let usage = |why: String| Failure::new(ExitCode::Usage, why);
        let payload = plan.payload(size).map_err(usage)?;
        let line = plan.line_rate.or(self.line_rate).unwrap_or(USUAL_LINE_RATE);
        let most = plan.overhead.payload_rate(Layer::L1, line, payload.get());
        let least = BitRate::from_f64(plan.lowest.pps() * payload.as_f64() * 8.0);
        let mut spec = plan.search.spec.clone().with_payload(payload);
        spec.direction = way;
        spec.datapath = self.datapath.clone();
        Ok(SaturatePlan {
            spec,
            min_load: least,
            max_load: most,
            ..plan.search.clone()
        })
    }
}

/// A search for each frame size and direction.
fn searches(
    context: &mut Context<'_>,
    plan: &SwitchPlan,
    ports: &Ports,
    after: After,
) -> Result<Run> {
    let cells = plan.frame_sizes.iter().flat_map(|size| {
        let ways = plan.directions.iter();
        ways.map(|way| (*size, *way))
    });
    let cells: Vec<_> = cells.collect();
    let mut recorder = Recorder::begin(
        context,
        Header {
            kind: RunKind::Switch,
            title: plan.device.name(),
            target: None,
            asked: plan.asked(),
            hosts: ports.hosts.clone(),
        },
    )?;
    if let RunWork::Switch { device, .. } = &mut recorder.run_mut().work {
        *device = Device {
            name: plan.device.name(),
            about: None,
        };
    }
    let share = 1.0 / f64::from(u32::try_from(cells.len().max(1)).unwrap_or(u32::MAX));
    for (index, (size, way)) in (0_u32..).zip(cells) {
        if context.interrupted() {
            break;
        }
        let name = cell_name(plan, size, way);
        let mut watcher = Scaled {
            inner: &mut *context.watcher,
            name: &name,
            offset: share * f64::from(index),
            scale: share,
        };
        let mut inner = Context::of_part(&context.command, context.interrupt, &mut watcher);
        let search = ports.search(plan, size, way)?;
        let measured = saturate(&mut inner, &ports.target, &search);
        let mut part = measured.inspect_err(|error| recorder.give_up(error))?;
        part = diagnose(&mut inner, &ports.target, part, after.diagnose);
        part.title = Some(name);
        let mut row = Forwarding::of_search(&part, way, plan.overhead);
        if let Some(row) = &mut row {
            row.line_rate = ports.line_rate.map(|line| {
                PacketRate::from_pps(line.as_f64() / row.bit_rate(Layer::L1, ONE).as_f64())
            });
        }
        recorder.part(context, part);
        if let RunWork::Switch { forwarding, .. } = &mut recorder.run_mut().work {
            forwarding.extend(row);
        }
    }
    Ok(recorder.finish(context))
}

/// One frame per second.
const ONE: PacketRate = PacketRate::from_pps(1.0);

/// `64 B, reverse`.
fn cell_name(plan: &SwitchPlan, size: ByteCount, way: Direction) -> String {
    let way = match way {
        Direction::Reverse if plan.directions.len() > 1 => ", B to A",
        Direction::Forward if plan.directions.len() > 1 => ", A to B",
        Direction::Forward | Direction::Reverse | Direction::Duplex => "",
    };
    format!("{} B{way}", size.get())
}

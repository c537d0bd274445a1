//! What is measured of a device, and how.

use super::device::DeviceChoice;
use super::methods::{self, Method};
use crate::run::SaturatePlan;
use linerate_client::address::PeerAddress;
use linerate_frames::{
    ETHERNET_HEADER, FrameHeaders, IPV4_HEADER, IPV6_HEADER, TCP_HEADER, Transport, UDP_HEADER,
};
use linerate_model::consent::{Effect, Effects as _};
use linerate_model::dut::DutChoice;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{MethodSettings, RunRequest, SwitchSettings};
use linerate_model::spec::{
    DatapathChoice, Direction, FrameLengths, MIN_NUMBERED_PAYLOAD, Pace, Stop, TestSpec,
};
use linerate_model::{BitRate, ByteCount, FrameOverhead, Layer, PacketRate};
use linerate_testbed::duts::DutSetup;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// How frames find the MAC address of their next hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum NeighbourMode {
    /// By the addresses that are given, or the other port's.
    #[default]
    Static,
    /// By ARP and IPv6 neighbour discovery, while both ports answer for their own addresses.
    Resolve,
}

impl std::str::FromStr for NeighbourMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "static" => Ok(Self::Static),
            "resolve" => Ok(Self::Resolve),
            _ => Err("must be static or resolve".to_owned()),
        }
    }
}

/// A plan in the making, which options change one by one.
#[derive(Debug, Clone)]
pub struct DeviceDraft {
    /// The interfaces that the device is between: A and B, or those of a mesh.
    pub ports: Option<Vec<String>>,
    /// The device, by its kind.
    pub started: Option<DutChoice>,
    /// Host of port B; `None`: this host.
    pub host_b: Option<PeerAddress>,
    /// Lengths of frames.
    pub frame_sizes: Vec<FrameLengths>,
    /// Maximum load at L1; `None`: the ports'.
    pub line_rate: Option<BitRate>,
    /// Minimum load.
    pub lowest: PacketRate,
    /// Whether frames are of IPv6.
    pub is_ipv6: bool,
    /// How frames find their next hop.
    pub(crate) neighbours: NeighbourMode,
    /// Addresses of the routers' ports at A and B, to resolve; `None`: the other port's.
    pub(crate) gateways: [Option<IpAddr>; 2],
    /// How it is measured.
    pub(crate) methods: Vec<&'static dyn Method>,
    /// How that is done.
    pub(crate) method_settings: MethodSettings,
    params: BTreeMap<String, String>,
}

impl Default for DeviceDraft {
    fn default() -> Self {
        Self {
            ports: None,
            started: None,
            host_b: None,
            frame_sizes: Vec::new(),
            line_rate: None,
            lowest: PacketRate::from_pps(1000.0),
            is_ipv6: false,
            neighbours: NeighbourMode::default(),
            gateways: [None; 2],
            methods: Vec::new(),
            method_settings: MethodSettings::default(),
            params: BTreeMap::new(),
        }
    }
}

/// Addresses of IPv6 frames, of the network for benchmarks (RFC 5180 §8).
const IPV6: [(&str, &str); 2] = [("a-ip", "2001:2::1"), ("b-ip", "2001:2::2")];

impl DeviceDraft {
    /// Adds a method by its name, in the order in which they are made.
    pub(crate) fn measure_by(&mut self, id: &str) -> Result<(), String> {
        let known = || {
            let ids = methods::ALL.iter().map(|method| method.id());
            ids.collect::<Vec<_>>().join(", ")
        };
        let method = methods::find(id).ok_or_else(|| format!("must be one of {}", known()))?;
        if !self.methods.iter().any(|other| other.id() == id) {
            self.methods.push(method);
        }
        Ok(())
    }

    /// Sets a parameter of the datapath between the ports.
    pub(crate) fn param(&mut self, name: &str, value: &str) {
        self.params.insert(name.to_owned(), value.to_owned());
    }

    /// The whole plan, for searches in `direction`, or in both one after the other.
    pub(crate) fn plan(
        self,
        mut search: SaturatePlan,
        direction: Direction,
        both: bool,
    ) -> Result<SwitchPlan, String> {
        let mut params = self.params;
        let device = DeviceChoice::of(self.ports, self.started, self.host_b)?;
        if device.is_mesh() {
            let one_way = direction == Direction::Forward && !both;
            check_mesh(one_way, self.neighbours, &params, &self.methods)?;
            search.spec.streams = device.streams();
        }
        if self.is_ipv6 && !matches!(device, DeviceChoice::Started(_)) {
            let own = &IPV6[..if device.is_mesh() { 1 } else { 2 }];
            for (key, address) in own {
                let usual = || (*address).to_owned();
                params.entry((*key).to_owned()).or_insert_with(usual);
            }
        }
        let address = params.get("a-ip").map(|text| text.parse::<IpAddr>());
        let is_ipv6 = self.is_ipv6 || matches!(address, Some(Ok(IpAddr::V6(_))));
        let text = |key: &str| params.get(key).map(String::as_str);
        let headers = FrameHeaders::from_params(text).map_err(|error| error.to_string())?;
        let overhead = overhead(&headers, is_ipv6);
        check_neighbours(self.neighbours, self.gateways, &params)?;
        let directions = if both {
            vec![Direction::Forward, Direction::Reverse]
        } else {
            vec![direction]
        };
        let plan = SwitchPlan {
            device,
            params,
            frame_sizes: self.frame_sizes,
            overhead,
            is_ipv6,
            neighbours: self.neighbours,
            gateways: self.gateways,
            directions,
            line_rate: self.line_rate,
            lowest: self.lowest,
            methods: self.methods,
            method_settings: self.method_settings,
            search: Box::new(search),
        };
        let started = match &plan.device {
            DeviceChoice::Ports { .. } | DeviceChoice::Mesh(_) => None,
            DeviceChoice::Started(choice) => Some(choice),
        };
        check_flows(&plan.params, &plan.methods)?;
        let checks = plan.methods.iter();
        let mut checks = checks.map(|method| method.check(started, &plan.method_settings));
        checks.try_for_each(|checked| checked)?;
        plan.specs().map(|_| plan)
    }
}

/// Refuses methods of many flows where frames are not made by the kernel.
fn check_flows(params: &BTreeMap<String, String>, methods: &[&dyn Method]) -> Result<(), String> {
    let is_other = params
        .get(DatapathChoice::GENERATOR)
        .is_some_and(|by| by != "kernel");
    let varying = methods
        .iter()
        .find(|method| is_other && method.varies_flows());
    varying.map_or(Ok(()), |method| {
        Err(format!(
            "method {} needs frames of many flows, which the kernel's generator makes alone: leave generator out",
            method.id()
        ))
    })
}

/// Refuses what is of two ports alone, in the names of options.
fn check_mesh(
    one_way: bool,
    neighbours: NeighbourMode,
    params: &BTreeMap<String, String>,
    methods: &[&dyn Method],
) -> Result<(), String> {
    if !one_way {
        let why = "every port of a mesh sends and receives: leave reverse, duplex and both out";
        return Err(why.to_owned());
    }
    if neighbours == NeighbourMode::Resolve {
        let why = "ports of a mesh send to each other over one Ethernet: leave neighbours out";
        return Err(why.to_owned());
    }
    let of_two = ["a-to", "b-to", "b-ip", FrameHeaders::TEMPLATE];
    if let Some(key) = of_two.into_iter().find(|key| params.contains_key(*key)) {
        return Err(format!(
            "{key} says where frames between two ports go: leave it out, or give two interfaces"
        ));
    }
    if params
        .get(DatapathChoice::GENERATOR)
        .is_some_and(|by| by != "kernel")
    {
        let why = "several streams arrive at each port of a mesh, which only the kernel's generator counts: leave generator out";
        return Err(why.to_owned());
    }
    match methods.iter().find(|method| !method.is_for_mesh()) {
        None => Ok(()),
        Some(method) => Err(format!(
            "method {} is between two ports: give two interfaces",
            method.id()
        )),
    }
}

/// Refuses what says twice, or for nothing, where frames go.
fn check_neighbours(
    mode: NeighbourMode,
    gateways: [Option<IpAddr>; 2],
    params: &BTreeMap<String, String>,
) -> Result<(), String> {
    let has = |key| params.contains_key(key);
    match mode {
        NeighbourMode::Static if gateways != [None; 2] => Err(
            "a-gateway and b-gateway are addresses to resolve: add neighbours=resolve".to_owned(),
        ),
        NeighbourMode::Resolve if has("a-to") || has("b-to") => Err(
            "a-to and b-to are what neighbours=resolve finds out: leave one of them out".to_owned(),
        ),
        NeighbourMode::Resolve if has(FrameHeaders::TEMPLATE) => Err(
            "a template has the MAC addresses of its own bytes: leave out neighbours=resolve"
                .to_owned(),
        ),
        NeighbourMode::Static | NeighbourMode::Resolve => Ok(()),
    }
}

/// Bytes of frames beside their payload. All that is not the test's own packet counts as L2.
fn overhead(headers: &FrameHeaders, is_ipv6: bool) -> FrameOverhead {
    let usual = FrameOverhead::UDP_IPV4;
    let packet = if is_ipv6 { IPV6_HEADER } else { IPV4_HEADER };
    let transport = match headers.transport {
        Transport::Tcp => TCP_HEADER,
        Transport::Udp => UDP_HEADER,
    };
    let [packet, transport] = match headers.template {
        None => [packet, transport],
        Some(_) => [0; 2],
    };
    let others = headers.bytes(!is_ipv6) - packet - transport;
    let bytes = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    FrameOverhead {
        l4_header_bytes: bytes(transport),
        l3_header_bytes: bytes(packet),
        l2_bytes: bytes(others) + FCS,
        ..usual
    }
}

/// What is measured of a device, and how.
#[derive(Debug, Clone)]
pub struct SwitchPlan {
    /// The device.
    pub device: DeviceChoice,
    /// Lengths of frames from destination address to FCS, a search each.
    pub frame_sizes: Vec<FrameLengths>,
    /// Directions, one after the other.
    pub directions: Vec<Direction>,
    /// Where and how exactly each search looks; its loads and payload are those of a frame size.
    search: Box<SaturatePlan>,
    pub(super) params: BTreeMap<String, String>,
    pub(super) methods: Vec<&'static dyn Method>,
    pub(super) method_settings: MethodSettings,
    pub(super) overhead: FrameOverhead,
    /// Whether its frames are of IPv6.
    pub(super) is_ipv6: bool,
    pub(super) neighbours: NeighbourMode,
    pub(super) gateways: [Option<IpAddr>; 2],
    line_rate: Option<BitRate>,
    lowest: PacketRate,
}

/// L1 rate up to which a search goes where no port tells its speed.
const USUAL_LINE_RATE: BitRate = BitRate::from_bps(100_000_000_000);

impl SwitchPlan {
    /// The device that it starts, or the interfaces that its frames leave by, and the user's command that resets it.
    pub(crate) fn effects(&self) -> Vec<Effect> {
        let device = match &self.device {
            DeviceChoice::Ports { a, b, .. } => format!("frames on the interfaces {a} and {b}"),
            DeviceChoice::Mesh(ports) => format!("frames on the interfaces {}", ports.join(", ")),
            DeviceChoice::Started(choice) => format!("device {choice}"),
        };
        let reset = self.method_settings.reset_command.clone();
        let host_b = self.host_b().map(PeerAddress::effects);
        [Effect::Starts(device)]
            .into_iter()
            .chain(reset.map(Effect::Runs))
            .chain(host_b.into_iter().flatten())
            .collect()
    }

    /// Frames between interfaces of this host, by the parameters that name them.
    pub(super) fn datapath(&self, interfaces: &[(&str, &str)]) -> DatapathChoice {
        let mut params = self.params.clone();
        let named = interfaces.iter().copied();
        params.extend(named.map(|(key, name)| (key.to_owned(), name.to_owned())));
        DatapathChoice {
            id: DatapathChoice::PORTS.to_owned(),
            params,
        }
    }

    /// Host of port B, where it is not this one.
    pub(super) const fn host_b(&self) -> Option<&PeerAddress> {
        match &self.device {
            DeviceChoice::Ports { host_b, .. } => host_b.as_ref(),
            DeviceChoice::Mesh(_) | DeviceChoice::Started(_) => None,
        }
    }

    /// The test of each frame size.
    pub(crate) fn specs(&self) -> Result<Vec<TestSpec>, String> {
        let one = |size: &FrameLengths| {
            let payload = self.payload(size)?;
            Ok(self.search.spec.clone().with_payload(payload))
        };
        self.frame_sizes.iter().map(one).collect()
    }

    /// The payload of a frame, of a mix the mean, which stands for each of its frames; an error for a frame that has no room
    /// for the header of the probe.
    fn payload(&self, frames: &FrameLengths) -> Result<ByteCount, String> {
        let least = self.overhead.bytes_at(Layer::L2, PROBE_BYTES);
        let headers = self.overhead.bytes_at(Layer::L2, 0);
        let shortest = frames.shortest().get();
        if shortest < least {
            return Err(format!(
                "a frame of {shortest} B is too short: {} B of headers, {PROBE_BYTES} B of number and time, and the FCS need {least} B",
                least - PROBE_BYTES - u64::from(FCS)
            ));
        }
        Ok(ByteCount::new(frames.nominal().get() - headers))
    }

    /// How long all searches take at most.
    pub(crate) fn time(&self) -> Duration {
        let cells = self.frame_sizes.len() * self.directions.len();
        let search = if self.searches() {
            self.search.budget
        } else {
            Duration::ZERO
        };
        let count = |cells: usize| u32::try_from(cells).unwrap_or(u32::MAX);
        let others = self.methods.iter().map(|method| {
            let times = if method.depends_on_frames() {
                cells
            } else {
                self.directions.len()
            };
            method
                .time(&self.method_settings)
                .saturating_mul(count(times))
        });
        others.sum::<Duration>() + search.saturating_mul(count(cells))
    }

    /// Methods that measure with frames of one of `cells`: those that do not depend on the length of frames only with the
    /// first of its direction.
    pub(super) fn methods_of(
        &self,
        cell: &FrameCell,
        cells: &[FrameCell],
    ) -> Vec<&'static dyn Method> {
        let first = cells.iter().find(|other| other.way == cell.way);
        let is_first = first == Some(cell);
        let methods = self.methods.iter().copied();
        methods
            .filter(|method| is_first || method.depends_on_frames())
            .collect()
    }

    /// Whether a method starts from the throughput.
    pub(super) fn searches(&self) -> bool {
        self.methods.iter().any(|method| method.needs_throughput())
    }

    /// Headers that frames have beside Ethernet, IP and UDP.
    fn headers_in_words(&self) -> Option<String> {
        let text = |key: &str| self.params.get(key).cloned();
        let template = text(FrameHeaders::TEMPLATE).map(|hex| format!("template {hex}"));
        let stack = text(FrameHeaders::HEADERS).filter(|stack| !stack.is_empty());
        let transport = text(FrameHeaders::L4).filter(|transport| transport != "udp");
        let all: Vec<_> = [template, stack, transport].into_iter().flatten().collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// What a run says was asked for.
    pub(crate) fn asked(&self) -> RunRequest {
        RunRequest::Switch(SwitchSettings {
            device: self.device.name(),
            frame_bytes: self.frame_sizes.iter().map(FrameLengths::nominal).collect(),
            frame_mixes: self
                .frame_sizes
                .iter()
                .filter_map(|frames| frames.genome().map(ToString::to_string))
                .collect(),
            frame_headers: self.headers_in_words(),
            directions: self.directions.clone(),
            delay_loads: self.search.delay_loads.clone(),
            search: self.search.settings(),
            methods: self
                .methods
                .iter()
                .map(|method| method.id().to_owned())
                .collect(),
            method_settings: self.method_settings.clone(),
        })
    }
}

/// Length of the header of every datagram.
const PROBE_BYTES: u64 = MIN_NUMBERED_PAYLOAD.get();

/// Bytes of a frame check sequence.
const FCS: u32 = 4;

/// Length of the test that tries a generator.
const TRY_TIME: Duration = Duration::from_millis(20);

/// Longest IP packet of Ethernet's usual frames.
const USUAL_MTU: u64 = 1500;

impl SwitchPlan {
    /// The device to start, with room for the longest frame.
    pub(super) fn setup(&self, choice: &DutChoice) -> DutSetup {
        DutSetup {
            mtu: self.mtu(),
            seed: self.search.spec.seed,
            choice: choice.clone(),
        }
    }

    /// The search with frames of one size in one direction; `line_rate` is that of the ports, if they have one.
    pub(super) fn search_of(
        &self,
        cell: &FrameCell,
        datapath: &DatapathChoice,
        line_rate: Option<BitRate>,
    ) -> Result<SaturatePlan, Failure> {
        let payload = self.payload(&cell.frames);
        let payload = payload.map_err(|why| Failure::new(ExitCode::Usage, why))?;
        // Of each port that sends.
        let line = self.line(line_rate).unwrap_or(USUAL_LINE_RATE);
        let mut spec = self.search.spec.clone().with_payload(payload);
        spec.direction = cell.way;
        spec.datapath = datapath.clone();
        if let Some(genome) = cell.frames.genome() {
            let key = DatapathChoice::GENOME.to_owned();
            spec.datapath.params.insert(key, genome.to_string());
        }
        let gap = self.overhead.bytes_at(Layer::L1, 0) - self.overhead.bytes_at(Layer::L2, 0);
        let bits = (cell.frames.mean() + ByteCount::new(gap).as_f64()) * 8.0;
        let most = f64::from(self.device.streams()) * line.as_f64() / bits;
        Ok(SaturatePlan {
            spec,
            min_load: BitRate::from_f64(self.lowest.pps() * payload.as_f64() * 8.0),
            max_load: BitRate::from_f64(most * payload.as_f64() * 8.0),
            ..(*self.search).clone()
        })
    }

    /// A few frames at the lowest load, to try whether they are made and counted at all.
    pub(super) fn lightest_test(&self, datapath: &DatapathChoice) -> Result<TestSpec, Failure> {
        let cell = self.cells().next();
        let cell = cell.ok_or_else(|| Failure::new(ExitCode::Usage, "give a frame size"))?;
        let search = self.search_of(&cell, datapath, None)?;
        Ok(TestSpec {
            stop: Stop::After(TRY_TIME),
            warm_up: Duration::ZERO,
            ..search.spec.with_pace(Pace::At(search.min_load))
        })
    }

    /// L1 rate that was given, or else that of the ports.
    pub(super) fn line(&self, of_ports: Option<BitRate>) -> Option<BitRate> {
        self.line_rate.or(of_ports)
    }

    fn mtu(&self) -> u32 {
        let beside = ETHERNET_HEADER as u64 + u64::from(FCS);
        let longest = self
            .frame_sizes
            .iter()
            .map(|frames| frames.longest().get().saturating_sub(beside));
        let mtu = longest.max().unwrap_or_default().max(USUAL_MTU);
        u32::try_from(mtu).unwrap_or(u32::MAX)
    }

    /// Each frame size in each direction.
    pub(super) fn cells(&self) -> impl Iterator<Item = FrameCell> + '_ {
        let sizes = self.frame_sizes.iter();
        sizes.flat_map(|frames| {
            let cell = |way: &Direction| FrameCell {
                frames: frames.clone(),
                way: *way,
            };
            self.directions.iter().map(cell)
        })
    }
}

/// One frame size, or mix of sizes, in one direction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FrameCell {
    pub(super) frames: FrameLengths,
    pub(super) way: Direction,
}

impl FrameCell {
    /// `64 B`, with its direction where there are both.
    pub(super) fn name(&self, plan: &SwitchPlan) -> String {
        let way = match self.way {
            Direction::Duplex => ", both ways at once",
            _ if plan.directions.len() < 2 => "",
            Direction::Reverse => ", B to A",
            Direction::Forward => ", A to B",
        };
        format!("{}{way}", self.frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(params: &[(&str, &str)]) -> FrameHeaders {
        FrameHeaders::from_params(|key| {
            let found = params.iter().find(|(other, _)| *other == key);
            found.map(|(_, text)| *text)
        })
        .unwrap()
    }

    #[test]
    fn every_header_is_in_the_guide() {
        let guide = include_str!("../../../../../docs/guide/switch.md");
        for header in linerate_frames::help() {
            let row = format!("| `{}", header.name);
            assert!(guide.contains(&row), "no row for {}", header.name);
            for attribute in header.attributes {
                assert!(guide.contains(&format!("`{attribute}`")), "{attribute}");
            }
        }
    }

    #[test]
    fn frames_are_as_long_as_all_their_headers() {
        for (params, is_ipv6, bytes) in [
            (&[][..], false, 46),
            (&[][..], true, 66),
            (&[("headers", "vlan=5")][..], false, 50),
            (
                &[("headers", "qinq=5/6,mpls=1/2/3"), ("l4", "tcp")],
                true,
                98,
            ),
            (&[("headers", "vxlan=5")], false, 96),
            (
                &[("template", "00112233445566778899aabbccdd88b5")],
                false,
                20,
            ),
        ] {
            let overhead = overhead(&of(params), is_ipv6);
            assert_eq!(overhead.bytes_at(Layer::L2, 0), bytes, "{params:?}");
            assert_eq!(overhead.bytes_at(Layer::L1, 18), bytes + 38, "{params:?}");
        }
    }

    #[test]
    fn where_frames_go_is_said_once() {
        let gateway = [Some(IpAddr::from([10, 0, 0, 1])), None];
        let given = |key: &str| BTreeMap::from([(key.to_owned(), "02:00:00:00:00:01".to_owned())]);
        let none = BTreeMap::new();
        assert!(check_neighbours(NeighbourMode::Resolve, gateway, &none).is_ok());
        assert!(check_neighbours(NeighbourMode::Static, [None; 2], &given("a-to")).is_ok());
        for (mode, gateways, params) in [
            (NeighbourMode::Static, gateway, &none),
            (NeighbourMode::Resolve, [None; 2], &given("b-to")),
            (NeighbourMode::Resolve, [None; 2], &given("template")),
        ] {
            assert!(
                check_neighbours(mode, gateways, params).is_err(),
                "{mode:?}"
            );
        }
    }
}

//! Frames through a device under test, from a port of the client to a port of the server (RFC 1242, RFC 2544).
//!
//! ```text
//!   client ── interface a ══ device under test ══ interface b ── server
//!      └──────────── control and handshake, by any other way ──┘
//! ```
//! Of a mesh of ports (RFC 2285 §3.3.3, fully meshed; RFC 2889 §5.1) each sends to all others in turns, frame by frame:
//! stream `n` of the test is what leaves port `n`, and every port counts what the others send to it. Both ends of the test are
//! of one host then.
//!
//! Both ends may be threads of one process. The sockets that the handshake connected stay open and silent; frames have
//! the addresses that the parameters say, of 198.18.0.0/15 (RFC 2544 appendix C.2.2) unless told otherwise. They pass the
//! kernel's stack of neither end.

use super::af_xdp::frame::Layout;
use super::af_xdp::lengths::{FCS, Lengths};
use super::af_xdp::open::open_on;
use super::af_xdp::params::{self, FrameParams};
use super::af_xdp::path::FramePath;
use super::af_xdp::probe::ProbeMark;
use super::af_xdp::route::{FrameRoute, ethernet};
use super::in_kernel::{self, Flows, LAST_FLOW, MAX_FLOWS};
use super::packet_path::PacketPath;
use super::{
    Availability, DatagramPath, DatapathKind, ModeDef, ParamDef, PathSetup, Probe, StreamPath,
    af_xdp, param_defs,
};
use crate::error::{EngineError, Result};
use crate::plan::Role;
use linerate_frames::{FrameHeaders, Way};
use linerate_model::spec::{DatapathChoice, Direction, Genome, Side, TestSpec};
use linerate_sys::netlink::{InterfaceIndex, InterfaceName, Link, MacAddress, Netlink};
use linerate_wire::header::HEADER_LEN;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};

/// Frames between two ports of a device under test.
pub(super) struct Ports;

const PARAMS: &[ParamDef] = param_defs! {
    "a" => "IF", "The client's interface.";
    "b" => "IF", "The server's interface.";
    "a-ip" => "ADDRESS", "Address of the client's frames (198.18.0.1).";
    "b-ip" => "ADDRESS", "Address of the server's frames (198.18.0.2).";
    "a-to" => "MAC",
        "Where the client sends its frames: a router's port (the server's interface).";
    "b-to" => "MAC",
        "Where the server sends its frames: a router's port (the client's interface).";
    DatapathChoice::MESH => "IF+IF+IF",
        "Three to 16 interfaces, in place of a and b: each sends to all others in turns, as a stream of its own (none).";
    DatapathChoice::FLOWS => "N", "Pseudo-random addresses and ports of so many flows, to 1000000 (1).";
    DatapathChoice::FIRST_FLOW => "N", "Number of the first of them, of 2^20 that there are (0).";
    DatapathChoice::GENOME => "MIX",
        "Lengths of frames, which repeat, with FCS: `imix`, letters of RFC 6985, or `7x64+4x594+1x1518` (all have one).";
    FrameHeaders::HEADERS => "STACK",
        "Headers between Ethernet and the frames' own packet, from outside inwards: `vlan=100,mpls=16/17` (none).";
    FrameHeaders::L4 => "udp|tcp", "Transport of the frames' own packet (udp).";
    FrameHeaders::TEMPLATE => "HEX",
        "Bytes that every frame has before number and time, in place of addresses and headers (none).";
    FrameHeaders::B_TEMPLATE => "HEX",
        "As many of the server's frames, where they are others (template).";
    DatapathChoice::GENERATOR => "af-xdp|af-packet|kernel|either",
        "Who makes and counts frames: this process by AF_XDP or packet sockets, or programs in the kernel; either: these if they can (af-xdp).";
    @ params::QUEUE, params::MODE, params::FRAMES
};

impl DatapathKind for Ports {
    fn id(&self) -> &'static str {
        DatapathChoice::PORTS
    }

    fn passes_kernel_stack(&self) -> bool {
        false
    }

    fn interfaces(&self, params: &BTreeMap<String, String>, role: Role) -> Vec<String> {
        if let Some(names) = params.get(DatapathChoice::MESH) {
            return mesh_names(names).map(str::to_owned).collect();
        }
        let key = match role {
            Role::Client => "a",
            Role::Server => "b",
        };
        params.get(key).cloned().into_iter().collect()
    }

    fn summary(&self) -> &'static str {
        "Own UDP frames through a device between two interfaces; needs root."
    }

    fn params(&self) -> &'static [ParamDef] {
        PARAMS
    }

    /// None: what waits is not what is measured.
    fn modes(&self) -> Vec<ModeDef> {
        Vec::new()
    }

    fn availability(&self) -> Availability {
        af_xdp::availability()
    }

    fn runs_on_loopback(&self) -> bool {
        false
    }

    fn check(&self, spec: &TestSpec) -> Result<()> {
        let device = Device::parse(&spec.datapath.params)?;
        if let Between::Mesh(ports) = &device.between {
            return check_mesh(self, spec, &device, ports.len());
        }
        match device.generator {
            By::Process => af_xdp::check(self, spec, "use generator=kernel or af-packet"),
            By::Packets | By::Kernel | By::Either => {
                let one_way = TestSpec {
                    direction: Direction::Forward,
                    ..spec.clone()
                };
                af_xdp::check(self, &one_way, "")
            }
        }
    }

    fn datagrams(&self, socket: UdpSocket, setup: &PathSetup<'_>) -> Result<Box<dyn DatagramPath>> {
        let device = Device::parse(setup.params)?;
        let params = FrameParams::parse(setup.params)?;
        if let Between::Mesh(ports) = &device.between {
            return device.mesh_path(ports, socket, params, setup);
        }
        let route = device.route(setup.role)?;
        let lengths = device.lengths(setup.payload, &route.layout)?;
        let longest = PathSetup {
            payload: lengths.longest(),
            ..*setup
        };
        let mark = setup.probe.as_ref().map(ProbeMark::from);
        if device.generator == By::Packets {
            let path = PacketPath::open(socket, route, mark, lengths, setup)?;
            return Ok(Box::new(path));
        }
        if device.generator == By::Process {
            let opened = open_on(socket, route, params, mark, &longest)?;
            let path = FramePath::new(opened, setup).with_lengths(lengths);
            return Ok(Box::new(path));
        }
        let probe = kernel_probe(setup)?;
        let copy = socket.try_clone();
        let kept = copy.map_err(|error| EngineError::io("keep open", &"a data socket", error))?;
        let opened = in_kernel::open(in_kernel::End {
            socket,
            routes: vec![route],
            params,
            flows: device.flows,
            lengths: lengths.clone(),
            senders: 1,
            setup,
            probe,
        });
        match opened {
            // An interface without XDP in its driver: frames of the same form go out by a socket.
            Err(EngineError::Host { what, why, .. })
                if device.generator == By::Either
                    && probe.side == Side::Sender
                    && !setup.both_ways
                    && device.flows.is_one() =>
            {
                let opened = open_on(kept, device.route(setup.role)?, params, None, &longest)?;
                let note = format!("{what}: {why}; they were sent by AF_XDP instead");
                let path = FramePath::new(opened, setup).with_lengths(lengths);
                Ok(Box::new(path.noting(note)))
            }
            opened => opened,
        }
    }

    fn stream(&self, _socket: TcpStream, _setup: &PathSetup<'_>) -> Result<Box<dyn StreamPath>> {
        Err(af_xdp::no_stream(self))
    }
}

/// UDP port of all frames, at both ends: that of linerate's own protocol.
const UDP_PORT: u16 = 5301;

/// One port of the device under test.
#[derive(Debug)]
struct Port {
    interface: InterfaceName,
    address: IpAddr,
    /// Where its frames go; `None`: to the other port.
    to: Option<MacAddress>,
}

/// Who makes and counts the frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// This process, by AF_XDP sockets.
    Process,
    /// This process, by packet sockets.
    Packets,
    /// Programs in the kernel.
    Kernel,
    /// Programs in the kernel; where the sender's interface has no way for them, its frames go out by an AF_XDP socket.
    Either,
}

/// The ports that the device is between.
#[derive(Debug)]
enum Between {
    /// The client's and the server's.
    Two([Port; 2]),
    /// Of a mesh, each of which sends to all others.
    Mesh(Vec<Port>),
}

/// What is measured: the device between ports.
#[derive(Debug)]
struct Device {
    between: Between,
    generator: By,
    flows: Flows,
    /// Lengths of the frames; `None`: all have one.
    genome: Option<Genome>,
    headers: FrameHeaders,
}

impl Device {
    fn parse(params: &BTreeMap<String, String>) -> Result<Self> {
        let text = |key: &str| params.get(key).map(String::as_str);
        let (generator, flows) = generator(params)?;
        Ok(Self {
            flows,
            generator,
            genome: genome(params)?,
            headers: FrameHeaders::from_params(text).map_err(|error| {
                let given = text(error.key).unwrap_or_default();
                EngineError::plan(error.key, &given, error.why.to_string())
            })?,
            between: match text(DatapathChoice::MESH) {
                Some(names) => Between::Mesh(mesh(names, params)?),
                None => Between::Two(two_ports(params)?),
            },
        })
    }

    /// Payload lengths of its frames.
    fn lengths(&self, payload: usize, layout: &Layout) -> Result<Lengths> {
        let genome = self.genome.as_ref();
        let lengths = Lengths::new(payload, genome, layout.payload_at())
            .filter(|lengths| lengths.places().iter().all(|length| *length >= HEADER_LEN));
        lengths.ok_or_else(|| {
            let least = layout.payload_at() + HEADER_LEN + FCS;
            let why = format!("its shortest frame has no room for headers and number: {least} B");
            EngineError::plan(DatapathChoice::GENOME, &self.text_of_genome(), why)
        })
    }

    fn text_of_genome(&self) -> String {
        self.genome
            .as_ref()
            .map(Genome::to_string)
            .unwrap_or_default()
    }

    /// The two ports, that of one end first.
    fn two(&self, role: Role) -> Result<[&Port; 2]> {
        match (&self.between, role) {
            (Between::Two([a, b]), Role::Client) => Ok([a, b]),
            (Between::Two([a, b]), Role::Server) => Ok([b, a]),
            (Between::Mesh(_), _) => Err(EngineError::plan(
                DatapathChoice::MESH,
                &"",
                "neighbours are found for two ports; a mesh is of one Ethernet",
            )),
        }
    }

    /// The way of the frames of one end.
    fn route(&self, role: Role) -> Result<FrameRoute> {
        let [here, there] = self.two(role)?;
        let (way, remedy) = match role {
            Role::Client => (Way::AToB, "give the MAC address to send to: a-to=MAC"),
            Role::Server => (Way::BToA, "give the MAC address to send to: b-to=MAC"),
        };
        self.route_between(here, there, way, remedy)
    }

    /// The way of frames from one port to another.
    fn route_between(
        &self,
        here: &Port,
        there: &Port,
        way: Way,
        remedy: &'static str,
    ) -> Result<FrameRoute> {
        let (netlink, own) = here.link("see ip link for those that there are")?;
        if !own.is_operational {
            return Err(EngineError::Host {
                what: format!("using {} as a port", own.name),
                why: "it is down, or what it is joined to is".to_owned(),
                remedy: "set both ends up (ip link set IF up)",
            });
        }
        let next = match here.to {
            Some(mac) => mac,
            None => ethernet(&there.link(remedy)?.1, "a port")?,
        };
        let end = |port: &Port| SocketAddr::new(port.address, UDP_PORT);
        FrameRoute::between(netlink, own, [end(here), end(there)], next, |flow| {
            Layout::new(&self.headers, flow, way)
        })
    }

    /// One end of the stream that leaves one port of a mesh: its sender, or its counters at all other ports.
    fn mesh_path(
        &self,
        ports: &[Port],
        socket: UdpSocket,
        params: FrameParams,
        setup: &PathSetup<'_>,
    ) -> Result<Box<dyn DatagramPath>> {
        let probe = kernel_probe(setup)?;
        let from = usize::from(probe.stream);
        let here = ports.get(from).ok_or_else(|| {
            let why = "a mesh has a stream for each port";
            EngineError::plan("streams", &(from + 1), why)
        })?;
        let others = ports.iter().enumerate().filter(|(at, _)| *at != from);
        let remedy = "give interfaces that there are: see ip link";
        let routes = others.map(|(_, there)| match probe.side {
            Side::Sender => self.route_between(here, there, Way::AToB, remedy),
            Side::Receiver => self.route_between(there, here, Way::AToB, remedy),
        });
        let routes = routes.collect::<Result<Vec<_>>>()?;
        let layout = &routes[0].layout;
        in_kernel::open(in_kernel::End {
            socket,
            lengths: self.lengths(setup.payload, layout)?,
            routes,
            params,
            flows: self.flows,
            senders: ports.len(),
            // Counters are at every port, so none needs a program that only takes frames.
            setup: &PathSetup {
                both_ways: true,
                ..*setup
            },
            probe,
        })
    }
}

/// What frames of the kernel's generator are known by.
fn kernel_probe(setup: &PathSetup<'_>) -> Result<Probe> {
    setup.probe.ok_or_else(|| {
        let why = "it makes datagrams of linerate's own protocol, and nothing else";
        EngineError::plan(DatapathChoice::GENERATOR, &"kernel", why)
    })
}

/// Refuses a test that a mesh of so many ports cannot carry.
fn check_mesh(
    kind: &dyn DatapathKind,
    spec: &TestSpec,
    device: &Device,
    ports: usize,
) -> Result<()> {
    if device.generator != By::Kernel {
        let given = spec.datapath.params.get(DatapathChoice::GENERATOR);
        let why = "several streams arrive at each port of a mesh, which needs generator=kernel";
        let given = given.map_or("af-xdp", String::as_str);
        return Err(EngineError::plan(DatapathChoice::GENERATOR, &given, why));
    }
    if usize::from(spec.streams) != ports {
        let why = format!("each of the {ports} ports of a mesh sends one stream");
        return Err(EngineError::plan("streams", &spec.streams, why));
    }
    let one = TestSpec {
        streams: 1,
        ..spec.clone()
    };
    af_xdp::check(kind, &one, "in a mesh every port sends and receives")
}

/// One port as a host on its link.
pub(crate) struct PortEnd {
    pub(crate) interface: String,
    pub(crate) index: InterfaceIndex,
    pub(crate) mac: MacAddress,
    pub(crate) address: IpAddr,
    /// Of the frames that it sends.
    pub(crate) headers: FrameHeaders,
}

/// The port of one end, and the address of the other's frames.
pub(crate) fn port_end(params: &BTreeMap<String, String>, role: Role) -> Result<(PortEnd, IpAddr)> {
    let device = Device::parse(params)?;
    let [here, there] = device.two(role)?;
    let (_, link) = here.link("see ip link for those that there are")?;
    let end = PortEnd {
        mac: ethernet(&link, "a port")?,
        index: link.index,
        interface: link.name,
        address: here.address,
        headers: device.headers.clone(),
    };
    Ok((end, there.address))
}

impl Port {
    /// Its interface, and what was asked for it.
    fn link(&self, remedy: &'static str) -> Result<(Netlink, Link)> {
        let name = self.interface.as_str();
        let failed = |error: io::Error| EngineError::Host {
            what: format!("using {name} as a port"),
            why: format!("this host has no such interface ({error})"),
            remedy,
        };
        let mut netlink = Netlink::new().map_err(failed)?;
        let link = netlink.link_named(&self.interface).map_err(failed)?;
        Ok((netlink, link))
    }
}

/// Reads an address.
fn address(
    params: &BTreeMap<String, String>,
    key: &'static str,
    usual: Ipv4Addr,
) -> Result<IpAddr> {
    let Some(text) = params.get(key) else {
        return Ok(IpAddr::from(usual));
    };
    text.parse()
        .map_err(|_| EngineError::plan(key, text, "it takes an IP address"))
}

/// Reads the name of an interface.
fn interface(key: &'static str, name: &str) -> Result<InterfaceName> {
    InterfaceName::new(name)
        .ok_or_else(|| EngineError::plan(key, &name, "it takes the name of an interface"))
}

/// Addresses of ports a and b.
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2)];

/// The client's port and the server's.
fn two_ports(params: &BTreeMap<String, String>) -> Result<[Port; 2]> {
    let port = |key: &'static str, ip, to: &'static str, usual| {
        let name = params.get(key).ok_or_else(|| {
            let why = format!("it needs {key}=INTERFACE");
            EngineError::plan("datapath", &DatapathChoice::PORTS, why)
        })?;
        let read = |text: &String| {
            let mac = mac_address(text);
            mac.ok_or_else(|| EngineError::plan(to, text, "it takes a MAC address"))
        };
        Ok(Port {
            interface: interface(key, name)?,
            address: address(params, ip, usual)?,
            to: params.get(to).map(read).transpose()?,
        })
    };
    let ports: [Port; 2] = [
        port("a", "a-ip", "a-to", ADDRESSES[0])?,
        port("b", "b-ip", "b-to", ADDRESSES[1])?,
    ];
    let [a, b] = [ports[0].address, ports[1].address];
    if a.is_ipv4() != b.is_ipv4() || a == b {
        let why = "both addresses are of one family, and differ";
        return Err(EngineError::plan("b-ip", &b, why));
    }
    Ok(ports)
}

fn mesh_names(names: &str) -> impl Iterator<Item = &str> {
    names.split('+').map(str::trim)
}

/// The ports of a mesh; addresses follow each other from that of a on.
fn mesh(names: &str, params: &BTreeMap<String, String>) -> Result<Vec<Port>> {
    let refused = |why: String| EngineError::plan(DatapathChoice::MESH, &names, why);
    let count = mesh_names(names).count();
    if !DatapathChoice::MESH_PORTS.contains(&count) {
        let (least, most) = DatapathChoice::MESH_PORTS.into_inner();
        return Err(refused(format!("it takes {least} to {most} interfaces")));
    }
    if let Some(key) = ["a", "b", "a-to", "b-to", "b-ip"]
        .into_iter()
        .find(|key| params.contains_key(*key))
    {
        return Err(refused(format!("{key} is of two ports: leave it out")));
    }
    let first = address(params, "a-ip", ADDRESSES[0])?;
    let address = |number: u8| match first {
        IpAddr::V4(first) => u32::from(first)
            .checked_add(number.into())
            .map(|n| Ipv4Addr::from(n).into()),
        IpAddr::V6(first) => u128::from(first)
            .checked_add(number.into())
            .map(|n| Ipv6Addr::from(n).into()),
    };
    let mut ports: Vec<Port> = Vec::with_capacity(count);
    for (number, name) in (0..).zip(mesh_names(names)) {
        let interface = interface(DatapathChoice::MESH, name)?;
        if ports.iter().any(|other| other.interface == interface) {
            return Err(refused(format!("{name} is there twice")));
        }
        ports.push(Port {
            interface,
            address: address(number)
                .ok_or_else(|| refused(format!("no address follows {first}: give a lower a-ip")))?,
            to: None,
        });
    }
    Ok(ports)
}

/// Who makes the frames, of how many flows.
fn generator(params: &BTreeMap<String, String>) -> Result<(By, Flows)> {
    let text = |key: &str| params.get(key).map(String::as_str);
    let by = match text(DatapathChoice::GENERATOR) {
        None | Some("af-xdp") => By::Process,
        Some("af-packet") => By::Packets,
        Some("kernel") => By::Kernel,
        Some("either") => By::Either,
        Some(other) => {
            let why = "it takes af-xdp, af-packet, kernel or either";
            return Err(EngineError::plan(DatapathChoice::GENERATOR, &other, why));
        }
    };
    let count = text(DatapathChoice::FLOWS).unwrap_or("1");
    let flows = count.parse().ok().and_then(Flows::new).ok_or_else(|| {
        let why = format!("it takes 1 to {MAX_FLOWS}");
        EngineError::plan(DatapathChoice::FLOWS, &count, why)
    })?;
    let first = text(DatapathChoice::FIRST_FLOW).unwrap_or("0");
    let begins = first
        .parse()
        .ok()
        .and_then(|first| flows.beginning_at(first));
    let flows = begins.ok_or_else(|| {
        let why = format!("it takes 0 to {LAST_FLOW}");
        EngineError::plan(DatapathChoice::FIRST_FLOW, &first, why)
    })?;
    if matches!(by, By::Process | By::Packets) && !flows.is_one() {
        let why = "several flows need generator=kernel";
        return Err(EngineError::plan(DatapathChoice::FLOWS, &count, why));
    }
    Ok((by, flows))
}

/// The mix of frame lengths, if there is one.
fn genome(params: &BTreeMap<String, String>) -> Result<Option<Genome>> {
    let text = params.get(DatapathChoice::GENOME);
    let read = |text: &String| {
        text.parse()
            .map_err(|error| EngineError::plan(DatapathChoice::GENOME, text, format!("{error}")))
    };
    text.map(read).transpose()
}

/// Reads `52:54:00:12:34:56`.
fn mac_address(text: &str) -> Option<MacAddress> {
    let mut parts = text.split(':').map(|part| {
        let is_byte = part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
        u8::from_str_radix(part, 16).ok().filter(|_| is_byte)
    });
    let mut bytes = [0; 6];
    for byte in &mut bytes {
        *byte = parts.next()??;
    }
    parts.next().is_none().then_some(MacAddress(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(params: &[(&str, &str)]) -> Result<Device, String> {
        let owned = params
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        Device::parse(&owned.collect()).map_err(|error| error.to_string())
    }

    #[test]
    fn ports_are_read_and_nonsense_is_refused() {
        let read = device(&[("a", "v0"), ("b", "v1"), ("a-to", "02:00:00:00:00:0a")]).unwrap();
        let [a, b] = read.two(Role::Client).unwrap();
        assert_eq!(a.to, Some(MacAddress([2, 0, 0, 0, 0, 10])));
        assert_eq!(b.to, None);
        assert_eq!(b.address, IpAddr::from([198, 18, 0, 2]));
        let ends = [("a", "v0"), ("b", "v1")];
        for bad in [
            ("a", "a/b"),
            ("a-to", "02:00:00:00:0a"),
            ("a-to", "+2:00:00:00:00:0a"),
            ("b-ip", "198.18.0.1"),
            ("b-ip", "::1"),
            ("a-ip", "host"),
            ("headers", "vlan=5000"),
            ("l4", "sctp"),
            ("template", "0g"),
        ] {
            let all = [&ends[..], &[bad]].concat();
            assert!(device(&all).is_err(), "{bad:?}");
        }
        assert!(
            device(&ends[..1])
                .unwrap_err()
                .contains("needs b=INTERFACE")
        );
    }

    #[test]
    fn a_mesh_has_three_ports_or_more_each_with_an_address_of_its_own() {
        let ports = |params: &[(&str, &str)]| match device(params)?.between {
            Between::Mesh(ports) => Ok(ports.iter().map(|port| port.address).collect()),
            Between::Two(_) => Err("two".to_owned()),
        };
        let addresses: Vec<IpAddr> = ports(&[("mesh", "v0+v1+v2")]).unwrap();
        assert_eq!(
            addresses,
            [1, 2, 3].map(|last| IpAddr::from([198, 18, 0, last]))
        );
        let sixth = ports(&[("mesh", "v0+v1+v2"), ("a-ip", "2001:2::ffff")]).unwrap();
        assert_eq!(sixth[1], "2001:2::1:0".parse::<IpAddr>().unwrap());
        let many = (0..17)
            .map(|n| format!("v{n}"))
            .collect::<Vec<_>>()
            .join("+");
        for (bad, why) in [
            (&[("mesh", "v0+v1")][..], "3 to 16"),
            (&[("mesh", &many)], "3 to 16"),
            (&[("mesh", "v0+v1+v0")], "v0 is there twice"),
            (&[("mesh", "v0+v1+a/b")], "name of an interface"),
            (&[("mesh", "v0+v1+v2"), ("a", "v0")], "leave it out"),
            (
                &[("mesh", "v0+v1+v2"), ("a-ip", "255.255.255.254")],
                "lower a-ip",
            ),
        ] {
            let error = ports(bad).unwrap_err();
            assert!(error.contains(why), "{bad:?}: {error}");
        }
    }
}

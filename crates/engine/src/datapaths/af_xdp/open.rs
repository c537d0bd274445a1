//! Opening: the program at the interface, and a socket for each of its queues.

use super::frame::ETHERNET_HEADER;
use super::lengths::FCS;
use super::params::FrameParams;
use super::probe::ProbeMark;
use super::route::FrameRoute;
use crate::datapaths::PathSetup;
use crate::error::{EngineError, Result};
use linerate_model::spec::WaitMode;
use linerate_sys::bpf::{Program, SocketMap, XdpLink, XdpMode, XdpProgram};
use linerate_sys::xsk::{Copying, MAX_SEGMENTS, Segments, Xsk, XskLayout};
use linerate_sys::{privilege, tcp, udp};
use std::io;
use std::net::UdpSocket;
use std::time::Duration;

/// Everything that an open path holds. Field order is teardown order: the program goes first, so that no more frames
/// reach the sockets, and the port last, so that it is kept while frames may be ours.
pub(in crate::datapaths) struct Open {
    _program: XdpLink,
    _map: SocketMap,
    /// One socket per queue; the first one sends.
    pub(in crate::datapaths) queues: Vec<Xsk>,
    /// The ordinary socket: keeps the port and receives ICMP errors of the peer's kernel.
    pub(in crate::datapaths) port: UdpSocket,
    pub(in crate::datapaths) route: FrameRoute,
    pub(in crate::datapaths) mode: XdpMode,
    /// What the frames are known by; `None`: by their addresses and ports.
    pub(in crate::datapaths) mark: Option<ProbeMark>,
    /// Receive frames per queue.
    pub(in crate::datapaths) receive_frames: u32,
    /// Memory of receive frames over all queues, bytes.
    pub(in crate::datapaths) receive_bytes: u64,
    /// Memory of send frames over all queues, bytes.
    pub(in crate::datapaths) send_bytes: u64,
}

impl Open {
    /// Maximum payload of one frame, bytes.
    pub(in crate::datapaths) fn most_payload(&self) -> usize {
        most_payload(&self.route)
    }
}

fn most_payload(route: &FrameRoute) -> usize {
    route.most_payload(MAX_XSK_FRAME as usize - FCS)
}

/// Send frames. A batch is at most 64 datagrams, and the kernel frees frames as it sends them.
const SEND_FRAMES: u32 = 512;

/// Frame sizes: for the default MTU, and for larger ones.
const FRAME_BYTES: [u32; 2] = [2048, 4096];

/// `XDP_PACKET_HEADROOM`: bytes of a received frame that the kernel reserves.
const XDP_HEADROOM_BYTES: u32 = 256;

/// Longest frame of one buffer, without FCS, bytes: what a driver's page has beside headroom and what the kernel keeps there.
const ONE_BUFFER: usize = 3498;

/// Longest frame, FCS included, bytes: of as many buffers as a sent one takes.
pub(in crate::datapaths) const MAX_XSK_FRAME: u32 =
    MAX_SEGMENTS * (FRAME_BYTES[1] - XDP_HEADROOM_BYTES);

/// Maximum queues: 128 MiB of frames, and 32 rings to poll when nothing arrives.
const MAX_QUEUES: u32 = 32;

/// Busy-poll time per call, as for sockets.
const BUSY_POLL: Duration = Duration::from_micros(50);

/// Advice for a process without the privileges.
pub(in crate::datapaths) const PRIVILEGES_REMEDY: &str =
    "run as root, outside of user namespaces (CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF)";

pub(in crate::datapaths) fn open(
    port: UdpSocket,
    params: FrameParams,
    setup: &PathSetup<'_>,
) -> Result<Open> {
    let route = FrameRoute::from_socket(&port)?;
    open_on(port, route, params, None, setup)
}

/// Opens the sockets of the interface of `route`; `port` stays open and silent. Frames are known by `mark` if there is one.
pub(in crate::datapaths) fn open_on(
    port: UdpSocket,
    mut route: FrameRoute,
    params: FrameParams,
    mark: Option<ProbeMark>,
    setup: &PathSetup<'_>,
) -> Result<Open> {
    let (frame_bytes, segments) = frame_bytes(&route, setup.payload)?;
    let queues = route.link.rx_queues.unwrap_or(1).clamp(1, 4096);
    let map = SocketMap::new(queues).map_err(host("making a map of AF_XDP sockets"))?;
    let code = super::program::code(&route, mark, map.descriptor());
    let program = load(&code, &route).map_err(host("loading an XDP program"))?;
    let (link, mode) = attach(&program, &route, params.mode)?;
    let layout = XskLayout {
        segments,
        receive_frames: params.frames,
        send_frames: SEND_FRAMES,
        frame_bytes,
    };
    let sockets = sockets(&route, params.queue, layout, mode)?;
    for (queue, socket) in &sockets {
        map.set(*queue, socket)
            .map_err(host("registering an AF_XDP socket"))?;
        if setup.wait == WaitMode::BusyPoll {
            socket
                .prefer_busy_poll(BUSY_POLL)
                .map_err(host("SO_PREFER_BUSY_POLL"))?;
        }
    }
    route.wait_until_up()?;
    drain(&port);
    let count = sockets.len() as u64;
    Ok(Open {
        _program: link,
        _map: map,
        queues: sockets.into_iter().map(|(_, socket)| socket).collect(),
        port,
        route,
        mode,
        mark,
        receive_frames: layout.receive_frames,
        receive_bytes: count * u64::from(layout.receive_frames) * u64::from(frame_bytes),
        send_bytes: u64::from(layout.send_frames) * u64::from(frame_bytes),
    })
}

/// Smallest frame of memory that holds both the interface's packets and the test's, or as many of the largest as they take.
fn frame_bytes(route: &FrameRoute, payload: usize) -> Result<(u32, Segments)> {
    let most = most_payload(route);
    if payload > most {
        let why = format!(
            "af-xdp sends each datagram as one frame, and over {} (MTU {}) one carries at most {most} bytes; no frame is longer than {MAX_XSK_FRAME} B, FCS included",
            route.link.name, route.link.mtu_bytes,
        );
        return Err(EngineError::plan("payload", &payload, why));
    }
    let longest = route.link.mtu_bytes as usize + ETHERNET_HEADER;
    let fits = longest <= (FRAME_BYTES[0] - XDP_HEADROOM_BYTES) as usize;
    let segments = if payload + route.layout.payload_at() > ONE_BUFFER {
        Segments::Several
    } else {
        Segments::One
    };
    Ok((FRAME_BYTES[usize::from(!fits)], segments))
}

/// Loads a program for an interface: drivers attach to a large MTU only one that takes frames of several buffers.
pub(in crate::datapaths) fn load(code: &Program, route: &FrameRoute) -> io::Result<XdpProgram> {
    if route.link.mtu_bytes as usize + ETHERNET_HEADER > ONE_BUFFER {
        // Kernels before 5.18 know no such programs, and say themselves what they do not take.
        XdpProgram::load_for_fragments(code).or_else(|_| XdpProgram::load(code))
    } else {
        XdpProgram::load(code)
    }
}

/// Attaches the program, in the driver if it can.
pub(in crate::datapaths) fn attach(
    program: &XdpProgram,
    route: &FrameRoute,
    wanted: Option<XdpMode>,
) -> Result<(XdpLink, XdpMode)> {
    let error = match program.attach_in(route.interface, wanted) {
        Ok(attached) => return Ok(attached),
        Err(error) => error,
    };
    let what = format!("attaching an XDP program to {}", route.link.name);
    Err(if is_taken(&error) {
        EngineError::Host {
            what,
            why: "it has one already: another test with af-xdp, or a program of the system"
                .to_owned(),
            remedy: "wait for the other test, or see ip link and detach the program",
        }
    } else {
        EngineError::Host {
            what,
            why: refused(&error),
            remedy: "run as root; mode=generic works with every driver",
        }
    })
}

/// Opens a socket for each queue, or only for the requested one.
fn sockets(
    route: &FrameRoute,
    only: Option<u32>,
    layout: XskLayout,
    mode: XdpMode,
) -> Result<Vec<(u32, Xsk)>> {
    let copying = match mode {
        XdpMode::Generic => Copying::Always,
        XdpMode::Native => Copying::IfNeeded,
    };
    let open = |queue| {
        let socket = Xsk::open_when_free(route.interface, queue, layout, copying);
        socket.map(|socket| (queue, socket))
    };
    let failed = |queue: u32, error: &io::Error| {
        let (why, remedy) = why_no_socket(queue, layout.segments, error);
        EngineError::Host {
            what: format!(
                "opening an AF_XDP socket on queue {queue} of {}",
                route.link.name
            ),
            why,
            remedy,
        }
    };
    if let Some(queue) = only {
        let socket = open(queue).map_err(|error| failed(queue, &error))?;
        return Ok(vec![socket]);
    }
    let mut all = Vec::new();
    for queue in 0..route.link.rx_queues.unwrap_or(1).max(1) {
        if queue == MAX_QUEUES {
            return Err(EngineError::Host {
                what: format!("af-xdp over {}", route.link.name),
                why: format!("it spreads what it receives over more than {MAX_QUEUES} queues"),
                remedy: "steer the flow to one queue (ethtool -N) and name it: queue=N",
            });
        }
        match open(queue) {
            Ok(socket) => all.push(socket),
            // The driver can have more queues than are in use.
            Err(error) if queue > 0 && error.kind() == io::ErrorKind::InvalidInput => break,
            Err(error) => return Err(failed(queue, &error)),
        }
    }
    Ok(all)
}

fn is_taken(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ResourceBusy
}

fn why_no_socket(queue: u32, segments: Segments, error: &io::Error) -> (String, &'static str) {
    match error.kind() {
        io::ErrorKind::ResourceBusy => (
            "another AF_XDP socket has this queue".to_owned(),
            "wait for the other test, or stop the program that has it",
        ),
        io::ErrorKind::InvalidInput if queue > 0 => (
            "the interface has no such queue in use".to_owned(),
            "see ethtool -l for its queues, or leave queue=N out",
        ),
        io::ErrorKind::InvalidInput if segments == Segments::Several => (
            "this kernel has no AF_XDP of several buffers for a frame (before Linux 6.6)"
                .to_owned(),
            "use generator=af-packet, or frames of at most 3502 B",
        ),
        _ if error.raw_os_error() == Some(NO_FAMILY) => (
            "this kernel has no AF_XDP (CONFIG_XDP_SOCKETS)".to_owned(),
            "use another kernel, or leave --datapath out",
        ),
        _ => (refused(error), PRIVILEGES_REMEDY),
    }
}

/// `EAFNOSUPPORT`.
const NO_FAMILY: i32 = 97;

/// Discards what reached the ordinary socket before the program was attached: not part of the traffic.
fn drain(port: &UdpSocket) {
    let mut byte = [0; 1];
    while tcp::receive(port, &mut byte, udp::Blocking::No).is_ok() {}
}

fn host(what: &'static str) -> impl Fn(io::Error) -> EngineError {
    move |error| EngineError::Host {
        what: format!("af-xdp: {what}"),
        why: refused(&error),
        remedy: PRIVILEGES_REMEDY,
    }
}

/// The kernel's error, with missing privileges if that is the cause.
pub(in crate::datapaths) fn refused(error: &io::Error) -> String {
    if error.kind() != io::ErrorKind::PermissionDenied {
        return error.to_string();
    }
    let mut lacks = privilege::lacking_for_xdp();
    if privilege::is_in_user_namespace() {
        lacks.push("the initial user namespace, in which alone the kernel loads XDP programs");
    }
    if lacks.is_empty() {
        format!("{error}; a security module or a lockdown of the kernel forbids it")
    } else {
        format!("{error}; this process lacks {}", lacks.join(" and "))
    }
}

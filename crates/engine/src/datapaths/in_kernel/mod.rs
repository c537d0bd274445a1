//! Datagrams of a test made and counted inside the kernel, by programs of ours: no system call and no copy per frame.
//!
//! ```text
//!   this process ── BPF_PROG_RUN, some 2 ms ──► sender program ── redirect ──► interface ══ device ══► interface
//!        ▲                                          │ numbers, stamps, paces                     counter program │
//!        └──────────────── shared memory: schedule, counts, histograms ─────────────────────────────────────────┘
//! ```
//! The reports are those of the other ways: every frame is numbered and stamped, and delay, loss, duplicates and
//! reordering are of all frames. One call is short, since it holds its core.
//!
//! Programs end with the process, however it ends.

mod code;
mod counter;
mod counter_code;
mod dispatcher;
mod flows;
mod generator;
mod generator_code;
mod home;
mod template;

pub use counter::Counter;
pub(crate) use counter::{Event, FrameCounts};
pub use dispatcher::PortPrograms;
pub(in crate::datapaths) use flows::{Flows, LAST_FLOW, MAX_FLOWS};
pub use generator::Generator;
pub(crate) use generator::Order;

use super::af_xdp::lengths::{FCS, Lengths};
use super::af_xdp::open::{MAX_XSK_FRAME, PRIVILEGES_REMEDY, refused};
use super::af_xdp::params::FrameParams;
use super::af_xdp::route::FrameRoute;
use super::{DatagramPath, PathSetup, Probe};
use crate::error::{EngineError, Result};
use code::Cores;
use linerate_model::PacketCount;
use linerate_model::sample::XdpReport;
use linerate_model::spec::{DatapathChoice, Side};
use linerate_sys::bpf::{LIVE_FRAME_BYTES, XdpMode};
use linerate_sys::clock;
use linerate_sys::ethtool::Ethtool;
use linerate_sys::netlink::InterfaceName;
use std::io;
use std::net::UdpSocket;

/// What is needed to open one end.
pub(in crate::datapaths) struct End<'a> {
    /// Keeps the port, and stays silent.
    pub(in crate::datapaths) socket: UdpSocket,
    /// The way of its frames; where they go to several ports in turns, that to each.
    pub(in crate::datapaths) routes: Vec<FrameRoute>,
    pub(in crate::datapaths) params: FrameParams,
    pub(in crate::datapaths) flows: Flows,
    pub(in crate::datapaths) lengths: Lengths,
    pub(in crate::datapaths) setup: &'a PathSetup<'a>,
    /// Senders of the test on this host.
    pub(in crate::datapaths) senders: usize,
    pub(in crate::datapaths) probe: Probe,
}

/// Opens the sender or the receiver of a stream.
pub(in crate::datapaths) fn open(end: End<'_>) -> Result<Box<dyn DatagramPath>> {
    check_clock()?;
    check_length(&end)?;
    check_flows(&end)?;
    Ok(match end.probe.side {
        Side::Sender => Box::new(Generator::open(end)?),
        Side::Receiver => Box::new(Counter::open(end)?),
    })
}

impl End<'_> {
    /// Stream by which frames to the first of so many ports are known; those to each further one are known by the next.
    fn first_stream_of(&self, ports: usize) -> u8 {
        let ports = u8::try_from(ports).unwrap_or(u8::MAX);
        self.probe.stream.saturating_mul(ports)
    }
}

/// Programs in the kernel keep the schedule by its own clock.
fn check_clock() -> Result<()> {
    if clock::is_kernels_own() {
        return Ok(());
    }
    Err(EngineError::Host {
        what: "generator=kernel".to_owned(),
        why:
            "this process is in a time namespace, whose clock is not that of the kernel's programs"
                .to_owned(),
        remedy: "start it outside of the time namespace, or use generator=af-xdp or af-packet",
    })
}

fn check_length(end: &End<'_>) -> Result<()> {
    end.routes
        .iter()
        .try_for_each(|route| check_length_of(end, route))
}

fn check_length_of(end: &End<'_>, route: &FrameRoute) -> Result<()> {
    let most = route.most_payload(LIVE_FRAME_BYTES);
    let longest = end.lengths.longest();
    if longest <= most {
        return Ok(());
    }
    let link = &route.link;
    let why = format!(
        "frames made in the kernel over {} (MTU {}) carry at most {most} bytes: with headers and FCS {} B, which fit a page of the kernel; generator=af-xdp makes frames of up to {MAX_XSK_FRAME} B",
        link.name,
        link.mtu_bytes,
        most + route.layout.payload_at() + FCS
    );
    Err(EngineError::plan("payload", &longest, why))
}

/// Whether frames of an interface may come on several cores at once: on as many as it has receive queues in use, each of
/// which one core serves at a time.
fn cores(route: &FrameRoute) -> Cores {
    let name = InterfaceName::new(&route.link.name);
    let used = name.and_then(|name| Ethtool::new().ok()?.receive_queues(&name).ok());
    match used.or(route.link.rx_queues) {
        Some(1) => Cores::One,
        _ => Cores::Several,
    }
}

/// Several flows differ in addresses and ports, which only known headers have.
fn check_flows(end: &End<'_>) -> Result<()> {
    let has_transport = |route: &FrameRoute| route.layout.transport().is_some();
    if end.flows.is_one() || end.routes.iter().all(has_transport) {
        return Ok(());
    }
    let why = "the template has no IP packet with UDP or TCP that linerate reads, whose addresses and ports would differ";
    Err(EngineError::plan(
        DatapathChoice::FLOWS,
        &end.flows.count(),
        why,
    ))
}

/// What an end reports of its way past the kernel's stack.
fn report(route: &FrameRoute, mode: XdpMode, malformed: u64) -> XdpReport {
    XdpReport {
        interface: route.link.name.clone(),
        native: mode == XdpMode::Native,
        queues: route
            .link
            .rx_queues
            .and_then(|queues| u16::try_from(queues).ok())
            .unwrap_or(1),
        malformed: PacketCount::new(malformed),
        ..XdpReport::default()
    }
}

fn host(what: &'static str) -> impl Fn(io::Error) -> EngineError {
    move |error| EngineError::Host {
        what: format!("generator=kernel: {what}"),
        why: refused(&error),
        remedy: PRIVILEGES_REMEDY,
    }
}

#[cfg(test)]
mod tests;

//! AF_XDP: own Ethernet, IP and UDP frames between this process and the driver, past the kernel's stack.
//!
//! ```text
//!   frames of the interface ── XDP program ── the test's own ──► AF_XDP socket of their queue ──► this process
//!                                   └──────── all others ──────► the kernel's stack
//!   this process ──► AF_XDP socket ──► driver, past queueing disciplines and packet filters
//! ```
//! The ordinary socket that the handshake connected stays open and silent: it keeps the port, so that the kernel
//! neither gives it to another nor answers the peer that nobody has it.
//!
//! Program and sockets end with the process, however it ends.

pub(super) mod codec;
pub(super) mod frame;
pub(super) mod lengths;
pub(super) mod open;
pub(super) mod params;
pub(super) mod path;
pub(super) mod probe;
mod program;
pub(super) mod route;

use super::{
    Availability, DatagramPath, DatapathKind, ParamDef, PathSetup, StreamPath, refuse_unknown,
};
use crate::error::EngineError;
use linerate_model::spec::{Direction, TestSpec, Transport};
use linerate_sys::bpf::SocketMap;
use params::FrameParams;
use std::net::{TcpStream, UdpSocket};

/// Frames of an interface, past the kernel's stack.
pub(super) struct AfXdp;

impl DatapathKind for AfXdp {
    fn id(&self) -> &'static str {
        "af-xdp"
    }

    fn passes_kernel_stack(&self) -> bool {
        false
    }

    fn summary(&self) -> &'static str {
        "Own UDP frames, past the kernel's stack; needs root."
    }

    fn params(&self) -> &'static [ParamDef] {
        const { &[params::QUEUE, params::MODE, params::FRAMES] }
    }

    fn availability(&self) -> Availability {
        availability()
    }

    fn runs_on_loopback(&self) -> bool {
        false
    }

    fn check(&self, spec: &TestSpec) -> Result<(), EngineError> {
        check(self, spec, "for both ways at once use ping-pong")
    }

    fn datagrams(
        &self,
        socket: UdpSocket,
        setup: &PathSetup<'_>,
    ) -> Result<Box<dyn DatagramPath>, EngineError> {
        let params = FrameParams::parse(setup.params)?;
        let opened = open::open(socket, params, setup)?;
        Ok(Box::new(path::FramePath::new(opened, setup)))
    }

    fn stream(
        &self,
        _socket: TcpStream,
        _setup: &PathSetup<'_>,
    ) -> Result<Box<dyn StreamPath>, EngineError> {
        Err(no_stream(self))
    }
}

/// Why no datapath of frames has streams of bytes.
const UDP_ALONE: &str = "it makes UDP frames; TCP needs the kernel's stack";

/// The refusal of a test by a datapath of frames.
fn refuse(kind: &dyn DatapathKind, why: &str) -> EngineError {
    EngineError::plan("datapath", &kind.id(), why)
}

/// The refusal of a stream of bytes.
pub(super) fn no_stream(kind: &dyn DatapathKind) -> EngineError {
    refuse(kind, UDP_ALONE)
}

/// Whether this host can make frames of its own.
pub(super) fn availability() -> Availability {
    match SocketMap::new(1) {
        Ok(_) => Availability::Available,
        Err(error) => Availability::Missing {
            why: open::refused(&error),
            remedy: open::PRIVILEGES_REMEDY.to_owned(),
        },
    }
}

/// Refuses what frames cannot do; `both_ways` is what to do in place of a test with traffic both ways at once.
pub(super) fn check(
    kind: &dyn DatapathKind,
    spec: &TestSpec,
    both_ways: &str,
) -> Result<(), EngineError> {
    refuse_unknown(kind, spec)?;
    FrameParams::parse(&spec.datapath.params)?;
    if spec.transport() != Transport::Udp {
        return Err(no_stream(kind));
    }
    if spec.direction == Direction::Duplex {
        let why = format!("one end of it sends or receives; {both_ways}");
        return Err(refuse(kind, &why));
    }
    if spec.streams != 1 {
        let why = "a queue of an interface has one AF_XDP socket: use one stream";
        return Err(refuse(kind, why));
    }
    Ok(())
}

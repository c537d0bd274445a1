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

mod checksum;
pub(super) mod frame;
pub(super) mod open;
pub(super) mod params;
pub(super) mod path;
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
        match SocketMap::new(1) {
            Ok(_) => Availability::Available,
            Err(error) => Availability::Missing {
                why: open::refused(&error),
                remedy: open::PRIVILEGES_REMEDY.to_owned(),
            },
        }
    }

    fn runs_on_loopback(&self) -> bool {
        false
    }

    fn check(&self, spec: &TestSpec) -> Result<(), EngineError> {
        refuse_unknown(self, spec)?;
        FrameParams::parse(&spec.datapath.params)?;
        let refuse = |why: &str| Err(EngineError::plan("datapath", &self.id(), why));
        if spec.transport() != Transport::Udp {
            return refuse("it makes UDP frames; TCP needs the kernel's stack");
        }
        if spec.direction == Direction::Duplex {
            return refuse("one end of it sends or receives; for both ways at once use ping-pong");
        }
        if spec.streams != 1 {
            return refuse("a queue of an interface has one AF_XDP socket: use one stream");
        }
        Ok(())
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
        let why = "it makes UDP frames; TCP needs the kernel's stack";
        Err(EngineError::plan("datapath", &self.id(), why))
    }
}

//! A datagram path whose first arrivals were already received.
//!
//! Where nothing announces a stream, its first datagrams arrive at a socket that all streams share, while neither the
//! stream's thread nor the host observation is ready. The receiver of the stream counts them as its first batch, with
//! the time at which they were read from that socket.

use crate::datapaths::in_kernel::{Counter, Generator};
use crate::datapaths::{Arrivals, Buffers, DatagramPath, PathDiagnostics, Span};
use linerate_model::MonoInstant;
use linerate_model::sample::XdpReport;
use linerate_sys::failure::Failure;
use std::time::Duration;

/// Datagrams of a stream that arrived before it had its own socket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Early {
    /// When they were read from the shared socket.
    pub at: MonoInstant,
    /// The datagrams in order of arrival.
    pub datagrams: Vec<Vec<u8>>,
}

/// `path`, which delivers `early` first.
pub(super) fn with(early: Early, path: Box<dyn DatagramPath>) -> Box<dyn DatagramPath> {
    if early.datagrams.is_empty() {
        return path;
    }
    let mut spans = Vec::with_capacity(early.datagrams.len());
    let mut bytes = Vec::new();
    for datagram in early.datagrams {
        let number =
            |length: usize| u32::try_from(length).expect("invariant: a listener keeps few");
        spans.push(Span {
            offset: number(bytes.len()),
            length: number(datagram.len()),
        });
        bytes.extend(datagram);
    }
    Box::new(Primed {
        bytes,
        spans,
        came: early.at,
        is_taken: false,
        path,
    })
}

struct Primed {
    bytes: Vec<u8>,
    spans: Vec<Span>,
    came: MonoInstant,
    is_taken: bool,
    path: Box<dyn DatagramPath>,
}

impl DatagramPath for Primed {
    fn batch(&self) -> usize {
        self.path.batch()
    }

    fn slots(&mut self) -> &mut [u8] {
        self.path.slots()
    }

    fn set_payload(&mut self, payload: usize) -> bool {
        self.path.set_payload(payload)
    }

    fn send(&mut self, count: usize) -> Result<usize, Failure> {
        self.path.send(count)
    }

    fn send_empty(&mut self) -> Result<(), Failure> {
        self.path.send_empty()
    }

    fn receive(&mut self) -> Result<Arrivals<'_>, Failure> {
        if self.is_taken {
            return self.path.receive();
        }
        self.is_taken = true;
        Ok(Arrivals {
            bytes: &self.bytes,
            spans: &self.spans,
            overflows: None,
            runs: &[],
            came: Some(self.came),
        })
    }

    fn spin(&mut self, looks: u32) -> bool {
        self.path.spin(looks)
    }

    fn await_arrival(&mut self, limit: Duration) {
        if self.is_taken {
            self.path.await_arrival(limit);
        }
    }

    fn overflows(&mut self) -> Option<u64> {
        self.path.overflows()
    }

    fn dropped_runs(&mut self) -> Option<u32> {
        self.path.dropped_runs()
    }

    fn buffers(&self) -> Buffers {
        self.path.buffers()
    }

    fn generator(&mut self) -> Option<&mut Generator> {
        self.path.generator()
    }

    fn counter(&mut self) -> Option<&mut Counter> {
        self.path.counter()
    }

    fn xdp(&mut self) -> Option<XdpReport> {
        self.path.xdp()
    }

    fn diagnostics(&mut self) -> PathDiagnostics {
        self.path.diagnostics()
    }
}

//! A datagram socket of single calls, for latency.

use super::waiting::Waiting;
use super::{await_socket, room_for};
use crate::datapaths::{Arrivals, Buffers, DatagramPath, PathDiagnostics, Span};
use linerate_sys::failure::Failure;
use linerate_sys::memory::PageBuffer;
use linerate_sys::{sockopt, tcp};
use std::net::UdpSocket;
use std::time::Duration;

/// One datagram per call, by `send` and `recv`: some 0.3 µs less per call than a batch of one, of which a
/// round trip has four (median over loopback, spinning: 8.7 against 10.0 µs).
pub(super) struct SingleSocket {
    socket: UdpSocket,
    outgoing: PageBuffer,
    /// Bytes of `outgoing` to send.
    payload: usize,
    incoming: PageBuffer,
    span: Span,
    waiting: Waiting,
}

impl SingleSocket {
    pub(super) fn new(socket: UdpSocket, payload: usize, waiting: Waiting) -> Self {
        Self {
            socket,
            outgoing: PageBuffer::new(payload, 0),
            payload,
            incoming: PageBuffer::new(room_for(payload), 0),
            span: Span::default(),
            waiting,
        }
    }
}

impl DatagramPath for SingleSocket {
    fn batch(&self) -> usize {
        1
    }

    fn slots(&mut self) -> &mut [u8] {
        &mut self.outgoing.bytes_mut()[..self.payload]
    }

    fn set_payload(&mut self, payload: usize) -> bool {
        if payload > self.outgoing.bytes().len() {
            self.outgoing = PageBuffer::new(payload, 0);
            self.incoming = PageBuffer::new(room_for(payload), 0);
        }
        self.payload = payload;
        true
    }

    fn send(&mut self, count: usize) -> Result<usize, Failure> {
        let payload = &self.outgoing.bytes()[..self.payload];
        tcp::send(&self.socket, payload, self.waiting.blocking()).map(|_| count)
    }

    fn send_empty(&mut self) -> Result<(), Failure> {
        tcp::send(&self.socket, &[], self.waiting.blocking()).map(drop)
    }

    fn receive(&mut self) -> Result<Arrivals<'_>, Failure> {
        let room = self.incoming.bytes_mut();
        let length = self.waiting.take(&self.socket, room)?;
        self.span.length = u32::try_from(length).expect("invariant: a datagram is below 64 KiB");
        Ok(Arrivals {
            bytes: self.incoming.bytes(),
            spans: std::slice::from_ref(&self.span),
            overflows: None,
            runs: &[],
            came: None,
        })
    }

    fn spin(&mut self, looks: u32) -> bool {
        self.waiting.spin(looks)
    }

    fn await_arrival(&mut self, limit: Duration) {
        await_socket(&self.socket, limit);
    }

    fn overflows(&mut self) -> Option<u64> {
        sockopt::socket_drops(&self.socket).ok().map(u64::from)
    }

    fn buffers(&self) -> Buffers {
        Buffers::of_datagrams(&self.socket)
    }

    fn diagnostics(&mut self) -> PathDiagnostics {
        self.waiting.diagnostics(&self.socket)
    }
}

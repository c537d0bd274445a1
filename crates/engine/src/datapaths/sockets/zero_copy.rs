//! A stream whose payload the kernel sends from the sender's own pages (`MSG_ZEROCOPY`).

use super::waiting::Waiting;
use super::{await_socket, host};
use crate::datapaths::{PathDiagnostics, StreamPath};
use crate::error::Result;
use linerate_sys::failure::Failure;
use linerate_sys::{tcp, zero_copy};
use std::net::TcpStream;
use std::time::Duration;

/// Shortest write that is not copied: to pin pages and to be told of their end costs more than to copy less (Linux
/// `Documentation/networking/msg_zerocopy.rst`: some 10 KB). What a protocol writes before its payload is far shorter.
const SHORTEST: usize = 16 << 10;

pub(super) struct ZeroCopySocket {
    socket: TcpStream,
    waiting: Waiting,
    calls: zero_copy::Calls,
}

impl ZeroCopySocket {
    pub(super) fn new(socket: TcpStream, waiting: Waiting) -> Result<Self> {
        let remedy = "leave zerocopy out, or use Linux 4.14 or later";
        zero_copy::enable(&socket).map_err(host("SO_ZEROCOPY", remedy))?;
        Ok(Self {
            socket,
            waiting,
            calls: zero_copy::Calls::default(),
        })
    }
}

impl StreamPath for ZeroCopySocket {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
        let blocking = self.waiting.blocking();
        if bytes.len() < SHORTEST {
            return tcp::send(&self.socket, bytes, blocking);
        }
        self.calls.send(&self.socket, bytes, blocking)
    }

    fn read(&mut self, room: &mut [u8]) -> Result<usize, Failure> {
        self.waiting.take(&self.socket, room)
    }

    fn spin(&mut self, looks: u32) -> bool {
        self.waiting.spin(looks)
    }

    fn await_arrival(&mut self, limit: Duration) {
        await_socket(&self.socket, limit);
    }

    fn connection(&self) -> Option<&TcpStream> {
        Some(&self.socket)
    }

    fn diagnostics(&mut self) -> PathDiagnostics {
        let mut found = self.waiting.diagnostics(&self.socket);
        // Notices that cannot be read any more tell nothing of the traffic.
        let _ = self.calls.take_notices(&self.socket);
        let zero_copy::Calls { made, copied } = self.calls;
        if copied > 0 {
            found.notes.push(format!(
                "zerocopy: the kernel copied {copied} of {made} writes all the same, as it does where a capture, a loopback or a device without scatter-gather needs its own copy"
            ));
        }
        found
    }
}

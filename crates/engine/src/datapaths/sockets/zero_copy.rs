//! How a stream's bytes get into the kernel: copied, or sent from the sender's own pages (`MSG_ZEROCOPY`).

use super::host;
use crate::error::Result;
use linerate_sys::failure::Failure;
use linerate_sys::udp::Blocking;
use linerate_sys::{sockopt, tcp, zero_copy};
use std::net::TcpStream;

/// Shortest write that is not copied: to pin pages and to be told of their end costs more than to copy less (Linux
/// `Documentation/networking/msg_zerocopy.rst`: some 10 KB). What a protocol writes before its payload is far shorter.
const SHORTEST: usize = 16 << 10;

/// How the bytes of a stream are sent.
pub(super) enum Sending {
    Copy,
    ZeroCopy(zero_copy::Calls),
}

impl Sending {
    /// Without copying, which `socket` has to allow.
    pub(super) fn zero_copy(socket: &TcpStream) -> Result<Self> {
        let remedy = "leave zerocopy out, or use Linux 4.14 or later";
        sockopt::set_zero_copy(socket).map_err(host("SO_ZEROCOPY", remedy))?;
        Ok(Self::ZeroCopy(zero_copy::Calls::default()))
    }

    /// Sends bytes, which without copying must never change; returns how many the system accepted.
    pub(super) fn send(
        &mut self,
        socket: &TcpStream,
        bytes: &[u8],
        blocking: Blocking,
    ) -> Result<usize, Failure> {
        match self {
            Self::ZeroCopy(calls) if bytes.len() >= SHORTEST => calls.send(socket, bytes, blocking),
            _ => tcp::send(socket, bytes, blocking),
        }
    }

    /// What the kernel copied all the same, as a note at the end.
    pub(super) fn note(&mut self, socket: &TcpStream) -> Option<String> {
        let Self::ZeroCopy(calls) = self else {
            return None;
        };
        // Notices that cannot be read any more tell nothing of the traffic.
        let _ = calls.take_notices(socket);
        let zero_copy::Calls { made, copied } = *calls;
        (copied > 0).then(|| format!(
            "zerocopy: the kernel copied {copied} of {made} writes all the same, as it does where a capture, a loopback or a device without scatter-gather needs its own copy"
        ))
    }
}

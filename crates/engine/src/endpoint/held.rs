//! Data sockets that stay open after their traffic, and the datagrams exchanged over them then.

use linerate_model::Clock as _;
use linerate_peers::{SendTime, StreamFormat};
use linerate_sys::clock::{MonoClock, MonotonicOffset};
use linerate_sys::tcp::{receive, send};
use linerate_sys::udp::Blocking;
use std::net::UdpSocket;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Maximum datagram length kept: peers' reports are below 1500 bytes.
const MAX_DATAGRAM_BYTES: usize = 2048;

/// Data sockets, kept open until dropped.
pub struct HeldSockets {
    /// Datagram sockets by stream, for further datagrams.
    datagrams: Vec<UdpSocket>,
    format: Arc<dyn StreamFormat>,
    wall: MonotonicOffset,
    #[expect(dead_code, reason = "only its end matters")]
    open: Vec<OwnedFd>,
}

impl HeldSockets {
    /// Keeps sockets open; `datagrams` of this format may be exchanged on some of them.
    pub(super) fn new(
        format: &Arc<dyn StreamFormat>,
        open: Vec<OwnedFd>,
        datagrams: Vec<UdpSocket>,
    ) -> Self {
        Self {
            datagrams,
            format: Arc::clone(format),
            wall: MonotonicOffset::measure(),
            open,
        }
    }

    /// The datagram sockets, to wait on.
    pub fn datagram_sockets(&self) -> Vec<BorrowedFd<'_>> {
        self.datagrams.iter().map(|socket| socket.as_fd()).collect()
    }

    /// Sends a datagram on a stream, filling in its time; it may get lost.
    pub fn send(&self, stream: u16, mut bytes: Vec<u8>) {
        let now = MonoClock.now();
        let sent = SendTime {
            monotonic: now,
            wall_ns: self.wall.real(now),
        };
        self.format.stamp(&mut bytes, sent);
        if let Some(socket) = self.datagrams.get(usize::from(stream)) {
            // The error belongs to an earlier datagram (ICMP); reading it clears it, so try again.
            if send(socket, &bytes, Blocking::No).is_err() {
                let _ = send(socket, &bytes, Blocking::No);
            }
        }
    }

    /// Receives a datagram, with its stream index.
    pub fn receive(&self) -> Option<(u16, Vec<u8>)> {
        let mut room = [0; MAX_DATAGRAM_BYTES];
        (0..).zip(&self.datagrams).find_map(|(stream, socket)| {
            let length = receive(socket, &mut room, Blocking::No).ok()?;
            Some((stream, room[..length].to_vec()))
        })
    }
}

//! Data sockets that outlive their traffic, and what is said over them beside it.

use linerate_model::Clock as _;
use linerate_peers::{SendTime, StreamFormat};
use linerate_sys::clock::{MonoClock, MonotonicOffset};
use linerate_sys::tcp::{receive, send};
use linerate_sys::udp::Blocking;
use std::net::UdpSocket;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Most bytes of a datagram that are taken: peers' reports are below 1500.
const MAX_DATAGRAM_BYTES: usize = 2048;

/// Data sockets that stay open as long as this lives.
pub struct HeldSockets {
    /// By stream, those over which more is said.
    datagrams: Vec<UdpSocket>,
    format: Arc<dyn StreamFormat>,
    wall: MonotonicOffset,
    #[expect(dead_code, reason = "only its end matters")]
    open: Vec<OwnedFd>,
}

impl HeldSockets {
    /// Sockets that only stay open, and others over which more is said in datagrams of this format.
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

    /// The sockets over which more is said, to wait on.
    pub fn datagram_sockets(&self) -> Vec<BorrowedFd<'_>> {
        self.datagrams.iter().map(|socket| socket.as_fd()).collect()
    }

    /// Sends a datagram on a stream, or loses it. Its time is filled in.
    pub fn send(&self, stream: u16, mut bytes: Vec<u8>) {
        let now = MonoClock.now();
        let sent = SendTime {
            monotonic: now,
            wall_ns: self.wall.real(now),
        };
        self.format.stamp(&mut bytes, sent);
        if let Some(socket) = self.datagrams.get(usize::from(stream)) {
            // A refusal is an answer to an earlier one; the system forgets it with this.
            if send(socket, &bytes, Blocking::No).is_err() {
                let _ = send(socket, &bytes, Blocking::No);
            }
        }
    }

    /// A datagram that has come, with its stream.
    pub fn receive(&self) -> Option<(u16, Vec<u8>)> {
        let mut room = [0; MAX_DATAGRAM_BYTES];
        (0..).zip(&self.datagrams).find_map(|(stream, socket)| {
            let length = receive(socket, &mut room, Blocking::No).ok()?;
            Some((stream, room[..length].to_vec()))
        })
    }
}

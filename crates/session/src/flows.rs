//! Datagram streams at a shared port without control connections: each source address is a stream.
//!
//! All first datagrams arrive at one socket. Each stream gets a connected socket of its own on the same port, which the
//! kernel prefers to the shared one; datagrams that arrived before are kept for its receiver. Nothing is sent from
//! here.

use crate::demux::canonical;
use linerate_engine::Early;
use linerate_model::Clock as _;
use linerate_sys::clock::MonoClock;
use linerate_sys::shared::bind_shared;
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum concurrent streams, of all clients.
const MAX_FLOWS: usize = 1024;

/// Maximum datagrams read from the shared socket at once, and kept for their streams.
const MAX_DATAGRAMS_PER_READ: usize = 4096;

/// Receive buffer for a datagram of maximum length, bytes.
const MAX_DATAGRAM_BYTES: usize = 65_536;

/// Registered streams of a port.
#[derive(Default)]
pub struct Flows {
    known: Mutex<BTreeSet<SocketAddr>>,
}

/// A new stream, with the permit of its admission.
pub struct Flow<L> {
    /// Its source address.
    pub from: SocketAddr,
    /// Its own socket, connected.
    pub socket: UdpSocket,
    /// Datagrams that have already arrived; not empty.
    pub early: Early,
    /// Keeps the address registered.
    pub place: Place,
    /// Permit returned by its admission.
    pub leave: L,
}

/// A new source address without a socket yet.
struct Newcomer<L> {
    from: SocketAddr,
    early: Early,
    place: Place,
    leave: L,
}

/// A datagram that arrived at the shared socket, or at one that was not connected yet.
struct Datagram {
    from: SocketAddr,
    bytes: Vec<u8>,
}

/// Registration of a stream's address, until dropped.
pub struct Place {
    flows: Arc<Flows>,
    from: SocketAddr,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.flows.lock().remove(&self.from);
    }
}

impl Flows {
    fn lock(&self) -> MutexGuard<'_, BTreeSet<SocketAddr>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the shared, non-blocking socket and returns new streams. An address that `admit` refuses costs a read and
    /// no socket.
    ///
    /// Datagrams of an address stay in order of arrival. A socket that is bound but not connected yet receives what
    /// arrives at the port from every address without a socket, and the shared one nothing.
    pub fn meet<L>(
        self: &Arc<Self>,
        shared: &UdpSocket,
        admit: impl Fn(IpAddr) -> Option<L>,
    ) -> Vec<Flow<L>> {
        let mut arrivals = Arrivals {
            flows: self,
            admit,
            room: vec![0; MAX_DATAGRAM_BYTES],
            newcomers: Vec::new(),
        };
        let mut left = MAX_DATAGRAMS_PER_READ;
        arrivals.take(shared, &mut left);
        let mut sockets = Vec::new();
        while let Some(newcomer) = arrivals.newcomers.get(sockets.len()) {
            let from = newcomer.from;
            sockets.push(bind_beside(shared, from).ok().and_then(|socket| {
                // First what arrived before this socket was bound, then what arrived before it was connected.
                arrivals.take(shared, &mut left);
                let is_connected = socket.connect(from).is_ok();
                let mut of_its_own = MAX_DATAGRAMS_PER_READ;
                arrivals.take(&socket, &mut of_its_own);
                (is_connected && socket.set_nonblocking(false).is_ok()).then_some(socket)
            }));
        }
        let flow = |(newcomer, socket): (Newcomer<L>, Option<UdpSocket>)| {
            Some(Flow {
                socket: socket?,
                from: newcomer.from,
                early: newcomer.early,
                place: newcomer.place,
                leave: newcomer.leave,
            })
        };
        let newcomers = arrivals.newcomers.into_iter();
        newcomers.zip(sockets).filter_map(flow).collect()
    }

    fn reserve(&self, from: SocketAddr) -> bool {
        let mut known = self.lock();
        known.len() < MAX_FLOWS && known.insert(from)
    }
}

/// Datagrams that arrive at a port while sockets are made for new addresses.
struct Arrivals<'a, L, A> {
    flows: &'a Arc<Flows>,
    admit: A,
    /// Receive buffer for one datagram.
    room: Vec<u8>,
    newcomers: Vec<Newcomer<L>>,
}

impl<L, A: Fn(IpAddr) -> Option<L>> Arrivals<'_, L, A> {
    /// Reads at most `left` datagrams from `socket`, decrementing it: each belongs to a new address, or adds one.
    fn take(&mut self, socket: &UdpSocket, left: &mut usize) {
        while *left > 0
            && let Some(Datagram { from, bytes }) = next(socket, &mut self.room)
        {
            *left -= 1;
            let mut newcomers = self.newcomers.iter_mut();
            if let Some(newcomer) = newcomers.find(|newcomer| newcomer.from == from) {
                newcomer.early.datagrams.push(bytes);
                continue;
            }
            // A registered stream has a socket; what still arrives here is late.
            if !self.flows.reserve(from) {
                continue;
            }
            let place = Place {
                flows: Arc::clone(self.flows),
                from,
            };
            if let Some(leave) = (self.admit)(from.ip()) {
                let early = Early {
                    at: MonoClock.now(),
                    datagrams: vec![bytes],
                };
                self.newcomers.push(Newcomer {
                    from,
                    early,
                    place,
                    leave,
                });
            }
        }
    }
}

/// Binds a non-blocking socket to the port of `shared` for datagrams from `from`.
fn bind_beside(shared: &UdpSocket, from: SocketAddr) -> io::Result<UdpSocket> {
    let local = shared.local_addr()?;
    let local = match (canonical(local), from) {
        (local, SocketAddr::V4(_)) if local.is_ipv6() => {
            SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), local.port())
        }
        (local, _) => local,
    };
    let socket = bind_shared(local)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// The next datagram, if one is queued.
fn next(socket: &UdpSocket, room: &mut [u8]) -> Option<Datagram> {
    for _ in 0..MAX_DATAGRAMS_PER_READ {
        match socket.recv_from(room) {
            Ok((length, from)) => {
                return Some(Datagram {
                    from: canonical(from),
                    bytes: room[..length].to_vec(),
                });
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
            // An ICMP error for an earlier datagram; it does not concern the next one.
            Err(_) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared() -> UdpSocket {
        let socket = bind_shared("127.0.0.1:0".parse().unwrap()).unwrap();
        socket.set_nonblocking(true).unwrap();
        socket
    }

    #[test]
    fn what_came_before_a_stream_had_its_socket_is_kept_in_order() {
        let (shared, flows) = (shared(), Arc::<Flows>::default());
        let to = shared.local_addr().unwrap();
        let peers = [0, 1].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
        for text in ["1", "2", "3"] {
            for peer in &peers {
                peer.send_to(text.as_bytes(), to).unwrap();
            }
        }
        let found = flows.meet(&shared, |_| Some(()));
        assert_eq!(found.len(), 2);
        for (flow, peer) in found.iter().zip(&peers) {
            assert_eq!(flow.from, peer.local_addr().unwrap());
            assert_eq!(flow.early.datagrams, [b"1", b"2", b"3"]);
            // From now on its datagrams come to its own socket.
            peer.send_to(b"4", to).unwrap();
            let mut room = [0; 9];
            assert_eq!(flow.socket.recv(&mut room).unwrap(), 1);
        }
        assert!(flows.meet(&shared, |_| Some(())).is_empty());
        // An address that has left may come again.
        drop(found);
        peers[0].send_to(b"5", to).unwrap();
        assert_eq!(flows.meet(&shared, |_| Some(())).len(), 1);
    }

    /// Numbers that many send while others of them get their sockets. A datagram for which another core has chosen its
    /// socket just before that is bound or connected may come to it just after: to one of 64 in 1 of 300 runs, so to two in
    /// fewer than 1 of 100 000.
    #[test]
    fn what_comes_while_sockets_are_made_stays_in_order() {
        let (shared, flows) = (shared(), Arc::<Flows>::default());
        let to = shared.local_addr().unwrap();
        let peers: Vec<_> = (0..64)
            .map(|_| UdpSocket::bind("127.0.0.1:0").unwrap())
            .collect();
        let send = |peers: &[UdpSocket]| {
            for number in 0..100 {
                for peer in peers {
                    peer.send_to(&[number], to).unwrap();
                }
            }
        };
        let mut found = Vec::new();
        std::thread::scope(|scope| {
            for some in peers.chunks(8) {
                let sender = scope.spawn(move || send(some));
                loop {
                    let is_over = sender.is_finished();
                    found.extend(flows.meet(&shared, |_| Some(())));
                    if is_over {
                        break;
                    }
                }
            }
        });
        assert_eq!(found.len(), peers.len());
        let is_sorted = |flow: &Flow<()>| {
            let mut room = [0];
            flow.socket.set_nonblocking(true).unwrap();
            let later = std::iter::from_fn(|| flow.socket.recv(&mut room).ok().map(|_| room[0]));
            let early = flow.early.datagrams.iter().map(|bytes| bytes[0]);
            early.chain(later).is_sorted()
        };
        let mixed = found.iter().filter(|flow| !is_sorted(flow)).count();
        assert!(mixed <= 1, "{mixed} of {}", found.len());
    }

    #[test]
    fn an_address_that_is_not_welcome_gets_no_stream() {
        let (shared, flows) = (shared(), Arc::<Flows>::default());
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        peer.send_to(b"1", shared.local_addr().unwrap()).unwrap();
        assert!(flows.meet(&shared, |_| None::<()>).is_empty());
        assert!(flows.lock().is_empty());
    }
}

//! Datagram streams at a port where nothing announces them: each address that sends is a stream.
//!
//! All first datagrams come to one socket. Each stream gets a connected socket of its own on the same port, which
//! the kernel prefers to the shared one; what had come before is kept for its receiver. Nothing is sent from here.

use crate::demux::canonical;
use linerate_engine::Early;
use linerate_model::Clock as _;
use linerate_sys::clock::MonoClock;
use linerate_sys::shared::bind_shared;
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most streams at once, of all clients.
const MAX_FLOWS: usize = 1024;

/// Most datagrams that are taken from the shared socket at once, and kept for their streams.
const MAX_DATAGRAMS_PER_READ: usize = 4096;

/// Longest datagram.
const MAX_DATAGRAM_BYTES: usize = 65_536;

/// The streams that are known at a port.
#[derive(Default)]
pub struct Flows {
    known: Mutex<BTreeSet<SocketAddr>>,
}

/// A new stream, and by which leave it is one.
pub struct Flow<L> {
    /// Where it comes from.
    pub from: SocketAddr,
    /// Its own socket, connected.
    pub socket: UdpSocket,
    /// What has come of it already; not empty.
    pub early: Early,
    /// What came to its own socket before that was connected.
    strays: Vec<Vec<u8>>,
    /// Keeps the address known.
    pub place: Place,
    /// What its admission gave.
    pub leave: L,
}

/// A datagram that came to the socket that all share, or to one that was not connected yet.
struct Datagram {
    from: SocketAddr,
    bytes: Vec<u8>,
}

/// A stream's place among those that are known; it is given up with this.
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

    /// Takes what has come to the socket that all share, which does not block. An address that `admit` gives no leave
    /// costs a read and no socket.
    pub fn meet<L>(
        self: &Arc<Self>,
        shared: &UdpSocket,
        admit: impl Fn(IpAddr) -> Option<L>,
    ) -> Vec<Flow<L>> {
        let mut fresh: Vec<Flow<L>> = Vec::new();
        let mut others = Vec::new();
        let mut room = vec![0; MAX_DATAGRAM_BYTES];
        for _ in 0..MAX_DATAGRAMS_PER_READ {
            let Some(datagram) = next(shared, &mut room) else {
                break;
            };
            others.extend(self.place(&mut fresh, datagram, shared, &admit));
        }
        // These came to a socket that was not connected yet; what follows them goes to their own.
        while let Some(stray) = others.pop() {
            others.extend(self.place(&mut fresh, stray, shared, &admit));
        }
        for flow in &mut fresh {
            flow.early.datagrams.append(&mut flow.strays);
        }
        fresh
    }

    /// Puts a datagram where it belongs; returns those of others that opening a socket brought along.
    fn place<L>(
        self: &Arc<Self>,
        fresh: &mut Vec<Flow<L>>,
        Datagram { from, bytes }: Datagram,
        shared: &UdpSocket,
        admit: impl Fn(IpAddr) -> Option<L>,
    ) -> Vec<Datagram> {
        if let Some(flow) = fresh.iter_mut().find(|flow| flow.from == from) {
            flow.early.datagrams.push(bytes);
            return Vec::new();
        }
        // A stream that is known has a socket; what still comes here is late.
        if !self.reserve(from) {
            return Vec::new();
        }
        let place = Place {
            flows: Arc::clone(self),
            from,
        };
        let Some(leave) = admit(from.ip()) else {
            return Vec::new();
        };
        let Ok(socket) = open(shared, from) else {
            return Vec::new();
        };
        let mut room = vec![0; MAX_DATAGRAM_BYTES];
        let (own, others) = (0..MAX_DATAGRAMS_PER_READ)
            .map_while(|_| next(&socket, &mut room))
            .partition::<Vec<_>, _>(|datagram| datagram.from == from);
        if socket.set_nonblocking(false).is_ok() {
            fresh.push(Flow {
                from,
                socket,
                early: Early {
                    at: MonoClock.now(),
                    datagrams: vec![bytes],
                },
                strays: own.into_iter().map(|datagram| datagram.bytes).collect(),
                place,
                leave,
            });
        }
        others
    }

    fn reserve(&self, from: SocketAddr) -> bool {
        let mut known = self.lock();
        known.len() < MAX_FLOWS && known.insert(from)
    }
}

/// A socket on the port of `shared` that takes only what comes from there.
fn open(shared: &UdpSocket, from: SocketAddr) -> io::Result<UdpSocket> {
    let local = shared.local_addr()?;
    let local = match (canonical(local), from) {
        (local, SocketAddr::V4(_)) if local.is_ipv6() => {
            SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), local.port())
        }
        (local, _) => local,
    };
    let socket = bind_shared(local)?;
    socket.connect(from)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// The next datagram, if one waits.
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
            // An earlier datagram was refused somewhere; it says nothing about the next one.
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

    #[test]
    fn an_address_that_is_not_welcome_gets_no_stream() {
        let (shared, flows) = (shared(), Arc::<Flows>::default());
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        peer.send_to(b"1", shared.local_addr().unwrap()).unwrap();
        assert!(flows.meet(&shared, |_| None::<()>).is_empty());
        assert!(flows.lock().is_empty());
    }
}

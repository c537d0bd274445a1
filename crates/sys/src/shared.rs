//! Sockets that share a port: an unconnected UDP socket, connected ones, and a TCP listener.

use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, UdpSocket};

/// Binds a TCP listener, and a UDP socket as by [`bind_shared`] that nobody else is bound to, to the same port of
/// `local`; port 0 lets the kernel choose.
///
/// # Errors
///
/// `AddrInUse` if another program has that port of either transport; for port 0, if others had the UDP ports of twenty
/// listeners.
pub fn bind_both(local: SocketAddr) -> io::Result<(TcpListener, UdpSocket)> {
    both_of(|| TcpListener::bind(local), local.port() == 0)
}

/// If `is_any_port`, tries another listener where the UDP port of one is taken: the kernel chooses a port that is free
/// for TCP alone.
fn both_of(
    mut listen: impl FnMut() -> io::Result<TcpListener>,
    is_any_port: bool,
) -> io::Result<(TcpListener, UdpSocket)> {
    const LISTENERS: usize = 20;
    // Keep unusable listeners open meanwhile, so that the kernel chooses other ports.
    let mut useless = Vec::new();
    loop {
        let listener = listen()?;
        let address = listener.local_addr()?;
        let nobodys = UdpSocket::bind(address).map(drop);
        match nobodys.and_then(|()| bind_shared(address)) {
            Err(error)
                if error.kind() == ErrorKind::AddrInUse
                    && is_any_port
                    && useless.len() + 1 < LISTENERS =>
            {
                useless.push(listener);
            }
            socket => return Ok((listener, socket?)),
        }
    }
}

/// Binds a UDP socket to `local` with `SO_REUSEADDR`. Among the sockets of a port the kernel prefers the one that is
/// connected to a datagram's sender, then the one with the more specific address.
pub fn bind_shared(local: SocketAddr) -> io::Result<UdpSocket> {
    let family = match local {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = net::socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    net::sockopt::set_socket_reuseaddr(&socket, true)?;
    net::bind(&socket, &local)?;
    Ok(UdpSocket::from(socket))
}

/// Makes a bound socket one of [`bind_shared`]'s: others may be bound to its port from now on.
pub fn share(socket: &UdpSocket) -> io::Result<()> {
    Ok(net::sockopt::set_socket_reuseaddr(socket, true)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_whose_udp_is_anothers_gives_way_to_the_next_one() {
        // Both of the port are held, so that a connection of another test cannot get it meanwhile.
        let (held, _taken) = bind_both("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = held.local_addr().unwrap();
        let mut offered = [Ok(held), TcpListener::bind("127.0.0.1:0")].into_iter();
        let (listener, socket) = both_of(|| offered.next().unwrap(), true).unwrap();
        assert!(offered.next().is_none());
        let port = listener.local_addr().unwrap();
        assert_ne!(port, address);
        assert_eq!(socket.local_addr().unwrap(), port);
        assert_eq!(bind_both(address).unwrap_err().kind(), ErrorKind::AddrInUse);
    }

    #[test]
    fn a_port_that_another_shares_is_taken_too() {
        let others = bind_shared("127.0.0.1:0".parse().unwrap()).unwrap();
        let refused = bind_both(others.local_addr().unwrap()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AddrInUse);
    }

    #[test]
    fn a_bound_socket_can_be_shared_later() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        assert_eq!(
            bind_shared(address).unwrap_err().kind(),
            ErrorKind::AddrInUse
        );
        share(&socket).unwrap();
        bind_shared(address).unwrap();
    }

    #[test]
    fn a_connected_socket_takes_its_peers_datagrams_from_the_shared_one() {
        let shared = bind_shared("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = shared.local_addr().unwrap();
        let peers = [0, 1].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
        let own = bind_shared(address).unwrap();
        own.connect(peers[0].local_addr().unwrap()).unwrap();
        for (peer, socket) in peers.iter().zip([&own, &shared]) {
            peer.send_to(b"x", address).unwrap();
            let (_, from) = socket.recv_from(&mut [0; 4]).unwrap();
            assert_eq!(from, peer.local_addr().unwrap());
        }
    }
}

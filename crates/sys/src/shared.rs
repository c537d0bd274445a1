//! UDP sockets of one port: one that takes what is not connected, and connected ones beside it.

use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use std::io;
use std::net::{SocketAddr, UdpSocket};

/// Binds a UDP socket on `local`, which other sockets that ask for the same may be bound to too
/// (`SO_REUSEADDR`). Of these the kernel prefers the one that is connected to a datagram's sender, then
/// the one with the more exact address.
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

#[cfg(test)]
mod tests {
    use super::*;

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

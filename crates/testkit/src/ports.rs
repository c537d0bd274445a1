//! Ports for programs that cannot say themselves which one they were given.

use std::io::{Error, ErrorKind, Result};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixDatagram};
use std::sync::atomic::{AtomicU16, Ordering};

/// First of the ports that are given out, below those that the kernel gives to whoever asks for none: a program may take
/// a while until it listens, and tests beside this one open many connections.
const FIRST: u16 = 20_000;

/// Number of the ports that are given out.
const PORTS: u16 = 10_000;

/// An address of `ip` whose port is free, of TCP and UDP, and that no other call gets as long as this process lives, nor one
/// of another process in the same network namespace.
///
/// # Errors
///
/// If `ip` is none of this host's, or all ports are taken.
pub fn free_address(ip: IpAddr) -> Result<SocketAddr> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    TcpListener::bind((ip, 0))?;
    // Processes begin at places of their own, so that few ports are tried in vain.
    let begin = (std::process::id() % 100) as u16 * 100;
    for _ in 0..PORTS {
        let next = NEXT.fetch_add(1, Ordering::Relaxed) % PORTS;
        let address = SocketAddr::new(ip, FIRST + (begin + next) % PORTS);
        let is_free = TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok();
        if is_free && claim(address.port())? {
            return Ok(address);
        }
    }
    Err(Error::new(
        ErrorKind::AddrInUse,
        format!("no port of {ip} is free"),
    ))
}

/// Whether the port is this process's from now on, until it ends. The claim is an abstract Unix address, which the kernel
/// gives once, and takes back from a process that was killed.
fn claim(port: u16) -> Result<bool> {
    let name = format!("linerate-test-port-{port}");
    match UnixDatagram::bind_addr(&UnixAddress::from_abstract_name(name)?) {
        Ok(socket) => {
            Box::leak(Box::new(socket));
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::AddrInUse => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn an_address_is_given_once_in_a_network_namespace() {
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let first = free_address(here).unwrap();
        assert!(!claim(first.port()).unwrap());
        assert_ne!(free_address(here).unwrap(), first);
    }
}

//! Ports for programs that cannot say themselves which one they were given.

use std::io::{Error, ErrorKind, Result};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};

/// An address of `ip` whose port nobody has, of TCP or UDP, and that no other call in this process gets.
///
/// It is below the ports that the kernel gives to those who ask for none: a program may take a while until it listens
/// there, and tests beside this one open many connections.
///
/// # Errors
///
/// If `ip` is none of this host's, or more than a hundred were asked for.
pub fn free_address(ip: IpAddr) -> Result<SocketAddr> {
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    // Not where another process of tests begins.
    let first = 20_000 + (std::process::id() % 100) as u16 * 100;
    let is_free = |address: &SocketAddr| {
        TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok()
    };
    std::iter::repeat_with(|| TAKEN.fetch_add(1, Ordering::Relaxed))
        .take_while(|taken| *taken < 100)
        .map(|taken| SocketAddr::new(ip, first + taken))
        .find(is_free)
        .ok_or_else(|| Error::new(ErrorKind::AddrInUse, format!("no port of {ip} is free")))
}

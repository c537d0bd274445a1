//! Resolves host names, and connects to the first address that answers.

use crate::address::IpChoice;
use crate::target::Target;
use anyhow::Result;
use linerate_model::exit::{ExitCode, Failure};
use linerate_peers::Control;
use linerate_session::Line;
use std::io;
use std::net::{SocketAddr, SocketAddrV6, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// Addresses of `host`, best first.
pub(super) fn resolve(host: &str, port: u16, ip: IpChoice) -> Result<Vec<SocketAddr>, Failure> {
    if let Some(address) = scoped(host, port) {
        return fitting(host, [address], ip);
    }
    let found = (host, port).to_socket_addrs().map_err(|error| {
        let hint = "check the name, or give an address";
        let message = format!("cannot resolve {host}: {error}; {hint}");
        Failure::new(ExitCode::Peer, message)
    })?;
    fitting(host, found, ip)
}

/// Addresses in `found` of the IP version `ip`.
pub(super) fn fitting(
    host: &str,
    found: impl IntoIterator<Item = SocketAddr>,
    ip: IpChoice,
) -> Result<Vec<SocketAddr>, Failure> {
    let fitting: Vec<_> = found.into_iter().filter(|found| ip.fits(found)).collect();
    if fitting.is_empty() {
        let message = format!("{host} has no {ip} address; leave out -4 and -6 to use any");
        return Err(Failure::new(ExitCode::Usage, message));
    }
    Ok(fitting)
}

/// An IPv6 address with a zone: `fe80::1%eth0` or `fe80::1%2`.
fn scoped(host: &str, port: u16) -> Option<SocketAddr> {
    let (address, zone) = host.split_once('%')?;
    let scope = match zone.parse() {
        Ok(index) => index,
        Err(_) => linerate_sys::interface::index_of(zone)?,
    };
    Some(SocketAddrV6::new(address.parse().ok()?, port, 0, scope).into())
}

/// Line to the first address of `host` that answers.
pub(super) fn connect(target: &Target, host: &str, port: u16) -> Result<Line> {
    connect_to(target, &resolve(host, port, target.ip)?)
}

/// Line to the first address that answers; without a control connection, to the first with a route.
pub(super) fn connect_to(target: &Target, addresses: &[SocketAddr]) -> Result<Line> {
    let about = target.far.kind().about();
    let failed = |error: io::Error| {
        let message = format!(
            "cannot connect to {}: {error}; start {} there, and see that no firewall drops the port",
            target.far, about.start_hint
        );
        Failure::new(ExitCode::Peer, message)
    };
    if about.control == Control::Connection {
        let stream = dial(addresses, target.timeout).map_err(failed)?;
        return Line::over(stream, target.timeout);
    }
    Ok(first(addresses, Line::to).map_err(failed)?)
}

/// Connection to the first address that answers.
pub(super) fn dial(addresses: &[SocketAddr], timeout: Duration) -> io::Result<TcpStream> {
    first(addresses, |address| {
        TcpStream::connect_timeout(&address, timeout)
    })
}

/// What can be opened first; the last error if nothing can.
fn first<T>(
    addresses: &[SocketAddr],
    mut open: impl FnMut(SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    let mut last = Err(io::ErrorKind::AddrNotAvailable.into());
    for address in addresses {
        last = open(*address);
        if last.is_ok() {
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrong_ip_version_is_named() {
        let error = resolve("127.0.0.1", 7, IpChoice::V6).unwrap_err();
        assert!(error.message.contains("no IPv6 address"), "{error}");
        assert_eq!(error.code, ExitCode::Usage);
    }
}

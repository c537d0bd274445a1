//! Resolves host names, and connects to the first address that answers.

use crate::address::IpChoice;
use crate::target::Target;
use anyhow::Result;
use linerate_model::exit::{ExitCode, Failure};
use linerate_peers::Control;
use linerate_session::Line;
use linerate_sys::interface::{index_of, with_link_local};
use linerate_sys::netlink::{InterfaceName, Netlink, RouteBy};
use linerate_sys::process::resource_remedy;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// Addresses of `host`, best first.
pub(super) fn resolve(host: &str, port: u16, ip: IpChoice) -> Result<Vec<SocketAddr>, Failure> {
    if let Some(address) = scoped(host, port) {
        return fitting(host, [address], ip);
    }
    if let Some(message) = without_interface(host, with_link_local) {
        return Err(Failure::new(ExitCode::Usage, message));
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
    let mut fitting: Vec<_> = found.into_iter().filter(|found| ip.fits(found)).collect();
    let refused = |message| Err(Failure::new(ExitCode::Usage, message));
    if fitting.is_empty() {
        return refused(format!(
            "{host} has no {ip} address; leave out -4 and -6 to use any"
        ));
    }
    fitting.retain(|address| is_of_one(address.ip()));
    if fitting.is_empty() {
        return refused(format!(
            "{host} is the address of many hosts: give that of one"
        ));
    }
    Ok(fitting)
}

/// Whether an address may be one host's: not multicast, not broadcast.
const fn is_of_one(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !v4.is_multicast() && !v4.is_broadcast(),
        IpAddr::V6(v6) => !v6.is_multicast(),
    }
}

/// An IPv6 address with a zone: `fe80::1%eth0` or `fe80::1%2`.
fn scoped(host: &str, port: u16) -> Option<SocketAddr> {
    let (address, zone) = host.split_once('%')?;
    let scope = match zone.parse() {
        Ok(index) => index,
        Err(_) => index_of(zone)?,
    };
    Some(SocketAddrV6::new(address.parse().ok()?, port, 0, scope).into())
}

/// What to say of a link-local address without an interface, or of an address with one that this host does not have;
/// `there` finds this host's interfaces with a link-local address.
fn without_interface(host: &str, there: impl FnOnce() -> Vec<String>) -> Option<String> {
    let (address, zone) = match host.split_once('%') {
        Some((address, zone)) => (address, Some(zone)),
        None => (host, None),
    };
    let address: Ipv6Addr = address.parse().ok()?;
    if zone.is_none() && !address.is_unicast_link_local() {
        return None;
    }
    let there = there();
    let remedy = match &there[..] {
        [] => "no interface of this host has a link-local address".to_owned(),
        [only] => format!("give {address}%{only}"),
        [first, ..] => format!("this host has {}; give {address}%{first}", there.join(", ")),
    };
    Some(match zone {
        Some(zone) => format!("{host}: this host has no interface {zone}; {remedy}"),
        None => format!("{host} is link-local: it needs its interface; {remedy}"),
    })
}

/// Line to the first address of `host` that answers.
pub(super) fn connect(target: &Target, host: &str, port: u16) -> Result<Line> {
    connect_to(target, &resolve(host, port, target.ip)?)
}

/// Line to the first address that answers; without a control connection, to the first with a route.
pub(super) fn connect_to(target: &Target, addresses: &[SocketAddr]) -> Result<Line> {
    let about = target.far.kind().about();
    let port = addresses
        .first()
        .map_or(about.default_port, SocketAddr::port);
    let failed = |error: io::Error| {
        if let Some(why) = addresses
            .first()
            .and_then(|to| no_way_to(*to, error.kind()))
        {
            let message = format!("cannot connect to {}: {error}; {why}", target.far);
            return Failure::new(ExitCode::HostLacks, message);
        }
        if let Some(remedy) = resource_remedy(&error) {
            let message = format!("cannot connect to {}: {error}; {remedy}", target.far);
            return Failure::new(ExitCode::HostLacks, message);
        }
        let message = format!(
            "cannot connect to {}: {error}; start {} there, and let every firewall pass {}; see `linerate ports`",
            target.far,
            about.start_hint,
            about.open_ports(port)
        );
        Failure::new(ExitCode::Peer, message)
    };
    if about.control == Control::Connection {
        let stream = dial(addresses, target.timeout).map_err(failed)?;
        return Line::over(stream, target.timeout);
    }
    Ok(first(addresses, Line::to).map_err(failed)?)
}

/// What is wrong with this host's own way to `remote`, and what to do: there is none, or the interface that carries it is
/// down.
fn no_way_to(remote: SocketAddr, error: io::ErrorKind) -> Option<String> {
    let mut netlink = Netlink::new().ok()?;
    let to = remote.ip().to_canonical();
    let link = match netlink.route_to(to, RouteBy::Destination) {
        Ok(route) => netlink.link(route.interface),
        // Its routes go with it.
        Err(_) if to.is_loopback() => netlink.link_named(&InterfaceName::new(LOOPBACK)?),
        Err(_) if error == io::ErrorKind::NetworkUnreachable => {
            let why = "this host has no route there: see with `ip link` and `ip route` whether an interface is down or lacks an address";
            return Some(why.to_owned());
        }
        Err(_) => return None,
    };
    let link = link.ok()?;
    (!link.has_carrier).then(|| {
        let name = link.name;
        format!(
            "the interface {name}, through which this host reaches it, is down or has no carrier: ip link set {name} up"
        )
    })
}

/// The interface of this host's own addresses.
const LOOPBACK: &str = "lo";

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
    fn a_link_local_address_needs_an_interface_of_this_host() {
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        for (host, there, words) in [
            (
                "fe80::1",
                &[][..],
                "fe80::1 is link-local: it needs its interface; no interface of this host has a link-local address",
            ),
            (
                "fe80::1",
                &["eth0"],
                "fe80::1 is link-local: it needs its interface; give fe80::1%eth0",
            ),
            (
                "fe80::1%nosuch",
                &["eth0", "wlan0"],
                "fe80::1%nosuch: this host has no interface nosuch; this host has eth0, wlan0; give fe80::1%eth0",
            ),
        ] {
            assert_eq!(
                without_interface(host, || names(there)).as_deref(),
                Some(words)
            );
        }
        for host in ["fd77::1", "192.0.2.1", "board", "board%eth0"] {
            assert_eq!(without_interface(host, || names(&["eth0"])), None);
        }
        for host in ["fe80::1", "fe80::1%no-such-if"] {
            let error = resolve(host, 7, IpChoice::Any).unwrap_err();
            assert_eq!(error.code, ExitCode::Usage, "{error}");
        }
        assert!(resolve("fe80::1%lo", 7, IpChoice::Any).is_ok());
    }

    #[test]
    fn the_wrong_ip_version_is_named() {
        let error = resolve("127.0.0.1", 7, IpChoice::V6).unwrap_err();
        assert!(error.message.contains("no IPv6 address"), "{error}");
        assert_eq!(error.code, ExitCode::Usage);
    }
}

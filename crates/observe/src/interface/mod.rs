//! Finds the interface that carries the traffic to a peer.
//!
//! The kernel's routing is queried first, which covers policy routing and several addresses on one interface.
//! Link-local addresses need their interface; they, and hosts without netlink, are looked up by the local address.

use crate::host_view::{HostView, Scope};
use crate::text::whole_lines;
use linerate_sys::netlink::{Netlink, RouteBy};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const ROUTE: &str = "proc/thread-self/net/route";
const DEV: &str = "proc/thread-self/net/dev";
const IF_INET6: &str = "proc/thread-self/net/if_inet6";

/// Interface of traffic between `local`, this host's address on the control connection, and `remote`. `None` if it is
/// unknown or ambiguous.
pub fn interface_for(scope: &Scope, remote: IpAddr, local: IpAddr) -> Option<String> {
    let (remote, local) = (remote.to_canonical(), local.to_canonical());
    if remote.is_loopback() || local.is_loopback() || remote == local {
        return Some("lo".to_owned());
    }
    let host = HostView::new(scope);
    let routed = || {
        let mut netlink = Netlink::new().ok()?;
        let route = netlink.route_to(remote, RouteBy::Source(local)).ok()?;
        Some(netlink.link(route.interface).ok()?.name)
    };
    let by_kernel = if host.is_live() && !is_link_local(local) {
        routed()
    } else {
        None
    };
    by_kernel.or_else(|| by_tables(&host, remote, local))
}

/// Interface of traffic to other hosts: that of the default route, else the only one besides loopback; else `None`.
pub fn default_interface(scope: &Scope) -> Option<String> {
    /// A documentation address (RFC 5737), which only the default route matches.
    const DOCUMENTATION_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
    let host = HostView::new(scope);
    let routed = host
        .text(ROUTE)
        .ok()
        .and_then(|table| best_route(&table, DOCUMENTATION_ADDRESS));
    routed.or_else(|| {
        let table = host.text(DEV).ok()?;
        let mut names = whole_lines(&table)
            .filter_map(|line| Some(line.split_once(':')?.0.trim()))
            .filter(|name| *name != "lo");
        let only = names.next()?;
        names.next().is_none().then(|| only.to_owned())
    })
}

/// Refuses a scope whose interface this host does not have; the error names those there are. Where the host does not
/// tell them, any may be right.
pub fn check_interface(scope: &Scope) -> Result<(), String> {
    let host = HostView::new(scope);
    let (Some(asked), Ok(table)) = (&scope.interface, host.text(DEV)) else {
        return Ok(());
    };
    let names = whole_lines(&table).filter_map(|line| Some(line.split_once(':')?.0.trim()));
    let names: Vec<_> = names.collect();
    if names.is_empty() || names.contains(&asked.as_str()) {
        return Ok(());
    }
    let names = names.join(", ");
    Err(format!(
        "--interface {asked}: this host has no such interface; it has {names}"
    ))
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => false,
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

fn by_tables(host: &HostView<'_>, remote: IpAddr, local: IpAddr) -> Option<String> {
    match (remote, local) {
        (IpAddr::V4(remote), _) => best_route(&host.text(ROUTE).ok()?, remote),
        (_, IpAddr::V6(local)) => owner6(&host.text(IF_INET6).ok()?, local),
        (IpAddr::V6(_), IpAddr::V4(_)) => None,
    }
}

/// Interface of the longest prefix that contains `remote`, then of the lowest metric.
fn best_route(table: &str, remote: Ipv4Addr) -> Option<String> {
    whole_lines(table)
        .filter_map(Route::parse)
        .filter(|route| route.leads_to(remote))
        .max_by_key(|route| (route.mask.to_bits(), u32::MAX - route.metric))
        .map(|route| route.interface.to_owned())
}

/// A line of `route`: `Iface Destination Gateway Flags RefCnt Use Metric Mask …`
struct Route<'a> {
    interface: &'a str,
    destination: Ipv4Addr,
    flags: u32,
    metric: u32,
    mask: Ipv4Addr,
}

impl<'a> Route<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let interface = words.next()?;
        let destination = address4(words.next()?)?;
        let flags = u32::from_str_radix(words.nth(1)?, 16).ok()?;
        let metric = words.nth(2)?.parse().ok()?;
        let mask = address4(words.next()?)?;
        Some(Self {
            interface,
            destination,
            flags,
            metric,
            mask,
        })
    }

    /// Whether the route is up, not a reject route, and its prefix contains `remote`.
    fn leads_to(&self, remote: Ipv4Addr) -> bool {
        const UP: u32 = 1;
        const REJECT: u32 = 0x200;
        let is_usable = self.flags & (UP | REJECT) == UP;
        let prefix = remote.to_bits() & self.mask.to_bits();
        is_usable && prefix == self.destination.to_bits()
    }
}

/// Parses an address, which the kernel prints as one number in host byte order.
fn address4(hex: &str) -> Option<Ipv4Addr> {
    let number = u32::from_str_radix(hex, 16).ok()?;
    Some(Ipv4Addr::from(number.to_ne_bytes()))
}

/// The interface that has `local`; `None` if several have it.
fn owner6(table: &str, local: Ipv6Addr) -> Option<String> {
    let mut owners = whole_lines(table).filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let address = u128::from_str_radix(words.next()?, 16).ok()?;
        let name = words.last()?;
        (Ipv6Addr::from_bits(address) == local).then_some(name)
    });
    let owner = owners.next()?;
    owners.next().is_none().then(|| owner.to_owned())
}

#[cfg(test)]
mod tests;

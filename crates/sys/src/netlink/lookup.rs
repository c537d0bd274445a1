//! How the kernel would reach an address: interface, next hop, its MAC address.

use super::message::Message;
use super::{InterfaceIndex, MacAddress, Netlink};
use crate::clock::MonoClock;
use linerate_model::Clock;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// Where the kernel would send packets for an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Out of which interface.
    pub interface: InterfaceIndex,
    /// To whom on its link: a router, or the address itself.
    pub next_hop: IpAddr,
    /// Whether the address is this host's own.
    pub is_local: bool,
}

/// An interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkFacts {
    /// Its name.
    pub name: String,
    /// Its MAC address; `None` unless its frames are Ethernet's.
    pub mac: Option<MacAddress>,
    /// Longest IP packet in bytes.
    pub mtu: u32,
    /// Receive queues that it can have at most.
    pub receive_queues: u32,
}

/// How long a neighbour may take to answer: the kernel asks three times, a second apart.
const NEIGHBOUR_LIMIT: Duration = Duration::from_secs(4);

impl Netlink {
    /// The route to `address`; `scope` is the interface of a link-local address, 0 for others.
    pub fn route_to(&mut self, address: IpAddr, scope: u32) -> io::Result<Route> {
        let mut message = Message::query(libc::RTM_GETROUTE);
        message.route_header(address);
        message.address(libc::RTA_DST, address);
        if scope != 0 {
            message.number(libc::RTA_OIF, scope);
        }
        let answer = self.exchange(message)?;
        route(&answer, address).ok_or_else(|| other("netlink named no interface for a route"))
    }

    /// What interface `index` is.
    pub fn link_facts(&mut self, index: InterfaceIndex) -> io::Result<LinkFacts> {
        let mut message = Message::query(libc::RTM_GETLINK);
        message.link_header(index, 0);
        let answer = self.exchange(message)?;
        link(&answer).ok_or_else(|| other("netlink answered something that is not a link"))
    }

    /// The MAC address of `neighbour` on the link of interface `index`. If the kernel does not know it, it is made
    /// to ask; `TimedOut` if nobody answers. Needs `CAP_NET_ADMIN` then.
    pub fn mac_of(&mut self, index: InterfaceIndex, neighbour: IpAddr) -> io::Result<MacAddress> {
        if let Some(mac) = self.known_mac(index, neighbour)? {
            return Ok(mac);
        }
        let mut message = Message::ensure(libc::RTM_NEWNEIGH);
        message.neighbour_use_header(index, neighbour);
        message.address(libc::NDA_DST, neighbour);
        self.request(message)?;
        let deadline = MonoClock.now().after(NEIGHBOUR_LIMIT);
        let mut found = None;
        self.wait_until(deadline, |netlink| {
            found = netlink.known_mac(index, neighbour)?;
            Ok(found.is_some())
        })?;
        found.ok_or_else(|| io::ErrorKind::TimedOut.into())
    }

    /// The MAC address of `neighbour` as far as the kernel knows it.
    fn known_mac(
        &mut self,
        index: InterfaceIndex,
        neighbour: IpAddr,
    ) -> io::Result<Option<MacAddress>> {
        let mut message = Message::query(libc::RTM_GETNEIGH);
        message.neighbour_header(index, neighbour, 0);
        message.address(libc::NDA_DST, neighbour);
        match self.exchange(message) {
            Ok(answer) => Ok(neighbour_mac(&answer)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn other(text: &str) -> io::Error {
    io::Error::other(text.to_owned())
}

/// Bytes before the attributes, after `struct nlmsghdr`: `rtmsg`, `ifinfomsg`, `ndmsg`.
const ROUTE: usize = 12;
const LINK: usize = 16;
const NEIGHBOUR: usize = 12;

fn route(answer: &[u8], address: IpAddr) -> Option<Route> {
    let kind = super::message::route_type(answer)?;
    let found = |attribute| super::message::attribute(answer, ROUTE, attribute);
    let index = u32::from_ne_bytes(*found(libc::RTA_OIF)?.first_chunk()?);
    let router = found(libc::RTA_GATEWAY).and_then(ip);
    // IPv4 by a router of IPv6: family, then address.
    let via = found(RTA_VIA).and_then(|via| ip(via.get(2..)?));
    Some(Route {
        interface: InterfaceIndex(index),
        next_hop: router.or(via).unwrap_or(address),
        is_local: kind == libc::RTN_LOCAL,
    })
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(|octets| Ipv4Addr::from(octets).into());
    let v6 = || <[u8; 16]>::try_from(bytes).map(|octets| Ipv6Addr::from(octets).into());
    v4.or_else(|_| v6()).ok()
}

fn link(answer: &[u8]) -> Option<LinkFacts> {
    super::message::link_index(answer)?;
    let found = |attribute| super::message::attribute(answer, LINK, attribute);
    let number = |attribute| Some(u32::from_ne_bytes(*found(attribute)?.first_chunk()?));
    let is_ethernet = super::message::link_hardware(answer)? == libc::ARPHRD_ETHER;
    let mac = found(libc::IFLA_ADDRESS).and_then(|mac| <[u8; 6]>::try_from(mac).ok());
    let name = found(libc::IFLA_IFNAME)?.split(|byte| *byte == 0).next()?;
    Some(LinkFacts {
        name: String::from_utf8_lossy(name).into_owned(),
        mac: mac.filter(|_| is_ethernet).map(MacAddress),
        mtu: number(libc::IFLA_MTU)?,
        receive_queues: number(IFLA_NUM_RX_QUEUES).unwrap_or(1),
    })
}

/// The MAC address in an `RTM_NEWNEIGH` answer, unless the kernel only once knew it.
fn neighbour_mac(answer: &[u8]) -> Option<MacAddress> {
    const STATE_IN_NDMSG: usize = 8;
    let state = super::message::neighbour_word(answer, STATE_IN_NDMSG)?;
    let usable = state & (libc::NUD_INCOMPLETE | libc::NUD_FAILED) == 0;
    let mac = super::message::attribute(answer, NEIGHBOUR, libc::NDA_LLADDR)?;
    let mac = <[u8; 6]>::try_from(mac).ok().filter(|_| usable)?;
    Some(MacAddress(mac))
}

/// `linux/rtnetlink.h`.
const RTA_VIA: u16 = 18;
/// `linux/if_link.h`.
const IFLA_NUM_RX_QUEUES: u16 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer of the kernel with this fixed part and these attributes.
    fn answer(kind: u16, fixed: &[u8], attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut message = Message::query(kind);
        message.raw(fixed);
        for (kind, value) in attributes {
            message.bytes(*kind, value);
        }
        message.finish(1)
    }

    fn route_answer(kind: u8, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let fixed = [2, 32, 0, 0, 0, 0, 0, kind, 0, 0, 0, 0];
        answer(libc::RTM_NEWROUTE, &fixed, attributes)
    }

    #[test]
    fn a_route_by_a_router_names_it_and_one_on_the_link_the_address() {
        let far: IpAddr = "10.9.0.1".parse().unwrap();
        let index = 7_u32.to_ne_bytes();
        let direct = route_answer(1, &[(libc::RTA_OIF, &index)]);
        let expected = Route {
            interface: InterfaceIndex(7),
            next_hop: far,
            is_local: false,
        };
        assert_eq!(route(&direct, far), Some(expected));
        let next_hop = |attribute| {
            let answer = route_answer(1, &[(libc::RTA_OIF, &index), attribute]);
            route(&answer, far).unwrap().next_hop.to_string()
        };
        let gateway = (libc::RTA_GATEWAY, &[10, 0, 0, 254][..]);
        assert_eq!(next_hop(gateway), "10.0.0.254");
        let mut via = vec![10, 0];
        via.extend([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(next_hop((RTA_VIA, &via)), "fe80::1");
    }

    #[test]
    fn cut_answers_are_no_routes() {
        let far: IpAddr = "10.9.0.1".parse().unwrap();
        let whole = route_answer(2, &[(libc::RTA_OIF, &7_u32.to_ne_bytes())]);
        assert!(route(&whole, far).unwrap().is_local);
        for length in 0..whole.len() {
            assert_eq!(route(&whole[..length], far), None, "{length}");
        }
    }

    #[test]
    fn a_neighbour_that_did_not_answer_has_no_mac_address() {
        let mac = [2, 0, 0, 0, 0, 9];
        let state = |state: u16| {
            let [low, high] = state.to_ne_bytes();
            let fixed = [2, 0, 0, 0, 7, 0, 0, 0, low, high, 0, 0];
            neighbour_mac(&answer(
                libc::RTM_NEWNEIGH,
                &fixed,
                &[(libc::NDA_LLADDR, &mac)],
            ))
        };
        assert_eq!(state(libc::NUD_STALE), Some(MacAddress(mac)));
        assert_eq!(state(libc::NUD_FAILED), None);
        assert_eq!(state(libc::NUD_INCOMPLETE), None);
    }

    #[test]
    fn loopback_has_no_ethernet_and_is_where_own_addresses_are() {
        let mut netlink = Netlink::new().unwrap();
        let route = netlink.route_to("127.0.0.1".parse().unwrap(), 0).unwrap();
        assert!(route.is_local);
        let link = netlink.link_facts(route.interface).unwrap();
        assert_eq!((link.name.as_str(), link.mac), ("lo", None));
    }
}

//! Addresses, and routes to them: interface, next hop, its MAC address.

use super::answer::{attribute, number};
use super::{InterfaceIndex, MacAddress, Netlink};
use crate::clock::MonoClock;
use linerate_model::Clock as _;
use netlink_packet_core::{Emitable as _, parse_ip, parse_mac};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::neighbour::{
    NeighbourAttribute, NeighbourFlags, NeighbourHeader, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage as Message};
use std::io;
use std::net::IpAddr;
use std::time::Duration;

/// Route of packets to an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Outgoing interface.
    pub interface: InterfaceIndex,
    /// Next hop on its link: a router, or the address itself.
    pub next_hop: IpAddr,
    /// Whether the address is this host's own.
    pub is_local: bool,
}

/// Route selector besides the destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteBy {
    /// None.
    Destination,
    /// Index of the interface to which a link-local address belongs.
    Scope(u32),
    /// Source address.
    Source(IpAddr),
}

/// Timeout of neighbour resolution: the kernel asks three times, a second apart.
const NEIGHBOUR_LIMIT: Duration = Duration::from_secs(4);

impl Netlink {
    /// The route to `address`.
    pub fn route_to(&mut self, address: IpAddr, by: RouteBy) -> io::Result<Route> {
        let mut question = RouteMessage::default();
        question.header.address_family = family(address);
        question.header.destination_prefix_length = bits(address);
        question.attributes = vec![RouteAttribute::Destination(address.into())];
        match by {
            RouteBy::Destination => {}
            RouteBy::Scope(index) => question.attributes.push(RouteAttribute::Oif(index)),
            RouteBy::Source(source) => {
                question.header.source_prefix_length = bits(source);
                question
                    .attributes
                    .push(RouteAttribute::Source(source.into()));
            }
        }
        self.ask(Message::GetRoute(question), |body| route(body, address))
    }

    /// Whether `address` is local to this host. For IPv6 that takes effect some time after [`Netlink::add_address`],
    /// even without duplicate address detection.
    pub fn is_local(&mut self, address: IpAddr) -> io::Result<bool> {
        match self.route_to(address, RouteBy::Destination) {
            Ok(route) => Ok(route.is_local),
            Err(error) if error.kind() == io::ErrorKind::NetworkUnreachable => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Adds an address to the interface, usable at once (no duplicate address detection).
    pub fn add_address(
        &mut self,
        index: InterfaceIndex,
        address: IpAddr,
        prefix: u8,
    ) -> io::Result<()> {
        let attributes = [
            AddressAttribute::Local(address),
            AddressAttribute::Address(address),
        ];
        self.put_address(index, family(address), prefix, attributes)
    }

    /// Adds a point-to-point address with `peer` to the interface: the kernel adds a route to it.
    pub fn add_address_to_peer(
        &mut self,
        index: InterfaceIndex,
        address: IpAddr,
        peer: IpAddr,
    ) -> io::Result<()> {
        let attributes = [
            AddressAttribute::Local(address),
            AddressAttribute::Address(peer),
        ];
        self.put_address(index, family(address), bits(address), attributes)
    }

    fn put_address(
        &mut self,
        index: InterfaceIndex,
        family: AddressFamily,
        prefix: u8,
        attributes: [AddressAttribute; 2],
    ) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.index = index.0;
        message.header.family = family;
        message.header.prefix_len = prefix;
        message.header.flags = AddressHeaderFlags::Nodad;
        message.attributes = attributes.into();
        self.create(Message::NewAddress(message))
    }

    /// Adds a route to a network by a router on the link of interface `index`.
    pub fn add_route(
        &mut self,
        network: IpAddr,
        prefix: u8,
        router: IpAddr,
        index: InterfaceIndex,
    ) -> io::Result<()> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(network);
        message.header.destination_prefix_length = prefix;
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Static;
        message.header.scope = RouteScope::Universe;
        message.header.kind = RouteType::Unicast;
        message.attributes = vec![
            RouteAttribute::Destination(network.into()),
            RouteAttribute::Gateway(router.into()),
            RouteAttribute::Oif(index.0),
        ];
        self.create(Message::NewRoute(message))
    }

    /// Adds a permanent neighbour entry: the MAC address of `address` is never resolved.
    pub fn add_neighbour(
        &mut self,
        index: InterfaceIndex,
        address: IpAddr,
        mac: MacAddress,
    ) -> io::Result<()> {
        let mut message = neighbour(index, address);
        message.header.state = NeighbourState::Permanent;
        let mac = NeighbourAttribute::LinkLayerAddress(mac.0.to_vec());
        message.attributes.push(mac);
        self.create(Message::NewNeighbour(message))
    }

    /// MAC address of `address` on the link of interface `index`. If it is unknown, the kernel resolves it, which needs
    /// `CAP_NET_ADMIN`; `TimedOut` if nobody answers.
    pub fn mac_of(&mut self, index: InterfaceIndex, address: IpAddr) -> io::Result<MacAddress> {
        if let Some(mac) = self.known_mac(index, address)? {
            return Ok(mac);
        }
        // A neighbour entry in use state makes the kernel resolve the address.
        let mut message = neighbour(index, address);
        message.header.flags = NeighbourFlags::Use;
        self.ensure(Message::NewNeighbour(message))?;
        let deadline = MonoClock.now().after(NEIGHBOUR_LIMIT);
        let mut found = None;
        self.wait_until(deadline, |netlink| {
            found = netlink.known_mac(index, address)?;
            Ok(found.is_some())
        })?;
        found.ok_or_else(|| io::ErrorKind::TimedOut.into())
    }

    /// MAC address of `address` in the kernel's neighbour table.
    fn known_mac(
        &mut self,
        index: InterfaceIndex,
        address: IpAddr,
    ) -> io::Result<Option<MacAddress>> {
        let question = Message::GetNeighbour(neighbour(index, address));
        match self.ask(question, |body| Some(neighbour_mac(body))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            answer => answer,
        }
    }
}

fn neighbour(index: InterfaceIndex, address: IpAddr) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = family(address);
    message.header.ifindex = index.0;
    message.attributes = vec![NeighbourAttribute::Destination(address.into())];
    message
}

const fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

/// Length of the host prefix of an address.
const fn bits(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

/// Route to `address` in the body of an `RTM_NEWROUTE`.
pub(super) fn route(body: &[u8], address: IpAddr) -> Option<Route> {
    let header = RouteHeader::parse(body).ok()?;
    let attributes = &body[header.buffer_len()..];
    let ip = |bytes| parse_ip(bytes).ok();
    let router = attribute(attributes, libc::RTA_GATEWAY).and_then(ip);
    // IPv4 through an IPv6 router: family, then address.
    let via = attribute(attributes, RTA_VIA).and_then(|via| ip(via.get(2..)?));
    Some(Route {
        interface: InterfaceIndex(number(attributes, libc::RTA_OIF)?),
        next_hop: router.or(via).unwrap_or(address),
        is_local: header.kind == RouteType::Local,
    })
}

/// MAC address in the body of an `RTM_NEWNEIGH`; `None` if the entry is not valid.
pub(super) fn neighbour_mac(body: &[u8]) -> Option<MacAddress> {
    let header = NeighbourHeader::parse(body).ok()?;
    let mac = attribute(&body[header.buffer_len()..], libc::NDA_LLADDR)?;
    let state = u16::from(header.state);
    let is_usable = state & (libc::NUD_INCOMPLETE | libc::NUD_FAILED) == 0;
    parse_mac(mac).ok().filter(|_| is_usable).map(MacAddress)
}

/// `linux/rtnetlink.h`.
const RTA_VIA: u16 = 18;

#[cfg(test)]
mod tests {
    use super::super::tests::attribute_bytes;
    use super::*;

    fn route_body(kind: u8, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut body = vec![2, 32, 0, 0, 0, 0, 0, kind, 0, 0, 0, 0];
        body.extend(attribute_bytes(attributes));
        body
    }

    #[test]
    fn a_route_by_a_router_names_it_and_one_on_the_link_the_address() {
        let destination: IpAddr = "10.9.0.1".parse().unwrap();
        let index = 7_u32.to_ne_bytes();
        let direct = route_body(1, &[(libc::RTA_OIF, &index)]);
        let expected = Route {
            interface: InterfaceIndex(7),
            next_hop: destination,
            is_local: false,
        };
        assert_eq!(route(&direct, destination), Some(expected));
        let next_hop = |attribute| {
            let body = route_body(1, &[(libc::RTA_OIF, &index), attribute]);
            route(&body, destination).unwrap().next_hop.to_string()
        };
        let gateway = (libc::RTA_GATEWAY, &[10, 0, 0, 254][..]);
        assert_eq!(next_hop(gateway), "10.0.0.254");
        let mut via = vec![10, 0];
        via.extend([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(next_hop((RTA_VIA, &via)), "fe80::1");
    }

    #[test]
    fn cut_answers_are_no_routes() {
        let destination: IpAddr = "10.9.0.1".parse().unwrap();
        let whole = route_body(2, &[(libc::RTA_OIF, &7_u32.to_ne_bytes())]);
        assert!(route(&whole, destination).unwrap().is_local);
        for length in 0..whole.len() {
            assert_eq!(route(&whole[..length], destination), None, "{length}");
        }
    }

    #[test]
    fn a_neighbour_that_did_not_answer_has_no_mac_address() {
        let mac = [2, 0, 0, 0, 0, 9];
        let state = |state: u16| {
            let [low, high] = state.to_ne_bytes();
            let mut body = vec![2, 0, 0, 0, 7, 0, 0, 0, low, high, 0, 0];
            body.extend(attribute_bytes(&[(libc::NDA_LLADDR, &mac)]));
            neighbour_mac(&body)
        };
        assert_eq!(state(libc::NUD_STALE), Some(MacAddress(mac)));
        assert_eq!(state(libc::NUD_FAILED), None);
        assert_eq!(state(libc::NUD_INCOMPLETE), None);
    }

    #[test]
    fn own_addresses_are_local() {
        let mut netlink = Netlink::new().unwrap();
        let own = "127.0.0.1".parse().unwrap();
        assert!(netlink.is_local(own).unwrap());
        let by_source = netlink.route_to(own, RouteBy::Source(own)).unwrap();
        assert_eq!(netlink.link(by_source.interface).unwrap().name, "lo");
    }
}

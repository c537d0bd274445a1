//! Interfaces: their properties, creation and configuration.

use super::answer::{attribute, number, text};
use super::{InterfaceIndex, InterfaceName, MacAddress, Netlink};
use crate::netns::NetNamespace;
use netlink_packet_core::Emitable as _;
use netlink_packet_route::RouteNetlinkMessage as Message;
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, In6AddrGenMode, InfoData, InfoKind, InfoVeth, LinkAttribute,
    LinkFlags, LinkHeader, LinkInfo, LinkLayerType, LinkMessage, State,
};
use std::io;
use std::os::fd::AsRawFd as _;

/// An interface, as the kernel describes it (`RTM_GETLINK`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its index.
    pub index: InterfaceIndex,
    /// Its name.
    pub name: String,
    /// Its link layer.
    pub layer: LinkLayer,
    /// Hardware address; empty where the device has none.
    pub address: Vec<u8>,
    /// Kind of a virtual device (`veth`, `bridge`, `tun`); `None` for hardware and loopback.
    pub kind: Option<String>,
    /// Index of the interface below it or, of a veth, of its peer.
    pub lower_index: Option<u32>,
    /// Whether it is operational (RFC 2863): it and its peer are up, and the kernel has noticed, which takes some time.
    pub is_operational: bool,
    /// Whether it is up and has a carrier (`IFF_UP`, `IFF_LOWER_UP`), also where its driver reports no operational state.
    pub has_carrier: bool,
    /// Largest L3 packet in bytes.
    pub mtu_bytes: u32,
    /// Queueing discipline at its root (`fq_codel`, `noqueue`).
    pub qdisc: Option<String>,
    /// Length of its transmit queue in packets.
    pub tx_queue_packets: Option<u32>,
    /// Maximum number of receive queues.
    pub rx_queues: Option<u32>,
    /// Maximum number of transmit queues.
    pub tx_queues: Option<u32>,
}

/// Link layer of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkLayer {
    /// Ethernet.
    Ethernet,
    /// Loopback.
    Loopback,
    /// Another, or none.
    Other,
}

impl Link {
    /// Its MAC address; `None` unless it is an Ethernet interface.
    pub fn mac(&self) -> Option<MacAddress> {
        let mac = <[u8; 6]>::try_from(&self.address[..]).ok()?;
        (self.layer == LinkLayer::Ethernet).then_some(MacAddress(mac))
    }

    /// Kind of its virtual device; `None` if it may have hardware.
    pub fn virtual_kind(&self) -> Option<&str> {
        let loopback = (self.layer == LinkLayer::Loopback).then_some("loopback");
        self.kind.as_deref().or(loopback)
    }
}

/// One end of a veth pair to be created.
#[derive(Debug, Clone)]
pub struct VethEnd<'a> {
    /// Its name.
    pub name: &'a InterfaceName,
    /// Its MAC address.
    pub mac: MacAddress,
    /// The namespace in which it is created; `None` is the socket's own.
    pub namespace: Option<&'a NetNamespace>,
}

/// Maximum aggregate (GSO, GRO) that the stack may build for an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregation {
    /// The kernel's default.
    Default,
    /// None: one segment per frame.
    None,
}

impl Netlink {
    /// Properties of interface `index`.
    pub fn link(&mut self, index: InterfaceIndex) -> io::Result<Link> {
        self.ask(Message::GetLink(message(index, vec![])), parse)
    }

    /// Properties of the interface called `name`.
    pub fn link_named(&mut self, name: &InterfaceName) -> io::Result<Link> {
        let name = LinkAttribute::IfName(name.as_str().to_owned());
        self.ask(Message::GetLink(message(ANY, vec![name])), parse)
    }

    /// Creates a veth pair with both ends down.
    pub fn add_veth(
        &mut self,
        near: &VethEnd<'_>,
        far: &VethEnd<'_>,
        mtu: u32,
        aggregation: Aggregation,
    ) -> io::Result<()> {
        let mut pair = veth_end(near, mtu, aggregation);
        let peer = InfoVeth::Peer(veth_end(far, mtu, aggregation));
        pair.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(peer)),
        ]));
        self.create(Message::NewLink(pair))
    }

    /// Disables IPv6 autoconfiguration on the interface, so that it sends no router solicitation and no duplicate
    /// address detection.
    pub fn disable_ipv6_autoconf(&mut self, index: InterfaceIndex) -> io::Result<()> {
        let inet6 = vec![AfSpecInet6::AddrGenMode(In6AddrGenMode::None)];
        let families = LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Inet6(inet6)]);
        self.change(Message::NewLink(message(index, vec![families])))
    }

    /// Brings the interface up.
    pub fn set_up(&mut self, index: InterfaceIndex) -> io::Result<()> {
        let mut link = message(index, vec![]);
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        self.change(Message::NewLink(link))
    }

    /// Takes the interface down.
    pub fn set_down(&mut self, index: InterfaceIndex) -> io::Result<()> {
        let mut link = message(index, vec![]);
        link.header.change_mask = LinkFlags::Up;
        self.change(Message::NewLink(link))
    }

    /// Sets the MTU of the interface in bytes.
    pub fn set_mtu(&mut self, index: InterfaceIndex, mtu: u32) -> io::Result<()> {
        let mtu = LinkAttribute::Mtu(mtu);
        self.change(Message::NewLink(message(index, vec![mtu])))
    }

    /// Sets the MAC address.
    pub fn set_mac(&mut self, index: InterfaceIndex, mac: MacAddress) -> io::Result<()> {
        let mac = LinkAttribute::Address(mac.0.to_vec());
        self.change(Message::NewLink(message(index, vec![mac])))
    }

    /// Moves the interface into another namespace, where it is down and has no address.
    pub fn move_to(&mut self, index: InterfaceIndex, namespace: &NetNamespace) -> io::Result<()> {
        let namespace = LinkAttribute::NetNsFd(namespace.descriptor().as_raw_fd());
        self.change(Message::NewLink(message(index, vec![namespace])))
    }

    /// Deletes a virtual interface; of a veth both ends.
    pub fn delete(&mut self, index: InterfaceIndex) -> io::Result<()> {
        self.change(Message::DelLink(message(index, vec![])))
    }
}

/// Index 0: no interface.
pub(super) const ANY: InterfaceIndex = InterfaceIndex(0);

pub(super) fn message(index: InterfaceIndex, attributes: Vec<LinkAttribute>) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index.0;
    message.attributes = attributes;
    message
}

fn veth_end(end: &VethEnd<'_>, mtu: u32, aggregation: Aggregation) -> LinkMessage {
    let mut attributes = vec![
        LinkAttribute::IfName(end.name.as_str().to_owned()),
        LinkAttribute::Address(end.mac.0.to_vec()),
        LinkAttribute::Mtu(mtu),
    ];
    if aggregation == Aggregation::None {
        attributes.push(LinkAttribute::GsoMaxSegs(1));
    }
    let namespace = end.namespace.map(|it| it.descriptor().as_raw_fd());
    attributes.extend(namespace.map(LinkAttribute::NetNsFd));
    message(ANY, attributes)
}

/// Parses the body of an `RTM_NEWLINK`.
pub(super) fn parse(body: &[u8]) -> Option<Link> {
    let header = LinkHeader::parse(body).ok()?;
    let attributes = &body[header.buffer_len()..];
    let info = attribute(attributes, libc::IFLA_LINKINFO).unwrap_or_default();
    let state = attribute(attributes, IFLA_OPERSTATE).and_then(|state| state.first());
    Some(Link {
        index: InterfaceIndex(header.index),
        name: text(attributes, libc::IFLA_IFNAME)?,
        layer: match header.link_layer_type {
            LinkLayerType::Ether => LinkLayer::Ethernet,
            LinkLayerType::Loopback => LinkLayer::Loopback,
            _ => LinkLayer::Other,
        },
        address: attribute(attributes, libc::IFLA_ADDRESS)
            .unwrap_or_default()
            .to_vec(),
        kind: text(info, libc::IFLA_INFO_KIND),
        lower_index: number(attributes, libc::IFLA_LINK),
        is_operational: state.is_some_and(|state| State::from(*state) == State::Up),
        has_carrier: header.flags.contains(LinkFlags::Up | LinkFlags::LowerUp),
        mtu_bytes: number(attributes, libc::IFLA_MTU)?,
        qdisc: text(attributes, libc::IFLA_QDISC),
        tx_queue_packets: number(attributes, libc::IFLA_TXQLEN),
        rx_queues: number(attributes, IFLA_NUM_RX_QUEUES),
        tx_queues: number(attributes, IFLA_NUM_TX_QUEUES),
    })
}

/// `linux/if_link.h`.
const IFLA_OPERSTATE: u16 = 16;
/// `linux/if_link.h`.
const IFLA_NUM_TX_QUEUES: u16 = 31;
/// `linux/if_link.h`.
const IFLA_NUM_RX_QUEUES: u16 = 32;

#[cfg(test)]
mod tests {
    use super::super::tests::attribute_bytes;
    use super::*;

    #[test]
    fn an_interface_is_read_from_its_answer() {
        let mut body = vec![0; 16];
        body[2..4].copy_from_slice(&libc::ARPHRD_ETHER.to_ne_bytes());
        body[4..8].copy_from_slice(&7_u32.to_ne_bytes());
        let nested = attribute_bytes(&[(1, b"veth\0")]);
        body.extend(attribute_bytes(&[
            (3, b"veth0\0"),
            (1, &[2, 0, 0xab, 0, 0, 1]),
            (4, &1500_u32.to_ne_bytes()),
            (16, &[6]),
            (6, b"fq_codel\0"),
            (0x8012, &nested),
        ]));
        let link = parse(&body).unwrap();
        assert_eq!((link.index.0, link.name.as_str()), (7, "veth0"));
        assert_eq!(link.mac(), Some(MacAddress([2, 0, 0xab, 0, 0, 1])));
        assert_eq!(link.virtual_kind(), Some("veth"));
        assert_eq!(link.qdisc.as_deref(), Some("fq_codel"));
        assert_eq!((link.mtu_bytes, link.rx_queues), (1500, None));
        assert!(link.is_operational);
    }

    #[test]
    fn the_live_loopback_device_describes_itself() {
        let mut netlink = Netlink::new().unwrap();
        let lo = netlink
            .link_named(&InterfaceName::new("lo").unwrap())
            .unwrap();
        assert_eq!(lo.virtual_kind(), Some("loopback"));
        assert_eq!((lo.name.as_str(), lo.mac()), ("lo", None));
        assert_eq!(netlink.link(lo.index).unwrap(), lo);
    }
}

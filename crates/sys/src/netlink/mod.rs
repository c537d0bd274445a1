//! Interfaces, addresses and neighbours by rtnetlink, without the `ip` program.
//!
//! Only what a testbed needs to build; the whole protocol is not the aim.
//!
//! # References
//! - Message and attribute layout: netlink(7), rtnetlink(7); `linux/rtnetlink.h`, `linux/if_link.h`

mod lookup;
mod message;
mod qdisc;

pub use lookup::{LinkFacts, Route};

use crate::clock::MonoClock;
use crate::netns::NetNamespace;
use crate::wake::wait;
use linerate_model::{Clock, MonoInstant};
use message::Message;
pub use qdisc::Qdisc;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, sendto,
    socket_with,
};
use std::ffi::c_char;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// A name that an interface can have: 1 to 15 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceName(String);

impl InterfaceName {
    /// `None` unless `name` has 1 to 15 ASCII letters, digits, `-`, `_` or `.`.
    pub fn new(name: &str) -> Option<Self> {
        let sound = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        let fits = (1..libc::IFNAMSIZ).contains(&name.len()) && name.bytes().all(sound);
        fits.then(|| Self(name.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as the C API holds it, padded with zeros.
    pub(crate) fn as_c_chars(&self) -> [c_char; libc::IFNAMSIZ] {
        let mut chars = [0; libc::IFNAMSIZ];
        for (to, from) in chars.iter_mut().zip(self.0.bytes()) {
            *to = c_char::from_ne_bytes([from]);
        }
        chars
    }
}

impl fmt::Display for InterfaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The kernel's number of an interface, valid in one network namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterfaceIndex(pub(crate) u32);

/// A MAC address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MacAddress(pub [u8; 6]);

/// One end of a veth pair to make.
#[derive(Debug, Clone)]
pub struct VethEnd<'a> {
    /// Its name.
    pub name: &'a InterfaceName,
    /// Its address.
    pub mac: MacAddress,
    /// The namespace it is born in; `None` is the socket's own.
    pub namespace: Option<&'a NetNamespace>,
}

/// Largest aggregate that the stack may build for an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregation {
    /// As the kernel sets it.
    Default,
    /// None: one segment per frame.
    None,
}

/// A route-netlink socket of the network namespace of the thread that made it.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    /// For the calling thread's network namespace.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            socket: open(0)?,
            sequence: 0,
        })
    }

    /// Makes a veth pair with both ends down.
    pub fn add_veth(
        &mut self,
        near: &VethEnd<'_>,
        far: &VethEnd<'_>,
        mtu: u32,
        aggregation: Aggregation,
    ) -> io::Result<()> {
        let mut message = Message::create(libc::RTM_NEWLINK);
        message.link_header(InterfaceIndex(0), 0);
        put_end(&mut message, near, mtu, aggregation);
        message.nest(libc::IFLA_LINKINFO, |info| {
            info.bytes(libc::IFLA_INFO_KIND, b"veth");
            info.nest(libc::IFLA_INFO_DATA, |data| {
                data.nest(VETH_INFO_PEER, |peer| {
                    peer.link_header(InterfaceIndex(0), 0);
                    put_end(peer, far, mtu, aggregation);
                });
            });
        });
        self.request(message)
    }

    /// The number of the interface called `name`.
    pub fn index_of(&mut self, name: &InterfaceName) -> io::Result<InterfaceIndex> {
        let mut message = Message::query(libc::RTM_GETLINK);
        message.link_header(InterfaceIndex(0), 0);
        message.text(libc::IFLA_IFNAME, name.as_str());
        let answer = self.exchange(message)?;
        message::link_index(&answer)
            .map(InterfaceIndex)
            .ok_or_else(|| io::Error::other("netlink answered something that is not a link"))
    }

    /// Stops the kernel from giving the interface IPv6 addresses by itself, so that it sends no
    /// router solicitation and no duplicate address detection.
    pub fn disable_ipv6_autoconf(&mut self, index: InterfaceIndex) -> io::Result<()> {
        let mut message = Message::change(libc::RTM_NEWLINK);
        message.link_header(index, 0);
        message.nest(libc::IFLA_AF_SPEC, |families| {
            families.nest(AF_INET6, |inet6| {
                inet6.bytes(IFLA_INET6_ADDR_GEN_MODE, &[IN6_ADDR_GEN_MODE_NONE]);
            });
        });
        self.request(message)
    }

    /// Brings the interface up.
    pub fn set_up(&mut self, index: InterfaceIndex) -> io::Result<()> {
        let mut message = Message::change(libc::RTM_NEWLINK);
        message.link_header(index, IFF_UP);
        self.request(message)
    }

    /// Changes the longest IP packet that the interface sends and takes.
    pub fn set_mtu(&mut self, index: InterfaceIndex, mtu: u32) -> io::Result<()> {
        let mut message = Message::change(libc::RTM_NEWLINK);
        message.link_header(index, 0);
        message.number(libc::IFLA_MTU, mtu);
        self.request(message)
    }

    /// Whether the interface carries frames: it and its peer are up, and the kernel, which
    /// notices that some time after, has noticed.
    pub fn is_operational(&mut self, index: InterfaceIndex) -> io::Result<bool> {
        let mut message = Message::query(libc::RTM_GETLINK);
        message.link_header(index, 0);
        let answer = self.exchange(message)?;
        Ok(message::operational_state(&answer) == Some(IF_OPER_UP))
    }

    /// Gives the interface an address, at once usable (no duplicate address detection).
    pub fn add_address(
        &mut self,
        index: InterfaceIndex,
        address: IpAddr,
        prefix: u8,
    ) -> io::Result<()> {
        let mut message = Message::create(libc::RTM_NEWADDR);
        let flags = u8::try_from(libc::IFA_F_NODAD).expect("invariant: the flag is 0x02");
        message.address_header(index, address, prefix, flags);
        message.address(libc::IFA_LOCAL, address);
        message.address(libc::IFA_ADDRESS, address);
        self.request(message)
    }

    /// Gives the interface an address whose only neighbour is `peer`: the kernel makes a route to it.
    pub fn add_address_to_peer(
        &mut self,
        index: InterfaceIndex,
        address: IpAddr,
        peer: IpAddr,
    ) -> io::Result<()> {
        let mut message = Message::create(libc::RTM_NEWADDR);
        let flags = u8::try_from(libc::IFA_F_NODAD).expect("invariant: the flag is 0x02");
        let prefix = if address.is_ipv4() { 32 } else { 128 };
        message.address_header(index, address, prefix, flags);
        message.address(libc::IFA_LOCAL, address);
        message.address(libc::IFA_ADDRESS, peer);
        self.request(message)
    }

    /// Tells the interface the MAC address behind `address` for good: nothing will ask for it.
    pub fn add_neighbour(
        &mut self,
        index: InterfaceIndex,
        address: IpAddr,
        mac: MacAddress,
    ) -> io::Result<()> {
        let mut message = Message::create(libc::RTM_NEWNEIGH);
        message.neighbour_header(index, address, libc::NUD_PERMANENT);
        message.address(libc::NDA_DST, address);
        message.bytes(libc::NDA_LLADDR, &mac.0);
        self.request(message)
    }

    /// Whether packets to `address` end here. The kernel sees to that some time after
    /// [`Netlink::add_address`] for IPv6, even without duplicate address detection.
    pub fn is_local(&mut self, address: IpAddr) -> io::Result<bool> {
        let mut message = Message::query(libc::RTM_GETROUTE);
        message.route_header(address);
        message.address(libc::RTA_DST, address);
        match self.exchange(message) {
            Ok(answer) => Ok(message::route_type(&answer) == Some(libc::RTN_LOCAL)),
            Err(error) if error.kind() == io::ErrorKind::NetworkUnreachable => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Blocks until `holds` is true of this namespace's interfaces, neighbours or routes, or `deadline`.
    pub fn wait_until(
        &mut self,
        deadline: MonoInstant,
        mut holds: impl FnMut(&mut Self) -> io::Result<bool>,
    ) -> io::Result<()> {
        // Listens before it looks, so that no change is missed.
        let changes = open(RTMGRP_LINK | RTMGRP_NEIGH | RTMGRP_IPV6_ROUTE)?;
        let mut change = vec![0_u8; ANSWER];
        while !holds(self)? {
            if MonoClock.now() >= deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
            wait([changes.as_fd()], Some(deadline))?;
            // Nothing to read after a time-out or signal; what changed is looked up anew.
            let _ = recv(&changes, change.as_mut_slice(), RecvFlags::DONTWAIT);
        }
        Ok(())
    }

    fn request(&mut self, message: Message) -> io::Result<()> {
        self.exchange(message).map(drop)
    }

    /// Sends one message and returns the first answer; the kernel's refusal is the error.
    fn exchange(&mut self, message: Message) -> io::Result<Vec<u8>> {
        self.sequence += 1;
        let bytes = message.finish(self.sequence);
        let kernel = SocketAddrNetlink::new(0, 0);
        sendto(&self.socket, &bytes, SendFlags::empty(), &kernel)?;
        let mut answer = vec![0_u8; ANSWER];
        let (length, _) = recv(&self.socket, answer.as_mut_slice(), RecvFlags::empty())?;
        answer.truncate(length);
        message::check(&answer, self.sequence)?;
        Ok(answer)
    }
}

/// A route-netlink socket that hears of changes in `groups`.
fn open(groups: u32) -> io::Result<OwnedFd> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        NETLINK_ROUTE,
    )?;
    bind(&socket, &SocketAddrNetlink::new(0, groups))?;
    Ok(socket)
}

fn put_end(message: &mut Message, end: &VethEnd<'_>, mtu: u32, aggregation: Aggregation) {
    message.text(libc::IFLA_IFNAME, end.name.as_str());
    message.bytes(libc::IFLA_ADDRESS, &end.mac.0);
    message.number(libc::IFLA_MTU, mtu);
    if aggregation == Aggregation::None {
        message.number(IFLA_GSO_MAX_SEGS, 1);
    }
    if let Some(namespace) = end.namespace {
        let fd = namespace.descriptor().as_raw_fd();
        let fd = u32::try_from(fd).expect("invariant: an open descriptor is not negative");
        message.number(IFLA_NET_NS_FD, fd);
    }
}

/// `linux/veth.h`.
const VETH_INFO_PEER: u16 = 1;
/// `linux/if_link.h`.
const IFLA_NET_NS_FD: u16 = 28;
/// `linux/if_link.h`.
const IFLA_GSO_MAX_SEGS: u16 = 40;
/// `linux/if_link.h`, nested in `IFLA_AF_SPEC` / `AF_INET6`.
const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;
/// `linux/if_link.h`, `enum in6_addr_gen_mode`.
const IN6_ADDR_GEN_MODE_NONE: u8 = 1;
/// As an attribute number.
const AF_INET6: u16 = 10;
/// `linux/if.h`, RFC 2863.
const IF_OPER_UP: u8 = 6;
/// `linux/rtnetlink.h`.
const RTMGRP_LINK: u32 = 1;
/// `linux/rtnetlink.h`.
const RTMGRP_NEIGH: u32 = 4;
/// `linux/rtnetlink.h`.
const RTMGRP_IPV6_ROUTE: u32 = 0x400;
/// What the kernel's largest message needs (`NLMSG_GOODSIZE`), with room.
const ANSWER: usize = 32 * 1024;
/// `linux/if.h`.
const IFF_UP: u32 = 1;
/// `linux/netlink.h`: protocol 0, which the socket call writes as none.
const NETLINK_ROUTE: Option<Protocol> = None;

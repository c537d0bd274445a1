//! Interfaces, addresses, neighbours, routes and queueing disciplines by rtnetlink, and the chains of nftables, without
//! the programs `ip`, `tc` and `nft`.
//!
//! Messages are built and parsed with `netlink-packet-route` and `netlink-packet-core`. Results belong to the network
//! namespace of the thread that created the socket.
//!
//! # References
//! - RFC 3549; netlink(7), rtnetlink(7); `linux/rtnetlink.h`, `linux/if_link.h`, `linux/gen_stats.h`

mod answer;
mod bridge;
mod htb;
mod link;
mod nftables;
mod qdisc;
mod route;
mod stats;

pub use bridge::Learning;
pub use link::{Aggregation, Link, LinkLayer, VethEnd};
pub use nftables::base_chains;
pub use qdisc::{Qdisc, QdiscStats};
pub use route::{Route, RouteBy};
pub use stats::LinkStats;

use crate::clock::MonoClock;
use crate::wake::wait;
use linerate_model::{Clock, MonoInstant};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage,
};
use netlink_packet_route::RouteNetlinkMessage as Message;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, sendto,
    socket_with,
};
use std::ffi::c_char;
use std::fmt;
use std::io;
#[cfg(any(test, feature = "_fuzzing"))]
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};

/// A valid interface name: 1 to 15 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceName(String);

impl InterfaceName {
    /// Checks `name` by the kernel's own rule (`dev_valid_name`), which also prevents path traversal: no white space,
    /// `/` or `:`, not `.` or `..`.
    pub fn new(name: &str) -> Option<Self> {
        let fits = (1..libc::IFNAMSIZ).contains(&name.len()) && !matches!(name, "." | "..");
        let is_plain = |c: char| !c.is_whitespace() && !matches!(c, '/' | ':' | '\0');
        (fits && name.chars().all(is_plain)).then(|| Self(name.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as a C array, padded with zeros.
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

/// The kernel's index of an interface, valid in one network namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct InterfaceIndex(pub(crate) u32);

impl InterfaceIndex {
    /// The index as a number.
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// A MAC address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MacAddress(pub [u8; 6]);

impl fmt::Display for MacAddress {
    /// As `52:54:00:12:34:56`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, byte) in self.0.iter().enumerate() {
            let separator = if position == 0 { "" } else { ":" };
            write!(f, "{separator}{byte:02x}")?;
        }
        Ok(())
    }
}

/// A route-netlink socket in the network namespace of the thread that created it.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    /// For the calling thread's network namespace.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            socket: open(NETLINK_ROUTE, 0)?,
            sequence: 0,
        })
    }

    /// Waits until `holds` is true of this namespace's interfaces, neighbours or routes, or until `deadline`.
    pub fn wait_until(
        &mut self,
        deadline: MonoInstant,
        mut holds: impl FnMut(&mut Self) -> io::Result<bool>,
    ) -> io::Result<()> {
        // Subscribe before checking, so that no change is missed.
        let changes = open(
            NETLINK_ROUTE,
            RTMGRP_LINK | RTMGRP_NEIGH | RTMGRP_IPV6_ROUTE,
        )?;
        let mut change = answer_buffer();
        while !holds(self)? {
            if MonoClock.now() >= deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
            wait([changes.as_fd()], Some(deadline))?;
            // Nothing to read after a timeout or signal; the state is checked anew in any case.
            let _ = recv(&changes, change.as_mut_slice(), RecvFlags::DONTWAIT);
        }
        Ok(())
    }

    /// Creates an object; an error if it exists.
    fn create(&mut self, message: Message) -> io::Result<()> {
        self.request(message, NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Creates an object unless it exists.
    fn ensure(&mut self, message: Message) -> io::Result<()> {
        self.request(message, NLM_F_CREATE)
    }

    /// Creates an object or replaces the existing one.
    fn replace(&mut self, message: Message) -> io::Result<()> {
        self.request(message, NLM_F_CREATE | NLM_F_REPLACE)
    }

    /// Modifies an existing object.
    fn change(&mut self, message: Message) -> io::Result<()> {
        self.request(message, 0)
    }

    fn request(&mut self, message: Message, flags: u16) -> io::Result<()> {
        self.exchange(message, flags | NLM_F_ACK).map(drop)
    }

    /// Requests one object and parses its fixed part and attributes with `read`.
    fn ask<T>(
        &mut self,
        question: Message,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> io::Result<T> {
        read(&self.exchange(question, 0)?).ok_or_else(lacking)
    }

    /// Sends one message and returns the body of its answer; a refusal is the error.
    fn exchange(&mut self, message: Message, flags: u16) -> io::Result<Vec<u8>> {
        self.sequence += 1;
        let message = request(message, flags, self.sequence);
        send(&self.socket, &serialized(&message))?;
        // Message types come in groups of four: new, delete, get, set. A request is answered by "new".
        let kind = message.header.message_type & !3;
        let mut buffer = answer_buffer();
        loop {
            let datagram = receive(&self.socket, &mut buffer)?;
            if let Some(body) = answer::answer(datagram, kind, self.sequence) {
                return body.map(<[u8]>::to_vec);
            }
        }
    }
}

fn request(message: Message, flags: u16, sequence: u32) -> NetlinkMessage<Message> {
    let mut message = NetlinkMessage::from(message);
    message.header.flags = NLM_F_REQUEST | flags;
    message.header.sequence_number = sequence;
    message.finalize();
    message
}

fn serialized(message: &NetlinkMessage<Message>) -> Vec<u8> {
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

/// Sends `question` for a list of objects; `take` reads one datagram of the answer and returns whether it was the last.
/// A list longer than `MAX_DATAGRAMS` is cut.
fn dump(
    protocol: Option<Protocol>,
    question: &[u8],
    mut take: impl FnMut(&[u8]) -> io::Result<bool>,
) -> io::Result<()> {
    // A socket of its own: the rest of a list that was cut would be the answer to the next question.
    let socket = open(protocol, 0)?;
    send(&socket, question)?;
    let mut buffer = answer_buffer();
    for _ in 0..MAX_DATAGRAMS {
        // The kernel creates each part of its answer when the previous one is read.
        if take(receive(&socket, &mut buffer)?)? {
            break;
        }
    }
    Ok(())
}

fn lacking() -> io::Error {
    io::Error::other("the kernel's answer lacks the requested attribute")
}

/// Opens a netlink socket in the calling thread's network namespace, subscribed to `groups`.
fn open(protocol: Option<Protocol>, groups: u32) -> io::Result<OwnedFd> {
    let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC, protocol)?;
    bind(&socket, &SocketAddrNetlink::new(0, groups))?;
    Ok(socket)
}

fn send(socket: &OwnedFd, message: &[u8]) -> io::Result<()> {
    let kernel = SocketAddrNetlink::new(0, 0);
    sendto(socket, message, SendFlags::empty(), &kernel)?;
    Ok(())
}

/// Receives the next datagram of an answer. The kernel answers before the request's system call returns, so this never
/// waits.
fn receive<'a>(socket: &OwnedFd, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
    let flags = RecvFlags::TRUNC | RecvFlags::DONTWAIT;
    let (_, length) = recv(socket, &mut *buffer, flags)?;
    buffer
        .get(..length)
        .ok_or_else(|| io::Error::other("the kernel's answer is longer than 32 KiB"))
}

/// Receive buffer for the kernel's largest message (`NLMSG_GOODSIZE`), with reserve.
fn answer_buffer() -> Vec<u8> {
    vec![0; 32 * 1024]
}

/// Maximum number of datagrams read of a list: each holds dozens of objects.
const MAX_DATAGRAMS: usize = 64;
/// `linux/rtnetlink.h`.
const RTMGRP_LINK: u32 = 1;
/// `linux/rtnetlink.h`.
const RTMGRP_NEIGH: u32 = 4;
/// `linux/rtnetlink.h`.
const RTMGRP_IPV6_ROUTE: u32 = 0x400;
/// `linux/netlink.h`: protocol 0, which the socket call writes as none.
const NETLINK_ROUTE: Option<Protocol> = None;

/// Runs every parser on `bytes`, as a datagram and as the body of each message in it, for fuzzing: answers are parsed
/// with privileges, and a foreign kernel module may make them arbitrary.
#[cfg(any(test, feature = "_fuzzing"))]
pub fn read_all(bytes: &[u8]) {
    let read = |body: &[u8]| {
        let _ = (link::parse(body), qdisc::qdisc(body), qdisc::stats(body));
        let _ = stats::stats(body);
        let _ = route::route(body, IpAddr::from([0; 4]));
        let _ = route::neighbour_mac(body);
    };
    read(bytes);
    answer::messages(bytes).for_each(|message| read(message.payload()));
    for kind in [16, 24, 28, 36] {
        let _ = answer::answer(bytes, kind, 1);
    }
    let (mut chains, mut classes) = (Vec::new(), Vec::new());
    let _ = nftables::take(bytes, &mut chains);
    let _ = htb::take(bytes, &mut classes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_core::{DefaultNla, Emitable as _, NetlinkHeader};
    use proptest::prelude::*;

    /// One message as the kernel would send it.
    pub(super) fn datagram(kind: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
        let mut header = NetlinkHeader::default();
        header.length = u32::try_from(16 + body.len()).unwrap();
        header.message_type = kind;
        header.sequence_number = sequence;
        let mut bytes = vec![0; 16];
        header.emit(&mut bytes);
        bytes.extend(body);
        bytes
    }

    pub(super) fn attribute_bytes(attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let list: Vec<_> = attributes
            .iter()
            .map(|(kind, value)| DefaultNla::new(*kind, value.to_vec()))
            .collect();
        let mut bytes = vec![0; list.as_slice().buffer_len()];
        list.as_slice().emit(&mut bytes);
        bytes
    }

    #[test]
    fn names_that_the_kernel_would_refuse_are_refused() {
        for good in ["eth0", "enp0s31f6.4094", "eth0@x"] {
            assert!(InterfaceName::new(good).is_some(), "{good}");
        }
        for bad in ["", ".", "..", "a name", "sixteen-bytes-xx", "a/b", "a:1"] {
            assert!(InterfaceName::new(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn an_unknown_interface_is_refused_and_the_next_question_answered() {
        let mut netlink = Netlink::new().unwrap();
        let unknown = InterfaceName::new("no-such-if").unwrap();
        let error = netlink.link_named(&unknown).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
        let lo = netlink.link_named(&InterfaceName::new("lo").unwrap());
        let index = lo.unwrap().index;
        netlink.root_qdisc(index).unwrap();
        assert_eq!(netlink.link(index).unwrap().index, index);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parsers_panic(bytes: Vec<u8>) {
            read_all(&bytes);
        }
    }
}

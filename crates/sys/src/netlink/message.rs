//! Building and reading route-netlink messages as bytes.

use super::InterfaceIndex;
use std::io;
use std::net::IpAddr;

/// A request under construction. Layout: `struct nlmsghdr`, a family header, attributes.
#[derive(Debug)]
pub(super) struct Message(Vec<u8>);

/// Length of `struct nlmsghdr` (`linux/netlink.h`).
pub(super) const HEADER: usize = 16;

impl Message {
    /// Makes a new object; refused if it exists.
    pub(super) fn create(kind: u16) -> Self {
        Self::new(
            kind,
            libc::NLM_F_CREATE | libc::NLM_F_EXCL | libc::NLM_F_ACK,
        )
    }

    /// Makes a new object unless it exists.
    pub(super) fn ensure(kind: u16) -> Self {
        Self::new(kind, libc::NLM_F_CREATE | libc::NLM_F_ACK)
    }

    /// Changes an object that exists.
    pub(super) fn change(kind: u16) -> Self {
        Self::new(kind, libc::NLM_F_ACK)
    }

    /// Asks for one object.
    pub(super) fn query(kind: u16) -> Self {
        Self::new(kind, 0)
    }

    /// Asks for one object that may not be there, and for an acknowledgement. With an echo, because of
    /// queueing disciplines the kernel tells those who listen for changes, and not the one who asks.
    pub(super) fn acknowledged_query(kind: u16) -> Self {
        Self::new(kind, libc::NLM_F_ACK | libc::NLM_F_ECHO)
    }

    /// Puts an object in the place of what is there, if anything.
    pub(super) fn replacement(kind: u16) -> Self {
        Self::new(
            kind,
            libc::NLM_F_CREATE | libc::NLM_F_REPLACE | libc::NLM_F_ACK,
        )
    }

    fn new(kind: u16, flags: i32) -> Self {
        let flags = u16::try_from(flags | libc::NLM_F_REQUEST)
            .expect("invariant: netlink flags have 16 bits");
        let mut message = Self(vec![0; HEADER]);
        message.0[4..6].copy_from_slice(&kind.to_ne_bytes());
        message.0[6..8].copy_from_slice(&flags.to_ne_bytes());
        message
    }

    /// `struct ifinfomsg`; `flags` are set and no other flag is touched.
    pub(super) fn link_header(&mut self, index: InterfaceIndex, flags: u32) {
        self.0.extend([0; 4]);
        self.0.extend(index.0.to_ne_bytes());
        self.0.extend(flags.to_ne_bytes());
        self.0.extend(flags.to_ne_bytes());
    }

    /// `struct ifaddrmsg`.
    pub(super) fn address_header(
        &mut self,
        index: InterfaceIndex,
        address: IpAddr,
        prefix: u8,
        flags: u8,
    ) {
        const SCOPE_UNIVERSE: u8 = 0;
        self.0
            .extend([family(address), prefix, flags, SCOPE_UNIVERSE]);
        self.0.extend(index.0.to_ne_bytes());
    }

    /// `struct tcmsg` of what is at the root of an interface.
    pub(super) fn qdisc_header(&mut self, index: InterfaceIndex, handle: u32) {
        /// `linux/pkt_sched.h`.
        const TC_H_ROOT: u32 = u32::MAX;
        self.0.extend([0; 4]);
        self.0.extend(index.0.to_ne_bytes());
        self.0.extend(handle.to_ne_bytes());
        self.0.extend(TC_H_ROOT.to_ne_bytes());
        self.0.extend([0; 4]);
    }

    /// `struct ndmsg`.
    pub(super) fn neighbour_header(&mut self, index: InterfaceIndex, address: IpAddr, state: u16) {
        self.0.extend([family(address), 0, 0, 0]);
        self.0.extend(index.0.to_ne_bytes());
        self.0.extend(state.to_ne_bytes());
        self.0.extend([0; 2]);
    }

    /// `struct ndmsg` that makes the kernel ask for a neighbour as if a packet was to be sent to it (`NTF_USE`).
    pub(super) fn neighbour_use_header(&mut self, index: InterfaceIndex, address: IpAddr) {
        const NTF_USE: u8 = 1;
        self.0.extend([family(address), 0, 0, 0]);
        self.0.extend(index.0.to_ne_bytes());
        self.0.extend([0, 0, NTF_USE, 0]);
    }

    /// `struct rtmsg` that asks for the route to one address.
    pub(super) fn route_header(&mut self, address: IpAddr) {
        let prefix = if address.is_ipv4() { 32 } else { 128 };
        self.0.extend([family(address), prefix]);
        self.0.extend([0; 10]);
    }

    /// A number attribute.
    pub(super) fn number(&mut self, kind: u16, value: u32) {
        self.bytes(kind, &value.to_ne_bytes());
    }

    /// A text attribute, with the zero byte that the kernel wants.
    pub(super) fn text(&mut self, kind: u16, value: &str) {
        self.nest(kind, |text| {
            text.0.extend(value.bytes());
            text.0.push(0);
        });
    }

    /// An address attribute.
    pub(super) fn address(&mut self, kind: u16, address: IpAddr) {
        match address {
            IpAddr::V4(v4) => self.bytes(kind, &v4.octets()),
            IpAddr::V6(v6) => self.bytes(kind, &v6.octets()),
        }
    }

    /// An attribute of plain bytes.
    pub(super) fn bytes(&mut self, kind: u16, value: &[u8]) {
        self.nest(kind, |plain| plain.0.extend(value));
    }

    /// A fixed part as the kernel would write it.
    #[cfg(test)]
    pub(super) fn raw(&mut self, fixed: &[u8]) {
        self.0.extend(fixed);
    }

    /// An attribute whose value is what `fill` appends: `struct rtattr`, value, padding to 4.
    pub(super) fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        let start = self.0.len();
        self.0.extend([0; 2]);
        self.0.extend(kind.to_ne_bytes());
        fill(self);
        let length = u16::try_from(self.0.len() - start)
            .expect("invariant: our attributes are far below 64 KiB");
        self.0[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    /// The bytes to send.
    pub(super) fn finish(mut self, sequence: u32) -> Vec<u8> {
        let length =
            u32::try_from(self.0.len()).expect("invariant: our messages are far below 64 KiB");
        self.0[0..4].copy_from_slice(&length.to_ne_bytes());
        self.0[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.0
    }
}

/// `Err` with the kernel's errno if `answer` is a refusal of request `sequence`.
pub(super) fn check(answer: &[u8], sequence: u32) -> io::Result<()> {
    let malformed = || io::Error::other("netlink answered with a cut message");
    if word(answer, 8).ok_or_else(malformed)? != sequence {
        return Err(io::Error::other("netlink answered another request"));
    }
    let kind = half(answer, 4).ok_or_else(malformed)?;
    if i32::from(kind) != libc::NLMSG_ERROR {
        return Ok(());
    }
    match word(answer, HEADER).ok_or_else(malformed)?.cast_signed() {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

/// The interface number in an `RTM_NEWLINK` answer.
pub(super) fn link_index(answer: &[u8]) -> Option<u32> {
    (half(answer, 4)? == libc::RTM_NEWLINK).then(|| word(answer, HEADER + 4))?
}

/// The type in an `RTM_NEWROUTE` answer.
pub(super) fn route_type(answer: &[u8]) -> Option<u8> {
    const TYPE_IN_RTMSG: usize = 7;
    (half(answer, 4)? == libc::RTM_NEWROUTE).then(|| answer.get(HEADER + TYPE_IN_RTMSG).copied())?
}

/// The RFC 2863 state in an `RTM_NEWLINK` answer.
pub(super) fn operational_state(answer: &[u8]) -> Option<u8> {
    const IFINFOMSG: usize = 16;
    const IFLA_OPERSTATE: u16 = 16;
    link_index(answer)?;
    attribute(answer, IFINFOMSG, IFLA_OPERSTATE)?
        .first()
        .copied()
}

/// The hardware type (`ARPHRD_…`) in an `RTM_NEWLINK` answer.
pub(super) fn link_hardware(answer: &[u8]) -> Option<u16> {
    link_index(answer)?;
    half(answer, HEADER + 2)
}

/// The half word at `at` of the fixed part of an `RTM_NEWNEIGH` answer.
pub(super) fn neighbour_word(answer: &[u8], at: usize) -> Option<u16> {
    (half(answer, 4)? == libc::RTM_NEWNEIGH).then(|| half(answer, HEADER + at))?
}

/// The value of attribute `kind` of an answer whose fixed part has `fixed` bytes.
pub(super) fn attribute(answer: &[u8], fixed: usize, kind: u16) -> Option<&[u8]> {
    let mut at = HEADER + fixed;
    loop {
        let length = usize::from(half(answer, at)?).max(4);
        if half(answer, at + 2)? == kind {
            return answer.get(at + 4..at + length);
        }
        at += length.next_multiple_of(4);
    }
}

pub(super) fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(super) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn family(address: IpAddr) -> u8 {
    const AF_INET: u8 = 2;
    const AF_INET6: u8 = 10;
    match address {
        IpAddr::V4(_) => AF_INET,
        IpAddr::V6(_) => AF_INET6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::InterfaceName;

    #[test]
    fn attributes_are_padded_but_their_length_is_not() {
        let mut message = Message::query(libc::RTM_GETLINK);
        message.text(libc::IFLA_IFNAME, "eth0");
        let bytes = message.finish(7);
        assert_eq!(bytes.len(), HEADER + 12);
        assert_eq!(half(&bytes, HEADER), Some(4 + 5));
        assert_eq!(word(&bytes, 0), Some(28));
        assert_eq!(word(&bytes, 8), Some(7));
    }

    #[test]
    fn a_refusal_carries_the_kernel_s_errno() {
        let mut answer = vec![0; HEADER + 4];
        answer[4..6].copy_from_slice(&2_u16.to_ne_bytes());
        answer[8..12].copy_from_slice(&9_u32.to_ne_bytes());
        answer[16..20].copy_from_slice(&(-17_i32).to_ne_bytes());
        assert_eq!(check(&answer, 9).unwrap_err().raw_os_error(), Some(17));
        assert!(check(&answer, 8).is_err());
        assert!(check(&answer[..12], 9).is_err());
    }

    #[test]
    fn the_operational_state_is_found_among_the_attributes() {
        let mut message = Message::query(libc::RTM_NEWLINK);
        message.link_header(InterfaceIndex(3), 0);
        message.text(libc::IFLA_IFNAME, "to-a");
        message.bytes(16, &[6]);
        let bytes = message.finish(1);
        assert_eq!(link_index(&bytes), Some(3));
        assert_eq!(operational_state(&bytes), Some(6));
        assert_eq!(operational_state(&bytes[..bytes.len() - 8]), None);
    }

    #[test]
    fn names_that_the_kernel_would_cut_are_refused() {
        assert!(InterfaceName::new("eth0").is_some());
        for bad in ["", "a name", "sixteen-bytes-xx", "a/b"] {
            assert!(InterfaceName::new(bad).is_none(), "{bad}");
        }
    }
}

//! Counters of an interface (`IFLA_STATS64`).

use super::answer::attribute;
use super::link::message;
use super::{InterfaceIndex, Netlink};
use netlink_packet_core::Emitable as _;
use netlink_packet_route::RouteNetlinkMessage as Message;
use netlink_packet_route::link::LinkHeader;
use std::io;

/// Frames of an interface since it was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkStats {
    /// Frames received.
    pub rx_packets: u64,
    /// Frames sent.
    pub tx_packets: u64,
    /// Bytes received, without FCS.
    pub rx_bytes: u64,
    /// Bytes sent, without FCS.
    pub tx_bytes: u64,
    /// Frames dropped on receive.
    pub rx_dropped: u64,
    /// Frames dropped on send; of a veth end, those for which its peer had no room.
    pub tx_dropped: u64,
}

impl Netlink {
    /// Counters of interface `index`.
    pub fn link_stats(&mut self, index: InterfaceIndex) -> io::Result<LinkStats> {
        self.ask(Message::GetLink(message(index, vec![])), stats)
    }
}

/// Counters in the body of an `RTM_NEWLINK`: the kernel's `rtnl_link_stats64` begins with these fields in this order,
/// and grows at its end.
pub(super) fn stats(body: &[u8]) -> Option<LinkStats> {
    let header = LinkHeader::parse(body).ok()?;
    let block = attribute(&body[header.buffer_len()..], IFLA_STATS64)?;
    let field = |nth: usize| {
        let bytes = block.get(nth * 8..nth * 8 + 8)?;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    };
    Some(LinkStats {
        rx_packets: field(0)?,
        tx_packets: field(1)?,
        rx_bytes: field(2)?,
        tx_bytes: field(3)?,
        rx_dropped: field(6)?,
        tx_dropped: field(7)?,
    })
}

/// `linux/if_link.h`.
const IFLA_STATS64: u16 = 23;

#[cfg(test)]
mod tests {
    use super::super::InterfaceName;
    use super::super::tests::attribute_bytes;
    use super::*;

    #[test]
    fn counters_are_read_from_the_kernels_block() {
        let words: Vec<u8> = (1_u64..=24).flat_map(u64::to_ne_bytes).collect();
        let mut body = vec![0; 16];
        body.extend(attribute_bytes(&[(IFLA_STATS64, &words)]));
        let wanted = LinkStats {
            rx_packets: 1,
            tx_packets: 2,
            rx_bytes: 3,
            tx_bytes: 4,
            rx_dropped: 7,
            tx_dropped: 8,
        };
        assert_eq!(stats(&body), Some(wanted));
        let mut cut = vec![0; 16];
        cut.extend(attribute_bytes(&[(IFLA_STATS64, &words[..60])]));
        assert_eq!(stats(&cut), None);
    }

    #[test]
    fn the_loopback_interface_receives_what_it_sends() {
        let mut netlink = Netlink::new().unwrap();
        let lo = netlink.link_named(&InterfaceName::new("lo").unwrap());
        let counted = netlink.link_stats(lo.unwrap().index).unwrap();
        assert_eq!(counted.rx_packets, counted.tx_packets);
    }
}

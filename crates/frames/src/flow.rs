//! Both ends of a flow.

use crate::{ETHERNET_HEADER, IPV4_HEADER, IPV6_HEADER, UDP_HEADER};
use std::net::SocketAddr;

/// One end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// MAC address of the interface, or of the next-hop router.
    pub mac: [u8; 6],
    /// IP address and port.
    pub address: SocketAddr,
}

/// Addresses that distinguish the test's datagrams from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Where frames are made.
    pub local: End,
    /// Where they go.
    pub remote: End,
    /// DSCP and ECN of sent packets.
    pub traffic_class: u8,
}

impl Flow {
    /// Bytes of Ethernet, IP and UDP headers.
    pub const fn headers(&self) -> usize {
        let ip = if self.is_ipv4() {
            IPV4_HEADER
        } else {
            IPV6_HEADER
        };
        ETHERNET_HEADER + ip + UDP_HEADER
    }

    /// Whether its packets are of IPv4.
    pub const fn is_ipv4(&self) -> bool {
        self.remote.address.is_ipv4()
    }
}

/// The way of frames between the two ports of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From port A to port B.
    AToB,
    /// From port B to port A.
    BToA,
}

//! Headers under construction, from the outermost inwards.

use crate::checksum::octets;
use crate::places::LengthField;
use crate::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, Flow, Transport, Way};
use std::net::IpAddr;

/// IPv4 TTL and IPv6 hop limit; Linux's default.
const HOP_LIMIT: u8 = 64;

/// DF bit in the high byte of the IPv4 flags field.
const DO_NOT_FRAGMENT: u8 = 0x40;

/// What is written so far.
pub(crate) struct Build<'a> {
    pub(crate) bytes: Vec<u8>,
    pub(crate) lengths: Vec<LengthField>,
    /// First byte of each IPv4 header.
    pub(crate) ipv4: Vec<usize>,
    /// Places of the source ports of UDP tunnels.
    pub(crate) tunnel_ports: Vec<usize>,
    flow: &'a Flow,
    way: Way,
}

impl<'a> Build<'a> {
    pub(crate) const fn new(flow: &'a Flow, way: Way) -> Self {
        Self {
            bytes: Vec::new(),
            lengths: Vec::new(),
            ipv4: Vec::new(),
            tunnel_ports: Vec::new(),
            flow,
            way,
        }
    }

    /// An Ethernet header with the flow's addresses, before a header of this `EtherType`.
    pub(crate) fn ethernet(&mut self, next: u16) {
        self.bytes.extend(self.flow.remote.mac);
        self.bytes.extend(self.flow.local.mac);
        self.bytes.extend(next.to_be_bytes());
    }

    /// Source and destination: those of ports A and B, in the order of the frames' way, or the flow's.
    pub(crate) fn ends(&self, of_ports: Option<[IpAddr; 2]>) -> [IpAddr; 2] {
        match (of_ports, self.way) {
            (Some(ends), Way::AToB) => ends,
            (Some([a, b]), Way::BToA) => [b, a],
            (None, _) => [self.flow.local, self.flow.remote].map(|end| end.address.ip()),
        }
    }

    /// An IP header without options, of a packet to the end of the frame. Its first byte.
    pub(crate) fn ip(&mut self, [from, to]: [IpAddr; 2], protocol: u8) -> usize {
        let at = self.bytes.len();
        let class = self.flow.traffic_class;
        if let (IpAddr::V4(from), IpAddr::V4(to)) = (from, to) {
            self.lengths.push(LengthField {
                at: at + 2,
                from: at,
            });
            self.ipv4.push(at);
            let fixed = [0x45, class, 0, 0, 0, 0, DO_NOT_FRAGMENT, 0];
            self.bytes.extend(fixed);
            self.bytes.extend([HOP_LIMIT, protocol, 0, 0]);
            self.bytes.extend(from.octets());
            self.bytes.extend(to.octets());
        } else {
            self.lengths.push(LengthField {
                at: at + 4,
                from: at + 40,
            });
            self.bytes.extend([0x60 | class >> 4, class << 4, 0, 0]);
            self.bytes.extend([0, 0, protocol, HOP_LIMIT]);
            self.bytes.extend(octets(from));
            self.bytes.extend(octets(to));
        }
        at
    }

    /// A UDP header of a datagram to the end of the frame, without checksum.
    pub(crate) fn udp(&mut self, [from, to]: [u16; 2]) {
        let at = self.bytes.len();
        self.lengths.push(LengthField {
            at: at + 4,
            from: at,
        });
        self.bytes.extend(from.to_be_bytes());
        self.bytes.extend(to.to_be_bytes());
        self.bytes.extend([0; 4]);
    }

    /// A TCP header without options, of a segment in the middle of a connection.
    fn tcp(&mut self, [from, to]: [u16; 2]) {
        /// Five words; PSH and ACK.
        const OFFSET_AND_FLAGS: [u8; 2] = [0x50, 0x18];
        const SEQUENCE: [u8; 8] = [0, 0, 0, 1, 0, 0, 0, 1];
        self.bytes.extend(from.to_be_bytes());
        self.bytes.extend(to.to_be_bytes());
        self.bytes.extend(SEQUENCE);
        self.bytes.extend(OFFSET_AND_FLAGS);
        self.bytes.extend([0xff, 0xff, 0, 0, 0, 0]);
    }

    /// The flow's own transport header.
    pub(crate) fn transport(&mut self, transport: Transport) {
        let ports = [self.flow.local, self.flow.remote].map(|end| end.address.port());
        match transport {
            Transport::Tcp => self.tcp(ports),
            Transport::Udp => self.udp(ports),
        }
    }
}

/// `EtherType` of a packet with this address.
pub(crate) const fn ethertype(address: IpAddr) -> u16 {
    match address {
        IpAddr::V4(_) => ETHERTYPE_IPV4,
        IpAddr::V6(_) => ETHERTYPE_IPV6,
    }
}

//! UDP datagrams as Ethernet frames: made from a template, and read with suspicion.
//!
//! One flow has one template: only payload and checksum differ from datagram to datagram. Reading accepts what the
//! template of the other end makes, and nothing else: no VLAN tags, IP options, extension headers or fragments.
//! Frames with those are left to the kernel's stack by the program that chooses frames.
//!
//! # References
//! - Ethernet II: IEEE 802.3 §3.2.6; IPv4: RFC 791, identification of unfragmented packets RFC 6864 §4.1
//! - IPv6: RFC 8200 §3, its UDP checksum is not optional §8.1; UDP: RFC 768

use super::checksum::Sum;
use std::net::{IpAddr, SocketAddr};

/// Bytes before an IP packet.
pub(in crate::datapaths) const ETHERNET_HEADER: usize = 14;
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
const UDP_HEADER: usize = 8;

const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const ETHERTYPE_IPV6: [u8; 2] = [0x86, 0xdd];
const PROTOCOL_UDP: u8 = 17;

/// IPv4 TTL and IPv6 hop limit; Linux's default.
const HOP_LIMIT: u8 = 64;

/// DF bit in the high byte of the IPv4 flags field.
const DO_NOT_FRAGMENT: u8 = 0x40;

/// One end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::datapaths) struct End {
    /// MAC address of the interface, or of the next-hop router.
    pub(in crate::datapaths) mac: [u8; 6],
    /// IP address and UDP port.
    pub(in crate::datapaths) address: SocketAddr,
}

/// Addresses that distinguish the test's datagrams from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::datapaths) struct Flow {
    pub(in crate::datapaths) local: End,
    pub(in crate::datapaths) remote: End,
    /// DSCP and ECN of sent packets.
    pub(in crate::datapaths) traffic_class: u8,
}

impl Flow {
    /// Bytes of Ethernet, IP and UDP headers.
    pub(in crate::datapaths) const fn headers(&self) -> usize {
        ETHERNET_HEADER + self.ip_header() + UDP_HEADER
    }

    /// Bytes of IP and UDP headers.
    pub(in crate::datapaths) const fn packet_headers(&self) -> usize {
        self.ip_header() + UDP_HEADER
    }

    const fn ip_header(&self) -> usize {
        if self.remote.address.is_ipv4() {
            IPV4_HEADER
        } else {
            IPV6_HEADER
        }
    }
}

/// Frame of one flow and payload length, without payload and checksum.
#[derive(Debug, Clone)]
pub(in crate::datapaths) struct Template {
    headers: Vec<u8>,
    payload: usize,
    /// Checksum over pseudo-header and UDP header.
    sum: Sum,
}

impl Template {
    /// Template for payloads of `payload` bytes, at most 65 487.
    pub(in crate::datapaths) fn new(flow: &Flow, payload: usize) -> Self {
        let udp_length = short(UDP_HEADER + payload);
        let mut headers = Vec::with_capacity(flow.headers());
        headers.extend(flow.remote.mac);
        headers.extend(flow.local.mac);
        match (flow.local.address.ip(), flow.remote.address.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                headers.extend(ETHERTYPE_IPV4);
                let total = short(IPV4_HEADER + UDP_HEADER + payload).to_be_bytes();
                let mut header = [0; IPV4_HEADER];
                header[..2].copy_from_slice(&[0x45, flow.traffic_class]);
                header[2..4].copy_from_slice(&total);
                header[6] = DO_NOT_FRAGMENT;
                header[8..10].copy_from_slice(&[HOP_LIMIT, PROTOCOL_UDP]);
                header[12..16].copy_from_slice(&from.octets());
                header[16..].copy_from_slice(&to.octets());
                let checksum = Sum::default().with(&header).checksum();
                header[10..12].copy_from_slice(&checksum);
                headers.extend(header);
            }
            (from, to) => {
                headers.extend(ETHERTYPE_IPV6);
                let class = flow.traffic_class;
                headers.extend([0x60 | class >> 4, class << 4, 0, 0]);
                headers.extend(udp_length.to_be_bytes());
                headers.extend([PROTOCOL_UDP, HOP_LIMIT]);
                headers.extend(octets(from));
                headers.extend(octets(to));
            }
        }
        headers.extend(flow.local.address.port().to_be_bytes());
        headers.extend(flow.remote.address.port().to_be_bytes());
        headers.extend(udp_length.to_be_bytes());
        headers.extend([0; 2]);
        let sum = pseudo(
            flow.local.address.ip(),
            flow.remote.address.ip(),
            udp_length,
        );
        Self {
            sum: sum.with(&headers[headers.len() - UDP_HEADER..]),
            headers,
            payload,
        }
    }

    /// Length of each frame in bytes, without FCS.
    pub(in crate::datapaths) fn frame_bytes(&self) -> usize {
        self.headers.len() + self.payload
    }

    /// Writes the frame of `payload`, which has the template's length, to the start of `room`. Returns the frame's
    /// length.
    pub(in crate::datapaths) fn write(&self, payload: &[u8], room: &mut [u8]) -> usize {
        let (headers, rest) = room.split_at_mut(self.headers.len());
        headers.copy_from_slice(&self.headers);
        rest[..self.payload].copy_from_slice(payload);
        // A checksum of zero is sent as all ones: zero means that there is no checksum (RFC 768).
        let checksum = match self.sum.with(payload).checksum() {
            [0, 0] => [0xff; 2],
            checksum => checksum,
        };
        headers[self.headers.len() - 2..].copy_from_slice(&checksum);
        self.frame_bytes()
    }
}

/// Why a frame is not a valid datagram of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::datapaths) enum Refusal {
    /// Wrong checksum.
    Checksum,
    /// Inconsistent lengths.
    Length,
    /// Another flow or protocol, or headers that the XDP program does not redirect.
    NotOurs,
}

/// Payload of a frame that arrived at the local end of `flow` from the remote one.
pub(in crate::datapaths) fn payload<'a>(flow: &Flow, frame: &'a [u8]) -> Result<&'a [u8], Refusal> {
    let (ethernet, packet) = frame
        .split_at_checked(ETHERNET_HEADER)
        .ok_or(Refusal::Length)?;
    let ethertype = &ethernet[12..];
    let (from, to) = (flow.remote.address, flow.local.address);
    let datagram = match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) if ethertype == ETHERTYPE_IPV4 => {
            let (header, _) = packet
                .split_first_chunk::<IPV4_HEADER>()
                .ok_or(Refusal::Length)?;
            check_ipv4(header)?;
            if header[12..16] != from.octets() || header[16..] != to.octets() {
                return Err(Refusal::NotOurs);
            }
            let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
            packet.get(IPV4_HEADER..total).ok_or(Refusal::Length)?
        }
        (IpAddr::V6(from), IpAddr::V6(to)) if ethertype == ETHERTYPE_IPV6 => {
            let (header, _) = packet
                .split_first_chunk::<IPV6_HEADER>()
                .ok_or(Refusal::Length)?;
            if header[0] >> 4 != 6
                || header[6] != PROTOCOL_UDP
                || header[8..24] != from.octets()
                || header[24..] != to.octets()
            {
                return Err(Refusal::NotOurs);
            }
            let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
            packet
                .get(IPV6_HEADER..IPV6_HEADER + length)
                .ok_or(Refusal::Length)?
        }
        _ => return Err(Refusal::NotOurs),
    };
    udp_payload(from, to, datagram)
}

/// Checks that an IPv4 header has no options, is not of a fragment, carries UDP, and has a valid checksum.
fn check_ipv4(header: &[u8; IPV4_HEADER]) -> Result<(), Refusal> {
    const FRAGMENT_BITS: u16 = 0x3fff;
    let fragment = u16::from_be_bytes([header[6], header[7]]) & FRAGMENT_BITS;
    if header[0] != 0x45 || header[9] != PROTOCOL_UDP || fragment != 0 {
        return Err(Refusal::NotOurs);
    }
    if !Sum::default().with(header).is_intact() {
        return Err(Refusal::Checksum);
    }
    Ok(())
}

fn udp_payload(from: SocketAddr, to: SocketAddr, datagram: &[u8]) -> Result<&[u8], Refusal> {
    let (header, _) = datagram
        .split_first_chunk::<UDP_HEADER>()
        .ok_or(Refusal::Length)?;
    if header[..2] != from.port().to_be_bytes() || header[2..4] != to.port().to_be_bytes() {
        return Err(Refusal::NotOurs);
    }
    let length = u16::from_be_bytes([header[4], header[5]]);
    // What follows is padding; RFC 768 allows it.
    let datagram = datagram.get(..usize::from(length)).ok_or(Refusal::Length)?;
    let payload = datagram.get(UDP_HEADER..).ok_or(Refusal::Length)?;
    let checksum = [header[6], header[7]];
    if checksum == [0; 2] {
        // Only IPv4 allows a datagram without checksum.
        return if from.is_ipv4() {
            Ok(payload)
        } else {
            Err(Refusal::Checksum)
        };
    }
    let pseudo = pseudo(from.ip(), to.ip(), length);
    // A kernel that leaves the checksum to a device writes the pseudo-header's sum, and a virtual link has no
    // device that would do the rest (`CHECKSUM_PARTIAL`).
    if pseudo.with(datagram).is_intact() || checksum == pseudo.bytes() {
        Ok(payload)
    } else {
        Err(Refusal::Checksum)
    }
}

/// Sum over the pseudo-header (RFC 768, RFC 8200 §8.1).
fn pseudo(from: IpAddr, to: IpAddr, udp_length: u16) -> Sum {
    let sum = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            Sum::default().with(&from.octets()).with(&to.octets())
        }
        (from, to) => Sum::default().with(&octets(from)).with(&octets(to)),
    };
    sum.with_number(PROTOCOL_UDP.into()).with_number(udp_length)
}

/// Address as 16 bytes, IPv4 mapped; both ends of a flow have the same family.
fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

fn short(length: usize) -> u16 {
    u16::try_from(length).expect("invariant: payloads were checked against the interface's MTU")
}

#[cfg(test)]
mod tests;

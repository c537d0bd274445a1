//! UDP datagrams of one flow as Ethernet frames, read with suspicion. Reading accepts what the template of the other end
//! makes, and nothing else: no VLAN tags, IP options, extension headers or fragments.
//! Frames with those are left to the kernel's stack by the program that chooses frames.
//!
//! # References
//! - Ethernet II: IEEE 802.3 §3.2.6; IPv4: RFC 791, identification of unfragmented packets RFC 6864 §4.1
//! - IPv6: RFC 8200 §3, its UDP checksum is not optional §8.1; UDP: RFC 768

use linerate_frames::checksum::{Sum, pseudo};
use linerate_frames::{
    ETHERTYPE_IPV4, ETHERTYPE_IPV6, IPV4_HEADER, IPV6_HEADER, PROTOCOL_UDP, UDP_HEADER,
};
use std::net::{IpAddr, SocketAddr};

pub(in crate::datapaths) use linerate_frames::{
    ETHERNET_HEADER, End, Flow, Layout, Refusal, Template,
};

/// Payload of a frame that arrived at the local end of `flow` from the remote one.
pub(in crate::datapaths) fn payload<'a>(flow: &Flow, frame: &'a [u8]) -> Result<&'a [u8], Refusal> {
    let (ethernet, packet) = frame
        .split_at_checked(ETHERNET_HEADER)
        .ok_or(Refusal::Length)?;
    let ethertype = u16::from_be_bytes([ethernet[12], ethernet[13]]);
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
    let pseudo = pseudo(from.ip(), to.ip(), PROTOCOL_UDP, length);
    // A kernel that leaves the checksum to a device writes the pseudo-header's sum, and a virtual link has no
    // device that would do the rest (`CHECKSUM_PARTIAL`).
    if pseudo.with(datagram).is_intact() || checksum == pseudo.bytes() {
        Ok(payload)
    } else {
        Err(Refusal::Checksum)
    }
}

#[cfg(test)]
mod tests;

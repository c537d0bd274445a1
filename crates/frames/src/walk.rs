//! Reads the headers of a frame, and checks that it is whole. Frames come from a network: nothing in them is believed.

use crate::checksum::{Sum, pseudo};
use crate::headers::{self, Next};
use crate::places::TransportAt;
use crate::{
    ETHERNET_HEADER, ETHERTYPE_IPV4, ETHERTYPE_IPV6, IPV4_HEADER, IPV6_HEADER, PROTOCOL_TCP,
    PROTOCOL_UDP, TCP_HEADER, Transport, UDP_HEADER,
};

/// Most headers that are read of a frame: more than any of ours has.
const MAX_HEADERS: usize = 32;

/// A part of a frame's headers, by the offset of its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A header of the registry, by its name.
    Header(&'static str),
    /// An IPv4 header.
    Ipv4(usize),
    /// A length of 16 bits, which counts the bytes from offset `from` on.
    Length {
        /// Its place.
        at: usize,
        /// First byte that it counts.
        from: usize,
    },
    /// The innermost transport header.
    Transport {
        /// Where it lies.
        place: TransportAt,
        /// First byte behind it.
        payload_at: usize,
    },
}

/// Calls `visit` with each part of the frame's headers, from the outermost inwards, as far as they are known.
pub fn walk(frame: &[u8], visit: &mut dyn FnMut(Part)) {
    let (mut at, mut next, mut ip) = (0, Next::Ethernet, None);
    for _ in 0..MAX_HEADERS {
        let Some(rest) = frame.get(at..) else { return };
        let step = match next {
            Next::Ethernet => ethernet(rest),
            Next::Type(ETHERTYPE_IPV4) | Next::Packet if is_version(rest, 4) => {
                ip = Some((at, true));
                ipv4(rest).inspect(|_| {
                    visit(Part::Ipv4(at));
                    visit(Part::Length {
                        at: at + 2,
                        from: at,
                    });
                })
            }
            Next::Type(ETHERTYPE_IPV6) | Next::Packet if is_version(rest, 6) => {
                ip = Some((at, false));
                ipv6(rest).inspect(|_| {
                    visit(Part::Length {
                        at: at + 4,
                        from: at + IPV6_HEADER,
                    });
                })
            }
            Next::Protocol(protocol @ (PROTOCOL_TCP | PROTOCOL_UDP)) => transport(protocol, rest)
                .and_then(|(kind, length)| {
                    let inner = datagram(kind, rest, length);
                    if kind == Transport::Udp {
                        visit(Part::Length {
                            at: at + 4,
                            from: at,
                        });
                    }
                    if let (None, Some((ip_at, is_ipv4))) = (inner, ip) {
                        let place = TransportAt {
                            kind,
                            at,
                            ip_at,
                            is_ipv4,
                        };
                        let payload_at = at + length;
                        visit(Part::Transport { place, payload_at });
                    }
                    Some((length, inner?))
                }),
            _ => headers::read(rest, next).map(|(name, read)| {
                visit(Part::Header(name));
                (read.length, read.next)
            }),
        };
        let Some((length, following)) = step else {
            return;
        };
        (at, next) = (at + length, following);
    }
}

type Step = Option<(usize, Next)>;

fn ethernet(rest: &[u8]) -> Step {
    let header = rest.first_chunk::<ETHERNET_HEADER>()?;
    let next = Next::Type(u16::from_be_bytes([header[12], header[13]]));
    Some((ETHERNET_HEADER, next))
}

fn is_version(rest: &[u8], version: u8) -> bool {
    rest.first().is_some_and(|first| first >> 4 == version)
}

/// An IPv4 header of a packet that is no fragment.
fn ipv4(rest: &[u8]) -> Step {
    const FRAGMENT_BITS: u16 = 0x3fff;
    let header = rest.first_chunk::<IPV4_HEADER>()?;
    let length = usize::from(header[0] & 0xf) * 4;
    let fragment = u16::from_be_bytes([header[6], header[7]]) & FRAGMENT_BITS;
    let is_whole = fragment == 0 && (IPV4_HEADER..=rest.len()).contains(&length);
    is_whole.then_some((length, Next::Protocol(header[9])))
}

fn ipv6(rest: &[u8]) -> Step {
    let header = rest.first_chunk::<IPV6_HEADER>()?;
    Some((IPV6_HEADER, Next::Protocol(header[6])))
}

/// What a UDP datagram carries, if that is a header of the registry.
fn datagram(kind: Transport, rest: &[u8], length: usize) -> Option<Next> {
    let port = Next::Port(u16::from_be_bytes([rest[2], rest[3]]));
    let is_tunnel = kind == Transport::Udp && headers::is_known(&rest[length..], port);
    is_tunnel.then_some(port)
}

/// The transport header at the start of `rest`, and its length.
fn transport(protocol: u8, rest: &[u8]) -> Option<(Transport, usize)> {
    if protocol == PROTOCOL_UDP {
        let is_there = rest.len() >= UDP_HEADER;
        return is_there.then_some((Transport::Udp, UDP_HEADER));
    }
    let length = usize::from(*rest.get(12)? >> 4) * 4;
    let is_there = (TCP_HEADER..=rest.len()).contains(&length);
    is_there.then_some((Transport::Tcp, length))
}

/// Why a frame is not a valid one of the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Wrong checksum.
    Checksum,
    /// Inconsistent lengths.
    Length,
    /// Of others.
    NotOurs,
}

/// Whether a frame whose payload of `payload` bytes begins at `payload_at` is whole, by the lengths and checksums of its
/// headers. A frame with headers that are not known says nothing against itself.
///
/// # Errors
/// [`Refusal::Length`] or [`Refusal::Checksum`].
pub fn check(frame: &[u8], payload_at: usize, payload: usize) -> Result<(), Refusal> {
    let (mut found, mut is_intact) = (None, true);
    walk(frame, &mut |part| match part {
        Part::Ipv4(at) => {
            let options = usize::from(frame[at] & 0xf) * 4;
            let header = frame.get(at..at + options).unwrap_or_default();
            is_intact &= Sum::default().with(header).is_intact();
        }
        Part::Transport {
            place,
            payload_at: at,
        } => found = Some((place, at)),
        Part::Header(_) | Part::Length { .. } => {}
    });
    let Some((place, _)) = found.filter(|(_, at)| *at == payload_at) else {
        return Ok(());
    };
    if !is_intact {
        return Err(Refusal::Checksum);
    }
    let end = payload_at + payload;
    let segment = frame.get(place.at..end).ok_or(Refusal::Length)?;
    if packet_end(frame, &place) != Some(end) {
        return Err(Refusal::Length);
    }
    check_sum(frame, &place, segment)
}

/// The byte behind the transport's payload, as its own length or else that of its packet says.
fn packet_end(frame: &[u8], place: &TransportAt) -> Option<usize> {
    let length = |at: usize| {
        let bytes = frame.get(at..at + 2)?;
        Some(usize::from(u16::from_be_bytes([bytes[0], bytes[1]])))
    };
    match place.kind {
        Transport::Udp => Some(place.at + length(place.at + 4)?),
        Transport::Tcp if place.is_ipv4 => Some(place.ip_at + length(place.ip_at + 2)?),
        Transport::Tcp => Some(place.ip_at + IPV6_HEADER + length(place.ip_at + 4)?),
    }
}

fn check_sum(frame: &[u8], place: &TransportAt, segment: &[u8]) -> Result<(), Refusal> {
    let [from, to] = place.addresses(frame).ok_or(Refusal::Length)?;
    let length = u16::try_from(segment.len()).map_err(|_| Refusal::Length)?;
    let at = place.checksum_at() - place.at;
    let checksum = [segment[at], segment[at + 1]];
    if place.kind == Transport::Udp && checksum == [0; 2] {
        // Only IPv4 allows a datagram without checksum.
        return place.is_ipv4.then_some(()).ok_or(Refusal::Checksum);
    }
    let pseudo = pseudo(from, to, place.kind.protocol(), length);
    // A kernel that leaves the checksum to a device writes the pseudo-header's sum, and a virtual link has no device that
    // would do the rest (`CHECKSUM_PARTIAL`).
    let is_whole = pseudo.with(segment).is_intact() || checksum == pseudo.bytes();
    is_whole.then_some(()).ok_or(Refusal::Checksum)
}

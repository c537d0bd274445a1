//! Who has an address: questions and answers of ARP (RFC 826) and IPv6 neighbour discovery (RFC 4861 §4.3, §4.4).

use crate::checksum::pseudo;
use crate::{ETHERNET_HEADER, ETHERTYPE_IPV4, ETHERTYPE_IPV6, FrameHeaders, IPV6_HEADER};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// `EtherType` of ARP.
pub const ETHERTYPE_ARP: u16 = 0x0806;

/// A MAC address.
pub type Mac = [u8; 6];

const BROADCAST: Mac = [0xff; 6];
const ARP_REQUEST: u16 = 1;
const ARP_REPLY: u16 = 2;
const ETHERNET: u16 = 1;
const ARP_BYTES: usize = 28;

const PROTOCOL_ICMPV6: u8 = 58;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// Hop limit that shows that a message came over no router.
const ON_LINK: u8 = 255;
/// Flags of an advertisement: solicited, and it overrides what is known.
const SOLICITED_OVERRIDE: u8 = 0x60;
const OPTION_SOURCE: u8 = 1;
const OPTION_TARGET: u8 = 2;
const MESSAGE_BYTES: usize = 24;

/// An end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbour {
    /// Its MAC address.
    pub mac: Mac,
    /// Its IP address.
    pub address: IpAddr,
}

/// What a frame says of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// `from` asks who has `wanted`.
    Request {
        /// Who asks.
        from: Neighbour,
        /// The address.
        wanted: IpAddr,
    },
    /// It has its address.
    Reply(Neighbour),
}

/// The frame by which `own` asks who has `wanted`, behind the tags of the frames that are to be sent there.
pub fn request(headers: &FrameHeaders, own: Neighbour, wanted: IpAddr) -> Vec<u8> {
    match (own.address, wanted) {
        (IpAddr::V4(from), IpAddr::V4(wanted)) => {
            let mut frame = headers.link(BROADCAST, own.mac, ETHERTYPE_ARP);
            arp(&mut frame, ARP_REQUEST, [own.mac, [0; 6]], [from, wanted]);
            frame
        }
        (from, wanted) => {
            let (from, wanted) = (v6(from), v6(wanted));
            let [.., a, b, c] = wanted.octets();
            // The group of all who have an address with these last bytes (RFC 4291 §2.7.1).
            let group = Ipv6Addr::new(
                0xff02,
                0,
                0,
                0,
                0,
                1,
                0xff00 | u16::from(a),
                u16::from_be_bytes([b, c]),
            );
            let mac = [0x33, 0x33, 0xff, a, b, c];
            let frame = headers.link(mac, own.mac, ETHERTYPE_IPV6);
            message(
                frame,
                [from, group],
                [SOLICITATION, 0],
                wanted,
                NeighbourOption(OPTION_SOURCE, own.mac),
            )
        }
    }
}

/// The frame by which `own` answers `to`.
pub fn reply(headers: &FrameHeaders, own: Neighbour, to: Neighbour) -> Vec<u8> {
    match (own.address, to.address) {
        (IpAddr::V4(from), IpAddr::V4(asker)) => {
            let mut frame = headers.link(to.mac, own.mac, ETHERTYPE_ARP);
            arp(&mut frame, ARP_REPLY, [own.mac, to.mac], [from, asker]);
            frame
        }
        (from, asker) => {
            let frame = headers.link(to.mac, own.mac, ETHERTYPE_IPV6);
            let (from, asker) = (v6(from), v6(asker));
            message(
                frame,
                [from, asker],
                [ADVERTISEMENT, SOLICITED_OVERRIDE],
                from,
                NeighbourOption(OPTION_TARGET, own.mac),
            )
        }
    }
}

fn arp(frame: &mut Vec<u8>, operation: u16, macs: [Mac; 2], addresses: [Ipv4Addr; 2]) {
    for number in [ETHERNET, ETHERTYPE_IPV4] {
        frame.extend(number.to_be_bytes());
    }
    frame.extend([6, 4]);
    frame.extend(operation.to_be_bytes());
    for (mac, address) in macs.into_iter().zip(addresses) {
        frame.extend(mac);
        frame.extend(address.octets());
    }
}

/// An option that names a MAC address: its type and that address (RFC 4861 §4.6.1).
struct NeighbourOption(u8, Mac);

/// Adds the packet of a message about `target`, with an option that names a MAC address.
fn message(
    mut frame: Vec<u8>,
    [from, to]: [Ipv6Addr; 2],
    [kind, flags]: [u8; 2],
    target: Ipv6Addr,
    NeighbourOption(option, mac): NeighbourOption,
) -> Vec<u8> {
    let mut body = vec![kind, 0, 0, 0, flags, 0, 0, 0];
    body.extend(target.octets());
    body.extend([option, 1]);
    body.extend(mac);
    let length = u16::try_from(body.len()).unwrap_or(u16::MAX);
    let sum = pseudo(from.into(), to.into(), PROTOCOL_ICMPV6, length);
    let checksum = sum.with(&body).checksum();
    body[2..4].copy_from_slice(&checksum);
    frame.extend([0x60, 0, 0, 0]);
    frame.extend(length.to_be_bytes());
    frame.extend([PROTOCOL_ICMPV6, ON_LINK]);
    frame.extend(from.octets());
    frame.extend(to.octets());
    frame.extend(body);
    frame
}

fn v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

/// Reads a frame, whatever tags it has. `None`: it says nothing of addresses, or not as it should.
pub fn read(frame: &[u8]) -> Option<Message> {
    const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
    let (_, mut rest) = frame.split_at_checked(ETHERNET_HEADER - 2)?;
    loop {
        let (kind, behind) = rest.split_first_chunk()?;
        match u16::from_be_bytes(*kind) {
            ETHERTYPE_ARP => return read_arp(behind.first_chunk()?),
            ETHERTYPE_IPV6 => return read_discovery(behind),
            tag if TAGS.contains(&tag) => rest = behind.get(2..)?,
            _ => return None,
        }
    }
}

fn read_arp(packet: &[u8; ARP_BYTES]) -> Option<Message> {
    let number = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    if [number(0), number(2), number(4)] != [ETHERNET, ETHERTYPE_IPV4, 0x0604] {
        return None;
    }
    let address =
        |at: usize| IpAddr::from([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]]);
    let from = Neighbour {
        mac: packet[8..14].try_into().ok()?,
        address: address(14),
    };
    match number(6) {
        ARP_REQUEST => Some(Message::Request {
            from,
            wanted: address(24),
        }),
        ARP_REPLY => Some(Message::Reply(from)),
        _ => None,
    }
}

fn read_discovery(packet: &[u8]) -> Option<Message> {
    let (header, behind) = packet.split_first_chunk::<IPV6_HEADER>()?;
    let length = u16::from_be_bytes([header[4], header[5]]);
    let body = behind.get(..usize::from(length))?;
    let is_discovery = header[6] == PROTOCOL_ICMPV6 && header[7] == ON_LINK;
    if !is_discovery || body.len() < MESSAGE_BYTES {
        return None;
    }
    let address = |bytes: &[u8]| Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?));
    let (from, to) = (address(&header[8..24])?, address(&header[24..])?);
    let sum = pseudo(from.into(), to.into(), PROTOCOL_ICMPV6, length);
    // A kernel leaves the rest of the sum to a device, which virtual links do not have.
    if !sum.with(body).is_intact() && body[2..4] != sum.bytes() {
        return None;
    }
    let target = IpAddr::from(address(&body[8..MESSAGE_BYTES])?);
    match body[0] {
        SOLICITATION if !from.is_unspecified() => Some(Message::Request {
            from: Neighbour {
                mac: option(body, OPTION_SOURCE)?,
                address: from.into(),
            },
            wanted: target,
        }),
        ADVERTISEMENT => Some(Message::Reply(Neighbour {
            mac: option(body, OPTION_TARGET)?,
            address: target,
        })),
        _ => None,
    }
}

/// The MAC address in an option of a message.
fn option(body: &[u8], wanted: u8) -> Option<Mac> {
    let mut rest = &body[MESSAGE_BYTES..];
    loop {
        let [kind, length, ..] = *rest else {
            return None;
        };
        let bytes = usize::from(length) * 8;
        let own = rest.get(..bytes).filter(|own| !own.is_empty())?;
        if kind == wanted {
            return own.get(2..8)?.try_into().ok();
        }
        rest = &rest[bytes..];
    }
}

/// What was asked, in words: `who has 10.0.0.1, tell 10.0.0.2 (ARP)`.
pub fn in_words(own: IpAddr, wanted: IpAddr) -> String {
    let protocol = match wanted {
        IpAddr::V4(_) => "ARP",
        IpAddr::V6(_) => "neighbour solicitation",
    };
    format!("who has {wanted}, tell {own} ({protocol})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn own(address: &str) -> Neighbour {
        Neighbour {
            mac: [2, 0, 0, 0, 0, 1],
            address: address.parse().unwrap(),
        }
    }

    fn tagged() -> FrameHeaders {
        FrameHeaders {
            stack: "vlan=100,mpls=16".parse().unwrap(),
            ..FrameHeaders::default()
        }
    }

    #[test]
    fn an_arp_request_is_that_of_rfc_826_behind_the_tags_of_the_frames() {
        let made = request(&tagged(), own("10.0.0.1"), "10.0.0.2".parse().unwrap());
        let wanted = [
            &[0xff; 6][..],
            &[2, 0, 0, 0, 0, 1, 0x81, 0, 0, 100, 8, 6],
            &[0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1],
            &[0, 0, 0, 0, 0, 0, 10, 0, 0, 2],
        ];
        assert_eq!(made, wanted.concat());
    }

    #[test]
    fn a_solicitation_is_that_of_rfc_4861() {
        let made = request(
            &FrameHeaders::default(),
            own("fd00::1"),
            "fd00::12:3456".parse().unwrap(),
        );
        assert_eq!(
            made[..14],
            [
                0x33, 0x33, 0xff, 0x12, 0x34, 0x56, 2, 0, 0, 0, 0, 1, 0x86, 0xdd
            ]
        );
        assert_eq!(made[14..22], [0x60, 0, 0, 0, 0, 32, 58, 255]);
        let group: Ipv6Addr = "ff02::1:ff12:3456".parse().unwrap();
        assert_eq!(made[38..54], group.octets());
        assert_eq!([made[54], made[58]], [135, 0]);
        assert_eq!(made[78..], [1, 1, 2, 0, 0, 0, 0, 1]);
        let body = &made[54..];
        let sum = pseudo("fd00::1".parse().unwrap(), group.into(), 58, 32);
        assert!(sum.with(body).is_intact());
    }

    #[test]
    fn questions_and_answers_are_read_as_they_were_made() {
        for (a, b) in [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")] {
            for headers in [FrameHeaders::default(), tagged()] {
                let other = Neighbour {
                    mac: [2, 0, 0, 0, 0, 9],
                    address: b.parse().unwrap(),
                };
                let asked = read(&request(&headers, own(a), other.address));
                let wanted = Message::Request {
                    from: own(a),
                    wanted: other.address,
                };
                assert_eq!(asked, Some(wanted));
                let answer = reply(&headers, other, own(a));
                assert_eq!(read(&answer), Some(Message::Reply(other)));
                (0..answer.len()).for_each(|length| assert_eq!(read(&answer[..length]), None));
            }
        }
    }

    #[test]
    fn what_came_over_a_router_or_is_broken_is_no_discovery() {
        let good = request(
            &FrameHeaders::default(),
            own("fd00::1"),
            "fd00::2".parse().unwrap(),
        );
        for (at, change) in [(21, 1), (56, 1), (70, 4), (54, 1)] {
            let mut bad = good.clone();
            bad[at] ^= change;
            assert_eq!(read(&bad), None, "{at}");
        }
    }

    proptest! {
        #[test]
        fn nonsense_never_panics(
            noise in prop::collection::vec(any::<u8>(), 0..120),
            is_v6 in any::<bool>(),
            at in 0..90_usize,
            byte in any::<u8>(),
        ) {
            let _ = read(&noise);
            let (a, b) = if is_v6 { ("fd00::1", "fd00::2") } else { ("10.0.0.1", "10.0.0.2") };
            let mut frame = request(&tagged(), own(a), b.parse().unwrap());
            let at = at % frame.len();
            frame[at] = byte;
            let _ = read(&frame);
        }
    }
}

//! Which frames count as data packets, numbered for the lists.

use serde::{Deserialize, Serialize};

/// Transport protocol of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP or UDP.
    Any,
    /// TCP segments.
    Tcp,
    /// UDP datagrams.
    #[default]
    Udp,
}

/// Which packets are data: they are numbered from 1 in arrival order, and drop, duplicate and reorder lists and ratios
/// apply to them. All others (ARP, ICMP, handshakes, fragments after the first) pass the same rate, queue, delay and
/// loss ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketFilter {
    /// The protocol.
    pub transport: Transport,
    /// The destination port; `None` is any.
    pub port: Option<u16>,
    /// Minimum L4 payload in bytes, so that probes, handshakes and bare ACKs do not count.
    pub min_payload: u32,
}

impl PacketFilter {
    /// UDP datagrams of at least 64 bytes, to any port.
    pub const UDP_DATA: Self = Self {
        transport: Transport::Udp,
        port: None,
        min_payload: 64,
    };

    /// TCP segments that carry payload, to any port.
    pub const TCP_DATA: Self = Self {
        transport: Transport::Tcp,
        port: None,
        min_payload: 1,
    };

    /// Whether the Ethernet frame `frame` (without FCS) is a data packet.
    pub fn matches(&self, frame: &[u8]) -> bool {
        let Some(packet) = L4::parse(frame) else {
            return false;
        };
        let transport = self.transport == Transport::Any || self.transport == packet.transport;
        transport
            && self.port.is_none_or(|port| port == packet.port)
            && packet.payload >= self.min_payload
    }
}

impl Default for PacketFilter {
    fn default() -> Self {
        Self::UDP_DATA
    }
}

/// Whether the Ethernet frame is a host's report of its multicast groups to routers (`IGMPv3`,
/// RFC 9776; `MLDv2`, RFC 9777). The kernel sends some within seconds of an interface's start.
pub(super) fn is_membership_report(frame: &[u8]) -> bool {
    const TO_ROUTERS: [&[u8]; 2] = [
        &[0x01, 0x00, 0x5e, 0x00, 0x00, 0x16],
        &[0x33, 0x33, 0x00, 0x00, 0x00, 0x16],
    ];
    TO_ROUTERS.iter().any(|address| frame.starts_with(address))
}

/// Bytes of a VLAN tag.
pub(super) const TAG_BYTES: u32 = 4;

/// Whether the Ethernet frame has a VLAN tag (802.1Q or 802.1ad).
pub(super) fn is_tagged(frame: &[u8]) -> bool {
    matches!(half(frame, 12), Some(0x8100 | 0x88a8))
}

/// Fields that the filter uses.
struct L4 {
    transport: Transport,
    port: u16,
    payload: u32,
}

impl L4 {
    /// `None` for anything but the start of a TCP segment or UDP datagram in plain IPv4 or IPv6, perhaps behind a VLAN tag.
    fn parse(frame: &[u8]) -> Option<Self> {
        const IPV4: u16 = 0x0800;
        const IPV6: u16 = 0x86dd;
        let at = if is_tagged(frame) { 16 } else { 12 };
        let packet = frame.get(at + 2..)?;
        match half(frame, at)? {
            IPV4 => {
                let header = usize::from(packet.first()? & 0x0f) * 4;
                let is_first_fragment = half(packet, 6)?.trailing_zeros() >= 13;
                let length = usize::from(half(packet, 2)?).checked_sub(header)?;
                let segment = packet.get(header..)?;
                is_first_fragment.then(|| Self::segment(*packet.get(9)?, segment, length))?
            }
            IPV6 => {
                let length = usize::from(half(packet, 4)?);
                Self::segment(*packet.get(6)?, packet.get(40..)?, length)
            }
            _ => None,
        }
    }

    fn segment(protocol: u8, segment: &[u8], length: usize) -> Option<Self> {
        const TCP: u8 = 6;
        const UDP: u8 = 17;
        let (transport, header) = match protocol {
            TCP => (Transport::Tcp, usize::from(segment.get(12)? >> 4) * 4),
            UDP => (Transport::Udp, 8),
            _ => return None,
        };
        Some(Self {
            transport,
            port: half(segment, 2)?,
            payload: u32::try_from(length.checked_sub(header)?).ok()?,
        })
    }
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn udp_v4(port: u16, payload: u16) -> Vec<u8> {
        let mut frame = vec![0; 14 + 20 + 8 + usize::from(payload)];
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        frame[14] = 0x45;
        frame[16..18].copy_from_slice(&(28 + payload).to_be_bytes());
        frame[23] = 17;
        frame[36..38].copy_from_slice(&port.to_be_bytes());
        frame
    }

    fn tcp_v6(payload: u16) -> Vec<u8> {
        let mut frame = vec![0; 14 + 40 + 32 + usize::from(payload)];
        frame[12..14].copy_from_slice(&[0x86, 0xdd]);
        frame[18..20].copy_from_slice(&(32 + payload).to_be_bytes());
        frame[20] = 6;
        frame[56..58].copy_from_slice(&5201_u16.to_be_bytes());
        frame[66] = 8 << 4;
        frame
    }

    #[test]
    fn long_enough_datagrams_count() {
        assert!(PacketFilter::UDP_DATA.matches(&udp_v4(5201, 64)));
        assert!(!PacketFilter::UDP_DATA.matches(&udp_v4(5201, 63)));
        assert!(!PacketFilter::UDP_DATA.matches(&tcp_v6(1000)));
    }

    #[test]
    fn segments_without_payload_do_not_count() {
        assert!(PacketFilter::TCP_DATA.matches(&tcp_v6(1)));
        assert!(!PacketFilter::TCP_DATA.matches(&tcp_v6(0)));
    }

    #[test]
    fn a_port_narrows_the_filter() {
        let filter = PacketFilter {
            port: Some(5201),
            ..PacketFilter::UDP_DATA
        };
        assert!(filter.matches(&udp_v4(5201, 100)));
        assert!(!filter.matches(&udp_v4(5202, 100)));
    }

    #[test]
    fn membership_reports_are_known_by_their_destination() {
        let mut frame = udp_v4(1, 100);
        assert!(!is_membership_report(&frame));
        frame[..6].copy_from_slice(&[0x33, 0x33, 0, 0, 0, 0x16]);
        assert!(is_membership_report(&frame));
        assert!(!is_membership_report(&[]));
    }

    #[test]
    fn data_behind_a_vlan_tag_counts() {
        for tag in [[0x81, 0, 0, 10], [0x88, 0xa8, 0, 10]] {
            let mut frame = udp_v4(5201, 64);
            assert!(!is_tagged(&frame));
            frame.splice(12..12, tag);
            assert!(is_tagged(&frame));
            assert!(PacketFilter::UDP_DATA.matches(&frame));
        }
    }

    #[test]
    fn later_fragments_do_not_count() {
        let mut frame = udp_v4(5201, 100);
        frame[21] = 1;
        assert!(!PacketFilter::UDP_DATA.matches(&frame));
    }

    #[test]
    fn cut_frames_are_no_data_at_any_length() {
        for whole in [udp_v4(1, 64), tcp_v6(64)] {
            for length in 0..whole.len() {
                let filter = PacketFilter {
                    transport: Transport::Any,
                    ..PacketFilter::UDP_DATA
                };
                let headers = if whole[12] == 0x08 { 38 } else { 67 };
                assert_eq!(filter.matches(&whole[..length]), length >= headers);
            }
        }
    }
}

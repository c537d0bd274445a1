//! What the way between a stream and the network said, whatever the stream did.

use crate::time::as_optional_seconds;
use crate::units::{ByteCount, PacketCount};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What the datapath and the socket of one stream said. All of it is absent of a peer whose protocol tells nothing.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct PathReport {
    /// Size of the receive buffer that the system really gave, bytes; `None` without a socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_buffer_bytes: Option<ByteCount>,
    /// Size of the send buffer that the system really gave, bytes; `None` without a socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_buffer_bytes: Option<ByteCount>,
    /// CPU time of kernel threads that worked for this stream alone (`iou-sqp` of `io_uring`), during its
    /// traffic; `None` where there was none, or where the kernel does not tell (then `notes` say so).
    #[serde(
        rename = "helper_cpu_s",
        with = "as_optional_seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<f64>")]
    pub helper_cpu: Option<Duration>,
    /// What the datapath asked of the system and did not get, and what it found out about its wait mode;
    /// at most [`MAX_PATH_NOTES`] are read.
    #[serde(
        rename = "path_notes",
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "bounded_notes"
    )]
    pub notes: Vec<String>,
    /// What the system knew at the end of the largest packet that the stream's path carries; `None` without a
    /// socket of datagrams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_mtu: Option<PathMtu>,
    /// How frames passed the kernel's stack by, and what was dropped there (datapath af-xdp only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xdp: Option<XdpReport>,
}

/// The largest packet that a path is known to carry: the interface's MTU, until a router's answer says less (RFC 1191,
/// RFC 8201).
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PathMtu {
    /// Longest IP packet, bytes.
    pub packet_bytes: ByteCount,
    /// Longest UDP payload that such a packet takes, bytes: a longer datagram goes as IP fragments.
    pub payload_bytes: ByteCount,
}

impl PathMtu {
    /// Header of UDP, bytes.
    const UDP: u64 = 8;
    /// Header of IPv4 without options, bytes.
    const IPV4: u64 = 20;
    /// Header of IPv6, bytes.
    const IPV6: u64 = 40;
    /// Fragment header of IPv6 (RFC 8200 §4.5), bytes.
    const IPV6_FRAGMENT: u64 = 8;

    /// Of a path of IPv4 or IPv6 that carries packets of `packet` bytes.
    pub fn new(packet: u64, is_ipv4: bool) -> Self {
        let header = if is_ipv4 { Self::IPV4 } else { Self::IPV6 };
        Self {
            packet_bytes: ByteCount::new(packet),
            payload_bytes: ByteCount::new(packet.saturating_sub(header + Self::UDP)),
        }
    }

    /// IP packets that a datagram of `payload` bytes takes; more than one are fragments, each but the last a multiple of
    /// 8 bytes long (RFC 791, RFC 8200 §4.5). `None` if no fragment fits.
    pub fn packets_of(self, payload: ByteCount) -> Option<u64> {
        if payload <= self.payload_bytes {
            return Some(1);
        }
        let header = self
            .packet_bytes
            .get()
            .checked_sub(self.payload_bytes.get())?
            .checked_sub(Self::UDP)?;
        let extra = match header {
            Self::IPV4 => 0,
            Self::IPV6 => Self::IPV6_FRAGMENT,
            _ => return None,
        };
        let room = self.packet_bytes.get().checked_sub(header + extra)? / 8 * 8;
        let length = payload.get().checked_add(Self::UDP)?;
        (room > 0).then(|| length.div_ceil(room))
    }
}

/// What one side of a stream over AF_XDP knows about its way past the kernel's stack. Counts are of this stream's
/// own sockets, since they were opened.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct XdpReport {
    /// The interface.
    pub interface: String,
    /// Whether the program ran in the driver; otherwise above it, after the kernel had made a packet of the frame.
    pub native: bool,
    /// Whether the driver used this process's memory itself; otherwise the kernel copied each frame, both ways.
    pub zero_copy: bool,
    /// Receive queues that frames were taken of.
    pub queues: u16,
    /// Frames dropped for want of a free one to receive into (`rx_dropped` of `XDP_STATISTICS`).
    pub dropped: PacketCount,
    /// Frames dropped because the receive ring was full (`rx_ring_full`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring_full: Option<PacketCount>,
    /// Times that no free frame was there when one was wanted (`rx_fill_ring_empty_descs`); with copying each is in
    /// `dropped` too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill_ring_empty: Option<u64>,
    /// Frames of this stream whose checksum or lengths were wrong.
    pub malformed: PacketCount,
    /// Datagrams of this stream that came as frames which the program does not choose, and so to the kernel's socket.
    pub stray: PacketCount,
}

/// Most notes of a datapath in one report.
pub const MAX_PATH_NOTES: usize = 16;

/// Longest note that is read, in bytes.
const MAX_NOTE: usize = 1024;

/// Reads a few short notes: they come from the peer.
fn bounded_notes<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    let notes = Vec::<String>::deserialize(d)?;
    let fits = notes.len() <= MAX_PATH_NOTES && notes.iter().all(|note| note.len() <= MAX_NOTE);
    if !fits {
        let message = format!("more than {MAX_PATH_NOTES} notes, or one over {MAX_NOTE} bytes");
        return Err(D::Error::custom(message));
    }
    Ok(notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_longer_than_the_path_s_mtu_takes_fragments_of_multiples_of_eight() {
        let packets =
            |mtu, is_ipv4, payload| PathMtu::new(mtu, is_ipv4).packets_of(ByteCount::new(payload));
        assert_eq!(packets(1400, true, 1372), Some(1));
        assert_eq!(packets(1400, true, 1373), Some(2));
        assert_eq!(packets(1400, false, 1352), Some(1));
        assert_eq!(packets(1400, false, 1353), Some(2));
        // IPv4: 1376 B a fragment; IPv6: 1352 - 8 rounded down, 1352 B.
        assert_eq!(packets(1400, true, 2 * 1376 - 8), Some(2));
        assert_eq!(packets(1400, true, 2 * 1376 - 7), Some(3));
        assert_eq!(packets(1400, false, 2 * 1352 - 8), Some(2));
        assert_eq!(packets(1400, false, 2 * 1352 - 7), Some(3));
        assert_eq!(packets(20, true, 100), None);
    }
}

//! Places in the headers of a frame.

use crate::Transport;
use std::net::IpAddr;

/// A length of 16 bits in the headers, and the byte from which on it counts to the end of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LengthField {
    pub(crate) at: usize,
    pub(crate) from: usize,
}

/// Where the innermost transport header and its IP header lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransportAt {
    /// Which it is.
    pub kind: Transport,
    /// Its first byte.
    pub at: usize,
    /// First byte of the IP header before it.
    pub ip_at: usize,
    /// Whether that is of IPv4.
    pub is_ipv4: bool,
}

impl TransportAt {
    /// Place of its checksum.
    pub const fn checksum_at(&self) -> usize {
        self.at
            + match self.kind {
                Transport::Tcp => 16,
                Transport::Udp => 6,
            }
    }

    /// Places of the last 16 bits of source and destination address.
    pub const fn low_halves(&self) -> [usize; 2] {
        if self.is_ipv4 {
            [self.ip_at + 14, self.ip_at + 18]
        } else {
            [self.ip_at + 22, self.ip_at + 38]
        }
    }

    /// Place of the IPv4 header's checksum; `None` of IPv6, which has none.
    pub const fn ip_checksum_at(&self) -> Option<usize> {
        if self.is_ipv4 {
            Some(self.ip_at + IPV4_CHECKSUM)
        } else {
            None
        }
    }

    /// Source and destination address in a frame that is long enough.
    pub(crate) fn addresses(&self, frame: &[u8]) -> Option<[IpAddr; 2]> {
        let v4 = |at: usize| <[u8; 4]>::try_from(frame.get(at..at + 4)?).ok();
        let v6 = |at: usize| <[u8; 16]>::try_from(frame.get(at..at + 16)?).ok();
        let ip = self.ip_at;
        Some(if self.is_ipv4 {
            [v4(ip + 12)?.into(), v4(ip + 16)?.into()]
        } else {
            [v6(ip + 8)?.into(), v6(ip + 24)?.into()]
        })
    }
}

/// Offset of the checksum in an IPv4 header.
pub(crate) const IPV4_CHECKSUM: usize = 10;

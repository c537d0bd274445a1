//! The 18-byte header of every datagram: small enough for the shortest Ethernet frame.
//!
//! ```text
//!  0       4        5       6               12              18
//!  | token | stream | flags | sequence (48) | send time (48) | padding …
//! ```
//! Big-endian. The sequence numbers the counted datagrams of one stream densely from 0; warm-up
//! datagrams have their own. Hosts whose threads carry many streams take its first byte for the
//! upper one of the stream's number, which is 0 below 256. The send time is nanoseconds on the
//! sender's monotonic clock modulo 2^48 (78 hours), read once per batch.

use crate::{MonoInstant, Stamp};
use core::ops::Range;

/// Length of the header in bytes, and so the minimum payload of a numbered datagram: 64-byte frame − 18 (MAC header,
/// FCS) − 20 (IPv4) − 8 (UDP).
pub const HEADER_LEN: usize = 18;

/// Range of the send time in the header.
pub const SENT: Range<usize> = 12..18;

/// Encodes the send time for a header.
pub const fn clock(sent: MonoInstant) -> [u8; 6] {
    let [_, _, rest @ ..] = sent.as_nanos().to_be_bytes();
    rest
}

/// Purpose of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Counted traffic.
    Counted = 0,
    /// The client's proof of the token.
    Hello = 2,
    /// The server's answer to a hello.
    HelloAck = 3,
    /// The client received the answer; no more hellos follow.
    HelloDone = 4,
    /// Traffic of the warm-up.
    WarmUp = 1,
}

impl Kind {
    const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::Counted,
            1 => Self::WarmUp,
            2 => Self::Hello,
            3 => Self::HelloAck,
            4 => Self::HelloDone,
            _ => return None,
        })
    }
}

/// Offset of the kind in the header, and its value in counted datagrams; the token precedes it, in the first four
/// bytes, big-endian.
pub const COUNTED_MARK: (u8, u8) = (5, Kind::Counted as u8);

/// A datagram's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Token of the test, from the control connection.
    pub token: u32,
    /// Index of the stream.
    pub stream: u8,
    /// Purpose of the datagram.
    pub kind: Kind,
    /// Sequence number, 48 bits.
    pub sequence: u64,
    /// Sender's clock, 48 bits.
    pub sent: Stamp,
}

impl Header {
    /// Writes the header at the start of `bytes`, if they have room.
    #[inline]
    pub fn write(&self, bytes: &mut [u8]) {
        let Some(bytes) = bytes.first_chunk_mut::<HEADER_LEN>() else {
            return;
        };
        bytes[0..4].copy_from_slice(&self.token.to_be_bytes());
        bytes[4] = self.stream;
        bytes[5] = self.kind as u8;
        bytes[6..12].copy_from_slice(&self.sequence.to_be_bytes()[2..]);
        bytes[SENT].copy_from_slice(&self.sent.bits().to_be_bytes()[2..]);
    }

    /// Parses a header; `None` if `bytes` are too short or the kind is unknown.
    #[inline]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEADER_LEN] = bytes.first_chunk()?;
        let [t0, t1, t2, t3, stream, flags, rest @ ..] = *bytes;
        let [s0, s1, s2, s3, s4, s5, n0, n1, n2, n3, n4, n5] = rest;
        Some(Self {
            token: u32::from_be_bytes([t0, t1, t2, t3]),
            stream,
            kind: Kind::from_code(flags)?,
            sequence: u64::from_be_bytes([0, 0, s0, s1, s2, s3, s4, s5]),
            sent: Stamp::from_bits(u64::from_be_bytes([0, 0, n0, n1, n2, n3, n4, n5])),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_the_wire() {
        let header = Header {
            token: 0x0102_0304,
            stream: 200,
            kind: Kind::WarmUp,
            sequence: 0xffff_1234_5678,
            sent: Stamp::from_instant(MonoInstant::from_nanos(u64::MAX - 7)),
        };
        let mut bytes = [0; 40];
        header.write(&mut bytes);
        assert_eq!(Header::read(&bytes), Some(header));
    }

    #[test]
    fn short_or_unknown_bytes_are_no_header() {
        assert_eq!(Header::read(&[0; HEADER_LEN - 1]), None);
        assert_eq!(Header::read(&[0xff; HEADER_LEN]), None);
    }
}

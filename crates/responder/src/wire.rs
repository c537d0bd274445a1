//! The 18-byte header of every datagram, as `peers::native::wire` has it.
//!
//! ```text
//!  0       4        5       6               12              18
//!  | token | stream | flags | sequence (48) | send time (48) | padding …
//! ```

use crate::time::Instant;

/// Bytes of the header.
pub(crate) const HEADER_LEN: usize = 18;

/// Bytes of the send time in it.
pub(crate) const SENT: core::ops::Range<usize> = 12..18;

const MASK_48: u64 = (1 << 48) - 1;

/// What a datagram is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Counted = 0,
    WarmUp = 1,
    Hello = 2,
    HelloAck = 3,
    HelloDone = 4,
}

impl Kind {
    const ALL: [Self; 5] = [
        Self::Counted,
        Self::WarmUp,
        Self::Hello,
        Self::HelloAck,
        Self::HelloDone,
    ];
}

/// A datagram's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) token: u32,
    pub(crate) stream: u8,
    pub(crate) kind: Kind,
    /// 48 bits.
    pub(crate) sequence: u64,
    /// The sender's clock in nanoseconds, 48 bits.
    pub(crate) sent: u64,
}

impl Header {
    /// `None` if `bytes` are too short or of no known kind.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEADER_LEN] = bytes.first_chunk()?;
        let [t0, t1, t2, t3, stream, flags, rest @ ..] = *bytes;
        let [s0, s1, s2, s3, s4, s5, n0, n1, n2, n3, n4, n5] = rest;
        Some(Self {
            token: u32::from_be_bytes([t0, t1, t2, t3]),
            stream,
            kind: *Kind::ALL.get(usize::from(flags))?,
            sequence: u64::from_be_bytes([0, 0, s0, s1, s2, s3, s4, s5]),
            sent: u64::from_be_bytes([0, 0, n0, n1, n2, n3, n4, n5]),
        })
    }

    /// Writes the header at the start of `bytes`, if they have room.
    pub(crate) fn write(&self, bytes: &mut [u8]) {
        let Some(bytes) = bytes.first_chunk_mut::<HEADER_LEN>() else {
            return;
        };
        bytes[0..4].copy_from_slice(&self.token.to_be_bytes());
        bytes[4] = self.stream;
        bytes[5] = self.kind as u8;
        bytes[6..12].copy_from_slice(&self.sequence.to_be_bytes()[2..]);
        bytes[SENT].copy_from_slice(&clock(Instant::from_nanos(self.sent)));
    }
}

/// The send time as it stands in a header.
pub(crate) fn clock(now: Instant) -> [u8; 6] {
    let [_, _, rest @ ..] = now.as_nanos().to_be_bytes();
    rest
}

/// Nanoseconds from a header's send time to `received`, modulo 2^48: the transit time and the clocks' offset.
pub(crate) const fn transit(sent: u64, received: Instant) -> u64 {
    received.as_nanos().wrapping_sub(sent) & MASK_48
}

/// `value - base` of two 48-bit circular numbers, as the nearest signed distance.
pub(crate) const fn distance_48(value: u64, base: u64) -> i64 {
    let shifted = value.wrapping_sub(base) << 16;
    shifted.cast_signed() >> 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::MonoInstant;
    use linerate_peers::Stamp;
    use linerate_peers::native::wire as host;

    #[test]
    fn the_header_is_the_hosts() {
        for (ours, theirs) in [
            (Kind::Counted, host::Kind::Counted),
            (Kind::WarmUp, host::Kind::WarmUp),
            (Kind::Hello, host::Kind::Hello),
            (Kind::HelloAck, host::Kind::HelloAck),
            (Kind::HelloDone, host::Kind::HelloDone),
        ] {
            let header = host::Header {
                token: 0x0102_0304,
                stream: 3,
                kind: theirs,
                sequence: 0xffff_1234_5678,
                sent: Stamp::from_instant(MonoInstant::from_nanos(u64::MAX - 7)),
            };
            let mut bytes = [0; HEADER_LEN];
            header.write(&mut bytes);
            let read = Header::read(&bytes).unwrap();
            assert_eq!((read.token, read.stream), (header.token, 3));
            assert_eq!((read.kind, read.sequence), (ours, header.sequence));
            assert_eq!(read.sent, header.sent.bits());
            let mut again = [0; HEADER_LEN];
            read.write(&mut again);
            assert_eq!(again, bytes);
        }
    }

    #[test]
    fn short_or_unknown_bytes_are_no_header() {
        assert_eq!(Header::read(&[0; HEADER_LEN - 1]), None);
        assert_eq!(Header::read(&[0xff; HEADER_LEN]), None);
    }

    #[test]
    fn distances_and_transits_cross_the_wrap() {
        assert_eq!(distance_48(3, MASK_48), 4);
        assert_eq!(distance_48(MASK_48, 3), -4);
        assert_eq!(transit(MASK_48, Instant::from_nanos(9)), 10);
    }
}

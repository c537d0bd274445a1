//! iperf2's data streams: nothing is agreed before; a stream says itself what it is and where it ends. Both
//! directions of a test share their streams. A datagram's header is a signed number, the sender's time, and in later versions the number's upper half.
//!
//! ```text
//!  0        4         8              12         16
//!  | number | seconds | microseconds | (number) | opening, padding …
//! ```
//! Big-endian. Numbers count from 0 or 1; a negative one ends the stream: its absolute value is the number that
//! would come next. 2.0.10 to 2.0.12 set the top bit instead of negating: of both readings that
//! one is meant which is nearer to what has come. Nothing says whose datagram it is. The upper half
//! counts only where the client has said so: Zephyr leaves other bytes there. The time is wall time: peers
//! compute a jitter from it that begins with the offset between the clocks.

use crate::stream_format::{
    AfterTraffic, Arrival, DatagramFormat, DatagramHeader, Numbers, Part, Reading, Refusals,
    SendTime, StreamFormat,
};
use linerate_model::spec::Side;
use linerate_wire::Stamp;
use std::fmt;
use std::time::Duration;

/// How many bits number a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counters {
    /// 32.
    Bits32,
    /// 64.
    Bits64,
}

/// What an iperf2 client's data streams begin with: a TCP stream with these bytes, a datagram with its
/// number and time and then these bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    bytes: [u8; Self::MAX_BYTES],
    length: usize,
}

impl Opening {
    /// Most bytes of an opening.
    pub const MAX_BYTES: usize = 64;

    /// No bytes.
    pub const NONE: Self = Self {
        bytes: [0; Self::MAX_BYTES],
        length: 0,
    };

    /// The first [`MAX_BYTES`](Self::MAX_BYTES) of these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut opening = Self::NONE;
        opening.length = bytes.len().min(Self::MAX_BYTES);
        opening.bytes[..opening.length].copy_from_slice(&bytes[..opening.length]);
        opening
    }

    /// The bytes as sent on the wire.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opening({})", self.as_bytes().escape_ascii())
    }
}

/// How many bytes number and time of an iperf2 datagram take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// 12 bytes: iperf2 up to 2.0.9 and compatible tools.
    Narrow,
    /// 16 bytes: later versions, with a second word of the number.
    Wide,
}

impl Width {
    /// Number of bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Narrow => 12,
            Self::Wide => 16,
        }
    }
}

/// Role of the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerRole {
    /// It requested the test.
    Client,
    /// It serves the test.
    Server,
}

/// The data streams of one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams {
    /// Role of the peer.
    pub peer_role: PeerRole,
    /// What this end's streams begin with.
    pub opening: Opening,
    /// Bytes at the beginning of a TCP stream of the peer that are not data.
    pub skip: usize,
    /// Width of sequence number and time, of both ends.
    pub width: Width,
    /// Bits of the sequence numbers, of both ends.
    pub counters: Counters,
    /// Number of the peer's first datagram: 0 or 1.
    pub first: u8,
    /// Sequence number of the first datagram that this end's senders send.
    pub sends_from: u8,
}

impl Streams {
    /// Format that every version understands, towards a client.
    pub(super) const PLAIN: Self = Self {
        peer_role: PeerRole::Client,
        opening: Opening::NONE,
        skip: 0,
        width: Width::Narrow,
        counters: Counters::Bits32,
        first: 0,
        sends_from: 0,
    };
}

impl StreamFormat for Streams {
    fn arrival(&self) -> Arrival {
        Arrival::SharedPort
    }

    fn datagrams(&self, _stream: u8, _payload: usize) -> Option<Box<dyn DatagramFormat>> {
        Some(Box::new(*self))
    }

    fn tcp_opening(&self, _stream: u16) -> Vec<u8> {
        self.opening.as_bytes().to_vec()
    }

    fn tcp_preamble_len(&self) -> usize {
        self.skip
    }

    fn shares_sockets(&self) -> bool {
        true
    }

    fn tells_its_end(&self) -> bool {
        true
    }

    fn waits_for_delivery(&self) -> bool {
        true
    }

    /// Tolerates refusals: iperf2's server closes its port for a moment when a stream begins, and opens it late on a
    /// busy host. A client's port is open when its first datagram arrives.
    fn refusals(&self, side: Side) -> Refusals {
        match (self.peer_role, side) {
            (PeerRole::Client, _) => Refusals::FirstEnds,
            (PeerRole::Server, Side::Sender) => Refusals::SeveralEndAfter(Duration::from_secs(1)),
            (PeerRole::Server, Side::Receiver) => {
                Refusals::SeveralEndAfter(Duration::from_secs(10))
            }
        }
    }

    fn after_traffic(&self) -> AfterTraffic {
        AfterTraffic::SpeakDatagrams
    }

    fn stamp(&self, datagram: &mut [u8], sent: SendTime) {
        stamp(datagram, sent);
    }
}

/// Writes the send time into the header.
fn stamp(datagram: &mut [u8], sent: SendTime) {
    let micros = sent.wall_ns / 1000;
    let seconds = (micros / 1_000_000).to_be_bytes();
    let micros = (micros % 1_000_000).to_be_bytes();
    if let Some(head) = datagram.first_chunk_mut::<12>() {
        head[4..8].copy_from_slice(&seconds[4..]);
        head[8..].copy_from_slice(&micros[4..]);
    }
}

/// Sign bit of a 32-bit number.
const SIGN: u32 = 1 << 31;

impl Streams {
    /// Meaning of a datagram with this number, where `next` is expected: `Ok` is its sequence number, `Err` the end of
    /// the stream.
    fn meaning(&self, low: u32, high: u32, next: u64) -> Result<u64, u64> {
        if self.counters == Counters::Bits64 {
            let number = (u64::from(high) << 32 | u64::from(low)).cast_signed();
            return u64::try_from(number).map_err(|_| number.unsigned_abs());
        }
        if low & SIGN == 0 {
            return Ok(low.into());
        }
        let negated = u64::from(low.wrapping_neg());
        let marked = u64::from(low & !SIGN);
        let is_marked = marked.abs_diff(next) < negated.abs_diff(next);
        Err(if is_marked { marked } else { negated })
    }
}

impl DatagramHeader for Streams {
    const NUMBERS: Numbers = Numbers::Continuous;

    fn header_len(&self) -> usize {
        self.width.bytes()
    }

    #[inline]
    fn write(&self, slot: &mut [u8], _part: Part, sequence: u64, sent: SendTime) {
        let number = sequence + u64::from(self.sends_from);
        let (low, high) = match self.counters {
            // Repeat the highest number that fits: a wrap would end the stream.
            Counters::Bits32 => (number.min(u64::from(!SIGN)), 0),
            Counters::Bits64 => (number, number >> 32),
        };
        slot[..4].copy_from_slice(&low.to_be_bytes()[4..]);
        stamp(slot, sent);
        if self.width == Width::Wide {
            slot[12..16].copy_from_slice(&high.to_be_bytes()[4..]);
        }
        let room = &mut slot[self.width.bytes()..];
        let opening = self.opening.as_bytes();
        let length = opening.len().min(room.len());
        room[..length].copy_from_slice(&opening[..length]);
    }

    #[inline]
    fn read(&self, datagram: &[u8], expected: u64) -> Reading {
        let word = |at: usize| -> Option<u32> {
            let bytes: &[u8; 4] = datagram.get(at..)?.first_chunk()?;
            Some(u32::from_be_bytes(*bytes))
        };
        let high = match self.width {
            Width::Narrow => Some(0),
            Width::Wide => word(12),
        };
        let (Some(low), Some(seconds), Some(micros), Some(high)) =
            (word(0), word(4), word(8), high)
        else {
            return Reading::Foreign;
        };
        let first = u64::from(self.first);
        match self.meaning(low, high, expected + first) {
            Err(next) => Reading::End {
                sent: Some(next.saturating_sub(first)),
            },
            Ok(number) => {
                let sent = Stamp::from_timeval(seconds, micros);
                match number.checked_sub(first).filter(|number| *number < 1 << 47) {
                    Some(sequence) => Reading::Numbered { sequence, sent },
                    // A report of the peer, where both ends send.
                    None => Reading::Other(None),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::MonoInstant;

    fn numbering(width: Width, counters: Counters, first: u8) -> Streams {
        Streams {
            peer_role: PeerRole::Server,
            opening: Opening::from_bytes(b"head"),
            skip: 0,
            width,
            counters,
            first,
            sends_from: first,
        }
    }

    fn at(wall_ns: u64) -> SendTime {
        let monotonic = MonoInstant::default();
        SendTime { monotonic, wall_ns }
    }

    fn numbered(sequence: u64, nanos: u64) -> Reading {
        Reading::Numbered {
            sequence,
            sent: Stamp::from_instant(MonoInstant::from_nanos(nanos)),
        }
    }

    fn word(bytes: &[u8], at: usize) -> u32 {
        u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    /// A wide datagram with these two halves of its number.
    fn datagram(low: u32, high: u32) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&low.to_be_bytes());
        bytes[12..].copy_from_slice(&high.to_be_bytes());
        bytes
    }

    #[test]
    fn what_is_written_is_read_and_carries_the_opening() {
        let sent = at(3_600_250_000_000);
        for first in [0, 1] {
            for (width, counters) in [
                (Width::Narrow, Counters::Bits32),
                (Width::Wide, Counters::Bits32),
                (Width::Wide, Counters::Bits64),
            ] {
                let numbering = numbering(width, counters, first);
                let mut slot = [0; 20];
                DatagramHeader::write(&numbering, &mut slot, Part::Counted, 41, sent);
                assert_eq!(slot[..4], [0, 0, 0, 41 + first]);
                let micros = sent.wall_ns / 1000;
                assert_eq!(u64::from(word(&slot, 4)), micros / 1_000_000);
                assert_eq!(u64::from(word(&slot, 8)), micros % 1_000_000);
                assert_eq!(&slot[width.bytes()..][..4], b"head");
                assert_eq!(numbering.read_one(&slot, 41), numbered(41, micros * 1000));
            }
        }
        let long = numbering(Width::Wide, Counters::Bits64, 1);
        let mut slot = [0; 16];
        DatagramHeader::write(&long, &mut slot, Part::Counted, 1 << 33, sent);
        let micros = sent.wall_ns / 1000;
        assert_eq!(long.read_one(&slot, 0), numbered(1 << 33, micros * 1000));
    }

    #[test]
    fn every_way_to_end_a_stream_says_how_many_were_sent() {
        let of = |counters, first| numbering(Width::Wide, counters, first);
        let end = |sent| Reading::End { sent: Some(sent) };
        // Up to 2.0.9 and zperf: the next number, negated.
        let old = of(Counters::Bits32, 0);
        assert_eq!(
            old.read_one(&datagram(100_u32.wrapping_neg(), 0), 98),
            end(100)
        );
        // Arbitrary bytes in the upper half are ignored.
        assert_eq!(
            old.read_one(&datagram(100_u32.wrapping_neg(), 0x7a7a_7a7a), 98),
            end(100)
        );
        // 2.0.10 to 2.0.12: the top bit.
        assert_eq!(old.read_one(&datagram(0x64 | SIGN, 0), 98), end(100));
        // From 2.1 on: numbers from 1, 64 bits.
        let new = of(Counters::Bits64, 1);
        let last = (-101_i64).cast_unsigned().to_be_bytes();
        let mut bytes = datagram(0, 0);
        bytes[..4].copy_from_slice(&last[4..]);
        bytes[12..].copy_from_slice(&last[..4]);
        assert_eq!(new.read_one(&bytes, 98), end(100));
        assert_eq!(of(Counters::Bits32, 1).read_one(&bytes, 98), end(100));
    }

    #[test]
    fn a_report_of_the_peer_is_no_traffic_and_a_stump_is_foreign() {
        let new = numbering(Width::Wide, Counters::Bits64, 1);
        assert_eq!(new.read_one(&datagram(0, 0), 5), Reading::Other(None));
        assert_eq!(new.read_one(&[0; 15], 5), Reading::Foreign);
        assert_eq!(new.read_one(&[], 5), Reading::Foreign);
        let narrow = numbering(Width::Narrow, Counters::Bits32, 0);
        assert_eq!(narrow.read_one(&[0; 12], 5), numbered(0, 0));
    }

    #[test]
    fn a_number_that_does_not_fit_does_not_end_the_stream() {
        let plain = numbering(Width::Wide, Counters::Bits32, 1);
        let mut slot = [0; 16];
        for sequence in [u64::from(!SIGN) - 2, u64::from(!SIGN), 1 << 40] {
            DatagramHeader::write(&plain, &mut slot, Part::Counted, sequence, at(0));
            assert!(slot[0] < 0x80, "{slot:?}");
        }
    }
}

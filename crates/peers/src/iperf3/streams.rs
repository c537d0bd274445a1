//! iperf3's data streams: TCP streams begin with the cookie, datagram streams with four bytes and an answer;
//! datagrams carry the sender's time and a number from 1 that goes on through the warm-up.
//!
//! ```text
//!  0          4          8                 12 or 16
//!  | seconds  | microseconds | number (32 or 64) | padding …
//! ```
//! Big-endian. Nothing says whose datagram it is: one of another length is of another sender, and one
//! of four bytes belongs to the handshake. The clock is the sender's own, of any origin.

use crate::session::RANDOM_BYTES;
use crate::stream_format::{
    AfterTraffic, Arrival, DatagramFormat, DatagramHeader, Handshake, HandshakeStep, Numbers, Part,
    Reading, SendTime, StreamFormat,
};
use linerate_wire::{Stamp, distance};
use std::fmt;
use std::time::Duration;

/// Bytes of a cookie: 36 characters and a zero.
pub const COOKIE_LEN: usize = 37;

/// What an iperf3 client shows on its control connection and on each TCP data stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cookie([u8; COOKIE_LEN]);

impl Cookie {
    /// Cookie from the bytes received.
    pub const fn from_wire(bytes: [u8; COOKIE_LEN]) -> Self {
        Self(bytes)
    }

    /// Cookie from random bytes: 36 base-32 characters, one per byte, the last four from the first bytes again, and a
    /// zero. 160 bits distinguish sessions.
    pub fn from_random(random: &[u8; RANDOM_BYTES]) -> Self {
        const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
        let mut bytes = [0; COOKIE_LEN];
        let letters = &mut bytes[..COOKIE_LEN - 1];
        for (letter, byte) in letters.iter_mut().zip(random.iter().cycle()) {
            *letter = LETTERS[usize::from(byte % 32)];
        }
        Self(bytes)
    }

    /// The bytes as sent on the wire.
    pub const fn as_bytes(&self) -> &[u8; COOKIE_LEN] {
        &self.0
    }
}

impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cookie({})", self.0.escape_ascii())
    }
}

/// Bits of the sequence numbers of datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counters {
    /// 32: the header takes 12 bytes.
    Bits32,
    /// 64: the header takes 16 bytes.
    Bits64,
}

/// The data streams of one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams {
    /// Cookie of the client.
    pub cookie: Cookie,
    /// Bits of the sequence numbers of datagrams.
    pub counters: Counters,
}

impl StreamFormat for Streams {
    fn arrival(&self) -> Arrival {
        Arrival::SharedPort
    }

    fn datagrams(&self, _stream: u8, payload: usize) -> Option<Box<dyn DatagramFormat>> {
        Some(match self.counters {
            Counters::Bits32 => Box::new(Header::<false> { payload }),
            Counters::Bits64 => Box::new(Header::<true> { payload }),
        })
    }

    fn tcp_opening(&self, _stream: u16) -> Vec<u8> {
        self.cookie.as_bytes().to_vec()
    }

    fn handshake(&self, _stream: u16) -> Option<Box<dyn Handshake>> {
        Some(Box::new(*self))
    }

    fn stays_open(&self) -> bool {
        true
    }

    fn waits_for_delivery(&self) -> bool {
        true
    }

    fn after_traffic(&self) -> AfterTraffic {
        AfterTraffic::KeepAtClient
    }
}

/// Bytes of a request or answer of the handshake.
const HANDSHAKE_LEN: usize = 4;

/// Request since 3.12, and its answer.
const REQUEST: [u8; HANDSHAKE_LEN] = *b"9876";
const ANSWER: [u8; HANDSHAKE_LEN] = *b"6789";

/// Request of little-endian hosts up to 3.11, and its answer.
const OLD_REQUEST: [u8; HANDSHAKE_LEN] = [0x15, 0xcd, 0x5b, 0x07];
const OLD_ANSWER: [u8; HANDSHAKE_LEN] = [0xb1, 0x68, 0xde, 0x3a];

/// Answer to a request, in its form and byte order; `None` if it is not a request.
pub(super) fn answer(request: &[u8]) -> Option<Vec<u8>> {
    let request: [u8; HANDSHAKE_LEN] = request.try_into().ok()?;
    let reversed = |mut bytes: [u8; HANDSHAKE_LEN]| {
        bytes.reverse();
        bytes
    };
    [(REQUEST, ANSWER), (OLD_REQUEST, OLD_ANSWER)]
        .into_iter()
        .flat_map(|(ask, say)| [(ask, say), (reversed(ask), reversed(say))])
        .find(|(ask, _)| *ask == request)
        .map(|(_, say)| say.to_vec())
}

impl Handshake for Streams {
    fn request(&self) -> Vec<u8> {
        REQUEST.to_vec()
    }

    /// Never repeated: a server takes every datagram for the next stream.
    fn repeats(&self) -> Option<Duration> {
        None
    }

    /// Whether this is an answer of any version and byte order.
    fn is_answer(&self, datagram: &[u8]) -> bool {
        [ANSWER, OLD_ANSWER]
            .iter()
            .any(|answer| datagram == answer || datagram.iter().rev().eq(answer.iter()))
    }

    fn hear(&self, datagram: &[u8]) -> HandshakeStep {
        answer(datagram).map_or(HandshakeStep::Ignored, HandshakeStep::Answer)
    }

    fn answer_name(&self) -> &'static str {
        "answer to the UDP request"
    }
}

/// Header of datagrams of `payload` bytes; the sequence number has 64 bits if `WIDE`, else 32.
struct Header<const WIDE: bool> {
    payload: usize,
}

impl<const WIDE: bool> DatagramHeader for Header<WIDE> {
    const NUMBERS: Numbers = Numbers::Continuous;

    fn header_len(&self) -> usize {
        if WIDE { 16 } else { 12 }
    }

    #[inline]
    fn write(&self, slot: &mut [u8], _part: Part, sequence: u64, sent: SendTime) {
        let micros = sent.monotonic.as_nanos() / 1000;
        let number = sequence.wrapping_add(1);
        // Seconds fit for 136 years of uptime, microseconds are below a million.
        let seconds = (micros / 1_000_000).to_be_bytes();
        let micros = (micros % 1_000_000).to_be_bytes();
        let bytes: &mut [u8; 12] = slot
            .first_chunk_mut()
            .expect("invariant: payloads are at least a header long");
        bytes[..4].copy_from_slice(&seconds[4..]);
        bytes[4..8].copy_from_slice(&micros[4..]);
        if WIDE {
            slot[8..16].copy_from_slice(&number.to_be_bytes());
        } else {
            bytes[8..].copy_from_slice(&number.to_be_bytes()[4..]);
        }
    }

    #[inline]
    fn read(&self, datagram: &[u8], expected: u64) -> Reading {
        if datagram.len() != self.payload {
            return match datagram.len() {
                HANDSHAKE_LEN => Reading::Other(None),
                _ => Reading::Foreign,
            };
        }
        let word = |at: usize| -> Option<u32> {
            let bytes: &[u8; 4] = datagram.get(at..)?.first_chunk()?;
            Some(u32::from_be_bytes(*bytes))
        };
        let (Some(seconds), Some(micros), Some(number)) = (word(0), word(4), word(8)) else {
            return Reading::Foreign;
        };
        let sequence = if WIDE {
            let low = word(12).unwrap_or_default();
            let number = u64::from(number) << 32 | u64::from(low);
            number.checked_sub(1).filter(|number| *number < 1 << 48)
        } else {
            let number = u64::from(number.wrapping_sub(1));
            expected.checked_add_signed(distance::<32>(number, expected))
        };
        sequence.map_or(Reading::Foreign, |sequence| Reading::Numbered {
            sequence,
            sent: Stamp::from_timeval(seconds, micros),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::MonoInstant;

    fn at(monotonic: MonoInstant) -> SendTime {
        let wall_ns = 0;
        SendTime { monotonic, wall_ns }
    }

    fn numbered(sequence: u64, nanos: u64) -> Reading {
        Reading::Numbered {
            sequence,
            sent: Stamp::from_instant(MonoInstant::from_nanos(nanos)),
        }
    }

    #[test]
    fn the_first_datagram_is_the_example_of_the_protocol() {
        let sent = MonoInstant::from_nanos(3_600_250_000_000);
        let (narrow, wide) = (
            Header::<false> { payload: 16 },
            Header::<true> { payload: 16 },
        );
        let mut slot = [0; 16];
        DatagramHeader::write(&narrow, &mut slot, Part::Counted, 0, at(sent));
        assert_eq!(slot[..12], [0, 0, 0x0e, 0x10, 0, 3, 0xd0, 0x90, 0, 0, 0, 1]);
        assert_eq!(narrow.read_one(&slot, 0), numbered(0, sent.as_nanos()));
        DatagramHeader::write(&wide, &mut slot, Part::WarmUp, 1 << 33, at(sent));
        assert_eq!(slot[8..], [0, 0, 0, 2, 0, 0, 0, 1]);
        assert_eq!(wide.read_one(&slot, 0), numbered(1 << 33, sent.as_nanos()));
    }

    #[test]
    fn a_number_of_32_bits_goes_on_after_its_wrap() {
        let header = Header::<false> { payload: 12 };
        let mut slot = [0; 12];
        for sequence in [u64::from(u32::MAX) - 1, 1 << 32, (1 << 33) + 5] {
            DatagramHeader::write(
                &header,
                &mut slot,
                Part::Counted,
                sequence,
                at(MonoInstant::default()),
            );
            assert_eq!(header.read_one(&slot, sequence - 1), numbered(sequence, 0));
            assert_eq!(header.read_one(&slot, sequence + 9), numbered(sequence, 0));
        }
    }

    #[test]
    fn what_is_not_of_this_stream_is_foreign() {
        let header = Header::<true> { payload: 16 };
        assert_eq!(header.read_one(&[0; 4], 0), Reading::Other(None));
        for strange in [&[0; 15][..], &[0; 17], &[], &[0; 16], &[0xff; 16]] {
            assert_eq!(header.read_one(strange, 0), Reading::Foreign, "{strange:?}");
        }
    }

    #[test]
    fn every_version_and_byte_order_gets_its_own_answer() {
        let streams = Streams {
            cookie: Cookie::from_wire([0; COOKIE_LEN]),
            counters: Counters::Bits64,
        };
        for (request, said) in [
            (b"9876", b"6789"),
            (b"6789", b"9876"),
            (b"\x15\xcd\x5b\x07", b"\xb1\x68\xde\x3a"),
            (b"\x07\x5b\xcd\x15", b"\x3a\xde\x68\xb1"),
        ] {
            assert_eq!(answer(request).as_deref(), Some(&said[..]));
            assert!(streams.is_answer(said));
        }
        assert_eq!(answer(b"98765"), None);
        assert_eq!(answer(b"0000"), None);
    }
}

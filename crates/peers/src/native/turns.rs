//! Numbers of streams that one thread carries in turns: a stream's number has 16 bits, that of its datagrams 40.
//!
//! A header has one byte for the stream and six for the number. The upper byte of the stream is the first of those six,
//! so a datagram of a stream below 256 looks as it does where each stream has a thread. 2^40 datagrams of one stream are
//! 12 days at a million a second.

use crate::stream_format::{DatagramHeader, Numbers, Part, Reading, SendTime};
use linerate_model::MonoInstant;
use linerate_wire::Stamp;
use linerate_wire::header::{HEADER_LEN, Header, Kind};
use std::ops::Range;

/// Bits of a datagram's number within its stream.
const SEQUENCE_BITS: u32 = 40;

/// Maximum of such a number.
const MASK: u64 = (1 << SEQUENCE_BITS) - 1;

/// Stream and number of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) stream: u16,
    /// Within the stream, below 2^40.
    pub(super) sequence: u64,
}

impl Number {
    /// Those of a header.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the byte above the 40 bits"
    )]
    pub(super) const fn of(header: &Header) -> Self {
        let upper = (header.sequence >> SEQUENCE_BITS) as u8;
        Self {
            stream: u16::from_be_bytes([upper, header.stream]),
            sequence: header.sequence & MASK,
        }
    }

    /// The header of a datagram with them.
    #[inline]
    pub(super) fn header(self, token: u32, kind: Kind, sent: MonoInstant) -> Header {
        let [upper, stream] = self.stream.to_be_bytes();
        Header {
            token,
            stream,
            kind,
            sequence: u64::from(upper) << SEQUENCE_BITS | self.sequence & MASK,
            sent: Stamp::from_instant(sent),
        }
    }
}

/// What the header of a datagram says of the part that it belongs to.
#[inline]
pub(super) const fn kind(part: Part) -> Kind {
    match part {
        Part::Counted => Kind::Counted,
        Part::WarmUp => Kind::WarmUp,
    }
}

/// Datagrams of consecutive streams, which take turns.
pub(super) struct Turns {
    token: u32,
    first: u16,
    /// At least 1.
    streams: u64,
}

impl Turns {
    pub(super) fn new(token: u32, streams: Range<u16>) -> Self {
        Self {
            token,
            first: streams.start,
            streams: (streams.len() as u64).max(1),
        }
    }

    /// The number among those of all streams.
    #[inline]
    fn of_all(&self, number: Number) -> Option<u64> {
        let place = u64::from(number.stream.checked_sub(self.first)?);
        (place < self.streams).then(|| number.sequence * self.streams + place)
    }
}

impl DatagramHeader for Turns {
    const NUMBERS: Numbers = Numbers::PerPart;
    const SHOWS_CLOCK: bool = true;

    fn header_len(&self) -> usize {
        HEADER_LEN
    }

    #[inline]
    fn write(&self, slot: &mut [u8], part: Part, sequence: u64, sent: SendTime) {
        let place = u16::try_from(sequence % self.streams).unwrap_or(0);
        let number = Number {
            stream: self.first + place,
            sequence: sequence / self.streams,
        };
        let header = number.header(self.token, kind(part), sent.monotonic);
        header.write(slot);
    }

    /// What is left of a handshake is neither traffic nor foreign.
    #[inline]
    fn read(&self, datagram: &[u8], _expected: u64) -> Reading {
        let own = Header::read(datagram).filter(|header| header.token == self.token);
        let numbered = own.and_then(|header| Some((self.of_all(Number::of(&header))?, header)));
        let Some((sequence, header)) = numbered else {
            return Reading::Foreign;
        };
        match header.kind {
            Kind::Counted => Reading::Numbered {
                sequence,
                sent: header.sent,
            },
            Kind::WarmUp => Reading::Other(Some(header.sent)),
            Kind::Hello | Kind::HelloAck | Kind::HelloDone => Reading::Other(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: SendTime = SendTime {
        monotonic: MonoInstant::from_nanos(5),
        wall_ns: 0,
    };

    fn written(turns: &Turns, part: Part, sequence: u64) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        DatagramHeader::write(turns, &mut bytes, part, sequence, SENT);
        bytes
    }

    #[test]
    fn streams_take_turns_and_each_numbers_its_own_datagrams() {
        let turns = Turns::new(9, 9990..10_000);
        for sequence in [0, 1, 9, 10, 123, 10 * MASK + 9] {
            let bytes = written(&turns, Part::Counted, sequence);
            let number = Number::of(&Header::read(&bytes).unwrap());
            assert_eq!(u64::from(number.stream), 9990 + sequence % 10);
            assert_eq!(number.sequence, sequence / 10);
            let read = DatagramHeader::read(&turns, &bytes, 0);
            assert!(
                matches!(read, Reading::Numbered { sequence: same, .. } if same == sequence),
                "{sequence}: {read:?}"
            );
        }
        let warm = DatagramHeader::read(&turns, &written(&turns, Part::WarmUp, 3), 0);
        assert!(matches!(warm, Reading::Other(Some(_))), "{warm:?}");
    }

    #[test]
    fn other_streams_and_tests_are_foreign_and_what_is_left_of_a_handshake_does_not_count() {
        let turns = Turns::new(9, 300..310);
        for (token, streams) in [(9, 290..300), (9, 310..320), (8, 300..310)] {
            let bytes = written(&Turns::new(token, streams), Part::Counted, 0);
            assert_eq!(DatagramHeader::read(&turns, &bytes, 0), Reading::Foreign);
        }
        let mut hello = [0; HEADER_LEN];
        let number = Number {
            stream: 305,
            sequence: 0,
        };
        number
            .header(9, Kind::Hello, MonoInstant::default())
            .write(&mut hello);
        let read = DatagramHeader::read(&turns, &hello, 0);
        assert_eq!(read, Reading::Other(None));
    }
}

//! linerate's own data streams: everything shows the test's token, datagrams are marked counted or warm-up.
//!
//! ```text
//!  client                                   server (bound, talks to nobody)
//!    │── hello(token, stream), every 50 ms ──►│  right token, stream and address?
//!    │◄────────────── ack ────────────────────│  connects its socket to the sender
//!    │── done ───────────────────────────────►│  settled; or: no hello for a while
//! ```
//! A header has one byte for its stream. Where a thread carries many, the first of the six bytes of the number holds
//! the upper one: see `turns`. Streams below 256 look alike both ways.
//!
//! A lost ack brings another hello, which brings another ack. The server answers nothing that does not carry the
//! token from the control connection's address, and never with more bytes than came: it cannot be used to reflect
//! or amplify.

use super::turns::{Number, Turns, kind};
use crate::stream_format::{
    Arrival, DatagramFormat, DatagramHeader, DatagramMark, Handshake, HandshakeStep, Message,
    MessageFormat, Numbers, Part, Reading, SendTime, StreamFormat,
};
use linerate_model::MonoInstant;
use linerate_wire::Stamp;
use linerate_wire::header::{COUNTED_MARK, HEADER_LEN, Header, Kind};
use std::ops::Range;
use std::time::Duration;

/// Length of a TCP stream's opening, bytes: token and number.
pub(super) const OPENING_LEN: usize = 6;

/// Gap between two hellos.
const HELLO_GAP: Duration = Duration::from_millis(50);

/// Maximum of a 48-bit number in the header.
const MASK_48: u64 = (1 << 48) - 1;

/// The data streams of a test with this token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams {
    /// Random number that proves that a stream belongs to this test.
    pub token: u32,
}

impl StreamFormat for Streams {
    fn arrival(&self) -> Arrival {
        Arrival::Handshake
    }

    fn datagrams(&self, stream: u8, _payload: usize) -> Option<Box<dyn DatagramFormat>> {
        Some(Box::new(self.stream(stream)))
    }

    fn messages(&self, stream: u8) -> Option<Box<dyn MessageFormat>> {
        Some(Box::new(self.stream(stream)))
    }

    fn identifies_test(&self) -> bool {
        true
    }

    fn datagram_mark(&self) -> Option<DatagramMark> {
        let (byte_at, byte) = COUNTED_MARK;
        Some(DatagramMark {
            word: self.token.to_be_bytes(),
            byte_at,
            byte,
        })
    }

    /// Token (4 bytes) and stream index (2), big-endian.
    fn tcp_opening(&self, stream: u16) -> Vec<u8> {
        let (token, stream) = (self.token.to_be_bytes(), stream.to_be_bytes());
        [&token[..], &stream[..]].concat()
    }

    fn handshake(&self, stream: u16) -> Option<Box<dyn Handshake>> {
        let token = self.token;
        Some(Box::new(Greetings { token, stream }))
    }

    fn datagrams_in_turns(&self, streams: Range<u16>) -> Option<Box<dyn DatagramFormat>> {
        Some(Box::new(Turns::new(self.token, streams)))
    }

    fn stream_of(&self, datagram: &[u8]) -> Option<u16> {
        let header = Header::read(datagram).filter(|header| header.token == self.token)?;
        Some(Number::of(&header).stream)
    }
}

impl Streams {
    const fn stream(self, stream: u8) -> Stream {
        let token = self.token;
        Stream { token, stream }
    }
}

/// One data stream.
struct Stream {
    token: u32,
    stream: u8,
}

impl Stream {
    const fn header(&self, kind: Kind, sequence: u64, sent: MonoInstant) -> Header {
        Header {
            token: self.token,
            stream: self.stream,
            kind,
            sequence,
            sent: Stamp::from_instant(sent),
        }
    }

    /// Header of a datagram or message, if it belongs to this stream.
    #[inline]
    fn own(&self, bytes: &[u8]) -> Option<Header> {
        Header::read(bytes).filter(|h| h.token == self.token && h.stream == self.stream)
    }
}

impl DatagramHeader for Stream {
    const NUMBERS: Numbers = Numbers::PerPart;
    const SHOWS_CLOCK: bool = true;

    fn header_len(&self) -> usize {
        HEADER_LEN
    }

    #[inline]
    fn write(&self, slot: &mut [u8], part: Part, sequence: u64, sent: SendTime) {
        self.header(kind(part), sequence, sent.monotonic)
            .write(slot);
    }

    #[inline]
    fn read(&self, datagram: &[u8], _expected: u64) -> Reading {
        match self.own(datagram) {
            Some(header) if header.kind == Kind::Counted => Reading::Numbered {
                sequence: header.sequence,
                sent: header.sent,
            },
            Some(header) => Reading::Other(Some(header.sent)),
            None => Reading::Foreign,
        }
    }
}

/// Messages of a header's length or more carry the header. Shorter ones carry as much of the number as fits, down
/// to none: an empty datagram is matched by order alone.
impl MessageFormat for Stream {
    fn header_len(&self) -> usize {
        HEADER_LEN
    }

    fn shows_clock(&self, length: usize) -> bool {
        length >= HEADER_LEN
    }

    fn write(&self, message: &mut [u8], number: u64, sent: MonoInstant) {
        if message.len() >= HEADER_LEN {
            self.header(Kind::Counted, number & MASK_48, sent)
                .write(message);
        } else {
            let part = message.len().min(8);
            message[..part].copy_from_slice(&number.to_le_bytes()[..part]);
        }
    }

    fn read(&self, message: &[u8]) -> Option<Message> {
        if message.len() >= HEADER_LEN {
            let header = self.own(message)?;
            return (header.kind == Kind::Counted).then_some(Message {
                number: header.sequence,
                sent: Some(header.sent),
            });
        }
        let mut bytes = [0; 8];
        let part = message.len().min(8);
        bytes[..part].copy_from_slice(&message[..part]);
        Some(Message {
            number: u64::from_le_bytes(bytes),
            sent: None,
        })
    }
}

/// Handshake of one datagram stream.
struct Greetings {
    token: u32,
    stream: u16,
}

impl Greetings {
    /// Its datagram of this kind.
    fn greeting(&self, kind: Kind) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_LEN];
        let number = Number {
            stream: self.stream,
            sequence: 0,
        };
        number
            .header(self.token, kind, MonoInstant::default())
            .write(&mut bytes);
        bytes
    }

    /// Header of a datagram, if it belongs to this stream.
    fn own(&self, bytes: &[u8]) -> Option<Header> {
        Header::read(bytes).filter(|h| h.token == self.token && Number::of(h).stream == self.stream)
    }
}

impl Handshake for Greetings {
    fn request(&self) -> Vec<u8> {
        self.greeting(Kind::Hello)
    }

    fn repeats(&self) -> Option<Duration> {
        Some(HELLO_GAP)
    }

    /// Traffic of this stream confirms the handshake like the ack.
    fn is_answer(&self, datagram: &[u8]) -> bool {
        self.own(datagram).is_some()
    }

    fn confirmation(&self) -> Option<Vec<u8>> {
        Some(self.greeting(Kind::HelloDone))
    }

    fn hear(&self, datagram: &[u8]) -> HandshakeStep {
        match self.own(datagram).map(|header| header.kind) {
            Some(Kind::Hello) => HandshakeStep::Answer(self.greeting(Kind::HelloAck)),
            Some(Kind::HelloDone) => HandshakeStep::Confirmed,
            _ => HandshakeStep::Ignored,
        }
    }

    fn answer_name(&self) -> &'static str {
        "answer to UDP hellos"
    }
}

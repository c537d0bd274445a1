//! How the data streams of a test open, greet, number what they carry, and end.
//!
//! Each protocol implements [`StreamFormat`] in its own folder: bytes in, bytes out. Its session names the format in
//! an action; the engine does the I/O and asks once per batch of datagrams or per message, never per packet.

use linerate_model::MonoInstant;
use linerate_model::spec::Side;
use linerate_wire::{Stamp, distance_48};
use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

/// The data streams of one test, the same value for all of them.
pub trait StreamFormat: SameFormat + fmt::Debug + Send + Sync {
    /// Where the server's data streams arrive.
    fn arrival(&self) -> Arrival;
    /// The header of the datagrams of this stream, all of `payload` bytes; `None`: the protocol has no one-way
    /// datagrams.
    fn datagrams(&self, _stream: u8, _payload: usize) -> Option<Box<dyn DatagramFormat>> {
        None
    }
    /// The header of the datagrams of these streams where one thread carries them in turns: number `n` is number
    /// `n / streams` of the stream `n % streams` places after the first; `None`: the protocol has no such datagrams.
    fn datagrams_in_turns(&self, _streams: Range<u16>) -> Option<Box<dyn DatagramFormat>> {
        None
    }
    /// The stream of this test to which a datagram says that it belongs; `None`: another test's, or it does not say.
    fn stream_of(&self, _datagram: &[u8]) -> Option<u16> {
        None
    }
    /// Format of this stream's messages; `None`: the protocol has no request and response.
    fn messages(&self, _stream: u8) -> Option<Box<dyn MessageFormat>> {
        None
    }
    /// How an answering end parses and answers messages that state themselves whether they want a reply; `None`: the
    /// protocol has no such messages.
    fn replies(&self) -> Option<Box<dyn ReplyFormat>> {
        None
    }
    /// Whether headers of datagrams and messages identify the test and their purpose.
    fn identifies_test(&self) -> bool {
        false
    }
    /// Bytes at fixed places by which a counted datagram of this test is recognised.
    fn datagram_mark(&self) -> Option<DatagramMark> {
        None
    }
    /// Bytes with which the client opens a TCP stream; not data.
    fn tcp_opening(&self, _stream: u16) -> Vec<u8> {
        Vec::new()
    }
    /// Length of the non-data bytes at the beginning of a TCP stream accepted at a shared port.
    fn tcp_preamble_len(&self) -> usize {
        0
    }
    /// Handshake of a datagram stream before its traffic; `None`: there is none.
    fn handshake(&self, _stream: u16) -> Option<Box<dyn Handshake>> {
        None
    }
    /// Whether messages flow only as far as grants let them, and streams go on from test to test.
    fn is_granted(&self) -> bool {
        false
    }
    /// Whether a duplex test has one stream for both ways.
    fn shares_sockets(&self) -> bool {
        false
    }
    /// Whether a receiver detects the end of its streams in the streams themselves.
    fn tells_its_end(&self) -> bool {
        false
    }
    /// Whether a byte stream stays open after its last byte: its end is signalled over the control connection, and
    /// closing it sooner may disturb the peer or the next test.
    fn stays_open(&self) -> bool {
        false
    }
    /// Whether a TCP sender waits until the peer's TCP has acknowledged everything: the peer reports nothing, or only
    /// what it has by then.
    fn waits_for_delivery(&self) -> bool {
        false
    }
    /// How a datagram stream treats ICMP port unreachable.
    fn refusals(&self, _side: Side) -> Refusals {
        Refusals::SeveralEnd
    }
    /// What happens to data sockets after their traffic, before the test is over.
    fn after_traffic(&self) -> AfterTraffic {
        AfterTraffic::Close
    }
    /// Fills in the time of a datagram that a session sends outside the traffic, if it has one.
    fn stamp(&self, _datagram: &mut [u8], _sent: SendTime) {}
}

/// Comparison of formats of unknown type; every format has it.
pub trait SameFormat: Any {
    /// Whether the other is of the same type and value.
    fn is_same(&self, other: &dyn StreamFormat) -> bool;
}

impl<T: StreamFormat + PartialEq> SameFormat for T {
    fn is_same(&self, other: &dyn StreamFormat) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref() == Some(self)
    }
}

impl PartialEq for dyn StreamFormat {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other)
    }
}

/// How a datagram stream treats ICMP port unreachable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusals {
    /// The first one ends it: only the datagrams themselves show that the peer wants them.
    FirstEnds,
    /// Several end it.
    SeveralEnd,
    /// Several end it; those within this time from its beginning are ignored.
    SeveralEndAfter(Duration),
}

/// Where the data streams of a test arrive at the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// To ports that the server opens for the test; a datagram stream belongs to the sender of its first datagram.
    FirstDatagram,
    /// To ports that the server opens for the test; datagram streams begin with a handshake.
    Handshake,
    /// To the port of the control connection, or that all tests of the protocol share.
    SharedPort,
    /// To ports that the server opens for the test; both ends connect their datagram sockets to the ports exchanged
    /// over the control connection.
    ToldPorts,
}

/// What happens to data sockets after their traffic, before the test is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterTraffic {
    /// They are closed.
    Close,
    /// The client keeps them open: its server must not see them close before the test is over.
    KeepAtClient,
    /// Datagram sockets stay open: the sessions exchange more datagrams over them.
    SpeakDatagrams,
}

/// Bytes at fixed places of a test's counted datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramMark {
    /// The first four bytes.
    pub word: [u8; 4],
    /// Offset of another byte.
    pub byte_at: u8,
    /// Value of that byte.
    pub byte: u8,
}

/// How a datagram stream is opened: the client sends requests, the server answers. Any datagram may be lost.
pub trait Handshake {
    /// The client's request.
    fn request(&self) -> Vec<u8>;
    /// Interval between requests; `None`: sent once, since a repetition would be taken for another stream.
    fn repeats(&self) -> Option<Duration>;
    /// Whether this datagram confirms that the server has the stream.
    fn is_answer(&self, datagram: &[u8]) -> bool;
    /// Datagram that a client sends after the answer.
    fn confirmation(&self) -> Option<Vec<u8>> {
        None
    }
    /// A server's reaction to a datagram.
    fn hear(&self, datagram: &[u8]) -> HandshakeStep;
    /// Name of the answer, for the error that it did not arrive.
    fn answer_name(&self) -> &'static str;
}

/// A server's reaction to a datagram of a handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandshakeStep {
    /// Accepts its sender as the peer, and answers with this.
    Answer(Vec<u8>),
    /// The client has received the answer.
    Confirmed,
    /// None: foreign, or part of the traffic.
    Ignored,
}

/// Purpose of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Counted traffic.
    Counted,
    /// Traffic of the warm-up.
    WarmUp,
}

/// Send time, on two clocks of the sender's host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendTime {
    /// Its monotonic clock.
    pub monotonic: MonoInstant,
    /// Its wall time, in nanoseconds since 1970.
    pub wall_ns: u64,
}

/// The datagrams of one sending call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// Purpose of the datagrams.
    pub part: Part,
    /// Number of the first, from 0; the others follow without gaps.
    pub first: u64,
    /// When they are sent.
    pub sent: SendTime,
}

/// Where a datagram lies in the memory of its batch, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Offset of its first byte.
    pub offset: u32,
    /// Its length.
    pub length: u32,
}

/// Datagrams that came in one receiving call.
#[derive(Debug, Clone, Copy)]
pub struct Datagrams<'a> {
    /// Memory that all of them lie in.
    pub bytes: &'a [u8],
    /// Where each lies, in order of arrival.
    pub spans: &'a [Span],
}

impl<'a> Datagrams<'a> {
    /// Each datagram's payload, in order of arrival.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        self.spans.iter().map(move |span| {
            let start = span.offset as usize;
            &self.bytes[start..start + span.length as usize]
        })
    }
}

/// Classification of a received datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// End of this stream.
    End {
        /// Datagrams sent on the stream, warm-up included, if stated.
        sent: Option<u64>,
    },
    /// Of another sender.
    Foreign,
    /// Counted traffic, or traffic that cannot be distinguished from it.
    Numbered {
        /// Sequence number from 0, 48 bits.
        sequence: u64,
        /// The sender's clock.
        sent: Stamp,
    },
    /// Of this stream, but not counted; with the sender's clock if present.
    Other(Option<Stamp>),
    /// Counted traffic without a number.
    Unnumbered,
}

/// How a datagram stream numbers its datagrams, and how it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// Numbers go on from the warm-up through the counted traffic.
    Continuous,
    /// Datagrams have no number, and the sender ends the stream with an empty one.
    None,
    /// Datagrams of the warm-up are marked, and the counted ones are numbered from 0 again.
    PerPart,
}

/// Writes and reads the headers of one stream's datagrams, a batch at a time.
pub trait DatagramFormat: Send {
    /// Length of the header in bytes: the minimum payload.
    fn header_len(&self) -> usize;
    /// How datagrams are numbered.
    fn numbers(&self) -> Numbers;
    /// Whether send times are on the peer's monotonic clock.
    fn shows_clock(&self) -> bool;
    /// Writes the headers of a batch into `slots`, each `payload` long and back to back.
    fn write(&self, slots: &mut [u8], payload: usize, batch: Batch);
    /// Appends the classification of each datagram, where number `expected` is next.
    fn read(&self, datagrams: Datagrams<'_>, expected: u64, readings: &mut Vec<Reading>);
    /// Classification of one datagram, where number `expected` is next.
    fn read_one(&self, datagram: &[u8], expected: u64) -> Reading;
}

/// The header of a single datagram, from which a [`DatagramFormat`] is made: its loops run inside of one virtual
/// call.
pub trait DatagramHeader: Send {
    /// How datagrams are numbered.
    const NUMBERS: Numbers;
    /// Whether send times are on the peer's monotonic clock.
    const SHOWS_CLOCK: bool = false;
    /// Length of the header in bytes: the minimum payload.
    fn header_len(&self) -> usize;
    /// Writes the header of datagram `sequence`, from 0, into the start of `slot`.
    fn write(&self, slot: &mut [u8], part: Part, sequence: u64, sent: SendTime);
    /// Classifies a datagram, where number `expected` is next.
    fn read(&self, datagram: &[u8], expected: u64) -> Reading;
}

impl<H: DatagramHeader> DatagramFormat for H {
    fn header_len(&self) -> usize {
        DatagramHeader::header_len(self)
    }

    fn numbers(&self) -> Numbers {
        H::NUMBERS
    }

    fn shows_clock(&self) -> bool {
        H::SHOWS_CLOCK
    }

    fn write(&self, slots: &mut [u8], payload: usize, batch: Batch) {
        for (slot, sequence) in slots.chunks_exact_mut(payload).zip(batch.first..) {
            DatagramHeader::write(self, slot, batch.part, sequence, batch.sent);
        }
    }

    fn read(&self, datagrams: Datagrams<'_>, expected: u64, readings: &mut Vec<Reading>) {
        let mut expected = expected;
        for datagram in datagrams.iter() {
            let reading = DatagramHeader::read(self, datagram, expected);
            if let Reading::Numbered { sequence, .. } = reading
                && distance_48(sequence, expected) >= 0
            {
                expected = sequence.wrapping_add(1);
            }
            readings.push(reading);
        }
    }

    fn read_one(&self, datagram: &[u8], expected: u64) -> Reading {
        DatagramHeader::read(self, datagram, expected)
    }
}

/// A received message, as far as its length and format tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Its number, truncated to the bits that it carries.
    pub number: u64,
    /// Send time on the peer's clock, if present.
    pub sent: Option<Stamp>,
}

/// Writes and reads the messages of an exchange on one stream.
pub trait MessageFormat: Send {
    /// Length of a full header in bytes; shorter messages carry less of it. 0: messages carry nothing.
    fn header_len(&self) -> usize;
    /// Whether messages of this length carry the monotonic clock of the end that sent them.
    fn shows_clock(&self, length: usize) -> bool;
    /// Whether an empty datagram is the end of the exchange.
    fn ends_stream(&self) -> bool {
        false
    }
    /// Writes message `number` into the start of `message`.
    fn write(&self, message: &mut [u8], number: u64, sent: MonoInstant);
    /// Parses a message; `None` if its header is not of this stream.
    fn read(&self, message: &[u8]) -> Option<Message>;
}

/// Messages without a header: matched by order alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlainMessages {
    /// Whether an empty datagram is the end.
    pub(crate) ends_stream: bool,
}

impl MessageFormat for PlainMessages {
    fn header_len(&self) -> usize {
        0
    }

    fn shows_clock(&self, _length: usize) -> bool {
        false
    }

    fn ends_stream(&self) -> bool {
        self.ends_stream
    }

    fn write(&self, _message: &mut [u8], _number: u64, _sent: MonoInstant) {}

    fn read(&self, _message: &[u8]) -> Option<Message> {
        Some(Message {
            number: 0,
            sent: None,
        })
    }
}

/// Messages of any length, each of which states whether it wants a reply.
pub trait ReplyFormat: Send {
    /// The longest message, in bytes.
    fn max_message(&self) -> usize;
    /// Answers the complete messages at the start of a byte stream's `bytes`; returns how many bytes they took.
    fn answer_stream(&self, bytes: &[u8], replies: &mut Replies) -> Result<usize, BadLength>;
    /// Answers a datagram, if it is one complete message.
    fn answer_datagram(&self, datagram: &[u8], replies: &mut Replies);
}

/// The peer announced an invalid message length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadLength;

/// Queued replies, in order.
#[derive(Debug, Default)]
pub struct Replies {
    bytes: Vec<u8>,
    /// Unsent bytes of each reply.
    lengths: VecDeque<usize>,
    /// Bytes sent of the buffer.
    sent: usize,
}

impl Replies {
    /// Adds a copy of `message` and returns it, for changes to the reply.
    pub fn push(&mut self, message: &[u8]) -> &mut [u8] {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(message);
        self.lengths.push_back(message.len());
        &mut self.bytes[start..]
    }

    /// Unsent part of the first reply; empty if there is none.
    pub fn first(&self) -> &[u8] {
        let length = self.lengths.front().copied().unwrap_or(0);
        &self.bytes[self.sent..self.sent + length]
    }

    /// Whether everything is sent.
    pub const fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }

    /// Marks `sent` more bytes of the first reply, at most all of it, as sent; returns whether it is complete.
    pub fn advance(&mut self, sent: usize) -> bool {
        let left = self.lengths.pop_front().unwrap_or(0).saturating_sub(sent);
        if left > 0 {
            self.lengths.push_front(left);
        }
        self.sent += sent;
        if self.is_empty() {
            self.bytes.clear();
            self.sent = 0;
        }
        left == 0
    }
}

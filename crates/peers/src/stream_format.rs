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
    /// What the messages of this stream carry; `None`: the protocol has no request and response.
    fn messages(&self, _stream: u8) -> Option<Box<dyn MessageFormat>> {
        None
    }
    /// Where each message says itself whether it is to come back: how an answering end cuts and answers them.
    fn replies(&self) -> Option<Box<dyn ReplyFormat>> {
        None
    }
    /// Whether headers of datagrams and messages show that they are of this test, and what they are for.
    fn identifies_test(&self) -> bool {
        false
    }
    /// What a counted datagram of this test, and no other, has at fixed places.
    fn datagram_mark(&self) -> Option<DatagramMark> {
        None
    }
    /// What a TCP stream begins with, from the client; not data.
    fn tcp_opening(&self, _stream: u16) -> Vec<u8> {
        Vec::new()
    }
    /// Bytes that a TCP stream taken at a shared port begins with and that are not data.
    fn tcp_preamble_len(&self) -> usize {
        0
    }
    /// What a datagram stream says before its traffic; `None`: nobody says that it is there.
    fn handshake(&self, _stream: u8) -> Option<Box<dyn Handshake>> {
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
    /// Whether a receiver sees the end of its streams in the streams, with nobody telling it.
    fn tells_its_end(&self) -> bool {
        false
    }
    /// Whether the end of a byte stream says nothing: its end is told over the control connection, and closing it
    /// sooner may disturb the peer or the next test.
    fn stays_open(&self) -> bool {
        false
    }
    /// Whether a TCP sender waits until the peer's TCP has all of it: the peer tells nothing, or only what it has
    /// by then.
    fn waits_for_delivery(&self) -> bool {
        false
    }
    /// What being refused (ICMP port unreachable) means to a datagram stream.
    fn refusals(&self, _side: Side) -> Refusals {
        Refusals::SeveralEnd
    }
    /// What becomes of data sockets whose traffic is over before the test is.
    fn after_traffic(&self) -> AfterTraffic {
        AfterTraffic::Close
    }
    /// Fills in the time of a datagram that a session sends beside the traffic, where it has one.
    fn stamp(&self, _datagram: &mut [u8], _sent: SendTime) {}
}

/// Comparison of formats whose types are not known; every format has it.
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

/// What the answers "port unreachable" mean to a datagram stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusals {
    /// The first ends it: nothing but the datagrams themselves says that the other end wants them.
    FirstEnds,
    /// Several end it.
    SeveralEnd,
    /// Several end it, but for those of so long from its beginning on.
    SeveralEndAfter(Duration),
}

/// Where the data streams of a test come to at the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// To ports that the server opens for the test; a datagram stream belongs to the sender of its first datagram.
    FirstDatagram,
    /// To ports that the server opens for the test; datagram streams begin with a handshake.
    Handshake,
    /// To the port of the control connection, or that all tests of the protocol share.
    SharedPort,
    /// To ports that the server opens for the test; the datagram sockets of both ends are connected to the ports
    /// that the other end told.
    ToldPorts,
}

/// What becomes of data sockets whose traffic is over before the test is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterTraffic {
    /// They are closed.
    Close,
    /// The client keeps them open: its server must not see them close before the test is over.
    KeepAtClient,
    /// Datagram sockets stay, and the sessions say more over them.
    SpeakDatagrams,
}

/// What counted datagrams of one test have at fixed places of their payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramMark {
    /// The first four bytes.
    pub word: [u8; 4],
    /// Offset of another byte.
    pub byte_at: u8,
    /// That byte.
    pub byte: u8,
}

/// How a datagram stream is opened: the client asks, the server answers. Every datagram may be lost.
pub trait Handshake {
    /// The client's request.
    fn request(&self) -> Vec<u8>;
    /// The pause between two requests; `None`: it is sent once, a repetition would be taken for another stream.
    fn repeats(&self) -> Option<Duration>;
    /// Whether this datagram tells the client that the server has the stream.
    fn is_answer(&self, datagram: &[u8]) -> bool;
    /// What a client sends once it has the answer.
    fn confirmation(&self) -> Option<Vec<u8>> {
        None
    }
    /// What a server makes of a datagram.
    fn hear(&self, datagram: &[u8]) -> HandshakeStep;
    /// The answer by name, for the message that it did not come.
    fn answer_name(&self) -> &'static str;
}

/// What a server does about a datagram of a handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandshakeStep {
    /// Takes its sender for the peer, and sends it this.
    Answer(Vec<u8>),
    /// The client has had the answer.
    Confirmed,
    /// Nothing: it is of somebody else, or of the traffic.
    Ignored,
}

/// What a datagram is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Counted traffic.
    Counted,
    /// Traffic of the warm-up.
    WarmUp,
}

/// When something is sent, on two clocks of the sender's host.
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
    /// What they are for.
    pub part: Part,
    /// Number of the first, from 0; the others follow.
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

/// What a receiver makes of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// This stream's, after its last.
    End {
        /// Datagrams of the stream, warm-up included, where it says how many were sent.
        sent: Option<u64>,
    },
    /// Of another sender.
    Foreign,
    /// Traffic that is counted, or that cannot be told from it.
    Numbered {
        /// From 0, 48 bits.
        sequence: u64,
        /// The sender's clock.
        sent: Stamp,
    },
    /// This stream's, but not traffic that counts; with the sender's clock where it shows it.
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
    /// Datagrams say that they belong to the warm-up, and the counted ones are numbered afresh.
    PerPart,
}

/// Writes and reads the headers of one stream's datagrams, a batch at a time.
pub trait DatagramFormat: Send {
    /// Bytes of the header: the least payload.
    fn header_len(&self) -> usize;
    /// How datagrams are numbered.
    fn numbers(&self) -> Numbers;
    /// Whether send times are of the peer's monotonic clock.
    fn shows_clock(&self) -> bool;
    /// Writes the headers of a batch into `slots`, each `payload` long and back to back.
    fn write(&self, slots: &mut [u8], payload: usize, batch: Batch);
    /// Appends what each of these datagrams is, where number `expected` would come next.
    fn read(&self, datagrams: Datagrams<'_>, expected: u64, readings: &mut Vec<Reading>);
    /// What one datagram is, where number `expected` would come next.
    fn read_one(&self, datagram: &[u8], expected: u64) -> Reading;
}

/// The header of a single datagram, from which a [`DatagramFormat`] is made: its loops run inside of one virtual
/// call.
pub trait DatagramHeader: Send {
    /// As in [`DatagramFormat`].
    const NUMBERS: Numbers;
    /// As in [`DatagramFormat`].
    const SHOWS_CLOCK: bool = false;
    /// As in [`DatagramFormat`].
    fn header_len(&self) -> usize;
    /// Writes the header of datagram `sequence`, from 0, into the start of `slot`.
    fn write(&self, slot: &mut [u8], part: Part, sequence: u64, sent: SendTime);
    /// Reads a datagram where number `expected` would come next.
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

/// A message that came, as far as its length and format say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Its number, cut to what it carries.
    pub number: u64,
    /// The clock of the end that sent it, where it shows it.
    pub sent: Option<Stamp>,
}

/// Writes and reads the messages of an exchange on one stream.
pub trait MessageFormat: Send {
    /// Bytes of a full header; shorter messages carry less of it. 0: messages carry nothing.
    fn header_len(&self) -> usize;
    /// Whether messages of this length carry the monotonic clock of the end that sent them.
    fn shows_clock(&self, length: usize) -> bool;
    /// Whether an empty datagram is the end of the exchange.
    fn ends_stream(&self) -> bool {
        false
    }
    /// Writes message `number` into the start of `message`.
    fn write(&self, message: &mut [u8], number: u64, sent: MonoInstant);
    /// What a message carries; `None` if it has a header that is not of this stream.
    fn read(&self, message: &[u8]) -> Option<Message>;
}

/// Messages of an exchange that carry nothing: order alone tells which is which.
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

/// Messages of any length, each of which says whether it wants to come back.
pub trait ReplyFormat: Send {
    /// The longest message, in bytes.
    fn max_message(&self) -> usize;
    /// Answers the whole messages at the start of a byte stream's `bytes`; returns how many bytes they took.
    fn answer_stream(&self, bytes: &[u8], replies: &mut Replies) -> Result<usize, BadLength>;
    /// Answers a datagram, if it is one whole message.
    fn answer_datagram(&self, datagram: &[u8], replies: &mut Replies);
}

/// The peer announced a message of a length that cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadLength;

/// Messages that are to go back, in order.
#[derive(Debug, Default)]
pub struct Replies {
    bytes: Vec<u8>,
    /// Of each message what is not sent yet.
    lengths: VecDeque<usize>,
    /// How far the bytes have been sent.
    sent: usize,
}

impl Replies {
    /// Adds a copy of `message`, to be changed where the reply differs.
    pub fn push(&mut self, message: &[u8]) -> &mut [u8] {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(message);
        self.lengths.push_back(message.len());
        &mut self.bytes[start..]
    }

    /// What is left of the first reply; empty if there is none.
    pub fn first(&self) -> &[u8] {
        let length = self.lengths.front().copied().unwrap_or(0);
        &self.bytes[self.sent..self.sent + length]
    }

    /// Whether all is sent.
    pub const fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }

    /// So many more bytes of the first reply, at most all that is left of it, are sent; whether it is whole now.
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

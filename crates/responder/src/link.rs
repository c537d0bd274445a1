//! The control connection: frames in, a queue of messages out, neither with memory beyond its own.
//!
//! ```text
//!  once per side:   l i n e r a t e  version:u16        (big-endian)
//!  then frames:     length:u32  kind:u8  body:[u8; length - 1]
//! ```

use crate::json::Json;
use crate::order::Order;
use crate::refusal::Refusal;
use core::time::Duration;
use linerate_wire::MonoInstant;
use linerate_wire::frame::{FRAME_HEADER_LEN, Kind, MAGIC, PREAMBLE_LEN, VERSION};

/// Maximum length of a message that is kept, bytes: twice a specification with all its settings.
const INBOX: usize = 2048;
/// Maximum queued messages; a correct client causes three at once.
const QUEUE: usize = 8;

/// State of the session; the names are those of `peers::native`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// No client.
    Closed,
    /// The last messages are being sent.
    Closing,
    /// The data streams are open, and the client knows it.
    Connected,
    /// Data streams are being opened.
    Connecting,
    /// Waiting for the client's hello.
    Greeting,
    /// Between tests.
    Idle,
    /// The client has the report and completes its own.
    Reporting,
    /// Traffic flows.
    Running,
    /// The test is being aborted; both ends drop it.
    Stopping,
}

impl State {
    /// Whether both ends have exchanged hellos and the session is not closed.
    pub(crate) const fn is_greeted(self) -> bool {
        !matches!(self, Self::Closed | Self::Closing | Self::Greeting)
    }

    /// Whether a test is under way.
    pub(crate) const fn has_test(self) -> bool {
        self.is_greeted() && !matches!(self, Self::Idle)
    }
}

/// A message of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message {
    Abort(u32),
    Aborted(u32),
    Acknowledge(u32),
    Bye,
    EndTraffic(u32),
    Farewell,
    Finished {
        test: u32,
        sent: u64,
    },
    Hello,
    Ping,
    Prepare {
        test: u32,
        order: Result<Order, Refusal>,
    },
    Start(u32),
}

/// A message to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outgoing {
    Abort { test: u32, refusal: Refusal },
    Aborted(u32),
    Connected(u32),
    Farewell(Refusal),
    Finished { test: u32, sent: u64 },
    Ping,
    Preamble,
    Progress(Progress),
    Ready,
    Refused { test: u32, refusal: Refusal },
    Report,
    Started(u32),
    Welcome,
}

impl Outgoing {
    /// Its kind; the preamble has none.
    pub(crate) const fn kind(self) -> Option<Kind> {
        Some(match self {
            Self::Preamble => return None,
            Self::Welcome => Kind::Welcome,
            Self::Farewell(_) => Kind::Farewell,
            Self::Ping => Kind::Ping,
            Self::Ready => Kind::Ready,
            Self::Refused { .. } => Kind::Refused,
            Self::Connected(_) => Kind::Connected,
            Self::Started(_) => Kind::Started,
            Self::Progress(_) => Kind::Progress,
            Self::Finished { .. } => Kind::Finished,
            Self::Report => Kind::Report,
            Self::Abort { .. } => Kind::Abort,
            Self::Aborted(_) => Kind::Aborted,
        })
    }
}

/// Counts so far, copied: a message that is sent in parts must not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) test: u32,
    pub(crate) elapsed: Duration,
    pub(crate) bytes: u64,
    pub(crate) packets: u64,
    pub(crate) missing: Option<u64>,
    /// Utilisation of the core in the last interval, in thousandths.
    pub(crate) busy: Option<u64>,
}

/// Why the connection cannot continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// Another protocol, or another version of this one.
    Foreign,
    Refused(Refusal),
}

/// One control connection.
#[derive(Debug)]
pub(crate) struct Link {
    inbox: [u8; INBOX],
    filled: usize,
    has_preamble: bool,
    queue: [Outgoing; QUEUE],
    first: usize,
    waiting: usize,
    /// Bytes of the first message already sent.
    pub(crate) offset: usize,
    pub(crate) heard: MonoInstant,
    pub(crate) sent: MonoInstant,
}

impl Link {
    pub(crate) const fn new() -> Self {
        Self {
            inbox: [0; INBOX],
            filled: 0,
            has_preamble: false,
            queue: [Outgoing::Ping; QUEUE],
            first: 0,
            waiting: 0,
            offset: 0,
            heard: MonoInstant::from_nanos(0),
            sent: MonoInstant::from_nanos(0),
        }
    }

    pub(crate) const fn reset(&mut self, now: MonoInstant) {
        self.filled = 0;
        self.has_preamble = false;
        self.waiting = 0;
        self.offset = 0;
        self.heard = now;
        self.sent = now;
    }

    /// Buffers as much of `bytes` as fits; returns the rest.
    pub(crate) fn fill<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let room = self.inbox.get_mut(self.filled..).unwrap_or_default();
        let count = room.len().min(bytes.len());
        let (now, later) = bytes.split_at(count);
        for (to, from) in room.iter_mut().zip(now) {
            *to = *from;
        }
        self.filled += count;
        later
    }

    /// The next message, if it is complete.
    pub(crate) fn next(&mut self, max_datagram: u16) -> Result<Option<Message>, Broken> {
        if !self.has_preamble && !self.take_preamble()? {
            return Ok(None);
        }
        let filled = self.inbox.get(..self.filled).unwrap_or_default();
        let Some(&[a, b, c, d, kind]) = filled.first_chunk::<FRAME_HEADER_LEN>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([a, b, c, d]);
        let most = INBOX - 4;
        let fits = usize::try_from(length)
            .ok()
            .filter(|l| (1..=most).contains(l));
        let Some(end) = fits.map(|length| length + 4) else {
            return Err(Broken::Refused(Refusal::Length { length, most }));
        };
        let Some(body) = filled.get(FRAME_HEADER_LEN..end) else {
            return Ok(None);
        };
        let message = read(kind, body, max_datagram);
        self.consume(end);
        message.map(Some).map_err(Broken::Refused)
    }

    fn take_preamble(&mut self) -> Result<bool, Broken> {
        let filled = self.inbox.get(..self.filled).unwrap_or_default();
        let seen = filled.len().min(MAGIC.len());
        if filled.get(..seen) != MAGIC.get(..seen) {
            return Err(Broken::Foreign);
        }
        let Some(&[high, low]) = filled.get(MAGIC.len()..PREAMBLE_LEN) else {
            return Ok(false);
        };
        // Send the preamble, so that a client of another version learns this one.
        self.push(Outgoing::Preamble);
        if u16::from_be_bytes([high, low]) != VERSION {
            return Err(Broken::Foreign);
        }
        self.has_preamble = true;
        self.consume(PREAMBLE_LEN);
        Ok(true)
    }

    fn consume(&mut self, count: usize) {
        self.inbox.copy_within(count..self.filled, 0);
        self.filled -= count;
    }

    /// Queues a message; returns whether there was room.
    pub(crate) fn push(&mut self, message: Outgoing) -> bool {
        if self.waiting == QUEUE {
            return false;
        }
        self.queue[(self.first + self.waiting) % QUEUE] = message;
        self.waiting += 1;
        true
    }

    /// The message at the head of the queue.
    pub(crate) const fn first(&self) -> Option<Outgoing> {
        if self.waiting == 0 {
            None
        } else {
            Some(self.queue[self.first])
        }
    }

    /// Whether a queued message is generated from the test under way, which must not be replaced before.
    pub(crate) fn is_sending_of_test(&self) -> bool {
        let waiting = (0..self.waiting).map(|at| self.queue[(self.first + at) % QUEUE]);
        let is_of_test = |message| matches!(message, Outgoing::Ready | Outgoing::Report);
        waiting.into_iter().any(is_of_test)
    }

    /// Removes the sent message from the queue.
    pub(crate) const fn pop(&mut self) {
        self.first = (self.first + 1) % QUEUE;
        self.waiting -= 1;
        self.offset = 0;
    }
}

/// Parses a message of the kind with this byte.
fn read(kind: u8, body: &[u8], max_datagram: u16) -> Result<Message, Refusal> {
    let unexpected = Refusal::Unexpected { kind };
    let kind = Kind::from_byte(kind).ok_or(unexpected)?;
    match kind {
        Kind::Farewell => return Ok(Message::Farewell),
        Kind::Ping => return Ok(Message::Ping),
        Kind::Bye => return Ok(Message::Bye),
        Kind::Seal => return Err(Refusal::Key),
        _ => {}
    }
    let json = Json::read(body).ok_or(unexpected)?;
    if kind == Kind::Hello {
        return Ok(Message::Hello);
    }
    let number = json.get("test").and_then(Json::whole);
    let test = number.and_then(|test| u32::try_from(test).ok());
    let test = test.ok_or(unexpected)?;
    Ok(match kind {
        Kind::Prepare => {
            let spec = json.get("spec").ok_or(unexpected)?;
            let order = Order::read(spec, max_datagram);
            Message::Prepare { test, order }
        }
        Kind::Start => Message::Start(test),
        Kind::Finished => {
            let sent = json.get("sent").and_then(|sent| sent.first()?.whole());
            let sent = sent.ok_or(unexpected)?;
            Message::Finished { test, sent }
        }
        Kind::Acknowledge => Message::Acknowledge(test),
        Kind::Abort => Message::Abort(test),
        Kind::Aborted => Message::Aborted(test),
        Kind::EndTraffic => Message::EndTraffic(test),
        _ => return Err(unexpected),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_peers::native::message as host;

    #[test]
    fn the_preamble_and_messages_are_read_at_any_split() {
        let hello = host::Message::Hello(host::Hello {
            tool: "linerate".to_owned(),
            version: "1".to_owned(),
            fence: None,
        });
        let start = host::Message::Start(host::TestNumber { test: 7 });
        let finished = host::Message::Finished(host::Finished {
            test: 7,
            sent: vec![linerate_model::PacketCount::new(900)],
        });
        let frames = [hello, start, finished].map(|message| message.encode().unwrap());
        let bytes = [&b"linerate\0\x02"[..], &frames.concat()].concat();
        for piece in 1..bytes.len() {
            let mut link = Link::new();
            let mut messages = Vec::new();
            for part in bytes.chunks(piece) {
                assert!(link.fill(part).is_empty());
                while let Some(message) = link.next(1472).unwrap() {
                    messages.push(message);
                }
            }
            let sent = 900;
            assert_eq!(
                messages,
                [
                    Message::Hello,
                    Message::Start(7),
                    Message::Finished { test: 7, sent }
                ]
            );
        }
    }

    #[test]
    fn another_protocol_or_version_and_what_is_too_long_end_the_connection() {
        let ended = |bytes: &[u8]| {
            let mut link = Link::new();
            link.fill(bytes);
            let error = link.next(1472).unwrap_err();
            (error, link.first())
        };
        assert_eq!(ended(b"GET / HT"), (Broken::Foreign, None));
        let other = Some(Outgoing::Preamble);
        assert_eq!(ended(b"linerate\0\x09"), (Broken::Foreign, other));
        let most = INBOX - 4;
        let length = 1 << 20;
        let too_long = Broken::Refused(Refusal::Length { length, most });
        assert_eq!(ended(b"linerate\0\x02\0\x10\0\0\x10"), (too_long, other));
        let odd = Broken::Refused(Refusal::Unexpected { kind: 20 });
        assert_eq!(ended(b"linerate\0\x02\0\0\0\x03\x14{}"), (odd, other));
        let sealed = host::Message::Seal(vec![7; 48]).encode().unwrap();
        let sealed = [b"linerate\0\x02".as_slice(), &sealed].concat();
        assert_eq!(ended(&sealed), (Broken::Refused(Refusal::Key), other));
    }

    #[test]
    fn a_full_queue_takes_no_more_and_keeps_its_order() {
        let mut link = Link::new();
        let most = u32::try_from(QUEUE).unwrap();
        for test in 0..most {
            assert!(link.push(Outgoing::Aborted(test)));
        }
        assert!(!link.push(Outgoing::Ping));
        for test in 0..most {
            assert_eq!(link.first(), Some(Outgoing::Aborted(test)));
            link.pop();
        }
        assert_eq!(link.first(), None);
    }
}

//! The answering side of sockperf: messages of any length, each of which says whether it wants to come back.

use crate::datapaths::{Buffers, DatagramPath, StreamPath};
use crate::orders::Orders;
use crate::plan::StreamPlan;
use crate::tally::{Remedy, StreamProgress, Tally, Troubles};
use crate::workloads::datagrams::RECEIVER_IDLE_TIMEOUT;
use crate::workloads::{Kit, Path, Step, Work};
use linerate_model::sample::{Responder, StreamReport};
use linerate_model::{Clock, MonoInstant};
use linerate_peers::sockperf::wire::{Header, MAX_MESSAGE};
use linerate_sys::failure::{Failure, FailureClass};
use std::collections::VecDeque;
use std::sync::Arc;

pub(super) struct Reflector {
    carrier: Carrier,
    plan: StreamPlan,
    progress: Arc<StreamProgress>,
    clock: &'static dyn Clock,
    tally: Option<Tally>,
    troubles: Troubles,
    /// When the last message came, or traffic started.
    last: MonoInstant,
    replies: Replies,
}

enum Carrier {
    Datagrams(Box<dyn DatagramPath>),
    Stream(Box<dyn StreamPath>, Incoming),
}

/// What a byte stream has brought and that has not been understood.
struct Incoming {
    /// Room for the longest message.
    bytes: Vec<u8>,
    filled: usize,
}

/// Messages that are to go back, in order.
#[derive(Default)]
struct Replies {
    bytes: Vec<u8>,
    lengths: VecDeque<usize>,
    /// How far they have been sent.
    sent: usize,
}

/// The peer announced a message that cannot be.
struct BadLength;

impl Replies {
    /// Takes a whole message, if it wants to come back.
    fn take(&mut self, header: Header, message: &[u8]) {
        if header.wants_reply() {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(message);
            header.reply().write(&mut self.bytes[start..]);
            self.lengths.push_back(message.len());
        }
    }

    const fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }

    /// So many more bytes are out.
    fn advance(&mut self, sent: usize) {
        self.sent += sent;
        if self.is_empty() {
            self.bytes.clear();
            self.sent = 0;
        }
    }
}

impl Incoming {
    fn new() -> Self {
        Self {
            bytes: vec![0; MAX_MESSAGE],
            filled: 0,
        }
    }

    /// Cuts what has come into messages.
    fn cut(&mut self, got: usize, replies: &mut Replies) -> Result<(), BadLength> {
        self.filled += got;
        let mut at = 0;
        while let Some(header) = Header::read(&self.bytes[at..self.filled]) {
            let length = header.valid_length().ok_or(BadLength)?;
            let Some(message) = self.bytes[at..self.filled].get(..length) else {
                break;
            };
            replies.take(header, message);
            at += length;
        }
        self.bytes.copy_within(at..self.filled, 0);
        self.filled -= at;
        Ok(())
    }
}

impl Carrier {
    /// Takes what has come; `None` at the end of the stream.
    fn receive(&mut self, replies: &mut Replies) -> Result<Option<()>, Failure> {
        match self {
            Self::Datagrams(path) => {
                for datagram in path.receive()?.iter() {
                    let header = Header::read(datagram);
                    let whole = header.filter(|h| h.valid_length() == Some(datagram.len()));
                    if let Some(header) = whole {
                        replies.take(header, datagram);
                    }
                }
                Ok(Some(()))
            }
            Self::Stream(path, incoming) => {
                let got = path.read(&mut incoming.bytes[incoming.filled..])?;
                // What cannot be cut is closed, as the tool does.
                let cut = incoming.cut(got, replies);
                Ok((got > 0 && cut.is_ok()).then_some(()))
            }
        }
    }

    /// Sends what it can of the first reply; the bytes that are out.
    fn send(&mut self, reply: &[u8]) -> Result<usize, Failure> {
        match self {
            Self::Datagrams(path) => {
                if path.set_payload(reply.len()) {
                    path.slots().copy_from_slice(reply);
                    path.send(1)?;
                }
                Ok(reply.len())
            }
            Self::Stream(path, _) => path.write(reply),
        }
    }

    fn buffers(&self) -> Buffers {
        match self {
            Self::Datagrams(path) => path.buffers(),
            Self::Stream(path, _) => path.buffers(),
        }
    }
}

impl Reflector {
    pub(super) fn new(kit: Kit) -> Self {
        Self {
            carrier: match kit.path {
                Path::Connections(_) => unreachable!("invariant: only `connects` asks for them"),
                Path::Datagrams(path) => Carrier::Datagrams(path),
                Path::Stream(path) => Carrier::Stream(path, Incoming::new()),
            },
            plan: kit.plan,
            progress: kit.progress,
            clock: kit.clock,
            tally: None,
            troubles: Troubles::default(),
            last: MonoInstant::default(),
            replies: Replies::default(),
        }
    }

    /// Sends the rest of the first reply that is not out.
    fn answer(&mut self) -> Step {
        let Some(&length) = self.replies.lengths.front() else {
            return Step::Again;
        };
        let left = &self.replies.bytes[self.replies.sent..];
        let reply = left.get(..length).unwrap_or(left);
        match self.carrier.send(reply) {
            Ok(sent) => {
                self.replies.advance(sent);
                self.replies.lengths.pop_front();
                if sent < length {
                    self.replies.lengths.push_front(length - sent);
                }
                self.answered(sent, sent == length);
                Step::Again
            }
            Err(failure) => self.failed(failure),
        }
    }

    /// So many bytes of a reply are out.
    fn answered(&mut self, bytes: usize, is_whole: bool) {
        let now = self.clock.now();
        self.troubles.success();
        let (plan, progress) = (&self.plan, &self.progress);
        let fresh = || Tally::new(now, plan.interval, Arc::clone(progress));
        let tally = self.tally.get_or_insert_with(fresh);
        tally.count(now, bytes as u64, u64::from(is_whole));
    }

    fn listen(&mut self) -> Step {
        match self.carrier.receive(&mut self.replies) {
            Ok(Some(())) => {
                self.last = self.clock.now();
                if self.replies.is_empty() {
                    Step::Again
                } else {
                    self.answer()
                }
            }
            Ok(None) => Step::Done,
            Err(failure) => self.failed(failure),
        }
    }

    fn failed(&mut self, failure: Failure) -> Step {
        let now = self.clock.now();
        match failure.class() {
            // Silence is how a client of datagrams ends.
            FailureClass::WouldBlock | FailureClass::Interrupted => {
                if now.saturating_since(self.last) <= RECEIVER_IDLE_TIMEOUT {
                    Step::Again
                } else {
                    Step::Done
                }
            }
            class => match self.troubles.count(failure, now) {
                _ if class == FailureClass::PeerGone => Step::Done,
                Remedy::Retry => Step::Again,
                Remedy::RetryAt(at) => Step::Until(at),
                Remedy::GiveUp => Step::Done,
            },
        }
    }
}

impl Work for Reflector {
    fn begin(&mut self, start: MonoInstant) {
        self.last = start;
    }

    fn turn(&mut self, _now: MonoInstant, _orders: &Orders) -> Step {
        if self.replies.is_empty() {
            self.listen()
        } else {
            self.answer()
        }
    }

    fn finish(self: Box<Self>, _now: MonoInstant) -> StreamReport {
        StreamReport {
            errors: self.troubles.into_counts(),
            path: self.carrier.buffers().into(),
            ..Tally::active_report(self.tally, self.plan.index, Responder::default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(sequence: u64, length: u32) -> Vec<u8> {
        let mut bytes = vec![0x55; length as usize];
        Header::ping(sequence, length).write(&mut bytes);
        bytes
    }

    /// What comes back of a byte stream in pieces of this size, and whether it could be cut to its end.
    fn reflected(stream: &[u8], piece: usize) -> (Vec<usize>, bool) {
        let (mut incoming, mut replies) = (Incoming::new(), Replies::default());
        let mut rest = stream;
        while !rest.is_empty() {
            let room = &mut incoming.bytes[incoming.filled..];
            let count = piece.min(room.len()).min(rest.len());
            let (part, tail) = rest.split_at(count);
            room[..count].copy_from_slice(part);
            rest = tail;
            if incoming.cut(count, &mut replies).is_err() {
                return (replies.lengths.into(), false);
            }
        }
        (replies.lengths.into(), incoming.filled == 0)
    }

    #[test]
    fn a_byte_stream_is_cut_into_messages_wherever_it_is_split() {
        let mut warm_up = message(2, 100);
        warm_up[9] = 7;
        let mut quiet = message(3, 15);
        quiet[9] = 1;
        let stream = [message(1, 14), warm_up, quiet, message(4, 65_000)].concat();
        for piece in [1, 13, 14, 15, 4096] {
            assert_eq!(
                reflected(&stream, piece),
                (vec![14, 65_000], true),
                "{piece}"
            );
        }
        for cut in (0..stream.len()).step_by(97) {
            assert_eq!(reflected(&stream[..cut], 4096).1, cut == 0, "{cut}");
        }
    }

    #[test]
    fn a_length_that_cannot_be_ends_the_stream() {
        for length in [0_u32, 13, 65_508, u32::MAX] {
            let mut bytes = message(1, 14);
            bytes[10..].copy_from_slice(&length.to_be_bytes());
            assert!(!reflected(&bytes, 99).1, "{length}");
        }
    }

    #[test]
    fn a_reply_is_the_message_without_the_clients_flag() {
        let mut replies = Replies::default();
        let sent = message(9, 20);
        replies.take(Header::read(&sent).unwrap(), &sent);
        assert_eq!(replies.bytes[..10], [0, 0, 0, 0, 0, 0, 0, 9, 0, 2]);
        assert_eq!(replies.bytes[10..], sent[10..]);
        replies.advance(19);
        assert!(!replies.is_empty());
        replies.advance(1);
        assert!(replies.is_empty() && replies.bytes.is_empty());
    }
}

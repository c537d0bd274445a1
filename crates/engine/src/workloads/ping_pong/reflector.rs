//! A responder for messages of any length, each of which states whether it wants a reply.

use crate::control::StreamControl;
use crate::error::Result;
use crate::plan::StreamPlan;
use crate::tally::{FailureCounts, StreamProgress, Tally};
use crate::workloads::carrier::Carrier;
use crate::workloads::datagrams::RECEIVER_IDLE_TIMEOUT;
use crate::workloads::{Step, StreamSetup, Work};
use linerate_model::sample::{Responder, StreamReport};
use linerate_model::{Clock, MonoInstant};
use linerate_peers::{Replies, ReplyFormat};
use linerate_sys::failure::{Failure, FailureClass};
use std::sync::Arc;

pub(super) struct Reflector {
    carrier: Carrier<Incoming>,
    format: Box<dyn ReplyFormat>,
    plan: StreamPlan,
    progress: Arc<StreamProgress>,
    clock: &'static dyn Clock,
    tally: Option<Tally>,
    failures: FailureCounts,
    /// When the last message arrived, or traffic started.
    last: MonoInstant,
    replies: Replies,
}

/// Received bytes of a byte stream that are not parsed yet.
struct Incoming {
    /// Room for the longest message.
    bytes: Vec<u8>,
    filled: usize,
}

impl Incoming {
    fn new(format: &dyn ReplyFormat) -> Self {
        Self {
            bytes: vec![0; format.max_message()],
            filled: 0,
        }
    }

    /// Parses the received bytes into messages; returns whether they are valid.
    fn cut(&mut self, got: usize, format: &dyn ReplyFormat, replies: &mut Replies) -> bool {
        self.filled += got;
        let Ok(taken) = format.answer_stream(&self.bytes[..self.filled], replies) else {
            return false;
        };
        self.bytes.copy_within(taken..self.filled, 0);
        self.filled -= taken;
        true
    }
}

impl Carrier<Incoming> {
    /// Receives bytes; `None` at the end of the stream.
    fn receive(
        &mut self,
        format: &dyn ReplyFormat,
        replies: &mut Replies,
    ) -> Result<Option<()>, Failure> {
        match self {
            Self::Datagrams(path) => {
                for datagram in path.receive()?.iter() {
                    format.answer_datagram(datagram, replies);
                }
                Ok(Some(()))
            }
            Self::Stream(path, incoming) => {
                let got = path.read(&mut incoming.bytes[incoming.filled..])?;
                // An invalid stream is closed, as the original tools do.
                let is_cut = incoming.cut(got, format, replies);
                Ok((got > 0 && is_cut).then_some(()))
            }
        }
    }

    /// Sends as much of the first reply as possible; returns the bytes sent.
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
}

impl Reflector {
    pub(super) fn new(setup: StreamSetup, format: Box<dyn ReplyFormat>) -> Result<Self> {
        Ok(Self {
            carrier: Carrier::new(setup.path, || Incoming::new(format.as_ref()))?,
            format,
            plan: setup.plan,
            progress: setup.progress,
            clock: setup.clock,
            tally: None,
            failures: FailureCounts::default(),
            last: MonoInstant::default(),
            replies: Replies::default(),
        })
    }

    /// Sends the rest of the first reply.
    fn answer(&mut self) -> Step {
        match self.carrier.send(self.replies.first()) {
            Ok(sent) => {
                let is_whole = self.replies.advance(sent);
                self.answered(sent, is_whole);
                Step::Again
            }
            Err(failure) => self.failed(failure),
        }
    }

    /// Records `bytes` sent of a reply.
    fn answered(&mut self, bytes: usize, is_whole: bool) {
        let now = self.clock.now();
        self.failures.success();
        let (plan, progress) = (&self.plan, &self.progress);
        let fresh = || Tally::new(now, plan.interval, Arc::clone(progress));
        let tally = self.tally.get_or_insert_with(fresh);
        tally.count(now, bytes as u64, u64::from(is_whole));
    }

    fn listen(&mut self) -> Step {
        match self
            .carrier
            .receive(self.format.as_ref(), &mut self.replies)
        {
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
            // A datagram client ends by silence.
            FailureClass::WouldBlock | FailureClass::Interrupted => {
                if now.saturating_since(self.last) <= RECEIVER_IDLE_TIMEOUT {
                    Step::Again
                } else {
                    Step::Done
                }
            }
            _ => self.failures.step_of_connection(failure, now),
        }
    }
}

impl Work for Reflector {
    fn begin(&mut self, start: MonoInstant) {
        self.last = start;
    }

    fn turn(&mut self, _now: MonoInstant, _control: &StreamControl) -> Step {
        if self.replies.is_empty() {
            self.listen()
        } else {
            self.answer()
        }
    }

    fn finish(mut self: Box<Self>, _now: MonoInstant) -> StreamReport {
        StreamReport {
            errors: self.failures.into_counts(),
            path: self.carrier.report(),
            ..Tally::active_report(self.tally, self.plan.index, Responder::default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_peers::sockperf::{Streams, wire::Header};

    fn message(sequence: u64, length: u32) -> Vec<u8> {
        let mut bytes = vec![0x55; length as usize];
        Header::ping(sequence, length).write(&mut bytes);
        bytes
    }

    /// What comes back of a byte stream in pieces of this size, and whether it could be cut to its end.
    fn reflected(stream: &[u8], piece: usize) -> (Vec<usize>, bool) {
        let (mut incoming, mut replies) = (Incoming::new(&Streams), Replies::default());
        let mut rest = stream;
        let mut is_cut = true;
        while is_cut && !rest.is_empty() {
            let room = &mut incoming.bytes[incoming.filled..];
            let count = piece.min(room.len()).min(rest.len());
            let (part, tail) = rest.split_at(count);
            room[..count].copy_from_slice(part);
            rest = tail;
            is_cut = incoming.cut(count, &Streams, &mut replies);
        }
        let mut lengths = Vec::new();
        while !replies.is_empty() {
            lengths.push(replies.first().len());
            replies.advance(replies.first().len());
        }
        (lengths, is_cut && incoming.filled == 0)
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
}

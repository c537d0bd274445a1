//! Whole messages over datagrams or a byte stream.

use crate::datapaths::KernelStamps;
use crate::error::Result;
use crate::plan::StreamPlan;
use crate::workloads::Path;
use crate::workloads::carrier::Carrier;
use linerate_model::MonoInstant;
use linerate_model::spec::WaitMode;
use linerate_peers::{MessageFormat, Stamp};
use linerate_sys::failure::{Failure, FailureClass};

/// One end of an exchange of messages of one length.
pub(super) struct Messenger {
    pub(super) carrier: Carrier<Buffer>,
    format: Box<dyn MessageFormat>,
    /// Polls for a message per [`receive`](Self::receive).
    looks: u32,
}

/// Polls for a message, while spinning, between checks of clock and control: those would delay the detection of a
/// message by a tenth of a poll each. All polls together last some 20 µs.
const SPIN_LOOKS: u32 = 64;

/// Buffer of a partial message: a byte stream does not keep message boundaries.
pub(super) struct Buffer {
    message: Vec<u8>,
    received: usize,
    sent: usize,
}

/// Result of a receiving call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Incoming {
    /// The peer closed.
    End,
    /// A whole message.
    Message(Message),
    /// Nothing complete yet, or something foreign.
    Nothing,
}

/// A received message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message {
    /// Its sequence number, truncated to what its length carries.
    pub(super) number: Number,
    /// Send time on the peer's clock, if it carries that.
    pub(super) left: Option<Stamp>,
    /// Receive time: just after the receiving call.
    pub(super) at: MonoInstant,
}

/// A transaction number, truncated to what a message of some length carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number(u64);

impl Number {
    pub(super) const fn get(self) -> u64 {
        self.0
    }
}

impl Incoming {
    fn from_read(read: Option<linerate_peers::Message>, at: MonoInstant) -> Self {
        read.map_or(Self::Nothing, |message| {
            Self::Message(Message {
                number: Number(message.number),
                left: message.sent,
                at,
            })
        })
    }
}

impl Messenger {
    pub(super) fn new(path: Path, plan: &StreamPlan) -> Result<Self> {
        let wanted = match plan.wait {
            WaitMode::Spin => SPIN_LOOKS,
            WaitMode::Block | WaitMode::BusyPoll => 1,
        };
        let mut carrier = Carrier::new(path, || Buffer {
            message: vec![0; plan.payload],
            received: 0,
            sent: 0,
        })?;
        let takes = match &mut carrier {
            Carrier::Datagrams(path) => path.spin(wanted),
            Carrier::Stream(path, _) => path.spin(wanted),
        };
        Ok(Self {
            carrier,
            format: plan.messages()?,
            looks: if takes { 1 } else { wanted },
        })
    }

    /// Changes the message length; returns whether the path supports it.
    pub(super) fn resize(&mut self, length: usize) -> bool {
        match &mut self.carrier {
            Carrier::Datagrams(path) => path.slots().len() == length || path.set_payload(length),
            Carrier::Stream(_, buffer) => {
                buffer.message.resize(length, 0);
                (buffer.received, buffer.sent) = (0, 0);
                true
            }
        }
    }

    /// Whether a message can be lost.
    pub(super) const fn is_lossy(&self) -> bool {
        self.carrier.is_lossy()
    }

    /// Whether messages of this length carry the sender's clock.
    pub(super) fn shows_clock(&self, length: usize) -> bool {
        self.format.shows_clock(length)
    }

    /// Kernel timestamps of messages, if requested.
    pub(super) fn stamps(&mut self) -> Option<&mut dyn KernelStamps> {
        match &mut self.carrier {
            Carrier::Datagrams(path) => path.stamps(),
            Carrier::Stream(path, _) => path.stamps(),
        }
    }

    /// Whether a late answer can be mistaken for the next one.
    pub(super) fn is_ambiguous(&self) -> bool {
        self.is_lossy() && self.format.header_len() == 0
    }

    /// Prepares message `number` for [`send`](Self::send); returns the number as the answer will carry it.
    pub(super) fn write(&mut self, number: u64, now: MonoInstant) -> Number {
        let bytes = self.carrier.message();
        self.format.write(bytes, number, now);
        Number(self.format.read(bytes).map_or(0, |message| message.number))
    }

    /// Sends the prepared message, or the rest of it. Returns whether it is complete.
    pub(super) fn send(&mut self) -> Result<bool, Failure> {
        match &mut self.carrier {
            Carrier::Datagrams(path) => path.send(1).map(|sent| sent == 1),
            Carrier::Stream(path, buffer) => {
                buffer.sent += path.write(&buffer.message[buffer.sent..])?;
                Ok(buffer.sent == buffer.message.len())
            }
        }
    }

    /// Receives a message and reads `clock` right after the call. A spinning end polls several times.
    #[inline]
    pub(super) fn receive(&mut self, clock: impl Fn() -> MonoInstant) -> Result<Incoming, Failure> {
        for _ in 1..self.looks {
            match self.look(&clock) {
                Err(failure) if failure.class() == FailureClass::WouldBlock => {}
                seen => return seen,
            }
        }
        self.look(clock)
    }

    #[inline]
    fn look(&mut self, clock: impl Fn() -> MonoInstant) -> Result<Incoming, Failure> {
        match &mut self.carrier {
            Carrier::Datagrams(path) => {
                let length = path.slots().len();
                let arrivals = path.receive()?;
                let at = clock();
                let datagram = arrivals.iter().next();
                if datagram.is_some_and(<[u8]>::is_empty) && self.format.ends_stream() {
                    return Ok(Incoming::End);
                }
                let datagram = datagram.filter(|d| d.len() == length);
                let read = datagram.and_then(|d| self.format.read(d));
                Ok(Incoming::from_read(read, at))
            }
            Carrier::Stream(path, buffer) => {
                let got = path.read(&mut buffer.message[buffer.received..])?;
                let at = clock();
                buffer.received += got;
                if got == 0 {
                    return Ok(Incoming::End);
                }
                if buffer.received < buffer.message.len() {
                    return Ok(Incoming::Nothing);
                }
                Ok(Incoming::from_read(self.format.read(&buffer.message), at))
            }
        }
    }

    /// Prepares the received message as the answer, with this end's time in its header.
    pub(super) fn echo(&mut self, number: Number, now: MonoInstant) {
        let is_lossy = self.is_lossy();
        let bytes = self.carrier.message();
        if is_lossy || self.format.shows_clock(bytes.len()) {
            self.format.write(bytes, number.0, now);
        }
    }
}

impl Carrier<Buffer> {
    /// Buffer of the message to send.
    fn message(&mut self) -> &mut [u8] {
        match self {
            Self::Datagrams(path) => path.slots(),
            Self::Stream(_, buffer) => {
                (buffer.received, buffer.sent) = (0, 0);
                buffer.message.as_mut_slice()
            }
        }
    }
}

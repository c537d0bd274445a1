//! Whole messages over datagrams or a byte stream.

use crate::datapaths::KernelStamps;
use crate::error::EngineError;
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
    /// Looks for a message in one [`receive`](Self::receive).
    looks: u32,
}

/// Looks for a message, while spinning, between two looks at the clock and at control: those cost a spinning
/// end a tenth of a look each, by which it would notice a message later. All together last some 20 µs.
const SPIN_LOOKS: u32 = 64;

/// A message in pieces: a byte stream does not keep its borders.
pub(super) struct Buffer {
    message: Vec<u8>,
    received: usize,
    sent: usize,
}

/// What a receiving call brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Incoming {
    /// The peer closed.
    End,
    /// A whole message.
    Message(Message),
    /// Nothing whole yet, or something that is not of this exchange.
    Nothing,
}

/// A message that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message {
    /// Its number, as far as its length carries one.
    pub(super) number: Number,
    /// The peer's clock when it left, if it carries that.
    pub(super) left: Option<Stamp>,
    /// Just after the receiving call.
    pub(super) at: MonoInstant,
}

/// A transaction's number cut to what a message of some length carries.
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
    pub(super) fn new(path: Path, plan: &StreamPlan) -> Result<Self, EngineError> {
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

    /// Exchanges messages of another length from now on; whether the path can.
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

    /// Whether messages carry the time of the clock of the end that sent them.
    pub(super) fn shows_clock(&self, length: usize) -> bool {
        self.format.shows_clock(length)
    }

    /// When the kernel saw messages pass, if that was asked for.
    pub(super) fn stamps(&mut self) -> Option<&mut dyn KernelStamps> {
        match &mut self.carrier {
            Carrier::Datagrams(path) => path.stamps(),
            Carrier::Stream(path, _) => path.stamps(),
        }
    }

    /// Whether an answer that comes too late can be taken for the next one.
    pub(super) fn is_ambiguous(&self) -> bool {
        self.is_lossy() && self.format.header_len() == 0
    }

    /// Prepares message `number` for [`send`](Self::send); returns the number as it will come back.
    pub(super) fn write(&mut self, number: u64, now: MonoInstant) -> Number {
        let bytes = self.carrier.message();
        self.format.write(bytes, number, now);
        Number(self.format.read(bytes).map_or(0, |message| message.number))
    }

    /// Sends the prepared message, or the rest of it. Returns whether all of it is out.
    pub(super) fn send(&mut self) -> Result<bool, Failure> {
        match &mut self.carrier {
            Carrier::Datagrams(path) => path.send(1).map(|sent| sent == 1),
            Carrier::Stream(path, buffer) => {
                buffer.sent += path.write(&buffer.message[buffer.sent..])?;
                Ok(buffer.sent == buffer.message.len())
            }
        }
    }

    /// Takes what has come, and asks `clock` when that was, before anything else. A spinning end looks several
    /// times.
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

    /// Prepares the message that just came to go back, as it is but for the time of this end's clock in its
    /// header.
    pub(super) fn echo(&mut self, number: Number, now: MonoInstant) {
        let is_lossy = self.is_lossy();
        let bytes = self.carrier.message();
        if is_lossy || self.format.shows_clock(bytes.len()) {
            self.format.write(bytes, number.0, now);
        }
    }
}

impl Carrier<Buffer> {
    /// The message to send, from its beginning.
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

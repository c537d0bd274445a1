//! Whole messages over datagrams or a byte stream.

use crate::datapaths::{Buffers, DatagramPath, KernelStamps, PathDiagnostics, StreamPath};
use crate::plan::StreamPlan;
use crate::wire::{HEADER_LEN, Header, Kind, Stamp};
use crate::workloads::Path;
use linerate_model::MonoInstant;
use linerate_model::sample::{TcpSample, XdpReport};
use linerate_model::spec::WaitMode;
use linerate_peers::Framing;
use linerate_peers::sockperf::wire::Header as Ping;
use linerate_sys::failure::{Failure, FailureClass};

/// One end of an exchange of messages of one length.
pub(super) struct Messenger {
    carrier: Carrier,
    marks: Marks,
    /// Whether an empty datagram is the end.
    ends_itself: bool,
    /// Looks for a message in one [`receive`](Self::receive).
    looks: u32,
}

/// Looks for a message, while spinning, between two looks at the clock and at orders: those cost a spinning
/// end a tenth of a look each, by which it would notice a message later. All together last some 20 µs.
const SPIN_LOOKS: u32 = 64;

/// What messages carry.
#[derive(Debug, Clone, Copy)]
enum Marks {
    /// A header, or as much of the number as fits.
    Native { token: u32, stream: u8 },
    /// Nothing: order alone tells which is which.
    Nothing,
    /// sockperf's header.
    Sockperf,
}

enum Carrier {
    Datagrams(Box<dyn DatagramPath>),
    Stream(Box<dyn StreamPath>, Buffer),
}

/// A message in pieces: a byte stream does not keep its borders.
struct Buffer {
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
    fn from_read(read: Option<(Number, Option<Stamp>)>, at: MonoInstant) -> Self {
        read.map_or(Self::Nothing, |(number, left)| {
            Self::Message(Message { number, left, at })
        })
    }
}

impl Messenger {
    pub(super) fn new(path: Path, plan: &StreamPlan) -> Self {
        let wanted = match plan.wait {
            WaitMode::Spin => SPIN_LOOKS,
            WaitMode::Block | WaitMode::BusyPoll => 1,
        };
        let left = |takes: bool| if takes { 1 } else { wanted };
        let (carrier, looks) = match path {
            Path::Connections(_) => unreachable!("invariant: only `connects` asks for them"),
            Path::Datagrams(mut path) => {
                let takes = path.spin(wanted);
                (Carrier::Datagrams(path), left(takes))
            }
            Path::Stream(mut path) => {
                let takes = path.spin(wanted);
                let buffer = Buffer {
                    message: vec![0; plan.payload],
                    received: 0,
                    sent: 0,
                };
                (Carrier::Stream(path, buffer), left(takes))
            }
        };
        Self {
            carrier,
            ends_itself: matches!(plan.framing, Framing::Netperf { .. }),
            looks,
            marks: match plan.framing {
                Framing::Native { token } => Marks::Native {
                    token,
                    stream: plan.index,
                },
                Framing::Netperf { .. } | Framing::Sfnt => Marks::Nothing,
                Framing::Sockperf => Marks::Sockperf,
                Framing::Iperf2(_) | Framing::Iperf3 { .. } => {
                    unreachable!("invariant: `check` refused ping-pong with other tools")
                }
            },
        }
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
        matches!(self.carrier, Carrier::Datagrams(_))
    }

    /// Whether messages carry the time of the clock of the end that sent them.
    pub(super) const fn shows_clock(&self, length: usize) -> bool {
        matches!(self.marks, Marks::Native { .. }) && length >= HEADER_LEN
    }

    /// When the kernel saw messages pass, if that was asked for.
    pub(super) fn stamps(&mut self) -> Option<&mut dyn KernelStamps> {
        match &mut self.carrier {
            Carrier::Datagrams(path) => path.stamps(),
            Carrier::Stream(path, _) => path.stamps(),
        }
    }

    /// Whether an answer that comes too late can be taken for the next one.
    pub(super) const fn is_ambiguous(&self) -> bool {
        self.is_lossy() && matches!(self.marks, Marks::Nothing)
    }

    /// Prepares message `number` for [`send`](Self::send); returns the number as it will come back.
    pub(super) fn write(&mut self, number: u64, now: MonoInstant) -> Number {
        let marks = self.marks;
        let bytes = self.fill(number, now);
        marks.read(bytes).map_or(Number(0), |(number, _)| number)
    }

    /// Prepares message `number`; the bytes to send.
    fn fill(&mut self, number: u64, now: MonoInstant) -> &[u8] {
        let bytes = match &mut self.carrier {
            Carrier::Datagrams(path) => path.slots(),
            Carrier::Stream(_, buffer) => {
                (buffer.received, buffer.sent) = (0, 0);
                buffer.message.as_mut_slice()
            }
        };
        self.marks.write(bytes, number, now);
        bytes
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
                if self.ends_itself && datagram.is_some_and(<[u8]>::is_empty) {
                    return Ok(Incoming::End);
                }
                let datagram = datagram.filter(|d| d.len() == length);
                let number = datagram.and_then(|d| self.marks.read(d));
                Ok(Incoming::from_read(number, at))
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
                Ok(Incoming::from_read(self.marks.read(&buffer.message), at))
            }
        }
    }

    /// Prepares the message that just came to go back, as it is but for the time of this end's clock in its
    /// header.
    pub(super) fn echo(&mut self, number: Number, now: MonoInstant) {
        match &mut self.carrier {
            Carrier::Datagrams(_) => {
                self.fill(number.0, now);
            }
            Carrier::Stream(_, buffer) => {
                (buffer.received, buffer.sent) = (0, 0);
                if matches!(self.marks, Marks::Native { .. }) && buffer.message.len() >= HEADER_LEN
                {
                    self.marks.write(&mut buffer.message, number.0, now);
                }
            }
        }
    }

    /// Says that no more will be sent.
    pub(super) fn shutdown(&mut self) -> Result<(), Failure> {
        match &mut self.carrier {
            Carrier::Datagrams(_) => Ok(()),
            Carrier::Stream(path, _) => path.shutdown(),
        }
    }

    pub(super) fn info(&mut self, at_ns: u64) -> Option<TcpSample> {
        match &mut self.carrier {
            Carrier::Datagrams(_) => None,
            Carrier::Stream(path, _) => path.info(at_ns),
        }
    }

    /// Datagrams that this end's system dropped because they were not taken in time.
    pub(super) fn overflows(&mut self) -> Option<u64> {
        match &mut self.carrier {
            Carrier::Datagrams(path) => path.overflows(),
            Carrier::Stream(..) => None,
        }
    }

    pub(super) fn xdp(&mut self) -> Option<XdpReport> {
        match &mut self.carrier {
            Carrier::Datagrams(path) => path.xdp(),
            Carrier::Stream(..) => None,
        }
    }

    pub(super) fn aside(&mut self) -> PathDiagnostics {
        match &mut self.carrier {
            Carrier::Datagrams(path) => path.aside(),
            Carrier::Stream(path, _) => path.aside(),
        }
    }

    pub(super) fn buffers(&self) -> Buffers {
        match &self.carrier {
            Carrier::Datagrams(path) => path.buffers(),
            Carrier::Stream(path, _) => path.buffers(),
        }
    }
}

impl Marks {
    fn write(self, bytes: &mut [u8], number: u64, now: MonoInstant) {
        match self {
            Self::Native { token, stream } if bytes.len() >= HEADER_LEN => {
                let header = Header {
                    token,
                    stream,
                    kind: Kind::Counted,
                    sequence: number & ((1 << 48) - 1),
                    sent: Stamp::from_instant(now),
                };
                header.write(bytes);
            }
            Self::Native { .. } => {
                let part = bytes.len().min(8);
                bytes[..part].copy_from_slice(&number.to_le_bytes()[..part]);
            }
            Self::Nothing => {}
            Self::Sockperf => {
                let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                Ping::ping(number.wrapping_add(1), length).write(bytes);
            }
        }
    }

    /// The number that a message carries, and the sender's clock where it does; `None` if it has a header that
    /// is not of this stream.
    fn read(self, message: &[u8]) -> Option<(Number, Option<Stamp>)> {
        match self {
            Self::Native { token, stream } if message.len() >= HEADER_LEN => {
                let header = Header::read(message)?;
                let ours = header.token == token && header.stream == stream;
                let is_counted = ours && header.kind == Kind::Counted;
                is_counted.then_some((Number(header.sequence), Some(header.sent)))
            }
            Self::Native { .. } => {
                let mut bytes = [0; 8];
                let part = message.len().min(8);
                bytes[..part].copy_from_slice(&message[..part]);
                Some((Number(u64::from_le_bytes(bytes)), None))
            }
            Self::Nothing => Some((Number(0), None)),
            Self::Sockperf => Some((Number(Ping::read(message)?.sequence), None)),
        }
    }
}

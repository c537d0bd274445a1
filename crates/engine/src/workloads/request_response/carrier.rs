//! Requests out and answers in, over datagrams or a byte stream, neither waiting for the other.

use crate::datapaths::{Buffers, DatagramPath, StreamPath};
use crate::error::EngineError;
use crate::plan::StreamPlan;
use crate::workloads::Path;
use linerate_model::MonoInstant;
use linerate_model::sample::{TcpSample, XdpReport};
use linerate_peers::MessageFormat;
use linerate_sys::failure::Failure;
use std::time::Duration;

/// Bytes of one read of a byte stream: many answers, or a part of one.
const READ_BYTES: usize = 64 << 10;

/// The asking end of an exchange of messages of one length.
pub(super) struct Carrier {
    way: Way,
    length: usize,
    format: Box<dyn MessageFormat>,
}

enum Way {
    Datagrams(Box<dyn DatagramPath>),
    Stream {
        path: Box<dyn StreamPath>,
        out: Vec<u8>,
        written: usize,
        room: Vec<u8>,
        filled: usize,
    },
}

/// What a receiving call brought beside the numbers of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Incoming {
    /// The peer closed.
    End,
    /// Messages, of which so many are of no request of this stream.
    Messages {
        /// Those.
        foreign: u64,
    },
}

impl Carrier {
    pub(super) fn new(path: Path, plan: &StreamPlan) -> Result<Self, EngineError> {
        let way = match path {
            Path::Connections(_) => {
                return Err(EngineError::wrong_path("datagrams or a byte stream"));
            }
            Path::Datagrams(path) => Way::Datagrams(path),
            Path::Stream(path) => Way::Stream {
                path,
                out: vec![0; plan.payload],
                written: 0,
                room: vec![0; READ_BYTES.max(plan.payload)],
                filled: 0,
            },
        };
        Ok(Self {
            way,
            length: plan.payload,
            format: plan.messages()?,
        })
    }

    /// Prepares request `number` for [`send`](Self::send).
    pub(super) fn write(&mut self, number: u64, due: MonoInstant) {
        let message = match &mut self.way {
            Way::Datagrams(path) => path.slots(),
            Way::Stream { out, written, .. } => {
                *written = 0;
                out.as_mut_slice()
            }
        };
        self.format.write(message, number, due);
    }

    /// Gives the prepared request, or the rest of it, to the system. Returns whether all of it is out.
    pub(super) fn send(&mut self) -> Result<bool, Failure> {
        match &mut self.way {
            Way::Datagrams(path) => path.send(1).map(|sent| sent == 1),
            Way::Stream {
                path, out, written, ..
            } => {
                *written += path.write(&out[*written..])?;
                Ok(*written == out.len())
            }
        }
    }

    /// Takes what has come: appends the numbers of answers to `numbers`.
    pub(super) fn receive(&mut self, numbers: &mut Vec<u64>) -> Result<Incoming, Failure> {
        let (format, length) = (&self.format, self.length);
        let mut foreign = 0;
        let mut take = |message: &[u8]| {
            let own = Some(message).filter(|message| message.len() == length);
            match own.and_then(|message| format.read(message)) {
                Some(message) => numbers.push(message.number),
                None => foreign += 1,
            }
        };
        match &mut self.way {
            Way::Datagrams(path) => path.receive()?.iter().for_each(&mut take),
            Way::Stream {
                path, room, filled, ..
            } => {
                let got = path.read(&mut room[*filled..])?;
                if got == 0 {
                    return Ok(Incoming::End);
                }
                let end = *filled + got;
                let whole = end - end % length;
                room[..whole].chunks_exact(length).for_each(&mut take);
                room.copy_within(whole..end, 0);
                *filled = end - whole;
            }
        }
        Ok(Incoming::Messages { foreign })
    }

    /// Waits until something has come, at most `limit`, or not at all where the path cannot wait.
    pub(super) fn await_arrival(&mut self, limit: Duration) {
        match &mut self.way {
            Way::Datagrams(path) => path.await_arrival(limit),
            Way::Stream { path, .. } => path.await_arrival(limit),
        }
    }

    /// Whether a message can be lost, so that an error of one call says nothing of the next.
    pub(super) const fn is_lossy(&self) -> bool {
        matches!(self.way, Way::Datagrams(_))
    }

    /// Says that no more will be sent.
    pub(super) fn shutdown(&mut self) -> Result<(), Failure> {
        match &mut self.way {
            Way::Datagrams(_) => Ok(()),
            Way::Stream { path, .. } => path.shutdown(),
        }
    }

    pub(super) fn info(&mut self, at_ns: u64) -> Option<TcpSample> {
        match &mut self.way {
            Way::Datagrams(_) => None,
            Way::Stream { path, .. } => path.info(at_ns),
        }
    }

    pub(super) fn xdp(&mut self) -> Option<XdpReport> {
        match &mut self.way {
            Way::Datagrams(path) => path.xdp(),
            Way::Stream { .. } => None,
        }
    }

    pub(super) fn buffers(&self) -> Buffers {
        match &self.way {
            Way::Datagrams(path) => path.buffers(),
            Way::Stream { path, .. } => path.buffers(),
        }
    }
}

//! Requests and answers over datagrams or a byte stream, independent of each other.

use crate::error::Result;
use crate::plan::StreamPlan;
use crate::workloads::Path;
use crate::workloads::carrier::Carrier;
use linerate_model::MonoInstant;
use linerate_peers::MessageFormat;
use linerate_sys::failure::Failure;

/// Bytes of one read of a byte stream: many answers, or a part of one.
const READ_BYTES: usize = 64 << 10;

/// Requester of an exchange of messages of one length.
pub(super) struct Exchange {
    pub(super) carrier: Carrier<Pieces>,
    length: usize,
    format: Box<dyn MessageFormat>,
}

/// Buffers of partial messages: the outgoing request and incoming answers.
pub(super) struct Pieces {
    out: Vec<u8>,
    written: usize,
    room: Vec<u8>,
    filled: usize,
}

/// Result of a receiving call, besides the numbers of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Incoming {
    /// The peer closed.
    End,
    /// Messages; some may be foreign.
    Messages {
        /// Messages of no request of this stream.
        foreign: u64,
    },
}

impl Exchange {
    pub(super) fn new(path: Path, plan: &StreamPlan) -> Result<Self> {
        Ok(Self {
            carrier: Carrier::new(path, || Pieces {
                out: vec![0; plan.payload],
                written: 0,
                room: vec![0; READ_BYTES.max(plan.payload)],
                filled: 0,
            })?,
            length: plan.payload,
            format: plan.messages()?,
        })
    }

    /// Prepares request `number` for [`send`](Self::send).
    pub(super) fn write(&mut self, number: u64, due: MonoInstant) {
        let message = match &mut self.carrier {
            Carrier::Datagrams(path) => path.slots(),
            Carrier::Stream(_, pieces) => {
                pieces.written = 0;
                pieces.out.as_mut_slice()
            }
        };
        self.format.write(message, number, due);
    }

    /// Sends the prepared request, or the rest of it. Returns whether it is complete.
    pub(super) fn send(&mut self) -> Result<bool, Failure> {
        match &mut self.carrier {
            Carrier::Datagrams(path) => path.send(1).map(|sent| sent == 1),
            Carrier::Stream(path, pieces) => {
                pieces.written += path.write(&pieces.out[pieces.written..])?;
                Ok(pieces.written == pieces.out.len())
            }
        }
    }

    /// Receives answers: appends their numbers to `numbers`.
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
        match &mut self.carrier {
            Carrier::Datagrams(path) => path.receive()?.iter().for_each(&mut take),
            Carrier::Stream(path, Pieces { room, filled, .. }) => {
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
}

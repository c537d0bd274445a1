//! Datagram stream: numbered datagrams of one length, one way, at an intended load or unpaced.
//!
//! Does not judge loss (see `analysis`). Invariant: the sequence numbers of counted datagrams are
//! dense per stream and count only what the system accepted, so loss is the sender's count minus
//! the receiver's distinct ones. Warm-up datagrams are marked in their header and not counted at
//! either end.

mod dropped;
mod farewell;
mod receiver;
mod sender;

pub(super) use receiver::RECEIVER_IDLE_TIMEOUT;

use super::{Kit, Path, Work, WorkloadKind};
use crate::datapaths::{Calls, DatagramPath};
use crate::error::EngineError;
use crate::numbering::{Iperf2, Iperf3, Native, Netperf, Numbering};
use crate::plan::StreamPlan;
use crate::wire::HEADER_LEN;
use linerate_model::spec::{Imitation, Side, TestSpec, TestWork};
use linerate_peers::{Counters, Framing, Iperf2 as Iperf2Framing, Width};

/// The datagram stream.
pub(super) struct Datagrams;

/// Most UDP payload in one IPv4 packet.
pub(super) const MAX_DATAGRAM: u64 = 65_507;

/// Most datagrams of one call: bounds the burst.
const BATCH: usize = 64;

/// Most bytes of one call: the memory that a stream's buffers take, and what a level-2 cache holds.
const BATCH_BYTES: usize = 1 << 20;

impl WorkloadKind for Datagrams {
    fn id(&self) -> &'static str {
        "datagrams"
    }

    fn summary(&self) -> &'static str {
        "Numbered UDP datagrams of one length, one way, at an intended load or as fast as possible."
    }

    fn check(&self, spec: &TestSpec, framing: &Framing) -> Result<(), EngineError> {
        let TestWork::Datagrams(stream) = &spec.work else {
            let why = "it needs UDP; TCP carries bulk and ping-pong";
            return Err(EngineError::plan("workload", &self.id(), why));
        };
        let payload = stream.payload;
        let Some(header) = header_len(framing) else {
            let why = "the peer's protocol has request and response only";
            return Err(EngineError::plan("workload", &self.id(), why));
        };
        if !(header..=MAX_DATAGRAM).contains(&payload.get()) {
            let why = format!("datagrams take {header} (their header) to {MAX_DATAGRAM} bytes");
            return Err(EngineError::plan("payload", &payload, why));
        }
        Ok(())
    }

    fn calls(&self, side: Side, plan: &StreamPlan) -> Calls {
        Calls::Batch(most_per_call(side, plan))
    }

    fn work(&self, side: Side, kit: Kit) -> Box<dyn Work> {
        let (payload, stream) = (kit.plan.payload, kit.plan.index);
        match kit.plan.framing {
            Framing::Iperf2(framing) => numbered(side, kit, Iperf2::new(framing)),
            Framing::Iperf3 {
                counters: Counters::Bits32,
                ..
            } => numbered(side, kit, Iperf3::<false> { payload }),
            Framing::Iperf3 {
                counters: Counters::Bits64,
                ..
            } => numbered(side, kit, Iperf3::<true> { payload }),
            Framing::Native { token } => numbered(side, kit, Native { token, stream }),
            Framing::Netperf { least } => {
                let least = usize::from(least);
                numbered(side, kit, Netperf { least })
            }
            Framing::Sfnt | Framing::Sockperf => {
                unreachable!("invariant: `check` refused datagrams without numbers")
            }
        }
    }
}

/// Most datagrams of one call. A slow application takes as many per read as it is told.
fn most_per_call(side: Side, plan: &StreamPlan) -> usize {
    let most = (BATCH_BYTES / plan.payload.max(1)).clamp(1, BATCH);
    match plan.imitation {
        Some(Imitation::SlowReceiver {
            datagrams_per_read, ..
        }) if side == Side::Receiver => usize::from(datagrams_per_read).clamp(1, most),
        _ => most,
    }
}

/// One side that numbers its datagrams like this.
fn numbered(side: Side, kit: Kit, numbering: impl Numbering) -> Box<dyn Work> {
    match side {
        Side::Sender => Box::new(sender::Sender::new(kit, numbering)),
        Side::Receiver => Box::new(receiver::Receiver::new(kit, numbering)),
    }
}

/// Least payload; `None` where nothing numbers datagrams.
const fn header_len(framing: &Framing) -> Option<u64> {
    Some(match framing {
        Framing::Iperf3 {
            counters: Counters::Bits32,
            ..
        } => 12,
        Framing::Iperf2(Iperf2Framing {
            width: Width::Narrow,
            ..
        }) => Width::Narrow.bytes() as u64,
        Framing::Iperf2(_) => Width::Wide.bytes() as u64,
        Framing::Iperf3 {
            counters: Counters::Bits64,
            ..
        } => 16,
        Framing::Native { .. } => HEADER_LEN as u64,
        // An empty datagram ends the stream.
        Framing::Netperf { .. } => 1,
        Framing::Sfnt | Framing::Sockperf => return None,
    })
}

/// The datagram path of a kit whose transport `check` has seen to be UDP.
fn datagram_path(path: Path) -> Box<dyn DatagramPath> {
    match path {
        Path::Datagrams(path) => path,
        Path::Connections(_) | Path::Stream(_) => {
            unreachable!("invariant: `check` refused datagrams over TCP")
        }
    }
}

#[cfg(test)]
mod iperf3_tests;
#[cfg(test)]
mod tests;

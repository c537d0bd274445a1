//! Datagram stream: numbered datagrams of one length, one way, at an intended load or unpaced.
//!
//! Does not judge loss (see `analysis`). Invariant: the sequence numbers of counted datagrams are
//! dense per stream and count only what the system accepted, so loss is the sender's count minus
//! the receiver's distinct ones. Warm-up datagrams are marked in their header and not counted at
//! either end. Streams that share a thread take turns: see [`sequences`].

mod counted;
mod dropped;
mod end_datagrams;
mod generated;
mod receiver;
mod sender;
mod sender_clock;
mod sequences;

pub(super) use receiver::RECEIVER_IDLE_TIMEOUT;

use super::{Path, StreamSetup, Work, WorkloadKind};
use crate::datapaths::{Calls, Probe};
use crate::error::{EngineError, Result};
use crate::plan::{StreamPlan, no_datagrams};
use linerate_model::spec::{Imitation, Pace, Side, Stop, TestSpec, TestWork};
use linerate_model::{BitRate, ByteCount, MonoInstant};
use linerate_peers::{Batch, Numbers, Part, SendTime, StreamFormat};
use linerate_wire::header::{HEADER_LEN, Header};

/// The datagram stream.
pub(super) struct Datagrams;

/// Maximum UDP payload of one IPv4 packet.
pub(super) const MAX_DATAGRAM: u64 = 65_507;

/// Maximum datagrams per call: bounds the burst.
const MAX_DATAGRAMS_PER_CALL: usize = 64;

/// Maximum bytes per call: bounds the memory of a stream's buffers, and fits a level-2 cache.
const BATCH_BYTES: usize = 1 << 20;

impl WorkloadKind for Datagrams {
    fn id(&self) -> &'static str {
        "datagrams"
    }

    fn summary(&self) -> &'static str {
        "Numbered UDP datagrams of one length, one way, at an intended load or as fast as possible."
    }

    fn example(&self) -> TestSpec {
        // Slow enough that no buffer overflows, so that all arrive.
        let pace = Pace::At(BitRate::from_bps(8_000_000));
        TestSpec {
            stop: Stop::Transactions(100),
            ..TestSpec::udp_datagrams(pace).with_payload(ByteCount::new(200))
        }
    }

    fn check(&self, spec: &TestSpec, format: &dyn StreamFormat) -> Result<()> {
        let TestWork::Datagrams(stream) = &spec.work else {
            let why = "it needs UDP; TCP carries bulk and ping-pong";
            return Err(EngineError::plan("workload", &self.id(), why));
        };
        let payload = stream.payload;
        let datagrams = format.datagrams(0, payload.as_usize());
        let header = datagrams.ok_or_else(no_datagrams)?.header_len() as u64;
        if !(header..=MAX_DATAGRAM).contains(&payload.get()) {
            let why = format!("datagrams take {header} (their header) to {MAX_DATAGRAM} bytes");
            return Err(EngineError::plan("payload", &payload, why));
        }
        Ok(())
    }

    fn calls(&self, side: Side, plan: &StreamPlan) -> Calls {
        Calls::Batch(most_per_call(side, plan))
    }

    fn probe(&self, side: Side, plan: &StreamPlan) -> Option<Probe> {
        let format = plan.datagrams().ok()?;
        let has_header = plan.format.identifies_test()
            && format.numbers() == Numbers::PerPart
            && format.header_len() == HEADER_LEN;
        if !has_header || plan.imitation.is_some() {
            return None;
        }
        let mut bytes = vec![0; plan.payload];
        let sent = SendTime {
            monotonic: MonoInstant::default(),
            wall_ns: 0,
        };
        let batch = Batch {
            part: Part::Counted,
            first: 0,
            sent,
        };
        format.write(&mut bytes, plan.payload, batch);
        let header = Header::read(&bytes)?;
        Some(Probe {
            side,
            token: header.token,
            stream: header.stream,
            expected: expected(plan),
        })
    }

    fn work(&self, side: Side, setup: StreamSetup) -> Result<Box<dyn Work>> {
        Ok(match side {
            Side::Sender => Box::new(sender::Sender::new(setup)?),
            Side::Receiver => receiver(setup)?,
        })
    }
}

/// The receiver, which only reads the counts where the path has a loop of its own.
fn receiver(setup: StreamSetup) -> Result<Box<dyn Work>> {
    let StreamSetup {
        path,
        plan,
        progress,
        clock,
    } = setup;
    let mut path = path.datagrams()?;
    if path.counter().is_some() {
        return Ok(Box::new(counted::Receiver::new(path, plan, progress)));
    }
    Ok(Box::new(receiver::Receiver::new(StreamSetup {
        path: Path::Datagrams(path),
        plan,
        progress,
        clock,
    })?))
}

/// Datagrams that a stream counts, roughly.
fn expected(plan: &StreamPlan) -> u64 {
    /// Of an unpaced sender in a second.
    const UNPACED: u128 = 1_000_000;
    let payload = plan.payload.max(1) as u64;
    match plan.stop {
        Stop::Transactions(count) => count,
        Stop::Bytes(bytes) => bytes.get() / payload,
        Stop::After(time) => {
            let bits = u128::from(payload) * 8;
            let per_second = plan
                .rate
                .map_or(UNPACED, |rate| u128::from(rate.bps()) / bits);
            let count = per_second * time.as_nanos() / 1_000_000_000;
            u64::try_from(count).unwrap_or(u64::MAX)
        }
    }
}

/// Maximum datagrams per call. An imitated slow reader takes the configured number per read.
fn most_per_call(side: Side, plan: &StreamPlan) -> usize {
    let most = (BATCH_BYTES / plan.payload.max(1)).clamp(1, MAX_DATAGRAMS_PER_CALL);
    match plan.imitation {
        Some(Imitation::SlowReceiver {
            datagrams_per_read, ..
        }) if side == Side::Receiver => usize::from(datagrams_per_read).clamp(1, most),
        _ => most,
    }
}

#[cfg(test)]
mod tests;

//! What became of flows of given sizes, by the class of their size.

use crate::histogram::Histogram;
use crate::units::{ByteCount, PacketCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

crate::named_enum! {
    /// Classes of flow sizes, as studies of flow completion times have them.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum FlowClass {
        /// Below 100 kB.
        Small = "small (< 100 kB)",
        /// 100 kB to 10 MB.
        Medium = "medium (100 kB to 10 MB)",
        /// Above 10 MB.
        Large = "large (> 10 MB)",
    }
}

impl FlowClass {
    /// The class of a flow of `bytes` of L4 payload.
    pub const fn of(bytes: u64) -> Self {
        match bytes {
            0..100_000 => Self::Small,
            100_000..=10_000_000 => Self::Medium,
            _ => Self::Large,
        }
    }
}

/// Flows of one class.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct FlowTimes {
    /// Flows that the schedule had.
    pub scheduled: PacketCount,
    /// Those whose every byte the server confirmed in time. The others, whatever became of them, are longer than any of
    /// these.
    pub finished: PacketCount,
    /// L4 payload of the finished flows, which sender and receiver agree on flow by flow.
    pub bytes: ByteCount,
    /// From the time each was meant to begin to the server's confirmation of its last byte, client's clock.
    pub completion: Histogram,
    /// Completion time over that of an ideal path, in thousandths.
    pub slowdown: Histogram,
}

impl FlowTimes {
    /// Both together.
    pub fn merge(&mut self, other: &Self) {
        self.scheduled.grow(other.scheduled.get());
        self.finished.grow(other.finished.get());
        self.bytes = ByteCount::new(self.bytes.get().saturating_add(other.bytes.get()));
        self.completion.merge(&other.completion);
        self.slowdown.merge(&other.slowdown);
    }
}

/// What became of the flows of a client's thread.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct FlowReport {
    /// Small, medium and large flows.
    pub classes: [FlowTimes; 3],
    /// How late each flow began after its time, client's clock.
    pub lateness: Histogram,
    /// The shortest handshake of all flows: the ideal path's round trip; absent if none was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_rtt_ns: Option<u64>,
    /// Flows whose server confirmed another number of bytes than were sent.
    pub miscounted: PacketCount,
}

impl FlowReport {
    /// Both together.
    #[must_use]
    pub fn merged(mut self, other: &Self) -> Self {
        for (sum, one) in self.classes.iter_mut().zip(&other.classes) {
            sum.merge(one);
        }
        self.lateness.merge(&other.lateness);
        self.base_rtt_ns = [self.base_rtt_ns, other.base_rtt_ns]
            .into_iter()
            .flatten()
            .min();
        self.miscounted.grow(other.miscounted.get());
        self
    }
}

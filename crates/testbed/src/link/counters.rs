//! Exact counters of the link element.

use linerate_model::{ByteCount, PacketCount};
use serde::{Deserialize, Serialize};

/// Frames of one kind in one direction since the counters were reset.
///
/// `arrived + duplicated = forwarded + dropped() + in flight`, always.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Frames that reached the link.
    pub arrived: PacketCount,
    /// Frames that left it, duplicates among them.
    pub forwarded: PacketCount,
    /// Bytes of forwarded frames, without FCS.
    pub forwarded_bytes: ByteCount,
    /// Dropped because the drop list names them.
    pub dropped_by_list: PacketCount,
    /// Dropped by chance.
    pub dropped_by_loss: PacketCount,
    /// Dropped because the queue was full (tail drop).
    pub dropped_by_queue: PacketCount,
    /// Dropped because they are longer than the link's MTU allows.
    pub oversize: PacketCount,
    /// Dropped because their IP packet exceeds the MTU cut.
    #[serde(default)]
    pub dropped_by_mtu_cut: PacketCount,
    /// Dropped during an outage.
    #[serde(default)]
    pub dropped_by_outage: PacketCount,
    /// Copies made in addition to what arrived.
    pub duplicated: PacketCount,
    /// Frames that left after a data packet that had arrived later (RFC 4737: reordered).
    pub reordered: PacketCount,
}

impl Tally {
    /// Everything that arrived and was dropped.
    pub fn dropped(&self) -> PacketCount {
        let parts = [
            self.dropped_by_list,
            self.dropped_by_loss,
            self.dropped_by_queue,
            self.oversize,
            self.dropped_by_mtu_cut,
            self.dropped_by_outage,
        ];
        PacketCount::new(parts.iter().map(|part| part.get()).sum())
    }
}

/// One direction of a link since its counters were reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DirectionCounters {
    /// Data packets: those that the [`PacketFilter`](super::PacketFilter) counts.
    pub data: Tally,
    /// All other frames.
    pub other: Tally,
    /// Frames counted here that are in the link now.
    pub in_flight: PacketCount,
    /// Longest queue that a frame met, itself included, in bytes without FCS.
    pub max_queue: ByteCount,
    /// Faults of the element itself; if any is nonzero, the other counters are not exact.
    pub faults: Faults,
}

/// What the element lost unintentionally.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Faults {
    /// Frames that the kernel dropped because the element did not read its ring in time.
    pub ring_drops: PacketCount,
    /// Frames dropped because too many were in flight for the element's memory.
    pub memory_drops: PacketCount,
    /// Frames counted as forwarded that the kernel refused to send.
    pub send_errors: PacketCount,
}

impl Faults {
    /// Whether there was none: the counters are exact.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Both directions of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LinkCounters {
    /// From host A to host B.
    pub a_to_b: DirectionCounters,
    /// From host B to host A.
    pub b_to_a: DirectionCounters,
}

/// Adds one to a count.
pub(super) fn count(counter: &mut PacketCount) {
    *counter = PacketCount::new(counter.get() + 1);
}

/// Adds a frame's length to a count.
pub(super) fn add_bytes(counter: &mut ByteCount, bytes: u32) {
    *counter = ByteCount::new(counter.get() + u64::from(bytes));
}

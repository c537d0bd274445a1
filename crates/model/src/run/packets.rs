//! Packet accounting of a trial: how many, and where those that were lost went.

use crate::units::{LossRatio, PacketCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Packet accounting of a trial. `sent = received + lost` whenever all three are known.
#[derive(Debug, Clone, Copy, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Packets {
    /// Given to the system by the sender's application.
    pub sent: Option<PacketCount>,
    /// Distinct packets the receiver's application got.
    pub received: Option<PacketCount>,
    /// `sent − received`; tail loss included.
    pub lost: Option<PacketCount>,
    /// Received again; not in `received`, cancels no loss.
    pub duplicated: Option<PacketCount>,
    /// Arrived below the next expected sequence number (RFC 4737); received, not lost.
    pub reordered: Option<PacketCount>,
    /// `lost / sent`.
    pub loss_ratio: Option<LossRatio>,
}

crate::named_enum! {
    /// A place where packets can be lost, in path order.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum Place {
        /// Accepted by the sender's socket call, dropped before the queueing discipline.
        SenderSocket = "sender's socket",
        /// Dropped by the sender's queueing discipline.
        SenderQdisc = "sender's queueing discipline",
        /// Dropped by the sender's interface.
        SenderNic = "sender's interface",
        /// Left the sender's interface, did not reach the receiver's.
        Network = "network",
        /// Dropped by the device under test, by its own counters.
        Device = "device under test",
        /// Dropped by the receiver's interface.
        ReceiverNic = "receiver's interface",
        /// Dropped because the receiver's softnet backlog was full.
        ReceiverBacklog = "receiver's softnet backlog",
        /// Dropped because the receiving socket's buffer was full.
        ReceiverSocket = "receiver's socket",
        /// Cannot be placed; the entry's source says why.
        Unknown = "unknown",
    }
}

/// How many lost packets were lost at one place.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// The place.
    pub place: Place,
    /// Packets lost there.
    pub packets: PacketCount,
    /// The counter that says so, or why the place is unknown.
    pub source: String,
}

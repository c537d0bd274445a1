//! What one end knows about the other.

use super::{Fence, Limits};
use linerate_model::facts::Facts;
use linerate_model::time::as_seconds;
use linerate_model::{ByteCount, PacketCount, Ratio};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Counts of an end since the start of traffic, all its streams together. Receiver-side if this end receives, else
/// sender-side; L4 payload; this end's clock. Older ends omit some fields.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Time since the start of counted traffic.
    #[serde(rename = "elapsed_s", with = "as_seconds")]
    pub elapsed: Duration,
    /// L4 payload bytes.
    pub bytes: ByteCount,
    /// Datagrams or transactions; zero for a TCP byte stream.
    pub packets: PacketCount,
    /// Datagrams missing in the sequence so far: lost or late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<PacketCount>,
    /// Sum of the congestion windows of a sender's streams, bytes.
    #[serde(
        rename = "cwnd_bytes",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub cwnd: Option<ByteCount>,
    /// Longest smoothed round-trip time of a sender's streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub srtt_ns: Option<u64>,
    /// Segments retransmitted by a sender's TCP since its streams were opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted: Option<PacketCount>,
    /// Utilisation of the busiest core of this end's host over the last interval.
    #[serde(
        rename = "busiest_core_ratio",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub busiest_core: Option<Ratio>,
    /// Utilisation of each core of this end's host over the last interval, in core order.
    #[serde(rename = "core_ratios", default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<Ratio>,
}

/// Description of the peer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PeerHello {
    /// Version of the peer's tool, as it reports.
    pub version: String,
    /// Id of this session at the server; both ends' logs name it.
    pub session: String,
    /// The facts of the peer's host; empty for protocols that have none, and at the server.
    pub facts: Facts,
    /// What the server allows; the server's own at the server.
    pub limits: Limits,
    /// At the server: the lease that the client's tests are of.
    pub fence: Option<Fence>,
}

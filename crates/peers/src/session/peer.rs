//! What one end knows of the other.

use super::Limits;
use linerate_model::facts::Facts;
use linerate_model::time::as_seconds;
use linerate_model::{ByteCount, PacketCount, Ratio};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What an end has counted since the start of traffic, all its streams together. Receiver-side if this
/// end receives, else sender-side; L4 payload; this end's clock. What is absent is not told, as by ends of before.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Since the start of counted time.
    #[serde(rename = "elapsed_s", with = "as_seconds")]
    pub elapsed: Duration,
    /// L4 payload bytes.
    pub bytes: ByteCount,
    /// Datagrams or transactions; zero for a TCP byte stream.
    pub packets: PacketCount,
    /// Datagrams that a receiver has skipped so far: lost, or late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<PacketCount>,
    /// Congestion windows of a sender's streams together.
    #[serde(
        rename = "cwnd_bytes",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub cwnd: Option<ByteCount>,
    /// Longest smoothed round-trip time of a sender's streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub srtt_ns: Option<u64>,
    /// Segments that a sender's TCP has sent again, since its streams were opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted: Option<PacketCount>,
    /// Share of the last interval that the busiest core of this end's host was not idle.
    #[serde(
        rename = "busiest_core_ratio",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub busiest_core: Option<Ratio>,
    /// The same of each core, in core order.
    #[serde(rename = "core_ratios", default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<Ratio>,
}

/// Who is at the peer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PeerHello {
    /// The far tool's version, as it says.
    pub version: String,
    /// Id of this session at the server; both ends' logs name it.
    pub session: String,
    /// The facts of the peer's host; empty for protocols that have none, and at the server.
    pub facts: Facts,
    /// What the server allows; the server's own at the server.
    pub limits: Limits,
}

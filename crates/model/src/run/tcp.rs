//! TCP state of a trial.

use crate::sample::TcpSample;
use crate::tcp::{Rfc6349, TcpQueueing, TcpRetransmissions, TcpShares, TcpStretch, TcpWindows};
use crate::units::{BitRate, ByteCount, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// TCP state of the sending side over a trial.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct TcpSummary {
    /// Segments retransmitted.
    #[serde(default)]
    pub retransmitted_segments: Option<u64>,
    /// L4 payload bytes that the receiver's TCP acknowledged in the counted time, all streams together. Its
    /// application may not have read them yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged_bytes: Option<ByteCount>,
    /// L4 payload acknowledged per second, up to the last acknowledgement waited for.
    #[serde(
        rename = "acknowledged_bps",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub acknowledged_rate: Option<BitRate>,
    /// Share of the trial with data to send.
    #[serde(default)]
    pub busy_ratio: Option<Ratio>,
    /// Share of the trial limited by the receiver's window.
    #[serde(default)]
    pub rwnd_limited_ratio: Option<Ratio>,
    /// Share of the trial limited by the send buffer.
    #[serde(default)]
    pub sndbuf_limited_ratio: Option<Ratio>,
    /// Mean congestion window over the readings.
    #[serde(default)]
    pub cwnd_mean_bytes: Option<ByteCount>,
    /// Largest congestion window.
    #[serde(default)]
    pub cwnd_max_bytes: Option<ByteCount>,
    /// Mean smoothed RTT over the readings.
    #[serde(default)]
    pub srtt_mean_ns: Option<u64>,
    /// Smallest RTT.
    #[serde(default)]
    pub min_rtt_ns: Option<u64>,
    /// Sender maximum segment size.
    #[serde(default)]
    pub smss_bytes: Option<u64>,
    /// Congestion control algorithm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_control: Option<String>,
    /// Where the time went, all streams together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<TcpShares>,
    /// Where the time went, over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares_over_time: Vec<TcpStretch>,
    /// What each window allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<TcpWindows>,
    /// The metrics of RFC 6349.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rfc6349: Option<Rfc6349>,
    /// Retransmissions, and how many were not needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmissions: Option<TcpRetransmissions>,
    /// Delay that the transfer itself adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queueing: Option<TcpQueueing>,
    /// Readings over time of the first stream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<TcpSample>,
}

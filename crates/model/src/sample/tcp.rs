//! What the kernel says of a TCP socket.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one TCP socket said of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct TcpSocketReport {
    /// Readings of `TCP_INFO` over time; none where the test asked for none, the datapath is not the
    /// kernel's, or the transport is not TCP.
    #[serde(rename = "tcp", default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<TcpSample>,
    /// Congestion control algorithm (`TCP_CONGESTION`); `None` where the peer or the datapath does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_control: Option<String>,
}

/// One reading of `TCP_INFO`. `None` means this kernel does not report the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct TcpSample {
    /// Time of the reading from the start of the stream on this side's clock, nanoseconds.
    pub at_ns: u64,
    /// Congestion window in bytes (`snd_cwnd` × `snd_mss`).
    pub cwnd_bytes: Option<u64>,
    /// Slow start threshold in bytes; `None` also while it is infinite.
    pub ssthresh_bytes: Option<u64>,
    /// Sender maximum segment size.
    pub smss_bytes: Option<u64>,
    /// Smoothed round-trip time (RFC 6298).
    pub srtt_ns: Option<u64>,
    /// Round-trip time variation (RFC 6298).
    pub rttvar_ns: Option<u64>,
    /// Smallest round-trip time seen.
    pub min_rtt_ns: Option<u64>,
    /// Window the peer advertises.
    pub snd_wnd_bytes: Option<u64>,
    /// Window this side advertises or its receive space.
    pub rcv_space_bytes: Option<u64>,
    /// Cumulative time with data to send (chronograph).
    pub busy_ns: Option<u64>,
    /// Cumulative time limited by the peer's window (chronograph).
    pub rwnd_limited_ns: Option<u64>,
    /// Cumulative time limited by this side's send buffer (chronograph).
    pub sndbuf_limited_ns: Option<u64>,
    /// Bytes in the send buffer that have not been sent yet.
    pub notsent_bytes: Option<u64>,
    /// Cumulative bytes sent, retransmissions included.
    pub bytes_sent: Option<u64>,
    /// Cumulative bytes retransmitted.
    pub bytes_retrans: Option<u64>,
    /// Cumulative bytes acknowledged by the peer.
    pub bytes_acked: Option<u64>,
    /// Cumulative bytes received from the peer.
    pub bytes_received: Option<u64>,
    /// Cumulative segments retransmitted.
    pub retrans_segments: Option<u64>,
    /// Segments now considered lost.
    pub lost_segments: Option<u64>,
    /// Cumulative duplicate SACKs received: retransmissions that were not needed.
    pub dsack_dups: Option<u64>,
    /// Cumulative segments delivered with a congestion mark.
    pub delivered_ce: Option<u64>,
    /// Delivery rate in bit/s as the kernel estimates it.
    pub delivery_rate_bps: Option<u64>,
    /// Whether that estimate was limited by the application.
    pub delivery_rate_app_limited: Option<bool>,
    /// Pacing rate in bit/s.
    pub pacing_rate_bps: Option<u64>,
    /// Path MTU.
    pub pmtu_bytes: Option<u64>,
    /// What the congestion control is doing (`tcpi_ca_state`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_state: Option<CongestionState>,
    /// Segments sent and not yet acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unacked_segments: Option<u64>,
    /// Cumulative segments sent that carried data, retransmissions included (RFC 4898).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_segments_sent: Option<u64>,
    /// Cumulative times that the peer's acknowledgements showed reordering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reordering_seen: Option<u64>,
    /// Cumulative segments that this side received out of order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_order_segments: Option<u64>,
    /// Window this side advertises (Linux 6.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rcv_wnd_bytes: Option<u64>,
    /// Cumulative retransmission timeouts (Linux 6.7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<u64>,
    /// Cumulative time spent in retransmission timeouts (Linux 6.7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ns: Option<u64>,
    /// Whether both ends agreed to use ECN (RFC 3168).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// Bytes that this side's application has not read yet (`SIOCINQ`; receiver only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread_bytes: Option<u64>,
}

/// What TCP's congestion control is doing (Linux `enum tcp_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CongestionState {
    /// Nothing is amiss.
    Open,
    /// Duplicate acknowledgements or SACKs came: reordering or the beginning of a loss.
    Disorder,
    /// The window is being reduced for an ECN mark or a full local queue.
    Reduced,
    /// Fast recovery: lost segments are being retransmitted.
    Recovery,
    /// A retransmission timeout expired.
    Loss,
}

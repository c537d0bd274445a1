//! What streams count: by interval, by sequence number, by request, by error.

use crate::time::as_seconds;
use crate::units::{ByteCount, PacketCount};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// An error of the data plane, counted and never formatted in the loop.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
pub struct ErrorCount {
    /// The system call: `sendmmsg`, `recv`, `connect`.
    pub operation: String,
    /// The error's name: `EAGAIN`, `ENOBUFS`.
    pub errno: String,
    /// How often.
    pub count: u64,
}
/// What one stream moved in one reporting interval, as seen by one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct IntervalCount {
    /// Start, from the start of the stream's counted time on this side's clock.
    #[serde(rename = "start_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub start: Duration,
    /// End, on the same scale.
    #[serde(rename = "end_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub end: Duration,
    /// L4 payload bytes given to or taken from the system; duplicates excluded at the receiver.
    pub bytes: ByteCount,
    /// Datagrams or transactions; duplicates excluded at the receiver. Zero for a TCP byte stream.
    pub packets: PacketCount,
    /// One more than the highest sequence number seen up to the end (datagram receiver only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_expected: Option<u64>,
}

/// A time in which one side of a stream moved nothing, far longer than it usually waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Silence {
    /// When it moved the last before, from the start of the stream's counted time on this side's clock.
    #[serde(rename = "start_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub start: Duration,
    /// When it moved something again, on the same scale.
    #[serde(rename = "end_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub end: Duration,
}

impl Silence {
    /// Its length.
    pub const fn length(self) -> Duration {
        self.end.saturating_sub(self.start)
    }
}

/// Most silences of one stream: the longest.
pub const MAX_SILENCES: usize = 16;

/// Reads a few silences: they come from the peer.
pub(super) fn bounded_silences<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Silence>, D::Error> {
    let silences = Vec::<Silence>::deserialize(d)?;
    if silences.len() > MAX_SILENCES {
        let message = format!("more than {MAX_SILENCES} silences of one stream");
        return Err(D::Error::custom(message));
    }
    Ok(silences)
}

/// What the receiver of numbered datagrams knows from sequence numbers alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct SequenceCount {
    /// Distinct datagrams received.
    pub received: PacketCount,
    /// Datagrams received again (RFC 5560); not in `received`.
    pub duplicated: PacketCount,
    /// Distinct datagrams that arrived with a sequence number below the next expected one (RFC 4737 §3.4).
    pub reordered: PacketCount,
    /// Largest reordering extent in packets (RFC 4737 §4.2.1).
    pub reorder_extent_max: PacketCount,
    /// One more than the highest sequence number seen, counted from the first; zero if nothing came.
    pub next_expected: u64,
    /// Datagrams that arrived so late that they cannot be told from duplicates; counted nowhere else.
    #[serde(default)]
    pub too_old: PacketCount,
    /// Datagrams that carried another stream's token or no valid header; counted nowhere else.
    #[serde(default)]
    pub foreign: PacketCount,
}

/// Datagrams of the warm-up where they are numbered with the counted ones (iperf3's omit).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Omitted {
    /// Sender: datagrams sent before the counted time. Receiver: the highest number seen before it.
    pub packets: PacketCount,
    /// Receiver: numbers missing among those.
    pub missing: PacketCount,
}

/// The counts of an iperf2 server's report, unchanged: versions and kin count in different ways, so they need
/// not agree with the other counts, nor with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct PeerCounts {
    /// L4 payload bytes.
    pub bytes: ByteCount,
    /// Datagrams: the highest number seen, or (zperf) those received.
    pub datagrams: u64,
    /// Datagrams it counted as lost.
    pub lost: u64,
    /// Datagrams it counted as out of order.
    pub out_of_order: u64,
}

/// What became of the requests of an open loop. `intended = unsent + sent`, `sent = answered + unanswered`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct RequestCount {
    /// Requests that the schedule had for the counted time.
    pub intended: PacketCount,
    /// Those that the system did not take before the end, or refused.
    pub unsent: PacketCount,
    /// Those given to the system.
    pub sent: PacketCount,
    /// Those answered within the timeout.
    pub answered: PacketCount,
    /// Those not answered within the timeout, or not at all.
    pub unanswered: PacketCount,
    /// Answers that came after the timeout; their requests are among the unanswered.
    pub late_answers: PacketCount,
    /// Answers that had come before; counted nowhere else.
    pub duplicated: PacketCount,
    /// First answers to requests sent before another one that was answered already (RFC 4737 §3.4).
    pub reordered: PacketCount,
    /// Messages that are no answer to a request of this test; counted nowhere else.
    pub foreign: PacketCount,
    /// From the start of the counted time to the last answer in time, this side's clock.
    #[serde(rename = "answering_s", with = "as_seconds", default)]
    #[schemars(with = "f64")]
    pub answering: Duration,
}

//! One trial: what every kind of work has in common.

use super::{CpuSummary, Imported, StreamShares, TrialOrigin, TrialWork};
use crate::spec::{Direction, Transport};
use crate::time::{as_optional_seconds, as_seconds};
use crate::units::{BitRate, ByteCount, Layer, PacketCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// One trial: one direction of one test at one intended load.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Trial {
    /// Position in the run, from 0.
    pub index: u32,
    /// What distinguishes this trial for people: `512M`, `64 B, spin`, `idle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Transport.
    pub transport: Transport,
    /// Seen from the client. A duplex test makes two trials, `forward` and `reverse`.
    pub direction: Direction,
    /// Layer that every `_bps` of this trial counts.
    #[serde(default)]
    pub layer: Layer,
    /// Parallel streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<u16>,
    /// How the streams shared the rate, where there are several and each is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<StreamShares>,
    /// Datagram payload, write size or message size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_bytes: Option<ByteCount>,
    /// Intended load (RFC 2285 §3.5.1); null when unpaced or unknown.
    #[serde(rename = "intended_bps", default)]
    pub intended_load: Option<BitRate>,
    /// Offered load (RFC 2285 §3.5.2): what the sender's application really gave, sender's clock.
    #[serde(rename = "offered_bps", default)]
    pub offered_load: Option<BitRate>,
    /// What the receiver's application got without duplicates, over the sender's time scale where both are known.
    #[serde(rename = "received_bps", default)]
    pub received_rate: Option<BitRate>,
    /// Counted time on the sender's clock; the receiver's if only that is known.
    #[serde(rename = "duration_s", with = "as_optional_seconds", default)]
    #[schemars(with = "Option<f64>")]
    pub duration: Option<Duration>,
    /// L4 payload bytes the sender gave to its system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_bytes: Option<ByteCount>,
    /// L4 payload bytes the receiver took, without duplicates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_bytes: Option<ByteCount>,
    /// Whether the numbers can be trusted.
    pub valid: bool,
    /// Why not, or what to be careful about.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// Progress over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<TrialInterval>,
    /// CPU use of both ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuSummary>,
    /// What was exchanged, and what is known of that kind of work only.
    #[serde(flatten)]
    pub work: TrialWork,
    /// Whether linerate measured it or a log tells of it, and what is known in that case only.
    #[serde(flatten)]
    pub origin: TrialOrigin,
}

impl Trial {
    /// The reporting intervals with what arrived in each; with what was sent in each where none tells what arrived. Empty
    /// where some of the sender's do not tell.
    pub fn carried_by_interval(&self) -> Vec<(&TrialInterval, BitRate)> {
        let rated = |rate: fn(&TrialInterval) -> Option<BitRate>| {
            let all = self.intervals.iter();
            all.filter_map(move |interval| Some((interval, rate(interval)?)))
        };
        let received: Vec<_> = rated(|interval| interval.received_rate).collect();
        if !received.is_empty() {
            // The ends of a log may have reported at other times.
            return received;
        }
        let sent: Vec<_> = rated(|interval| interval.offered_load).collect();
        if sent.len() < self.intervals.len() {
            return Vec::new();
        }
        sent
    }

    /// A valid trial of linerate's own, of which nothing is known but its `work`.
    pub fn new(
        index: u32,
        transport: Transport,
        direction: Direction,
        work: impl Into<TrialWork>,
    ) -> Self {
        Self {
            index,
            label: None,
            transport,
            direction,
            layer: Layer::L4Payload,
            streams: None,
            shares: None,
            payload_bytes: None,
            intended_load: None,
            offered_load: None,
            received_rate: None,
            duration: None,
            sent_bytes: None,
            received_bytes: None,
            valid: true,
            reasons: Vec::new(),
            intervals: Vec::new(),
            cpu: None,
            work: work.into(),
            origin: TrialOrigin::default(),
        }
    }

    /// A trial without figures, of a log of another tool.
    pub fn from_log(
        index: u32,
        transport: Transport,
        direction: Direction,
        work: impl Into<TrialWork>,
    ) -> Self {
        Self {
            origin: TrialOrigin::Imported(Imported::default()),
            ..Self::new(index, transport, direction, work)
        }
    }
}

/// One reporting interval of a trial, all streams together.
#[derive(Debug, Clone, Copy, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct TrialInterval {
    /// Start within the trial.
    #[serde(rename = "start_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub start: Duration,
    /// End within the trial.
    #[serde(rename = "end_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub end: Duration,
    /// Sender side.
    #[serde(
        rename = "offered_bps",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub offered_load: Option<BitRate>,
    /// Receiver side.
    #[serde(
        rename = "received_bps",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub received_rate: Option<BitRate>,
    /// Congestion window at the end (TCP, sending side).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwnd_bytes: Option<ByteCount>,
    /// Smoothed round-trip time at the end (TCP, sending side).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub srtt_ns: Option<u64>,
    /// Segments retransmitted during the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted_segments: Option<u64>,
    /// Datagrams lost during the interval as far as the receiver could see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_packets: Option<PacketCount>,
    /// Datagrams of the interval: sent if only the sender reports, else expected by the receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_packets: Option<PacketCount>,
}

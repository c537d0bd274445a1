//! What a server says of itself and of its clients while it serves.

use crate::refusal::RefusalCode;
use crate::sample::{EndpointReport, StreamReport};
use crate::spec::Side;
use crate::time::as_seconds;
use crate::units::{ByteCount, PacketCount};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Something that happened at a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum AgentEvent {
    /// It listens for clients of a protocol.
    Listening {
        /// The protocol's id.
        protocol: String,
        /// What the protocol is called in sentences.
        name: String,
        /// Where.
        address: SocketAddr,
    },
    /// A connection or datagram stream was closed before anything was read of it.
    Refused {
        /// Where it came from.
        address: IpAddr,
        /// Its port; absent where the address has too many connections.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<u16>,
        /// What the server has not got for it.
        lacks: AdmissionLimit,
    },
    /// A client gets less than it asked for.
    Curtailed {
        /// The client.
        client: SocketAddr,
        /// The protocol's id.
        protocol: String,
        /// What it does not get, and why.
        what: String,
    },
    /// This end of a client's streams has come to its end.
    Counted {
        /// The client.
        client: SocketAddr,
        /// The protocol's id.
        protocol: String,
        /// What this end counted.
        #[serde(flatten)]
        traffic: CountedTraffic,
    },
    /// A test was refused, or ended early.
    TestEnded {
        /// The client.
        client: SocketAddr,
        /// The protocol's id.
        protocol: String,
        /// What kind of reason.
        code: RefusalCode,
        /// The reason.
        reason: String,
    },
    /// A test that a client wants towards itself is not made: the host has no thread for it.
    NotCalledBack {
        /// Where the client listens.
        client: SocketAddr,
        /// What the system said.
        error: String,
    },
    /// A client has left.
    Left {
        /// The client.
        client: SocketAddr,
    },
    /// A session with a client ended by an error.
    Failed {
        /// The client.
        client: SocketAddr,
        /// What went wrong.
        error: String,
    },
    /// It has read its configuration again.
    Reloaded {
        /// Options that hold from now on as they are written there.
        changed: Vec<String>,
        /// Options that are written otherwise there, but hold only after a restart.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        at_restart: Vec<String>,
    },
    /// It was to read its configuration again, which is wrong: what held goes on to hold.
    NotReloaded {
        /// What is wrong, where.
        error: String,
    },
    /// So many events about clients were not told: there is a limit for each second.
    LeftOut {
        /// How many.
        events: u64,
        /// The limit.
        limit: u32,
    },
}

impl AgentEvent {
    /// Whether who runs the server may want to do something about it.
    pub const fn is_trouble(&self) -> bool {
        match self {
            Self::Listening { .. }
            | Self::Curtailed { .. }
            | Self::Counted { .. }
            | Self::Left { .. }
            | Self::Reloaded { .. } => false,
            Self::Refused { .. }
            | Self::TestEnded { .. }
            | Self::NotCalledBack { .. }
            | Self::Failed { .. }
            | Self::NotReloaded { .. }
            | Self::LeftOut { .. } => true,
        }
    }
}

/// What a server has not got for one more client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum AdmissionLimit {
    /// A place among all that wait to be admitted.
    Pending {
        /// How many there are.
        limit: u32,
    },
    /// A place among those of its address that wait to be admitted.
    PendingOfAddress {
        /// How many there are.
        limit: u32,
    },
    /// An open file.
    OpenFile,
    /// A thread.
    Thread {
        /// What the system said.
        error: String,
    },
}

/// What one end of all streams of one direction counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedTraffic {
    /// Whether this end sent or received.
    pub side: Side,
    /// L4 payload.
    pub bytes: ByteCount,
    /// From the first byte to the last, of the longest stream.
    #[serde(rename = "duration_s", with = "as_seconds")]
    pub duration: Duration,
    /// Datagrams or transactions; absent of a byte stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<PacketCount>,
    /// Of each stream whose datagrams are numbered, at its receiver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sequences: Vec<SequenceTotals>,
}

/// What the numbers of a stream's datagrams say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceTotals {
    /// Up to the highest number that came.
    pub expected: PacketCount,
    /// Of them, those that did not come.
    pub lost: PacketCount,
    /// Those that came after a higher number.
    pub reordered: PacketCount,
    /// Those that came once more.
    pub duplicated: PacketCount,
}

impl From<&EndpointReport> for CountedTraffic {
    fn from(report: &EndpointReport) -> Self {
        let sum = |part: fn(&StreamReport) -> u64| report.streams.iter().map(part).sum::<u64>();
        let packets = sum(|stream| stream.packets.get());
        let durations = report.streams.iter().map(|stream| stream.duration);
        let counts = report.streams.iter().filter_map(|s| s.work.sequence());
        let totals = counts.map(|count| SequenceTotals {
            expected: PacketCount::new(count.next_expected),
            lost: PacketCount::new(count.next_expected.saturating_sub(count.received.get())),
            reordered: count.reordered,
            duplicated: count.duplicated,
        });
        Self {
            side: report.side,
            bytes: ByteCount::new(sum(|stream| stream.bytes.get())),
            duration: durations.max().unwrap_or_default(),
            packets: (packets > 0).then(|| PacketCount::new(packets)),
            sequences: totals.collect(),
        }
    }
}

//! What a server says of itself and of its clients while it serves.

mod counts;

pub use counts::{AgentCounts, AgentStatus, ProcessUse, ProtocolCounts, TestResult};

use crate::refusal::RefusalCode;
use crate::sample::{EndpointReport, StreamReport};
use crate::spec::{Direction, Side, TestSpec, Transport, WorkloadId};
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
    /// A client is refused before it has asked for a test.
    TurnedAway {
        /// The client.
        client: SocketAddr,
        /// The protocol's id.
        protocol: String,
        /// What kind of reason.
        code: RefusalCode,
        /// The reason.
        reason: String,
    },
    /// A test has come to its end.
    TestOver {
        /// The client.
        client: SocketAddr,
        /// The protocol's id.
        protocol: String,
        /// What was tested.
        test: TestOutline,
        /// How much it was.
        #[serde(flatten)]
        volume: TestVolume,
    },
    /// A test was refused, or ended early.
    TestEnded {
        /// The client.
        client: SocketAddr,
        /// The protocol's id.
        protocol: String,
        /// What was tested; absent of a test that did not begin.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        test: Option<TestOutline>,
        /// How much it was until then; absent of a test that did not begin.
        #[serde(flatten)]
        volume: Option<TestVolume>,
        /// Whether the client ended it, so that the reason is the client's own.
        #[serde(default)]
        by_client: bool,
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
            | Self::TestOver { .. }
            | Self::Reloaded { .. } => false,
            Self::Refused { .. }
            | Self::TestEnded { .. }
            | Self::TurnedAway { .. }
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

impl AdmissionLimit {
    /// The names of all kinds.
    pub const KINDS: [&'static str; 4] = ["pending", "pending-of-address", "open-file", "thread"];

    /// The name of its kind.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Pending { .. } => "pending",
            Self::PendingOfAddress { .. } => "pending-of-address",
            Self::OpenFile => "open-file",
            Self::Thread { .. } => "thread",
        }
    }
}

/// What a test was, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestOutline {
    /// Over TCP or UDP.
    pub transport: Transport,
    /// What was exchanged.
    pub workload: WorkloadId,
    /// Who sent, seen from the client.
    pub direction: Direction,
    /// Streams per direction.
    pub streams: u16,
}

impl From<&TestSpec> for TestOutline {
    fn from(spec: &TestSpec) -> Self {
        Self {
            transport: spec.transport(),
            workload: spec.workload.clone(),
            direction: spec.direction,
            streams: spec.streams,
        }
    }
}

/// How much a test was, as the server's end counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestVolume {
    /// From its beginning to its end, set-up of its streams excluded.
    #[serde(rename = "duration_s", with = "as_seconds")]
    pub duration: Duration,
    /// L4 payload that the server sent.
    #[serde(rename = "sent_bytes")]
    pub sent: ByteCount,
    /// L4 payload that the server received.
    #[serde(rename = "received_bytes")]
    pub received: ByteCount,
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
    /// Those up to the highest number that did not come.
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

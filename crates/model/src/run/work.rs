//! What was exchanged in a trial: one variant per kind of work, each with what only it has.

use super::{Delay, LedgerEntry, Packets, Requests, TcpSummary, Trial, Turns};
use crate::one_way::{Decomposition, Ipdv, OneWay};
use crate::units::{LossRatio, PacketRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was exchanged.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "kebab-case")]
pub enum TrialWork {
    /// A TCP byte stream, one way.
    ByteStream(Box<ByteStreamResult>),
    /// One message at a time to the peer and back.
    ClosedLoop(Box<ClosedLoopResult>),
    /// New TCP connections one after the other, with one request and its answer on each.
    Connections(Box<ConnectionsResult>),
    /// UDP datagrams, one way.
    Datagrams(Box<DatagramsResult>),
    /// Requests at a rate, whatever is still under way.
    OpenLoop(Box<OpenLoopResult>),
}

/// What a byte stream tells.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct ByteStreamResult {
    /// How late the sender was against its schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Delay>,
    /// TCP state of the sending side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpSummary>,
    /// Time of marks through a loaded TCP stream and back on the same connection; absent where the stream had no marks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_band: Option<Box<Delay>>,
}

/// What a closed loop tells.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct ClosedLoopResult {
    /// Requests, answers and their rates.
    #[serde(flatten)]
    pub counts: UnitCounts,
    /// Round trips; absent where none was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// One-way delays with the error that the clocks leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_way: Option<Box<OneWay>>,
    /// Where the time of round trips went, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decomposition: Option<Box<Decomposition>>,
    /// TCP state of the sending side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpSummary>,
    /// The turns that it was measured in, between those of other trials; absent if it was measured at
    /// once. Its raw reports are then the sums over the turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Box<Turns>>,
}

/// What short connections tell.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct ConnectionsResult {
    /// Transactions per second.
    #[serde(
        rename = "received_pps",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub received_packet_rate: Option<PacketRate>,
    /// Time to open each connection; absent where none was opened or the log does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake: Option<Box<Delay>>,
    /// Round trip of the request after the handshake; absent where none was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
}

/// What datagrams tell.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct DatagramsResult {
    /// Datagrams and their rates.
    #[serde(flatten)]
    pub counts: UnitCounts,
    /// Where lost packets went. Sums to `packets.lost`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ledger: Vec<LedgerEntry>,
    /// Delay variation; absent where the receiver does not time arrivals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// How late the sender was against its schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Delay>,
    /// One-way delays with the error that the clocks leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_way: Option<Box<OneWay>>,
    /// Inter-packet delay variation (RFC 3393).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipdv: Option<Box<Ipdv>>,
    /// Interarrival jitter as RFC 3550 smooths it, the largest of all streams: only for comparison with other
    /// tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtp_jitter_ns: Option<u64>,
}

/// What an open loop tells.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct OpenLoopResult {
    /// Requests, answers and their rates.
    #[serde(flatten)]
    pub counts: UnitCounts,
    /// What became of the requests; absent where the requester or the log does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Requests>,
    /// Response time; absent where none was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// Service time: round trips from the time each request was sent. A request that
    /// waited for its turn is not longer for it: to be read beside `delay`, not instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Box<Delay>>,
    /// How late the sender was against its schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Delay>,
    /// One-way delays with the error that the clocks leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_way: Option<Box<OneWay>>,
    /// Where the time of round trips went, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decomposition: Option<Box<Decomposition>>,
    /// TCP state of the sending side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpSummary>,
}

/// Datagrams, or requests and their answers, that were counted one by one.
#[derive(Debug, Clone, Copy, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct UnitCounts {
    /// Packet accounting; absent where an end or the log does not tell, and over TCP, which loses none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<Packets>,
    /// Datagrams or requests per second offered.
    #[serde(
        rename = "offered_pps",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub offered_packet_rate: Option<PacketRate>,
    /// Datagrams (or transactions) per second received.
    #[serde(
        rename = "received_pps",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub received_packet_rate: Option<PacketRate>,
}

impl From<ByteStreamResult> for TrialWork {
    fn from(result: ByteStreamResult) -> Self {
        Self::ByteStream(Box::new(result))
    }
}

impl From<ClosedLoopResult> for TrialWork {
    fn from(result: ClosedLoopResult) -> Self {
        Self::ClosedLoop(Box::new(result))
    }
}

impl From<ConnectionsResult> for TrialWork {
    fn from(result: ConnectionsResult) -> Self {
        Self::Connections(Box::new(result))
    }
}

impl From<DatagramsResult> for TrialWork {
    fn from(result: DatagramsResult) -> Self {
        Self::Datagrams(Box::new(result))
    }
}

impl From<OpenLoopResult> for TrialWork {
    fn from(result: OpenLoopResult) -> Self {
        Self::OpenLoop(Box::new(result))
    }
}

/// For readers that do not care which kind of work it was: `None` or empty where this kind has no such thing, and where
/// it is not known.
impl Trial {
    /// Counts of datagrams or requests.
    pub fn counts(&self) -> Option<&UnitCounts> {
        match &self.work {
            TrialWork::ClosedLoop(result) => Some(&result.counts),
            TrialWork::Datagrams(result) => Some(&result.counts),
            TrialWork::OpenLoop(result) => Some(&result.counts),
            TrialWork::ByteStream(_) | TrialWork::Connections(_) => None,
        }
    }

    /// The same, to be changed.
    pub fn counts_mut(&mut self) -> Option<&mut UnitCounts> {
        match &mut self.work {
            TrialWork::ClosedLoop(result) => Some(&mut result.counts),
            TrialWork::Datagrams(result) => Some(&mut result.counts),
            TrialWork::OpenLoop(result) => Some(&mut result.counts),
            TrialWork::ByteStream(_) | TrialWork::Connections(_) => None,
        }
    }

    /// Packet accounting.
    pub fn packets(&self) -> Option<&Packets> {
        self.counts()?.packets.as_ref()
    }

    /// The loss ratio, if packets were counted.
    pub fn loss_ratio(&self) -> Option<LossRatio> {
        self.packets()?.loss_ratio
    }

    /// Datagrams or requests per second offered.
    pub fn offered_packet_rate(&self) -> Option<PacketRate> {
        self.counts()?.offered_packet_rate
    }

    /// Datagrams received or transactions completed per second.
    pub fn received_packet_rate(&self) -> Option<PacketRate> {
        match &self.work {
            TrialWork::Connections(result) => result.received_packet_rate,
            _ => self.counts()?.received_packet_rate,
        }
    }

    /// Where lost datagrams went.
    pub fn ledger(&self) -> &[LedgerEntry] {
        match &self.work {
            TrialWork::Datagrams(result) => &result.ledger,
            _ => &[],
        }
    }

    /// Delay; what was timed is said in it.
    pub fn delay(&self) -> Option<&Delay> {
        match &self.work {
            TrialWork::ByteStream(_) => None,
            TrialWork::ClosedLoop(result) => result.delay.as_ref(),
            TrialWork::Connections(result) => result.delay.as_ref(),
            TrialWork::Datagrams(result) => result.delay.as_ref(),
            TrialWork::OpenLoop(result) => result.delay.as_ref(),
        }
    }

    /// The same, to be changed.
    pub fn delay_mut(&mut self) -> Option<&mut Delay> {
        match &mut self.work {
            TrialWork::ByteStream(_) => None,
            TrialWork::ClosedLoop(result) => result.delay.as_mut(),
            TrialWork::Connections(result) => result.delay.as_mut(),
            TrialWork::Datagrams(result) => result.delay.as_mut(),
            TrialWork::OpenLoop(result) => result.delay.as_mut(),
        }
    }

    /// How late the sender was against its schedule.
    pub fn lateness(&self) -> Option<&Delay> {
        match &self.work {
            TrialWork::ByteStream(result) => result.lateness.as_ref(),
            TrialWork::Datagrams(result) => result.lateness.as_ref(),
            TrialWork::OpenLoop(result) => result.lateness.as_ref(),
            TrialWork::ClosedLoop(_) | TrialWork::Connections(_) => None,
        }
    }

    /// TCP state of the sending side.
    pub fn tcp(&self) -> Option<&TcpSummary> {
        match &self.work {
            TrialWork::ByteStream(result) => result.tcp.as_ref(),
            TrialWork::ClosedLoop(result) => result.tcp.as_ref(),
            TrialWork::OpenLoop(result) => result.tcp.as_ref(),
            TrialWork::Connections(_) | TrialWork::Datagrams(_) => None,
        }
    }

    /// What became of the requests of an open loop.
    pub fn requests(&self) -> Option<&Requests> {
        match &self.work {
            TrialWork::OpenLoop(result) => result.requests.as_ref(),
            _ => None,
        }
    }

    /// Service time of an open loop.
    pub fn service(&self) -> Option<&Delay> {
        match &self.work {
            TrialWork::OpenLoop(result) => result.service.as_deref(),
            _ => None,
        }
    }

    /// Time to open each connection.
    pub fn handshake(&self) -> Option<&Delay> {
        match &self.work {
            TrialWork::Connections(result) => result.handshake.as_deref(),
            _ => None,
        }
    }

    /// Time of marks through a loaded TCP stream and back.
    pub fn in_band(&self) -> Option<&Delay> {
        match &self.work {
            TrialWork::ByteStream(result) => result.in_band.as_deref(),
            _ => None,
        }
    }

    /// One-way delays with the error that the clocks leave.
    pub fn one_way(&self) -> Option<&OneWay> {
        match &self.work {
            TrialWork::ClosedLoop(result) => result.one_way.as_deref(),
            TrialWork::Datagrams(result) => result.one_way.as_deref(),
            TrialWork::OpenLoop(result) => result.one_way.as_deref(),
            TrialWork::ByteStream(_) | TrialWork::Connections(_) => None,
        }
    }

    /// Inter-packet delay variation.
    pub fn ipdv(&self) -> Option<&Ipdv> {
        match &self.work {
            TrialWork::Datagrams(result) => result.ipdv.as_deref(),
            _ => None,
        }
    }

    /// Interarrival jitter as RFC 3550 smooths it.
    pub fn rtp_jitter_ns(&self) -> Option<u64> {
        match &self.work {
            TrialWork::Datagrams(result) => result.rtp_jitter_ns,
            _ => None,
        }
    }

    /// Where the time of round trips went.
    pub fn decomposition(&self) -> Option<&Decomposition> {
        match &self.work {
            TrialWork::ClosedLoop(result) => result.decomposition.as_deref(),
            TrialWork::OpenLoop(result) => result.decomposition.as_deref(),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn decomposition_mut(&mut self) -> Option<&mut Decomposition> {
        match &mut self.work {
            TrialWork::ClosedLoop(result) => result.decomposition.as_deref_mut(),
            TrialWork::OpenLoop(result) => result.decomposition.as_deref_mut(),
            _ => None,
        }
    }

    /// The turns that it was measured in.
    pub fn turns(&self) -> Option<&Turns> {
        match &self.work {
            TrialWork::ClosedLoop(result) => result.turns.as_deref(),
            _ => None,
        }
    }
}

//! What was exchanged in a trial: one variant per kind of work, each with what only it has.

use super::{LedgerEntry, Packets, TcpSummary};
use crate::delay::Delay;
use crate::histogram::Histogram;
use crate::one_way::{Decomposition, Ipdv, OneWay};
use crate::requests::{Requests, quantile_of_all};
use crate::sample::{AcceptedCounts, ConnectionCounts, FlowClass};
use crate::spec::{ShortConnections, WaitMode};
use crate::turns::Turns;
use crate::units::{ByteCount, PacketCount, PacketRate, Ratio, float};
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
    /// Wait mode and load; absent in logs of other tools and in documents of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<ExchangeConditions>,
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

/// Under what messages were exchanged, size and rate aside: what trials of one run are told apart by.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ExchangeConditions {
    /// The wait mode's name on the command line: `spin`.
    pub mode: String,
    /// How the traffic threads of both ends waited.
    pub wait: WaitMode,
    /// The datapath's id: the same way to wait is another thing past the kernel's sockets.
    pub datapath: String,
    /// Whether the asking end ran under a wrapper.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wrapped: bool,
    /// What else went over the path, in words: `TCP load`; absent when nothing of this run did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
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
    /// From the first segment of each connection to the last byte of its answer; absent where none was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<Box<Delay>>,
    /// What became of each connection; absent of probes, and where the log does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<Box<ConnectionOutcomes>>,
    /// Completion times of flows of given sizes; absent of other connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Box<FlowsResult>>,
}

/// What became of the connections of a trial.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ConnectionOutcomes {
    /// How they were made.
    pub asked: ShortConnections,
    /// As the client counted them.
    pub client: ConnectionCounts,
    /// As the server counted them; absent without its report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<AcceptedCounts>,
}

/// What flows of given sizes tell.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FlowsResult {
    /// Flows by the class of their size, from small to large; those of which the schedule had any.
    pub classes: Vec<FlowClassResult>,
    /// How late flows began after their time; absent where none began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Delay>,
    /// The shortest handshake: the round trip of the ideal path; absent where none was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_rtt_ns: Option<u64>,
    /// Flows of which the server counted another number of bytes than the client sent.
    pub miscounted: PacketCount,
}

/// Flows of one class of sizes.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FlowClassResult {
    /// The class.
    pub class: FlowClass,
    /// Flows that the schedule had.
    pub scheduled: PacketCount,
    /// Those that finished. A quantile that falls among the others is absent.
    pub finished: PacketCount,
    /// L4 payload of the finished ones.
    pub bytes: ByteCount,
    /// From when each was meant to begin to the confirmation of its last byte; the unfinished are longer than any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<Delay>,
    /// Completion time over that of an ideal path: two of its round trips and the flow's bytes at its rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<Slowdown>,
}

/// Completion times over those of an ideal path, of all flows of a class: the unfinished are slower than any.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Slowdown {
    /// Mean of the finished ones.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 90 % quantile.
    pub p90: Option<f64>,
    /// 99 % quantile.
    pub p99: Option<f64>,
    /// 99.9 % quantile.
    pub p999: Option<f64>,
}

impl Slowdown {
    /// From a histogram in thousandths, and the flows that never finished.
    pub fn from_thousandths(histogram: &Histogram, unfinished: u64) -> Self {
        let of = |thousandths: u64| float(thousandths) / 1000.0;
        let at = |q| quantile_of_all(histogram, unfinished, q).map(of);
        Self {
            mean: (!histogram.is_empty()).then(|| histogram.mean_nanos() / 1000.0),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
        }
    }
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
    /// Share of the traffic's time in which the busiest sending thread slept in a sending call: its socket was full,
    /// since the queueing discipline or the interface took no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_blocked_ratio: Option<Ratio>,
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
    /// Wait mode and load; absent in logs of other tools and in documents of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<ExchangeConditions>,
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

macro_rules! from_results {
    ($($kind:ident($result:ident),)*) => {$(
        impl From<$result> for TrialWork {
            fn from(result: $result) -> Self {
                Self::$kind(Box::new(result))
            }
        }
    )*};
}

from_results! {
    ByteStream(ByteStreamResult),
    ClosedLoop(ClosedLoopResult),
    Connections(ConnectionsResult),
    Datagrams(DatagramsResult),
    OpenLoop(OpenLoopResult),
}

//! What is exchanged in a test: one shape per kind of traffic, each with exactly its own settings.

use super::{FlowLoad, Pace, Transport};
use crate::time::as_seconds;
use crate::units::{BitRate, ByteCount, PacketRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Kebab-case id of a workload in `engine`. It is looked up there; what differs by workload is asked of
/// [`TestWork`] or of the workload found.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkloadId(String);

impl WorkloadId {
    /// The workload that is called so.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorkloadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is exchanged. Several workloads may share a shape.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TestWork {
    /// A TCP byte stream, one way.
    ByteStream(ByteStream),
    /// UDP datagrams, one way.
    Datagrams(Datagrams),
    /// One message at a time to the peer and back.
    ClosedLoop(ClosedLoop),
    /// Requests at a rate, whatever is still under way.
    OpenLoop(OpenLoop),
    /// New TCP connections one after the other, with one request and its answer on each.
    Connections(ShortConnections),
}

/// A TCP byte stream.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ByteStream {
    /// Size of each write.
    #[serde(rename = "write_bytes")]
    pub write: ByteCount,
    /// Intended load over all streams.
    pub pace: Pace,
}

impl Default for ByteStream {
    /// 128 KiB writes, unpaced.
    fn default() -> Self {
        Self {
            write: ByteCount::new(128 * 1024),
            pace: Pace::Unpaced,
        }
    }
}

/// A stream of UDP datagrams.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Datagrams {
    /// L4 payload of each datagram.
    #[serde(rename = "payload_bytes")]
    pub payload: ByteCount,
    /// Intended load over all streams.
    pub pace: Pace,
}

/// Size of messages unless a test says.
const DEFAULT_MESSAGE: ByteCount = ByteCount::new(32);

/// Messages that are answered one at a time.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ClosedLoop {
    /// TCP or UDP.
    pub transport: Transport,
    /// L4 payload of each message.
    #[serde(rename = "message_bytes")]
    pub message: ByteCount,
    /// Bounds by number of transactions.
    #[serde(default, skip_serializing_if = "TransactionBounds::is_unbounded")]
    pub transactions: TransactionBounds,
    /// Whether both ends ask their kernel when each message passed which layer. It costs time, which is then
    /// part of the round trip.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decompose: bool,
}

impl ClosedLoop {
    /// Messages of 32 bytes.
    pub fn new(transport: Transport) -> Self {
        Self {
            transport,
            message: DEFAULT_MESSAGE,
            transactions: TransactionBounds::default(),
            decompose: false,
        }
    }
}

/// Requests at a rate.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct OpenLoop {
    /// TCP or UDP.
    pub transport: Transport,
    /// L4 payload of each request and each answer.
    #[serde(rename = "message_bytes")]
    pub message: ByteCount,
    /// Intended requests per second.
    #[serde(rename = "rate_pps")]
    pub rate: PacketRate,
    /// When requests are meant to be sent.
    pub arrival: Arrival,
    /// How long an answer is waited for from the time its request was sent.
    #[serde(rename = "answer_timeout_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub answer_timeout: Duration,
}

impl OpenLoop {
    /// Requests of 32 bytes at equal distances.
    pub fn new(transport: Transport, rate: PacketRate) -> Self {
        Self {
            transport,
            message: DEFAULT_MESSAGE,
            rate,
            arrival: Arrival::default(),
            answer_timeout: DEFAULT_ANSWER_TIMEOUT,
        }
    }

    fn bits(&self) -> f64 {
        self.message.as_f64() * 8.0
    }
}

/// TCP connections that are opened one after the other for a request and its answer. What a document leaves out is that
/// of the probes on new connections.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct ShortConnections {
    /// L4 payload of each request.
    #[serde(rename = "request_bytes")]
    pub request: ByteCount,
    /// L4 payload of each answer.
    #[serde(rename = "response_bytes")]
    pub response: ByteCount,
    /// Connections that the client has open, or is opening, at once: over all streams, each of which is a thread.
    pub concurrent: u32,
    /// What ends a connection.
    pub close: ConnectionClose,
    /// Time for a connection from its first segment to the last byte of the answer: a slower one has failed.
    #[serde(rename = "timeout_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub timeout: Duration,
    /// Flows of given sizes in place of a request on each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<FlowLoad>,
}

impl Default for ShortConnections {
    /// One at a time, with a header of the test as request and as answer.
    fn default() -> Self {
        Self {
            request: ByteCount::new(18),
            response: ByteCount::new(18),
            concurrent: 1,
            close: ConnectionClose::Client,
            timeout: Duration::from_secs(2),
            flows: None,
        }
    }
}

crate::named_enum! {
    /// What ends a connection after its answer.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum ConnectionClose {
        /// The client closes first, as netperf does: its port waits in TIME_WAIT.
        Client = "client",
        /// Nothing before the test's end: it is held open.
        Hold = "hold",
        /// The client resets it (`SO_LINGER` of zero), as neper does unless told not to: neither end waits.
        Reset = "reset",
        /// The server closes first, as after an answer of HTTP/1.0: it waits in TIME_WAIT, and the client's port is free.
        Server = "server",
    }
}

impl TestWork {
    /// TCP or UDP.
    pub const fn transport(&self) -> Transport {
        match self {
            Self::ByteStream(_) | Self::Connections(_) => Transport::Tcp,
            Self::Datagrams(_) => Transport::Udp,
            Self::ClosedLoop(ClosedLoop { transport, .. })
            | Self::OpenLoop(OpenLoop { transport, .. }) => *transport,
        }
    }

    /// L4 payload bytes of one write, datagram or message.
    pub const fn payload(&self) -> ByteCount {
        match self {
            Self::ByteStream(stream) => stream.write,
            Self::Datagrams(stream) => stream.payload,
            Self::ClosedLoop(closed) => closed.message,
            Self::OpenLoop(open) => open.message,
            Self::Connections(connections) => connections.request,
        }
    }

    /// Changes the size of one write, datagram or message; on new connections that of the request.
    pub const fn set_payload(&mut self, size: ByteCount) {
        match self {
            Self::ByteStream(stream) => stream.write = size,
            Self::Datagrams(stream) => stream.payload = size,
            Self::ClosedLoop(closed) => closed.message = size,
            Self::OpenLoop(open) => open.message = size,
            Self::Connections(connections) => connections.request = size,
        }
    }

    /// Intended load over all streams, in L4 payload. Where each message waits for the last, there is none.
    pub fn pace(&self) -> Pace {
        match self {
            Self::ByteStream(ByteStream { pace, .. }) | Self::Datagrams(Datagrams { pace, .. }) => {
                *pace
            }
            Self::OpenLoop(open) => Pace::At(BitRate::from_f64(open.rate.pps() * open.bits())),
            Self::Connections(ShortConnections {
                flows: Some(flows), ..
            }) => Pace::At(flows.load),
            Self::ClosedLoop(_) | Self::Connections(_) => Pace::Unpaced,
        }
    }

    /// Changes the intended load; work that has none stays as it is.
    pub fn set_pace(&mut self, to: Pace) {
        match self {
            Self::ByteStream(ByteStream { pace, .. }) | Self::Datagrams(Datagrams { pace, .. }) => {
                *pace = to;
            }
            Self::OpenLoop(open) => {
                if let Some(rate) = to.intended_load().filter(|_| open.bits() > 0.0) {
                    open.rate = PacketRate::from_pps(rate.as_f64() / open.bits());
                }
            }
            Self::Connections(ShortConnections {
                flows: Some(flows), ..
            }) => {
                if let Some(load) = to.intended_load() {
                    flows.load = load;
                }
            }
            Self::ClosedLoop(_) | Self::Connections(_) => {}
        }
    }

    /// New connections, if it is of such.
    pub const fn connections(&self) -> Option<&ShortConnections> {
        match self {
            Self::Connections(connections) => Some(connections),
            _ => None,
        }
    }

    /// Whether it is a stream of datagrams, each of which can be accounted for.
    pub const fn is_datagrams(&self) -> bool {
        matches!(self, Self::Datagrams(_))
    }

    /// Whether the peer answers what is sent.
    pub const fn has_round_trips(&self) -> bool {
        matches!(
            self,
            Self::ClosedLoop(_) | Self::OpenLoop(_) | Self::Connections(_)
        )
    }

    /// Bounds by number of transactions; none where only a closed loop has them.
    pub fn transactions(&self) -> TransactionBounds {
        match self {
            Self::ClosedLoop(closed) => closed.transactions,
            _ => TransactionBounds::default(),
        }
    }

    /// Whether round trips are taken apart.
    pub const fn is_decomposed(&self) -> bool {
        matches!(
            self,
            Self::ClosedLoop(ClosedLoop {
                decompose: true,
                ..
            })
        )
    }
}

/// Bounds of a closed loop by number of transactions, beside those by time; absent means no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct TransactionBounds {
    /// Goes on beyond the test's time until so many are counted, at most [`MAX_OVERTIME`] longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<u64>,
    /// Ends before the test's time when so many are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<u64>,
    /// Counts only what comes after so many, and after the warm-up by time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<u64>,
}

/// Longest time beyond its own that a test goes on for [`TransactionBounds`]: with the same for the warm-up it
/// stays within the minute that both ends allow a test to be late.
pub const MAX_OVERTIME: Duration = Duration::from_secs(25);

impl TransactionBounds {
    /// Whether nothing is bounded.
    fn is_unbounded(&self) -> bool {
        *self == Self::default()
    }
}

/// When the requests of an open loop are meant to be sent.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// At equal distances.
    #[default]
    Constant,
    /// At random, each independent of the others: exponential distances, drawn from the seed.
    Poisson,
}

/// How long an answer is waited for unless a test says: longer than any path on earth takes.
pub const DEFAULT_ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_intended_load_of_requests_is_their_rate_times_their_size() {
        for (rate, size) in [(1000.0, 32), (0.5, 18), (333.0, 1400)] {
            let mut open =
                TestWork::OpenLoop(OpenLoop::new(Transport::Udp, PacketRate::from_pps(1.0)));
            open.set_payload(ByteCount::new(size));
            let bits = BitRate::from_f64(rate * ByteCount::new(size).as_f64() * 8.0);
            open.set_pace(Pace::At(bits));
            assert_eq!(open.pace(), Pace::At(bits));
        }
        let closed = TestWork::ClosedLoop(ClosedLoop::new(Transport::Udp));
        assert_eq!(closed.pace(), Pace::Unpaced);
    }
}

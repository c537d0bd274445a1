//! What one end of a stream did, one variant per kind of work.

use super::{
    AcceptedCounts, ConnectionCounts, FlowReport, Moments, Omitted, PeerCounts, RequestCount,
    SequenceCount, TcpSample, TcpSocketReport,
};
use crate::histogram::Histogram;
use crate::one_way::{SignedHistogram, StageReport, Transits};
use crate::time::{as_optional_seconds, as_seconds};
use crate::units::PacketCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What one end of a stream did, with exactly what is counted of it.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum StreamWork {
    /// Took bytes from a TCP stream.
    ByteStreamReceiver(Box<ByteStreamReceiver>),
    /// Gave bytes to a TCP stream.
    ByteStreamSender(Box<ByteStreamSender>),
    /// Opened one connection after the other, with a request on each.
    ConnectionOpener(Box<ConnectionOpener>),
    /// Took numbered datagrams.
    DatagramReceiver(Box<DatagramReceiver>),
    /// Gave datagrams to the system.
    DatagramSender(Box<DatagramSender>),
    /// Gave bytes with marks among them to a TCP stream, and timed how the marks came back.
    MarkedByteStreamSender(Box<MarkedByteStreamSender>),
    /// Sent requests at their times, whether earlier ones were answered or not.
    OpenLoopRequester(Box<OpenLoopRequester>),
    /// A peer that is not linerate, as far as its protocol tells.
    Peer(Box<PeerStream>),
    /// Sent each request when the one before it was answered.
    Requester(Box<Requester>),
    /// Answered requests.
    Responder(Box<Responder>),
    /// Took datagrams that its protocol does not number.
    UnnumberedDatagramReceiver(Box<UnnumberedDatagramReceiver>),
    /// Nothing that could be reported: its thread did not run to its end, and `errors` says why.
    Unreported,
}

/// The receiver of a byte stream.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct ByteStreamReceiver {
    /// Its socket.
    #[serde(flatten)]
    pub tcp: TcpSocketReport,
}

/// The sender of a byte stream.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct ByteStreamSender {
    /// Its socket.
    #[serde(flatten)]
    pub tcp: TcpSocketReport,
    /// Whether writes had their times, and how late each left after its own, nanoseconds.
    #[serde(
        rename = "lateness",
        default,
        skip_serializing_if = "Pacing::is_unpaced"
    )]
    #[schemars(with = "Option<Histogram>")]
    pub pacing: Pacing,
}

/// The sender of a byte stream with marks.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct MarkedByteStreamSender {
    /// Its socket.
    #[serde(flatten)]
    pub tcp: TcpSocketReport,
    /// Time of marks from the sending application through the loaded stream and back on the same connection.
    pub in_band: Histogram,
}

/// When a sender sends. In the document its lateness, which is absent without a schedule.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "Option<Histogram>", into = "Option<Histogram>")]
pub enum Pacing {
    /// As fast as the system takes it.
    #[default]
    Unpaced,
    /// At scheduled times.
    Paced {
        /// How late each write or batch left after its scheduled time.
        lateness: Histogram,
    },
}

impl Pacing {
    /// How late it was; `None` without a schedule.
    pub const fn lateness(&self) -> Option<&Histogram> {
        match self {
            Self::Paced { lateness } => Some(lateness),
            Self::Unpaced => None,
        }
    }

    const fn is_unpaced(&self) -> bool {
        matches!(self, Self::Unpaced)
    }
}

impl From<Option<Histogram>> for Pacing {
    fn from(lateness: Option<Histogram>) -> Self {
        lateness.map_or(Self::Unpaced, |lateness| Self::Paced { lateness })
    }
}

impl From<Pacing> for Option<Histogram> {
    fn from(pacing: Pacing) -> Self {
        match pacing {
            Pacing::Paced { lateness } => Some(lateness),
            Pacing::Unpaced => None,
        }
    }
}

/// The sender of datagrams.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct DatagramSender {
    /// Whether batches had their times, and how late each left after its own, nanoseconds.
    #[serde(
        rename = "lateness",
        default,
        skip_serializing_if = "Pacing::is_unpaced"
    )]
    #[schemars(with = "Option<Histogram>")]
    pub pacing: Pacing,
    /// Datagrams that the system refused (`EAGAIN`, `ENOBUFS`; of streams in turns whatever failed) and that were not sent again; they
    /// are not in `packets`.
    pub refused: PacketCount,
    /// Datagrams the schedule called for but the sender did not get to before the end; zero without a schedule.
    pub unsent: PacketCount,
    /// Most datagrams given to the system in one burst (GSO segments included).
    pub burst_max: PacketCount,
    /// Time in calls that give datagrams to the system, the warm-up included; `None` where the peer does not tell.
    #[serde(
        rename = "sending_s",
        with = "as_optional_seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<f64>")]
    pub sending: Option<Duration>,
    /// Datagrams that had been sent when the system first knew that they are longer than the path's MTU (`EMSGSIZE`, from
    /// a router's answer): none of them is known to have arrived. `None` where it knew before, or never said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_path_mtu: Option<PacketCount>,
    /// Datagrams that were sent and do not count, with numbers of their own: those of the warm-up, and one that tries the
    /// way. `None` where the peer does not tell, or the numbers go on (`omitted`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<PacketCount>,
    /// Datagrams of the warm-up; `None` where their numbers are not those of the test, or there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<Omitted>,
}

/// What a receiver of datagrams knows of its socket and of its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct ReceiveSocket {
    /// Reads that took datagrams.
    pub reads: u64,
    /// Those of them that took fewer than they could and so left the socket empty.
    pub emptying_reads: u64,
    /// Datagrams the kernel dropped at this very socket (`SO_RXQ_OVFL`); `None` where it does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_overflows: Option<PacketCount>,
    /// Runs of datagrams that it dropped, where it counts those (`gro=true`): `socket_overflows` is then what is
    /// missing in the numbers where they were dropped, and at most what so many runs hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_runs: Option<u64>,
}

/// Times of messages that came to this end.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct MessageTimes {
    /// One-way delay variation against the fastest message (RFC 5481 PDV), nanoseconds; `None` if no message
    /// told when it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pdv: Option<Histogram>,
    /// Against the peer's clock; `None` where its stamps are of no clock that can be told (other protocols than
    /// linerate's own).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transits: Option<Transits>,
}

/// The longest time between two datagrams that came one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct LongestGap {
    /// How long nothing came.
    #[serde(rename = "length_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub length: Duration,
    /// Numbers between the two that had not come before.
    pub missing: PacketCount,
}

/// The receiver of numbered datagrams.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct DatagramReceiver {
    /// Its socket and its calls.
    #[serde(flatten)]
    pub socket: ReceiveSocket,
    /// Accounting by sequence number.
    pub sequence: SequenceCount,
    /// When its datagrams came.
    #[serde(flatten)]
    pub times: MessageTimes,
    /// Inter-packet delay variation (RFC 3393); `None` unless two neighbours came one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipdv: Option<SignedHistogram>,
    /// Interarrival jitter at the end (RFC 3550 §6.4.1), as iperf3 reports it, in nanoseconds; `None` unless two
    /// came. A smoothed mean that forgets what was before the last some 50 datagrams: for comparison with tools
    /// that show nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtp_jitter_ns: Option<u64>,
    /// The smallest one-way delay of each twentieth of the sending time, above the smallest of all,
    /// in nanoseconds; null where nothing arrived, empty in a test that does not end by time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delay_floor_ns: Vec<Option<u64>>,
    /// Datagrams of the warm-up that came, each as often as it came, with numbers of their own; `None` where the peer does
    /// not tell, or the numbers go on (`omitted`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<PacketCount>,
    /// Datagrams of the warm-up, which `sequence` leaves out; `None` where their numbers are not those of the
    /// test, or there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<Omitted>,
    /// Datagrams that the sender said in the stream that it sent, those of the warm-up included; `None` where the
    /// stream does not tell its end (others than iperf2), or that was not heard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_there: Option<PacketCount>,
    /// Time in which the sender sent all that are numbered (`sequence.next_expected`), by its stamps: from the first that
    /// came to the last, and as long for each of the others; `None` where the stream does not tell its end, or if fewer
    /// than two came.
    #[serde(
        rename = "sent_in_s",
        with = "as_optional_seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<f64>")]
    pub sent_in: Option<Duration>,
    /// Whether the sender's clock, by which it stamped its datagrams, was set while they came: no delay is reported then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_sender_clock_set: bool,
    /// The longest time without a datagram; `None` unless two came, and of receivers that do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_gap: Option<LongestGap>,
    /// Of datagrams whose lengths are a mix that repeats: how many distinct ones came at each of its places; empty of others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_place: Vec<PacketCount>,
    /// Of frames that go to several ports in turns: how many distinct ones came at each, in that order; empty of others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_port: Vec<PortCount>,
}

/// Distinct frames that came at a port.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PortCount {
    /// The port's interface.
    pub interface: String,
    /// Frames of the stream, warm-up left out.
    pub received: PacketCount,
}

impl DatagramReceiver {
    /// The same without what was reckoned from the sender's stamps.
    #[must_use]
    pub fn without_send_times(self) -> Self {
        Self {
            times: MessageTimes::default(),
            ipdv: None,
            rtp_jitter_ns: None,
            delay_floor_ns: Vec::new(),
            sent_in: None,
            ..self
        }
    }
}

/// The receiver of datagrams without numbers (netperf): its socket and its calls are all that it knows.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct UnnumberedDatagramReceiver {
    /// Its socket and its calls.
    #[serde(flatten)]
    pub socket: ReceiveSocket,
}

/// Who asks in a closed loop.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Requester {
    /// Round-trip time of each transaction.
    pub rtt: Histogram,
    /// Count, mean, spread and ends of the round-trip times in `rtt`, not rounded; `None` of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_moments: Option<Moments>,
    /// Transactions that got no answer in time.
    pub timeouts: PacketCount,
    /// When answers came.
    #[serde(flatten)]
    pub times: MessageTimes,
    /// This end's parts of messages' ways; `None` unless the test asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<StageReport>,
    /// Its socket; nothing over UDP.
    #[serde(flatten)]
    pub tcp: TcpSocketReport,
}

/// Who asks in an open loop.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct OpenLoopRequester {
    /// From the time each request was meant to be sent to its answer, this side's clock.
    pub response: Histogram,
    /// From the time each was sent to its answer.
    pub rtt: Histogram,
    /// How late each left after its scheduled time.
    pub lateness: Histogram,
    /// What became of the requests.
    pub requests: RequestCount,
    /// Requests that the system refused (`EAGAIN`, `ENOBUFS`) and that were not sent again.
    pub refused: PacketCount,
    /// Most requests given to the system in one burst.
    pub burst_max: PacketCount,
    /// Its socket; nothing over UDP.
    #[serde(flatten)]
    pub tcp: TcpSocketReport,
}

/// Who opens short connections.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct ConnectionOpener {
    /// Time to open each connection, from the first segment to the answer to it.
    pub handshake: Histogram,
    /// Round-trip time of the request after it.
    pub rtt: Histogram,
    /// Connections that could not be opened or got no answer in time.
    pub timeouts: PacketCount,
    /// From the first segment of each connection to the last byte of its answer; `None` of probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<Histogram>,
    /// What became of the connections; `None` of probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<ConnectionCounts>,
    /// What became of flows of given sizes; `None` of other connections.
    #[serde(
        rename = "flow_times",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub flows: Option<Box<FlowReport>>,
}

/// Who answers requests, one after the other or at any time, on one connection or on many.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Responder {
    /// Datagrams the kernel dropped at this very socket (`SO_RXQ_OVFL`); `None` over TCP, and where it does not
    /// count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_overflows: Option<PacketCount>,
    /// When requests came.
    #[serde(flatten)]
    pub times: MessageTimes,
    /// This end's parts of messages' ways; `None` unless the test asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<StageReport>,
    /// What became of the connections that it accepted; `None` where all requests come on one, and of probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<AcceptedCounts>,
}

/// An end that another tool plays. What is `None`, its protocol does not tell of this kind of test.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct PeerStream {
    /// Interarrival jitter (RFC 3550), nanoseconds, as a receiver of datagrams said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtp_jitter_ns: Option<u64>,
    /// Datagrams of the warm-up (iperf3 from 3.14 on).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<Omitted>,
    /// What it counted in its own way, as it said it (iperf2 and kin).
    #[serde(rename = "told", default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<PeerCounts>,
    /// What it said of its TCP socket (iperf3: how many segments were sent again, and the algorithm).
    #[serde(flatten)]
    pub tcp: TcpSocketReport,
}

/// A kind of work that is looked for by its type; see [`StreamWork::get`].
pub trait StreamKind: Sized {
    /// This kind, if `work` is of it.
    fn of(work: &StreamWork) -> Option<&Self>;
    /// This kind, to change it, if `work` is of it.
    fn of_mut(work: &mut StreamWork) -> Option<&mut Self>;
}

macro_rules! kinds {
    ($($variant:ident($kind:ident),)*) => {$(
        impl From<$kind> for StreamWork {
            fn from(work: $kind) -> Self {
                Self::$variant(Box::new(work))
            }
        }

        impl StreamKind for $kind {
            fn of(work: &StreamWork) -> Option<&Self> {
                match work {
                    StreamWork::$variant(end) => Some(end),
                    _ => None,
                }
            }

            fn of_mut(work: &mut StreamWork) -> Option<&mut Self> {
                match work {
                    StreamWork::$variant(end) => Some(end),
                    _ => None,
                }
            }
        }
    )*};
}

kinds! {
    ByteStreamReceiver(ByteStreamReceiver),
    ByteStreamSender(ByteStreamSender),
    ConnectionOpener(ConnectionOpener),
    DatagramReceiver(DatagramReceiver),
    DatagramSender(DatagramSender),
    MarkedByteStreamSender(MarkedByteStreamSender),
    OpenLoopRequester(OpenLoopRequester),
    Peer(PeerStream),
    Requester(Requester),
    Responder(Responder),
    UnnumberedDatagramReceiver(UnnumberedDatagramReceiver),
}

impl StreamWork {
    /// The end of kind `K`, if it is one: `work.get::<DatagramReceiver>()`.
    pub fn get<K: StreamKind>(&self) -> Option<&K> {
        K::of(self)
    }

    /// The end of kind `K`, to change it, if it is one.
    pub fn get_mut<K: StreamKind>(&mut self) -> Option<&mut K> {
        K::of_mut(self)
    }
}

/// What several kinds have, for readers that do not care which: a method for each, `None` of every other kind.
macro_rules! parts {
    ($($(#[$about:meta])* $name:ident -> $part:ty, |$end:ident| $get:expr, of $($kind:ident)|+;)*) => {
        impl StreamWork {
            $($(#[$about])*
            pub fn $name(&self) -> Option<$part> {
                match self {
                    $(Self::$kind($end) => $get,)+
                    _ => None,
                }
            })*
        }
    };
}

parts! {
    /// The TCP socket, of kinds that can have one.
    tcp -> &TcpSocketReport, |end| Some(&end.tcp), of
        ByteStreamReceiver | ByteStreamSender | MarkedByteStreamSender | OpenLoopRequester | Peer | Requester;
    /// Round trips from the time of sending.
    rtt -> &Histogram, |end| Some(&end.rtt), of ConnectionOpener | OpenLoopRequester | Requester;
    /// What the system refused to send, if this kind counts that.
    refused -> PacketCount, |end| Some(end.refused), of DatagramSender | OpenLoopRequester;
    /// Times of messages that came.
    times -> &MessageTimes, |end| Some(&end.times), of DatagramReceiver | Requester | Responder;
    /// Parts of messages' ways.
    stages -> &StageReport, |end| end.stages.as_ref(), of Requester | Responder;
    /// What a receiver of datagrams knows of its socket.
    receive_socket -> &ReceiveSocket, |end| Some(&end.socket), of DatagramReceiver | UnnumberedDatagramReceiver;
    /// Interarrival jitter (RFC 3550), nanoseconds.
    rtp_jitter_ns -> u64, |end| end.rtp_jitter_ns, of DatagramReceiver | Peer;
    /// Datagrams of a warm-up whose numbers go on.
    omitted -> Omitted, |end| end.omitted, of DatagramReceiver | DatagramSender | Peer;
}

/// What follows from these.
impl StreamWork {
    /// Readings of `TCP_INFO`; none of a kind that has no TCP socket.
    pub fn tcp_samples(&self) -> &[TcpSample] {
        self.tcp().map_or(&[], |tcp| &tcp.samples)
    }

    /// The congestion control of the TCP socket, if there is one and it is known.
    pub fn congestion_control(&self) -> Option<&str> {
        self.tcp()?.congestion_control.as_deref()
    }

    /// How late a sender with a schedule was.
    pub fn lateness(&self) -> Option<&Histogram> {
        match self {
            Self::ByteStreamSender(end) => end.pacing.lateness(),
            Self::DatagramSender(end) => end.pacing.lateness(),
            Self::OpenLoopRequester(end) => Some(&end.lateness),
            _ => None,
        }
    }

    /// Transactions without an answer in time.
    pub fn timeouts(&self) -> Option<PacketCount> {
        match self {
            Self::ConnectionOpener(end) => Some(end.timeouts),
            Self::OpenLoopRequester(end) => Some(end.requests.unanswered),
            Self::Requester(end) => Some(end.timeouts),
            _ => None,
        }
    }

    /// Accounting by sequence number.
    pub fn sequence(&self) -> Option<&SequenceCount> {
        Some(&self.get::<DatagramReceiver>()?.sequence)
    }

    /// Datagrams that the kernel dropped at the socket, where it counts them.
    pub fn socket_overflows(&self) -> Option<PacketCount> {
        match self {
            Self::Responder(end) => end.socket_overflows,
            _ => self.receive_socket()?.socket_overflows,
        }
    }
}

//! What to run: one test between two endpoints, as a value that crosses the wire and the store.

use crate::time::{as_optional_seconds, as_seconds};
use crate::units::{BitRate, ByteCount, PacketRate, UnitError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

pub use crate::spec_check::{
    MAX_BUFFER, MAX_DURATION, MAX_INTERVALS, MAX_RATE, MAX_STREAMS, MAX_TCP_PAYLOAD,
    MAX_UDP_PAYLOAD, MAX_WARM_UP, MIN_INTERVAL, SpecError, validate,
};

/// The transport under test.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl std::fmt::Display for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
        })
    }
}

/// Which way traffic flows, seen from the client (who asked for the test).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The client sends.
    #[default]
    Forward,
    /// The server sends.
    Reverse,
    /// Both send at once.
    Duplex,
}

/// Which end of the traffic an endpoint is. Independent of who is client or server.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Gives traffic to its system (for request/response: the requester).
    Sender,
    /// Takes traffic from its system (for request/response: the responder).
    Receiver,
}

impl Side {
    /// The other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}

/// How much traffic the sender means to offer, over all streams together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// As fast as the sender can.
    #[default]
    Unpaced,
    /// An intended load in L4 payload bits per second (RFC 2285 §3.5.1).
    At(BitRate),
}

impl Pace {
    /// The intended load, if there is one.
    pub const fn intended_load(self) -> Option<BitRate> {
        match self {
            Self::Unpaced => None,
            Self::At(rate) => Some(rate),
        }
    }
}

/// When a test ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// After this long.
    After(#[serde(with = "as_seconds")] Duration),
    /// After this many L4 payload bytes, over all streams together.
    Bytes(ByteCount),
    /// After this many datagrams or transactions, over all streams together.
    Transactions(u64),
}

/// Bounds of a closed loop by number of transactions, beside those by time; absent means no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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

/// How a thread waits for the next packet or the next send time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitMode {
    /// Sleeps in the kernel.
    #[default]
    Block,
    /// Polls in user space without sleeping; costs a whole core.
    Spin,
    /// Sleeps in the kernel, which polls the device (`SO_BUSY_POLL`).
    BusyPoll,
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

impl Arrival {
    /// Whether it is what a specification means that does not say.
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How long an answer is waited for unless a test says: longer than any path but an interplanetary one takes.
pub const DEFAULT_ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// A peer that answers nothing for some time, at regular intervals (tests, diagnosis).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stall {
    /// From the end of one stall to the end of the next.
    #[serde(rename = "every_s", with = "as_seconds")]
    pub every: Duration,
    /// How long each lasts: the last part of every period.
    #[serde(rename = "for_s", with = "as_seconds")]
    pub lasting: Duration,
}

impl Stall {
    /// When the stall ends that is under way `elapsed` after the start; `None` if there is none.
    pub fn end(&self, elapsed: Duration) -> Option<Duration> {
        let every = self.every.as_nanos();
        let phase = elapsed.as_nanos().checked_rem(every)?;
        let left = Duration::from_nanos(u64::try_from(every - phase).unwrap_or(u64::MAX));
        (left <= self.lasting).then(|| elapsed + left)
    }
}

/// The cores that the traffic threads are pinned to; absent means not pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pinning {
    /// Core of the client's traffic thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<u32>,
    /// Core of the server's traffic thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<u32>,
}

/// A datapath by its id, with parameters that only it understands (`sockets,gso=true`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatapathChoice {
    /// Kebab-case id from the registry in `engine`.
    pub id: String,
    /// Parameters, parsed by the datapath itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, String>,
}

impl std::str::FromStr for DatapathChoice {
    type Err = UnitError;

    /// `sockets` or `sockets,gso=true,gro=true`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        const WANT: &str = "a datapath such as sockets or sockets,gso=true";
        let mut parts = text.split(',');
        let id = parts.next().unwrap_or_default().to_owned();
        let param = |part: &str| {
            let (key, value) = part.split_once('=')?;
            Some((key.to_owned(), value.to_owned()))
        };
        let params = parts
            .map(param)
            .collect::<Option<_>>()
            .ok_or_else(|| UnitError::new(text, WANT))?;
        Ok(Self { id, params })
    }
}

impl Default for DatapathChoice {
    fn default() -> Self {
        Self {
            id: "sockets".to_owned(),
            params: BTreeMap::new(),
        }
    }
}

/// How much each end looks at its host beside moving traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Observe {
    /// Nothing: no counters of the host, no `TCP_INFO`. For measuring what observing costs: most
    /// places of loss and most causes are then unknown.
    None,
    /// Counters before and after, and `TCP_INFO` while the test runs.
    #[default]
    Counters,
    /// Counters, and a sampled profile of both ends.
    All,
}

impl Observe {
    /// Whether it is what a specification means that does not say.
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Socket options both ends apply to their traffic sockets; absent means the system's default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SocketChoice {
    /// `SO_SNDBUF` to ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_buffer_bytes: Option<ByteCount>,
    /// `SO_RCVBUF` to ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_buffer_bytes: Option<ByteCount>,
    /// `TCP_CONGESTION` to ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_control: Option<String>,
    /// `IP_TOS`, for IPv6 `IPV6_TCLASS`, to mark traffic with: DSCP and ECN bits as on the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic_class: Option<u8>,
    /// Whether to send small segments at once (`TCP_NODELAY`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_delay: bool,
}

/// One test. Both ends receive the same value and derive their own part from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestSpec {
    /// TCP or UDP.
    pub transport: Transport,
    /// Kebab-case id of a workload in `engine`: `bulk`, `datagrams`, `ping-pong`, `request-response`.
    pub workload: String,
    /// Who sends.
    pub direction: Direction,
    /// Parallel streams, at least 1; each has its own socket pair and thread.
    pub streams: u16,
    /// UDP: payload of each datagram. TCP bulk: size of each write. Ping-pong: size of each message.
    pub payload_bytes: ByteCount,
    /// Intended load over all streams.
    pub pace: Pace,
    /// When the sender stops.
    pub stop: Stop,
    /// Time at the start whose traffic is sent but not counted.
    #[serde(with = "as_seconds", default)]
    pub warm_up: Duration,
    /// Length of a reporting interval.
    #[serde(with = "as_seconds")]
    pub interval: Duration,
    /// Time each read is delayed at the receiver, to imitate a slow application (tests, diagnosis).
    #[serde(
        with = "as_optional_seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub receiver_pause: Option<Duration>,
    /// Datagrams that a receiver which pauses takes per read, 1 if absent: an application that comes
    /// back rarely and then takes much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_reads: Option<u16>,
    /// Time the sender rests after each write, to imitate an application that writes in bursts
    /// (tests, diagnosis; TCP bulk without an intended load).
    #[serde(
        with = "as_optional_seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub sender_pause: Option<Duration>,
    /// How traffic threads wait.
    pub wait: WaitMode,
    /// Where traffic threads run.
    #[serde(default)]
    pub pinning: Pinning,
    /// How bytes get to the network.
    #[serde(default)]
    pub datapath: DatapathChoice,
    /// Socket options.
    #[serde(default)]
    pub socket: SocketChoice,
    /// Seed of everything random in this test.
    pub seed: u64,
    /// How much each end looks at its host beside moving traffic.
    #[serde(default, skip_serializing_if = "Observe::is_default")]
    pub observe: Observe,
    /// When requests are meant to be sent (request/response at a rate).
    #[serde(default, skip_serializing_if = "Arrival::is_default")]
    pub arrival: Arrival,
    /// How long an answer is waited for from the time its request was sent, 1 s if absent
    /// (request/response at a rate).
    #[serde(
        rename = "answer_timeout_s",
        with = "as_optional_seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub answer_timeout: Option<Duration>,
    /// A responder that stands still at regular intervals (tests, diagnosis; messages that are answered).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responder_stall: Option<Stall>,
    /// Whether both ends ask their kernel when each message passed which layer (ping-pong over `sockets`). It
    /// costs time, which is then part of the round trip.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decompose: bool,
    /// Bounds by number of transactions (ping-pong only).
    #[serde(default, skip_serializing_if = "TransactionBounds::is_unbounded")]
    pub transactions: TransactionBounds,
}

impl TestSpec {
    /// A TCP bulk transfer of ten seconds: 128 KiB writes, unpaced.
    pub fn tcp_bulk() -> Self {
        Self {
            transport: Transport::Tcp,
            workload: "bulk".to_owned(),
            direction: Direction::Forward,
            streams: 1,
            payload_bytes: ByteCount::new(128 * 1024),
            pace: Pace::Unpaced,
            stop: Stop::After(Duration::from_secs(10)),
            warm_up: Duration::ZERO,
            interval: Duration::from_secs(1),
            receiver_pause: None,
            receiver_reads: None,
            sender_pause: None,
            wait: WaitMode::Block,
            pinning: Pinning::default(),
            datapath: DatapathChoice::default(),
            socket: SocketChoice::default(),
            seed: 1,
            observe: Observe::default(),
            arrival: Arrival::default(),
            answer_timeout: None,
            responder_stall: None,
            decompose: false,
            transactions: TransactionBounds::default(),
        }
    }

    /// A UDP datagram stream of ten seconds: 1448-byte payload at the given intended load.
    pub fn udp_datagrams(pace: Pace) -> Self {
        Self {
            transport: Transport::Udp,
            workload: "datagrams".to_owned(),
            payload_bytes: ByteCount::new(1448),
            pace,
            ..Self::tcp_bulk()
        }
    }

    /// A UDP ping-pong of 32-byte messages.
    pub fn ping_pong(transport: Transport) -> Self {
        Self {
            transport,
            workload: "ping-pong".to_owned(),
            payload_bytes: ByteCount::new(32),
            stop: Stop::After(Duration::from_secs(1)),
            ..Self::tcp_bulk()
        }
    }

    /// Requests of 32 bytes at `rate` per second, answered one by one, whatever is still under way
    /// (open loop), for one second.
    pub fn request_response(transport: Transport, rate: PacketRate) -> Self {
        let mut spec = Self {
            workload: "request-response".to_owned(),
            ..Self::ping_pong(transport)
        };
        spec.set_request_rate(rate);
        spec
    }

    /// The intended requests per second of an open loop, from its intended load and message size.
    pub fn request_rate(&self) -> Option<PacketRate> {
        let bits = self.payload_bytes.as_f64() * 8.0;
        let rate = self.pace.intended_load().filter(|_| bits > 0.0)?;
        (self.workload == "request-response").then(|| PacketRate::from_pps(rate.as_f64() / bits))
    }

    /// Makes the intended load `rate` messages of this size per second.
    pub fn set_request_rate(&mut self, rate: PacketRate) {
        let bits = rate.pps() * self.payload_bytes.as_f64() * 8.0;
        self.pace = Pace::At(BitRate::from_f64(bits));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_the_last_part_of_every_period() {
        let millis = Duration::from_millis;
        let stall = Stall {
            every: millis(1000),
            lasting: millis(50),
        };
        for free in [0, 949, 1000, 1949] {
            assert_eq!(stall.end(millis(free)), None, "{free}");
        }
        assert_eq!(stall.end(millis(950)), Some(millis(1000)));
        assert_eq!(stall.end(millis(2999)), Some(millis(3000)));
    }

    #[test]
    fn a_request_rate_survives_the_way_through_bits() {
        for (rate, payload) in [(1000.0, 32), (0.5, 18), (333.0, 1400)] {
            let mut spec = TestSpec::request_response(Transport::Udp, PacketRate::from_pps(1.0));
            spec.payload_bytes = ByteCount::new(payload);
            spec.set_request_rate(PacketRate::from_pps(rate));
            let back = spec.request_rate().unwrap().pps();
            assert!((back - rate).abs() < 0.01 * rate, "{back} for {rate}");
        }
        assert_eq!(TestSpec::ping_pong(Transport::Udp).request_rate(), None);
    }
}

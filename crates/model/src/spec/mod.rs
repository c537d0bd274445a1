//! What to run: one test between two endpoints, as a value that crosses the wire and the store.

mod check;
mod choice;
mod flows;
mod frames;
mod imitation;
mod work;

use crate::time::as_seconds;
use crate::units::{BitRate, ByteCount, PacketRate, UnitError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::time::Duration;

pub use check::{
    MAX_BUFFER, MAX_CONNECTIONS, MAX_DURATION, MAX_INTERVALS, MAX_RATE, MAX_STREAMS,
    MAX_TCP_PAYLOAD, MAX_THREADS, MAX_UDP_PAYLOAD, MAX_WARM_UP, MIN_INTERVAL, MIN_NUMBERED_PAYLOAD,
    SpecError, validate,
};
pub(crate) use choice::{parse_choice, write_choice};
pub use flows::{FlowLoad, MAX_FLOW, MAX_SIZE_POINTS, MIN_FLOW, SizeDistribution, SizePoint};
pub use frames::{FrameLengths, FrameLengthsError, Genome};
pub use imitation::{Imitation, Stall};
pub use work::{
    Arrival, ByteStream, ClosedLoop, ConnectionClose, DEFAULT_ANSWER_TIMEOUT, Datagrams,
    MAX_OVERTIME, OpenLoop, ShortConnections, TestWork, TransactionBounds, WorkloadId,
};

crate::named_enum! {
    /// The transport under test.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum Transport {
        /// TCP.
        Tcp = "TCP",
        /// UDP.
        Udp = "UDP",
    }
}

crate::named_enum! {
    /// Which way traffic flows, seen from the client (who asked for the test).
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, JsonSchema, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum Direction {
        /// The client sends.
        #[default]
        Forward = "forward",
        /// The server sends.
        Reverse = "reverse",
        /// Both send at once.
        Duplex = "duplex",
    }
}

impl Direction {
    /// Number of ways in which traffic flows.
    pub const fn ways(self) -> u32 {
        match self {
            Self::Forward | Self::Reverse => 1,
            Self::Duplex => 2,
        }
    }
}

crate::named_enum! {
    /// Which end of the traffic an endpoint is. Independent of who is client or server.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum Side {
        /// Gives traffic to its system (for request/response: the requester).
        Sender = "sender",
        /// Takes traffic from its system (for request/response: the responder).
        Receiver = "receiver",
    }
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// After this long.
    After(
        #[serde(with = "as_seconds")]
        #[schemars(with = "f64")]
        Duration,
    ),
    /// After this many L4 payload bytes, over all streams together.
    Bytes(ByteCount),
    /// After this many datagrams or transactions, over all streams together.
    Transactions(u64),
}

crate::named_enum! {
    /// How a thread waits for the next packet or the next send time.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, JsonSchema, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum WaitMode {
        /// Sleeps in the kernel.
        #[default]
        Block = "block",
        /// Polls in user space without sleeping; costs a whole core.
        Spin = "spin",
        /// Sleeps in the kernel, which polls the device (`SO_BUSY_POLL`).
        BusyPoll = "busy-poll",
    }
}

/// What a paced sender makes up for that was kept from sending, at 1.25 times its rate at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CatchUp {
    /// A time slice of another program, up to 10 ms: in a search a longer stall shows as a load that was not offered.
    #[default]
    Slice,
    /// A stall of up to 100 ms: that of a busy host, which shows as lateness.
    Stall,
}

impl CatchUp {
    /// Whether it is what a test means that does not say.
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// How late a datagram may be that is still sent.
    pub const fn longest(self) -> Duration {
        match self {
            Self::Slice => Duration::from_millis(10),
            Self::Stall => Duration::from_millis(100),
        }
    }
}

/// The cores that the traffic threads are pinned to; absent means not pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Pinning {
    /// Core of the client's traffic thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<u32>,
    /// Core of the server's traffic thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<u32>,
}

/// A datapath by its id, with parameters that only it understands (`sockets,gso=true`).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
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
        let (id, params) = parse_choice(text).ok_or_else(|| UnitError::new(text, WANT))?;
        Ok(Self { id, params })
    }
}

impl fmt::Display for DatapathChoice {
    /// As on the command line: `sockets,gso=true`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_choice(&self.id, &self.params, f)
    }
}

impl DatapathChoice {
    /// The kernel's sockets, which every host has.
    pub const SOCKETS: &str = "sockets";
    /// Frames through a device between two interfaces.
    pub const PORTS: &str = "ports";
    /// Parameter of sockets: give the kernel many datagrams at once (UDP GSO).
    pub const GSO: &str = "gso";
    /// Parameter of sockets: take many datagrams from the kernel at once (UDP GRO).
    pub const GRO: &str = "gro";
    /// Parameter of frames between two ports: a mix of frame lengths in place of one.
    pub const GENOME: &str = "genome";
    /// Parameter of frames between ports: who makes and counts them.
    pub const GENERATOR: &str = "generator";
    /// Parameter of frames between ports: interfaces of which each sends to all others, in place of two.
    pub const MESH: &str = "mesh";
    /// Parameter of frames between ports: how many flows, and which is the first of them.
    pub const FLOWS: &str = "flows";
    /// See [`FLOWS`](Self::FLOWS).
    pub const FIRST_FLOW: &str = "first-flow";
    /// How many flows there are: numbers from 0 on, below 2^20.
    pub const FLOW_NUMBERS: u32 = 1 << 20;
    /// Number of ports of a mesh. Streams of which several arrive at a port are told apart by one byte.
    pub const MESH_PORTS: RangeInclusive<usize> = 3..=16;

    /// Whether its senders give the kernel many datagrams at once.
    pub fn aggregates_sent(&self) -> bool {
        self.is_on(Self::GSO)
    }

    /// Whether its receivers take many datagrams from the kernel at once.
    pub fn aggregates_received(&self) -> bool {
        self.is_on(Self::GRO)
    }

    /// Whether its frames go through a device between two ports.
    pub fn is_between_ports(&self) -> bool {
        self.id == Self::PORTS
    }

    /// Whether its frames go from each of several ports to all others.
    pub fn is_mesh(&self) -> bool {
        self.is_between_ports() && self.params.contains_key(Self::MESH)
    }

    /// Whether its data takes the way of the handshake that opened the streams.
    pub fn follows_handshake(&self) -> bool {
        !self.is_between_ports()
    }

    /// Whether it can be told to aggregate datagrams, or not to.
    pub fn can_aggregate(&self) -> bool {
        self.id == Self::SOCKETS
    }

    /// Tells it to aggregate datagrams both ways, or not to.
    pub fn set_aggregation(&mut self, on: bool) {
        for key in [Self::GSO, Self::GRO] {
            self.params.insert(key.to_owned(), on.to_string());
        }
    }

    /// Whether it takes more of its host than sockets do: a queue of the device, threads of the kernel.
    pub fn is_past_sockets(&self) -> bool {
        self.id != Self::SOCKETS
    }

    fn is_on(&self, key: &str) -> bool {
        self.params.get(key).is_some_and(|value| value != "false")
    }
}

impl Default for DatapathChoice {
    fn default() -> Self {
        Self {
            id: Self::SOCKETS.to_owned(),
            params: BTreeMap::new(),
        }
    }
}

/// How much each end looks at its host beside moving traffic.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, JsonSchema, Serialize, Deserialize,
)]
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
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
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

/// Flows of given sizes that are open at once: as many as a test may have without being asked who it is.
const FLOWS_AT_ONCE: u32 = 1024;

/// Socket buffers, each way and over all streams, that a test may have without being asked who it is: twice the
/// window of 10 Gbit/s over 25 ms.
const UNASKED_BUFFERS: ByteCount = ByteCount::new(64 * 1024 * 1024);

/// Streams that a test may have without being asked who it is: a connection's buffers may grow to megabytes of the
/// kernel's memory.
const UNASKED_STREAMS: u16 = 1024;

/// One test. Both ends receive the same value and derive their own part from it.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TestSpec {
    /// Which workload of `engine` does the work.
    pub workload: WorkloadId,
    /// What is exchanged.
    pub work: TestWork,
    /// Who sends.
    pub direction: Direction,
    /// Parallel streams per direction, at least 1: TCP connections, or pairs of UDP ports.
    pub streams: u16,
    /// Traffic threads of each side that share the streams; absent: one per stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u16>,
    /// When the sender stops.
    pub stop: Stop,
    /// Time at the start whose traffic is sent but not counted.
    #[serde(rename = "warm_up_s", with = "as_seconds", default)]
    #[schemars(with = "f64")]
    pub warm_up: Duration,
    /// Length of a reporting interval.
    #[serde(rename = "interval_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub interval: Duration,
    /// How traffic threads wait.
    pub wait: WaitMode,
    /// What a paced sender of datagrams makes up for.
    #[serde(default, skip_serializing_if = "CatchUp::is_default")]
    pub catch_up: CatchUp,
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
    /// The slow application that one end is to be; a server refuses it unless it was started to allow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imitation: Option<Imitation>,
}

impl TestSpec {
    fn new(workload: &str, work: TestWork) -> Self {
        Self {
            workload: WorkloadId::new(workload),
            work,
            direction: Direction::Forward,
            streams: 1,
            threads: None,
            stop: Stop::After(Duration::from_secs(10)),
            warm_up: Duration::ZERO,
            interval: Duration::from_secs(1),
            wait: WaitMode::Block,
            catch_up: CatchUp::default(),
            pinning: Pinning::default(),
            datapath: DatapathChoice::default(),
            socket: SocketChoice::default(),
            seed: 1,
            observe: Observe::default(),
            imitation: None,
        }
    }

    /// A TCP bulk transfer of ten seconds: 128 KiB writes, unpaced.
    pub fn tcp_bulk() -> Self {
        Self::new("bulk", TestWork::ByteStream(ByteStream::default()))
    }

    /// A TCP bulk transfer of ten seconds with marks in the stream that the peer sends back.
    pub fn marked_bulk() -> Self {
        Self::new("marked-bulk", TestWork::ByteStream(ByteStream::default()))
    }

    /// A UDP datagram stream of ten seconds: 1448-byte payload at the given intended load.
    pub fn udp_datagrams(pace: Pace) -> Self {
        let payload = ByteCount::new(1448);
        Self::new(
            "datagrams",
            TestWork::Datagrams(Datagrams { payload, pace }),
        )
    }

    /// A ping-pong of 32-byte messages for one second.
    pub fn ping_pong(transport: Transport) -> Self {
        let work = TestWork::ClosedLoop(ClosedLoop::new(transport));
        Self {
            stop: Stop::After(Duration::from_secs(1)),
            ..Self::new("ping-pong", work)
        }
    }

    /// Requests of 32 bytes at `rate` per second, answered one by one, whatever is still under way
    /// (open loop), for one second.
    pub fn request_response(transport: Transport, rate: PacketRate) -> Self {
        let work = TestWork::OpenLoop(OpenLoop::new(transport, rate));
        Self {
            stop: Stop::After(Duration::from_secs(1)),
            ..Self::new("request-response", work)
        }
    }

    /// New TCP connections one after the other for one second, a request and its answer on each.
    pub fn connections() -> Self {
        Self {
            stop: Stop::After(Duration::from_secs(1)),
            ..Self::new(
                "connections",
                TestWork::Connections(ShortConnections::default()),
            )
        }
    }

    /// New TCP connections as fast as they go for ten seconds, a request and an answer of one byte on each: netperf's
    /// and neper's TCP_CRR.
    pub fn tcp_crr() -> Self {
        let work = ShortConnections {
            request: ByteCount::new(1),
            response: ByteCount::new(1),
            close: ConnectionClose::Server,
            ..ShortConnections::default()
        };
        let mut spec = Self::new("tcp-crr", TestWork::Connections(work));
        // Answers of more than a segment must not wait for an acknowledgement.
        spec.socket.no_delay = true;
        spec
    }

    /// TCP flows of given sizes at an intended load, each on a connection of its own, for ten seconds.
    pub fn short_flows(flows: FlowLoad) -> Self {
        let work = ShortConnections {
            concurrent: FLOWS_AT_ONCE,
            close: ConnectionClose::Server,
            timeout: Duration::from_secs(10),
            flows: Some(flows),
            ..ShortConnections::default()
        };
        Self::new("short-flows", TestWork::Connections(work))
    }

    /// Sets the payload size; see [`TestWork::set_payload`].
    #[must_use]
    pub fn with_payload(mut self, size: ByteCount) -> Self {
        self.work.set_payload(size);
        self
    }

    /// Sets the intended load; see [`TestWork::set_pace`].
    #[must_use]
    pub fn with_pace(mut self, pace: Pace) -> Self {
        self.work.set_pace(pace);
        self
    }

    /// Adds a slow application at one end.
    #[must_use]
    pub fn with_imitation(mut self, imitation: Imitation) -> Self {
        self.imitation = Some(imitation);
        self
    }

    /// What the server is to do of this test that holds up others on its host, or looks at them; `None` if nothing.
    pub fn intrusion(&self) -> Option<String> {
        if self.wait == WaitMode::Spin {
            return Some("spinning threads".to_owned());
        }
        if self.observe == Observe::All {
            return Some("profiles of its whole host".to_owned());
        }
        if self.pinning.remote.is_some() {
            return Some("pinned threads".to_owned());
        }
        if self.streams > UNASKED_STREAMS {
            return Some(format!("more than {UNASKED_STREAMS} streams"));
        }
        let open = self.work.connections().map_or(0, |work| work.concurrent);
        if open > UNASKED_STREAMS.into() {
            return Some(format!("more than {UNASKED_STREAMS} connections at once"));
        }
        if self.datapath.is_past_sockets() {
            return Some(format!("datapath {}", self.datapath.id));
        }
        let socket = &self.socket;
        let buffers = [socket.send_buffer_bytes, socket.receive_buffer_bytes];
        let largest = buffers.into_iter().flatten().max()?;
        let is_large = largest.get().saturating_mul(self.streams.into()) > UNASKED_BUFFERS.get();
        is_large.then(|| {
            let mib = UNASKED_BUFFERS.get() >> 20;
            format!("socket buffers above {mib} MiB over all streams")
        })
    }

    /// Whether the server is to imitate a slow application.
    pub fn is_server_slow(&self) -> bool {
        self.imitation
            .is_some_and(|imitation| imitation.is_at_server(self.direction))
    }

    /// TCP or UDP.
    pub const fn transport(&self) -> Transport {
        self.work.transport()
    }

    /// L4 payload bytes of one write, datagram or message.
    pub const fn payload(&self) -> ByteCount {
        self.work.payload()
    }

    /// Traffic threads of one side, at least 1: each makes one stream report.
    pub fn traffic_threads(&self) -> u16 {
        self.threads.unwrap_or(self.streams).max(1)
    }

    /// The streams that traffic thread `thread` of each side carries: consecutive ones, as many as any other thread's
    /// or one more.
    pub fn streams_of_thread(&self, thread: u16) -> Range<u16> {
        let from = |thread: u16| {
            let before = u32::from(self.streams) * u32::from(thread);
            u16::try_from(before / u32::from(self.traffic_threads())).unwrap_or(self.streams)
        };
        from(thread).min(self.streams)..from(thread.saturating_add(1)).min(self.streams)
    }

    /// Stream reports of all directions together.
    pub fn stream_reports(&self) -> u32 {
        u32::from(self.traffic_threads()) * self.direction.ways()
    }

    /// Intervals that each stream may have, so that all together have no more than [`MAX_INTERVALS`].
    pub fn intervals_per_stream(&self) -> u32 {
        (MAX_INTERVALS / self.stream_reports().max(1)).max(1)
    }

    /// The shortest interval of a test of `time`, in whole milliseconds.
    fn least_interval(&self, time: Duration) -> Duration {
        let each = u128::from(self.intervals_per_stream());
        let millis = time.as_nanos().div_ceil(each).div_ceil(1_000_000);
        Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }

    /// Lengthens the reporting interval if the test would have more of them than it may.
    pub fn fit_interval(&mut self) {
        if let Stop::After(time) = self.stop {
            self.interval = self.interval.max(self.least_interval(time));
        }
    }

    /// Intended load over all streams.
    pub fn pace(&self) -> Pace {
        self.work.pace()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datapath_aggregates_what_it_is_told_to() {
        let datapath = |text: &str| text.parse::<DatapathChoice>().unwrap();
        let both = |path: &DatapathChoice| (path.aggregates_sent(), path.aggregates_received());
        assert_eq!(both(&datapath("sockets")), (false, false));
        assert_eq!(both(&datapath("sockets,gso=8,gro=false")), (true, false));
        assert_eq!(both(&datapath("sockets,gso=false,gro=true")), (false, true));
        let mut path = datapath("sockets,gso=8");
        path.set_aggregation(false);
        assert_eq!(both(&path), (false, false));
        assert!(path.can_aggregate() && !datapath("af-xdp").can_aggregate());
    }

    #[test]
    fn a_probe_on_new_connections_of_an_older_peer_is_the_usual_one() {
        let probe = TestSpec::connections().work;
        let old: TestWork = serde_json::from_str(r#"{"kind":"connections"}"#).unwrap();
        assert_eq!(old, probe);
    }

    #[test]
    fn what_takes_more_of_a_host_than_traffic_is_named() {
        type Change = fn(&mut TestSpec);
        let ways: [(&str, Change); 7] = [
            ("1024 connections", |spec| {
                *spec = TestSpec::tcp_crr();
                if let TestWork::Connections(work) = &mut spec.work {
                    work.concurrent = 1025;
                }
            }),
            ("spin", |spec| spec.wait = WaitMode::Spin),
            ("profiles", |spec| spec.observe = Observe::All),
            ("pinned", |spec| spec.pinning.remote = Some(0)),
            ("af-xdp", |spec| spec.datapath.id = "af-xdp".to_owned()),
            ("64 MiB", |spec| {
                spec.socket.send_buffer_bytes = Some(ByteCount::new(65 << 20));
            }),
            ("64 MiB", |spec| {
                spec.streams = 128;
                spec.socket.receive_buffer_bytes = Some(ByteCount::new(1 << 20));
            }),
        ];
        for (name, change) in ways {
            let mut spec = TestSpec::tcp_bulk();
            assert_eq!(spec.intrusion(), None);
            change(&mut spec);
            let said = spec.intrusion().unwrap();
            assert!(said.contains(name), "{said}");
        }
        let mut spec = TestSpec::tcp_bulk();
        // The client's own business.
        spec.pinning.local = Some(0);
        spec.wait = WaitMode::BusyPoll;
        assert_eq!(spec.intrusion(), None);
    }

    #[test]
    fn a_test_survives_the_way_through_json() {
        let rate = PacketRate::from_pps(333.3);
        for spec in [
            TestSpec::tcp_bulk(),
            TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(10_000_000))),
            TestSpec::ping_pong(Transport::Udp),
            TestSpec::request_response(Transport::Tcp, rate),
            TestSpec::connections(),
            TestSpec::tcp_crr(),
        ] {
            let text = serde_json::to_string(&spec).unwrap();
            assert_eq!(
                serde_json::from_str::<TestSpec>(&text).unwrap(),
                spec,
                "{text}"
            );
        }
    }
}

//! What every contender is asked to do, and what is taken from it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// One test, the same for every contender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Activity {
    /// TCP, one stream, unpaced.
    Tcp,
    /// TCP, so many streams, unpaced.
    Streams(u32),
    /// UDP, one stream, unpaced, a datagram per packet.
    Udp,
    /// UDP, one stream, unpaced, with GSO at the sender and GRO at the receiver.
    Aggregated,
    /// UDP ping-pong, spinning at both ends.
    PingPong,
    /// TCP ping-pong, spinning at both ends.
    TcpPingPong,
    /// UDP at so many packets per second.
    Paced(u32),
    /// Frames of so many flows over a bare veth pair, as fast as can be.
    Frames(u32),
    /// Frames of one flow at so many per second.
    FramesPaced(u32),
}

impl Activity {
    /// Whether contenders take turns at it.
    pub(crate) const fn is_ping_pong(self) -> bool {
        matches!(self, Self::PingPong | Self::TcpPingPong)
    }
}

/// A number that a test gives, with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Measure {
    /// Received payload in Gbit/s (L4, receiver).
    TcpRate,
    /// User and system time of both whole processes per 10⁹ B received, in s/GB.
    TcpCpu,
    /// Received payload of so many TCP streams together in Gbit/s (L4, receiver).
    StreamsRate(u32),
    /// User and system time of both whole processes per 10⁹ B received, in s/GB.
    StreamsCpu(u32),
    /// Most resident memory of both processes together, in MiB; what the kernel takes for sockets is not in it.
    StreamsMemory(u32),
    /// Datagrams per second, in thousands (sender).
    UdpSent,
    /// Datagrams per second, in thousands (receiver).
    UdpReceived,
    /// Datagrams per second with GSO, in thousands (sender).
    AggregatedSent,
    /// Datagrams per second with GRO, in thousands (receiver).
    AggregatedReceived,
    /// Median round trip, in µs.
    RoundTrip,
    /// Its 99th percentile, in µs.
    RoundTripP99,
    /// Median round trip over TCP, in µs.
    TcpRoundTrip,
    /// Its 99th percentile, in µs.
    TcpRoundTripP99,
    /// 99th percentile of |gap − intended gap| between packets at the receiving interface, in µs.
    GapError(u32),
    /// Packets per second as sent over the intended ones: a gap error is worth nothing without it.
    PacedRate(u32),
    /// Frames of so many flows that the sending interface counts, in thousands per second.
    FramesSent(u32),
    /// Frames that the receiving interface counts while the receiver takes them, in thousands per second.
    FramesCounted(u32),
    /// CPU time of the whole host for each of them, in ns.
    FrameCost(u32),
    /// Resident memory and memory of the maps of sender and receiver, in MiB.
    GeneratorMemory(u32),
    /// Median of how late frames left after their time, at so many per second, in µs (sender).
    LatenessP50(u32),
    /// Its 99th percentile.
    LatenessP99(u32),
    /// Its maximum.
    LatenessMax(u32),
}

/// What one test of one contender gave.
pub(crate) type Values = BTreeMap<Measure, f64>;

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TcpRate => f.write_str("TCP, one stream, Gbit/s received"),
            Self::TcpCpu => f.write_str("TCP, one stream, CPU s/GB, both processes"),
            Self::StreamsRate(streams) => write!(f, "TCP, {streams} streams, Gbit/s received"),
            Self::StreamsCpu(streams) => {
                write!(f, "TCP, {streams} streams, CPU s/GB, both processes")
            }
            Self::StreamsMemory(streams) => {
                write!(f, "TCP, {streams} streams, MiB of memory, both processes")
            }
            Self::UdpSent => write!(f, "UDP {PAYLOAD} B, one by one, kpkt/s sent"),
            Self::UdpReceived => write!(f, "UDP {PAYLOAD} B, one by one, kpkt/s received"),
            Self::AggregatedSent => write!(f, "UDP {PAYLOAD} B, GSO+GRO, kpkt/s sent"),
            Self::AggregatedReceived => write!(f, "UDP {PAYLOAD} B, GSO+GRO, kpkt/s received"),
            Self::RoundTrip => write!(f, "UDP {PING}, median round trip µs"),
            Self::RoundTripP99 => write!(f, "UDP {PING}, p99 of the round trip µs"),
            Self::TcpRoundTrip => write!(f, "TCP {PING}, median round trip µs"),
            Self::TcpRoundTripP99 => write!(f, "TCP {PING}, p99 of the round trip µs"),
            Self::GapError(rate) => write!(f, "pacing {rate} pkt/s, p99 error of the gap µs"),
            Self::PacedRate(rate) => write!(f, "pacing {rate} pkt/s, rate sent / intended"),
            Self::FramesSent(flows) => write!(f, "{FRAME}, {flows} flows, kframes/s sent"),
            Self::FramesCounted(flows) => write!(f, "{FRAME}, {flows} flows, kframes/s counted"),
            Self::FrameCost(flows) => write!(f, "{FRAME}, {flows} flows, CPU ns per frame"),
            Self::GeneratorMemory(flows) => write!(f, "{FRAME}, {flows} flows, MiB of memory"),
            Self::LatenessP50(rate) => write!(f, "frames at {rate}/s, median lateness µs"),
            Self::LatenessP99(rate) => write!(f, "frames at {rate}/s, p99 lateness µs"),
            Self::LatenessMax(rate) => write!(f, "frames at {rate}/s, maximum lateness µs"),
        }
    }
}

/// What is said of every test of generators.
const FRAME: &str = "frames of 64 B over veth";

/// What is said of every ping-pong.
const PING: &str = "ping-pong 32 B, spinning";

/// The values of a ping-pong, in µs.
pub(crate) fn round_trips(activity: Activity, median_us: f64, p99_us: f64) -> Values {
    let (median, p99) = match activity {
        Activity::TcpPingPong => (Measure::TcpRoundTrip, Measure::TcpRoundTripP99),
        _ => (Measure::RoundTrip, Measure::RoundTripP99),
    };
    Values::from([(median, median_us), (p99, p99_us)])
}

/// How long tests are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lengths {
    /// Of each test.
    pub(crate) test: Duration,
    /// What the recorder leaves out after the first packet of a paced test.
    pub(crate) settle: Duration,
}

impl Lengths {
    /// Whole seconds, which is what all peers take.
    pub(crate) fn seconds(&self) -> String {
        self.whole().as_secs().to_string()
    }

    /// The length of a test, rounded to that.
    pub(crate) fn whole(&self) -> Duration {
        Duration::from_secs(self.test.as_secs().max(1))
    }
}

/// Payload of the unpaced UDP tests, as Ethernet carries it unfragmented.
pub(crate) const PAYLOAD: u32 = 1448;
/// Payload of the paced tests: small, so that 100 000 packets/s load nobody.
pub(crate) const PACED_PAYLOAD: u32 = 200;
/// Payload of the ping-pong.
pub(crate) const PING_BYTES: u32 = 32;
/// The rates of DESIGN's table, in packets/s.
pub(crate) const PACES: [u32; 3] = [1_000, 10_000, 100_000];
/// Numbers of streams beside the one.
pub(crate) const STREAMS: [u32; 4] = [10, 100, 1_000, 10_000];

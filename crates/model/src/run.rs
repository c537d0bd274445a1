//! The run document, `linerate/run/2`: what every command prints with `--json` and the store keeps.
//!
//! Keys carry their unit. What a source cannot tell is absent or null, never zero.

use crate::cost::{CoreShares, CpuCost, PacketsPerInterrupt, ProfileSummary};
use crate::estimate::{Estimate, Interval};
use crate::one_way::{Decomposition, Ipdv, OneWay};
use crate::responsiveness::Responsiveness;
use crate::sample::{EndpointReport, Facts, TcpSample};
use crate::spec::{Direction, Side, Transport};
use crate::tcp::{Rfc6349, TcpQueueing, TcpRetransmissions, TcpShares, TcpStretch, TcpWindows};
use crate::time::{WallTime, as_optional_seconds, as_seconds};
use crate::units::{BitRate, ByteCount, Layer, LossRatio, PacketCount, PacketRate, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

pub use crate::delay::{Delay, DelayOf, DelayQuantile};
pub use crate::requests::{Knee, Requests};
pub use crate::turns::{Turn, Turns};

pub use crate::origin::{
    Asked, Config, DemoSettings, IpChoice, SearchSettings, Source, StudyCell, StudyPlace,
    StudySettings, TargetConfig, Tool,
};

pub use crate::experiment::{
    Answer, Change, Experiment, ExperimentOutcome, ExperimentRecord, ExperimentTest,
    ExperimentTrial, Observed, Part, Prediction, Quantity,
};

/// The schema id of this version.
pub const SCHEMA: &str = "linerate/run/2";

/// A whole run.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Run {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Unique in a store: `20261121-050000-udp-1f3a`.
    pub id: String,
    /// Which command, or what kind of log, this came from.
    pub kind: RunKind,
    /// What the run is about in a few words, for lists and headings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When it started; absent when a log does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<WallTime>,
    /// Whether it came to its end.
    pub status: RunStatus,
    /// What measured: linerate itself, or the tool whose log was read.
    pub tool: Tool,
    /// Where an imported run came from; absent for our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// What was asked for: the command line that repeats it, and its parsed form.
    pub config: Config,
    /// The hosts that took part.
    #[serde(default)]
    pub hosts: Vec<Host>,
    /// Each trial in the order it was made.
    #[serde(default)]
    pub trials: Vec<Trial>,
    /// Result per search goal (saturate).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goals: Vec<GoalResult>,
    /// Notable points of the load curve (saturate).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<CurveFacts>,
    /// What limits, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Every rule's outcome.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Experiments that were run on what the rules found, with their trials, which are in no other list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub experiments: Vec<ExperimentRecord>,
    /// Things the user should know: imprecise sources, clock steps, unusual settings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Means over the repetitions of each cell (study).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub estimates: Vec<CellEstimate>,
    /// The runs that this run is made of (demo, study).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Self>,
    /// Round trips per minute under load, one for each direction (latency only).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub responsiveness: Vec<Responsiveness>,
}

impl Run {
    /// A complete run of which nothing more is known yet.
    pub fn new(id: impl Into<String>, kind: RunKind, tool: Tool) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            id: id.into(),
            kind,
            title: None,
            started: None,
            status: RunStatus::Complete,
            tool,
            source: None,
            config: Config::default(),
            hosts: Vec::new(),
            trials: Vec::new(),
            goals: Vec::new(),
            curve: None,
            verdict: None,
            findings: Vec::new(),
            notes: Vec::new(),
            estimates: Vec::new(),
            experiments: Vec::new(),
            parts: Vec::new(),
            responsiveness: Vec::new(),
        }
    }
}

/// A mean over the repetitions of one cell of a study.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CellEstimate {
    /// The cell by its levels: `payload = 64, streams = 2`.
    pub cell: String,
    /// Seen from the client.
    pub direction: Direction,
    /// The quantity by its key in a trial or goal, which carries the unit: `received_bps`.
    pub quantity: String,
    /// Mean, interval and n over the valid runs of the cell.
    pub estimate: Estimate,
}

/// What made a run.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum RunKind {
    /// `linerate demo`: its parts are runs of the other kinds.
    Demo,
    /// Request/response latency.
    Latency,
    /// A search for saturation.
    Saturate,
    /// `linerate run`: a part for each repetition of each cell.
    Study,
    /// TCP transfers.
    Tcp,
    /// UDP datagram streams; several trials at several loads make a load curve.
    Udp,
}

impl RunKind {
    /// The kebab-case name, as in the document.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Demo => "demo",
            Self::Latency => "latency",
            Self::Saturate => "saturate",
            Self::Study => "study",
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

/// Whether a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// All trials were made.
    Complete,
    /// Ended early: killed, interrupted, or the peer went away. Its trials still stand.
    Incomplete,
    /// Came to its end, but the result cannot be trusted; trials say why.
    Invalid,
}

/// A host that took part.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Host {
    /// `client` or `server` of the control connection: names the machine, not the traffic's direction.
    pub role: String,
    /// Name or address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// CPU, kernel, memory, interface, sysctls…
    #[serde(default)]
    pub facts: Facts,
}

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
    /// Datagrams per second offered.
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
    /// Packet accounting (datagrams; absent for a TCP byte stream).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<Packets>,
    /// Where lost packets went. Sums to `packets.lost`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ledger: Vec<LedgerEntry>,
    /// Progress over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<TrialInterval>,
    /// Delay; what was timed is said in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// How late the sender was against its schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Delay>,
    /// TCP state of the sending side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpSummary>,
    /// CPU use of both ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuSummary>,
    /// What each layer of both ends' systems cost, from sampled profiles; absent if none was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileSummary>,
    /// Host counters gained during the trial, by side and signal name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<Side, BTreeMap<String, u64>>,
    /// For rounded sources: the interval in which each rounded key's true value lies, by key name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rounding: BTreeMap<String, Interval>,
    /// What the far tool printed of the test, as it sent it; in the first of the trials that one test made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far_output: Option<String>,
    /// The raw reports of both ends (own runs only).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raw: Vec<EndpointReport>,
    /// What became of the requests (open loop only); `delay` is then the response time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Requests>,
    /// Service time: round trips from the time each request was sent (open loop only). A request that
    /// waited for its turn is not longer for it: to be read beside `delay`, not instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Box<Delay>>,
    /// Time to open each connection (short connections only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake: Option<Box<Delay>>,
    /// Time of marks through a loaded TCP stream and back on the same connection (marked streams only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_band: Option<Box<Delay>>,
    /// One-way delays with the error that the clocks leave (request/response and datagrams).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_way: Option<Box<OneWay>>,
    /// Inter-packet delay variation (RFC 3393; datagrams).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipdv: Option<Box<Ipdv>>,
    /// Interarrival jitter as RFC 3550 smooths it, the largest of all streams: only for comparison with other
    /// tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtp_jitter_ns: Option<u64>,
    /// Where the time of round trips went, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decomposition: Option<Box<Decomposition>>,
    /// The turns that it was measured in, between those of other trials; absent if it was measured at
    /// once. Its raw reports are then the sums over the turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Box<Turns>>,
}

impl Trial {
    /// An empty valid trial: everything unknown.
    pub fn new(index: u32, transport: Transport, direction: Direction) -> Self {
        Self {
            index,
            label: None,
            transport,
            direction,
            layer: Layer::L4Payload,
            streams: None,
            payload_bytes: None,
            intended_load: None,
            offered_load: None,
            received_rate: None,
            offered_packet_rate: None,
            received_packet_rate: None,
            duration: None,
            sent_bytes: None,
            received_bytes: None,
            valid: true,
            reasons: Vec::new(),
            packets: None,
            ledger: Vec::new(),
            intervals: Vec::new(),
            delay: None,
            lateness: None,
            tcp: None,
            cpu: None,
            profile: None,
            counters: BTreeMap::new(),
            rounding: BTreeMap::new(),
            far_output: None,
            raw: Vec::new(),
            requests: None,
            service: None,
            handshake: None,
            in_band: None,
            one_way: None,
            ipdv: None,
            rtp_jitter_ns: None,
            decomposition: None,
            turns: None,
        }
    }

    /// The loss ratio, if packets were counted.
    pub fn loss_ratio(&self) -> Option<LossRatio> {
        self.packets.and_then(|packets| packets.loss_ratio)
    }
}

/// Packet accounting of a trial. `sent = received + lost` whenever all three are known.
#[derive(Debug, Clone, Copy, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Packets {
    /// Given to the system by the sender's application.
    pub sent: Option<PacketCount>,
    /// Distinct packets the receiver's application got.
    pub received: Option<PacketCount>,
    /// `sent − received`; tail loss included.
    pub lost: Option<PacketCount>,
    /// Received again; not in `received`, cancels no loss.
    pub duplicated: Option<PacketCount>,
    /// Arrived below the next expected sequence number (RFC 4737); received, not lost.
    pub reordered: Option<PacketCount>,
    /// `lost / sent`.
    pub loss_ratio: Option<LossRatio>,
}

/// A place where packets can be lost, in path order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Accepted by the sender's socket call, dropped before the queueing discipline.
    SenderSocket,
    /// Dropped by the sender's queueing discipline.
    SenderQdisc,
    /// Dropped by the sender's interface.
    SenderNic,
    /// Left the sender's interface, did not reach the receiver's.
    Network,
    /// Dropped by the receiver's interface.
    ReceiverNic,
    /// Dropped because the receiver's softnet backlog was full.
    ReceiverBacklog,
    /// Dropped because the receiving socket's buffer was full.
    ReceiverSocket,
    /// Cannot be placed; the entry's source says why.
    Unknown,
}

/// How many lost packets were lost at one place.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// The place.
    pub place: Place,
    /// Packets lost there.
    pub packets: PacketCount,
    /// The counter that says so, or why the place is unknown.
    pub source: String,
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

/// TCP state of the sending side over a trial.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct TcpSummary {
    /// Segments retransmitted.
    #[serde(default)]
    pub retransmitted_segments: Option<u64>,
    /// L4 payload bytes that the receiver's TCP acknowledged in the counted time, all streams together. Its
    /// application may not have read them yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged_bytes: Option<ByteCount>,
    /// The same per second, up to the last acknowledgement waited for.
    #[serde(
        rename = "acknowledged_bps",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub acknowledged_rate: Option<BitRate>,
    /// Share of the trial with data to send.
    #[serde(default)]
    pub busy_ratio: Option<Ratio>,
    /// Share of the trial limited by the receiver's window.
    #[serde(default)]
    pub rwnd_limited_ratio: Option<Ratio>,
    /// Share of the trial limited by the send buffer.
    #[serde(default)]
    pub sndbuf_limited_ratio: Option<Ratio>,
    /// Mean congestion window over the readings.
    #[serde(default)]
    pub cwnd_mean_bytes: Option<ByteCount>,
    /// Largest congestion window.
    #[serde(default)]
    pub cwnd_max_bytes: Option<ByteCount>,
    /// Mean smoothed RTT over the readings.
    #[serde(default)]
    pub srtt_mean_ns: Option<u64>,
    /// Smallest RTT.
    #[serde(default)]
    pub min_rtt_ns: Option<u64>,
    /// Sender maximum segment size.
    #[serde(default)]
    pub smss_bytes: Option<u64>,
    /// Congestion control algorithm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_control: Option<String>,
    /// Where the time went, all streams together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<TcpShares>,
    /// The same over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares_over_time: Vec<TcpStretch>,
    /// What each window allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<TcpWindows>,
    /// The metrics of RFC 6349.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rfc6349: Option<Rfc6349>,
    /// Retransmissions, and how many were not needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmissions: Option<TcpRetransmissions>,
    /// Delay that the transfer itself adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queueing: Option<TcpQueueing>,
    /// Readings over time of the first stream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<TcpSample>,
}

/// CPU use of both ends over a trial.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct CpuSummary {
    /// The host that sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<CpuSide>,
    /// The host that received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<CpuSide>,
}

/// CPU use of one end over a trial. Shares are of one core unless said otherwise.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct CpuSide {
    /// Share of all cores that was not idle.
    #[serde(default)]
    pub host_ratio: Option<Ratio>,
    /// Share of all cores spent in soft interrupts.
    #[serde(default)]
    pub softirq_ratio: Option<Ratio>,
    /// Share of all cores that the hypervisor took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_ratio: Option<Ratio>,
    /// The busiest core's share that was not idle.
    #[serde(default)]
    pub busiest_core_ratio: Option<Ratio>,
    /// CPU time of the busiest traffic thread over the trial's duration.
    #[serde(default)]
    pub thread_ratio: Option<Ratio>,
    /// Share of the trial in which the busiest traffic thread was runnable but had no core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_delay_ratio: Option<Ratio>,
    /// CPU time of the traffic threads, and of kernel threads that worked for them alone, per transaction
    /// (request/response only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_ns_per_transaction: Option<f64>,
    /// The same over the time in which it was used, the warm-up included: 1 is a whole core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_cores: Option<f64>,
    /// Busy share of each core, in core order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<Ratio>,
    /// What each core did, in core order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub core_shares: Vec<CoreShares>,
    /// CPU time of the whole host per byte that moved, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_ns_per_byte: Option<f64>,
    /// CPU time of the whole host per packet that moved, by kind of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_packet: Option<CpuCost>,
    /// CPU time of the whole host per L4 payload byte that moved, by kind of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_byte: Option<CpuCost>,
    /// Interrupts served by all cores, per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts_per_s: Option<f64>,
    /// Context switches on all cores, per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_switches_per_s: Option<f64>,
    /// Packets of the test's interface per interrupt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets_per_interrupt: Option<PacketsPerInterrupt>,
}

/// What bounds a goal's upper bound.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum BoundedBy {
    /// Delay over the goal.
    Delay,
    /// The load limit asked for.
    Limit,
    /// Loss over the goal.
    Loss,
    /// The sender could not offer more.
    Sender,
}

/// The result of one search goal. Rates are L4 payload.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct GoalResult {
    /// Which way.
    pub direction: Direction,
    /// Largest loss ratio that still meets the goal.
    #[serde(rename = "loss_goal_ratio")]
    pub loss_goal: LossRatio,
    /// Delay goal in words (`p99<2ms`), if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_goal: Option<String>,
    /// Highest intended load that meets the goal with no worse one below it.
    #[serde(rename = "lower_bound_bps")]
    pub lower_bound: Option<BitRate>,
    /// Lowest intended load above it that misses the goal.
    #[serde(rename = "upper_bound_bps")]
    pub upper_bound: Option<BitRate>,
    /// Lower bound × (1 − quantile loss ratio) (draft-ietf-bmwg-mlrsearch).
    #[serde(rename = "conditional_throughput_bps")]
    pub conditional_throughput: Option<BitRate>,
    /// Whether the bounds are as close as asked.
    pub reached: bool,
    /// What the upper bound is made of.
    pub bounded_by: Option<BoundedBy>,
    /// `(upper − lower) / upper`.
    #[serde(rename = "width_ratio")]
    pub width: Option<Ratio>,
    /// Trials used until the goal was done.
    pub trials: u32,
    /// Trial time used until the goal was done.
    #[serde(rename = "time_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub time: Duration,
}

/// Notable points of a load curve. Rates are L4 payload.
#[derive(Debug, Clone, Copy, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct CurveFacts {
    /// Highest received rate of any trial.
    #[serde(rename = "peak_received_bps")]
    pub peak_received: Option<BitRate>,
    /// Intended load of that trial.
    #[serde(rename = "peak_intended_bps")]
    pub peak_intended: Option<BitRate>,
    /// Highest load the sender ever offered.
    #[serde(rename = "max_offered_bps")]
    pub max_offered: Option<BitRate>,
    /// Lowest intended load at which delay is clearly above its level at low load.
    #[serde(rename = "delay_rise_bps")]
    pub delay_rise: Option<BitRate>,
    /// Received rate at the highest intended load, when it is below the peak: what is left under overload.
    #[serde(rename = "overload_received_bps")]
    pub overload_received: Option<BitRate>,
    /// Where the delay of requests leaves its level at low load (latency against load only; the other
    /// points are then unknown).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<Knee>,
}

/// What can limit a run.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Nothing saturated: what was asked for was carried.
    IntendedLoad,
    /// The link's or shaper's rate.
    Link,
    /// A policer that drops above a rate.
    Policer,
    /// Loss on the path that does not come from load.
    PathLoss,
    /// Packets larger than the path carries.
    PathMtu,
    /// Other traffic or congestion control.
    Congestion,
    /// The sender's CPU.
    SenderCpu,
    /// The sender's application.
    SenderApp,
    /// The sender's socket buffer.
    SenderBuffer,
    /// The receiver's advertised window.
    ReceiverWindow,
    /// The receiver's CPU.
    ReceiverCpu,
    /// The receiver's softnet backlog.
    ReceiverBacklog,
    /// The receiver's socket buffer.
    ReceiverSocket,
    /// The receiver's application.
    ReceiverApp,
    /// The measuring tool itself.
    Tool,
    /// Not known.
    Unknown,
}

impl Limit {
    /// The kebab-case name, as in the document.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::IntendedLoad => "intended-load",
            Self::Link => "link",
            Self::Policer => "policer",
            Self::PathLoss => "path-loss",
            Self::PathMtu => "path-mtu",
            Self::Congestion => "congestion",
            Self::SenderCpu => "sender-cpu",
            Self::SenderApp => "sender-app",
            Self::SenderBuffer => "sender-buffer",
            Self::ReceiverWindow => "receiver-window",
            Self::ReceiverCpu => "receiver-cpu",
            Self::ReceiverBacklog => "receiver-backlog",
            Self::ReceiverSocket => "receiver-socket",
            Self::ReceiverApp => "receiver-app",
            Self::Tool => "tool",
            Self::Unknown => "unknown",
        }
    }
}

/// How sure a verdict is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// Hints only, or a source is missing.
    Weak,
    /// Evidence from the run supports it.
    Supported,
    /// An experiment was run and agreed.
    Confirmed,
}

/// What limits a run, and why.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Verdict {
    /// What limits.
    pub limit: Limit,
    /// On which side; null for the path or nothing.
    pub side: Option<Side>,
    /// Share of the loss or of the time that this explains; null when it cannot be said.
    pub share_ratio: Option<Ratio>,
    /// How sure.
    pub confidence: Confidence,
    /// One sentence with figures.
    pub claim: String,
    /// The figures that show it, one sentence each.
    pub evidence: Vec<String>,
    /// An experiment that would confirm it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<Box<Experiment>>,
}

/// A rule's outcome. A check that could not be made has not passed.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum RuleOutcome {
    /// The cause was found.
    Found {
        /// The case for it.
        verdict: Verdict,
    },
    /// The cause can be ruled out.
    Clear {
        /// The figure that rules it out.
        because: String,
    },
    /// Not enough is known to decide.
    NotEvaluated {
        /// What is missing.
        missing: String,
    },
}

/// One rule's outcome for one run.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Finding {
    /// The rule's id.
    pub rule: String,
    /// Its outcome.
    #[serde(flatten)]
    pub outcome: RuleOutcome,
}

/// A mean over repeated trials, by metric name.
pub type Estimates = BTreeMap<String, Estimate>;

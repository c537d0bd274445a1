//! What was seen: raw counters, per stream and per host, cumulative and with their time.

use crate::histogram::Histogram;
use crate::one_way::{ClockIdentity, SignedHistogram, StageReport, Transits};
use crate::profile::Profile;
use crate::spec::{MAX_STREAMS, Side};
use crate::time::{as_optional_seconds, as_seconds};
use crate::units::{ByteCount, PacketCount};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// One reading of all signals of one host, named by [`crate::signals`].
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Snapshot {
    /// Nanoseconds on that host's monotonic clock.
    pub at_ns: u64,
    /// Cumulative counters and gauges by signal name. What could not be read is not here.
    pub values: BTreeMap<String, u64>,
    /// What could not be read, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<String, String>,
}

impl Snapshot {
    /// What counter `signal` gained from `earlier` to `self`; `None` if either lacks it or it went backwards.
    pub fn gained(&self, earlier: &Self, signal: &str) -> Option<u64> {
        self.values
            .get(signal)?
            .checked_sub(*earlier.values.get(signal)?)
    }
}

/// Facts of one host: kebab-case key to JSON value, unit suffixes as in the run document.
pub type Facts = BTreeMap<String, serde_json::Value>;

/// An error of the data plane, counted and never formatted in the loop.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
pub struct ErrorCount {
    /// The system call: `sendmmsg`, `recv`, `connect`.
    pub operation: String,
    /// The error's name: `EAGAIN`, `ENOBUFS`.
    pub errno: String,
    /// How often.
    pub count: u64,
}

/// Count, mean, spread and ends over every single value, beside a histogram whose buckets round each value
/// by up to 0.1 %. Mean and deviation are rounded to a picosecond.
#[derive(Debug, Clone, Copy, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Moments {
    /// Number of values.
    pub count: u64,
    /// Their mean.
    pub mean_ns: f64,
    /// Standard deviation of the values themselves (divided by n, as a histogram of them has it).
    pub stdev_ns: f64,
    /// Smallest.
    pub min_ns: u64,
    /// Largest.
    pub max_ns: u64,
}

impl Moments {
    /// Of values with these ends, mean and deviation.
    pub fn new(count: u64, mean_ns: f64, stdev_ns: f64, (min_ns, max_ns): (u64, u64)) -> Self {
        Self {
            count,
            mean_ns: to_picos(mean_ns),
            stdev_ns: to_picos(stdev_ns),
            min_ns,
            max_ns,
        }
    }

    /// Those of all values of both (Chan, Golub and `LeVeque`, 1979).
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        if self.count == 0 || other.count == 0 {
            return if self.count == 0 { other } else { self };
        }
        let (own, more) = (
            PacketCount::new(self.count).as_f64(),
            PacketCount::new(other.count).as_f64(),
        );
        let all = own + more;
        let apart = other.mean_ns - self.mean_ns;
        let squares = self.stdev_ns.powi(2) * own + other.stdev_ns.powi(2) * more;
        let variance = squares / all + apart * apart * (own / all) * (more / all);
        let ends = (self.min_ns.min(other.min_ns), self.max_ns.max(other.max_ns));
        let count = self.count.saturating_add(other.count);
        Self::new(
            count,
            self.mean_ns + apart * more / all,
            variance.sqrt(),
            ends,
        )
    }
}

/// Few digits, which come back from a document as they went into it.
fn to_picos(nanos: f64) -> f64 {
    (nanos * 1000.0).round() / 1000.0
}

/// What one stream moved in one reporting interval, as seen by one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct IntervalCount {
    /// Start, from the start of the stream's counted time on this side's clock.
    #[serde(rename = "start_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub start: Duration,
    /// End, on the same scale.
    #[serde(rename = "end_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub end: Duration,
    /// L4 payload bytes given to or taken from the system; duplicates excluded at the receiver.
    pub bytes: ByteCount,
    /// Datagrams or transactions; duplicates excluded at the receiver. Zero for a TCP byte stream.
    pub packets: PacketCount,
    /// One more than the highest sequence number seen up to the end (datagram receiver only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_expected: Option<u64>,
}

/// What the receiver of numbered datagrams knows from sequence numbers alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct SequenceCount {
    /// Distinct datagrams received.
    pub received: PacketCount,
    /// Datagrams received again (RFC 5560); not in `received`.
    pub duplicated: PacketCount,
    /// Distinct datagrams that arrived with a sequence number below the next expected one (RFC 4737 §3.4).
    pub reordered: PacketCount,
    /// Largest reordering extent in packets (RFC 4737 §4.2.1).
    pub reorder_extent_max: PacketCount,
    /// One more than the highest sequence number seen, counted from the first; zero if nothing came.
    pub next_expected: u64,
    /// Datagrams that arrived so late that they cannot be told from duplicates; counted nowhere else.
    #[serde(default)]
    pub too_old: PacketCount,
    /// Datagrams that carried another stream's token or no valid header; counted nowhere else.
    #[serde(default)]
    pub foreign: PacketCount,
}

/// Datagrams of the warm-up where they are numbered with the counted ones (iperf3's omit).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Omitted {
    /// Sender: datagrams sent before the counted time. Receiver: the highest number seen before it.
    pub packets: PacketCount,
    /// Receiver: numbers missing among those.
    pub missing: PacketCount,
}

/// The counts of an iperf2 server's report, unchanged: versions and kin count in different ways, so they need
/// not agree with the other counts, nor with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct PeerCounts {
    /// L4 payload bytes.
    pub bytes: ByteCount,
    /// Datagrams: the highest number seen, or (zperf) those received.
    pub datagrams: u64,
    /// Datagrams it counted as lost.
    pub lost: u64,
    /// Datagrams it counted as out of order.
    pub out_of_order: u64,
}

/// What became of the requests of an open loop. `intended = unsent + sent`, `sent = answered + unanswered`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct RequestCount {
    /// Requests that the schedule had for the counted time.
    pub intended: PacketCount,
    /// Those that the system did not take before the end, or refused.
    pub unsent: PacketCount,
    /// Those given to the system.
    pub sent: PacketCount,
    /// Those answered within the timeout.
    pub answered: PacketCount,
    /// Those not answered within the timeout, or not at all.
    pub unanswered: PacketCount,
    /// Answers that came after the timeout; their requests are among the unanswered.
    pub late_answers: PacketCount,
    /// Answers that had come before; counted nowhere else.
    pub duplicated: PacketCount,
    /// First answers to requests sent before another one that was answered already (RFC 4737 §3.4).
    pub reordered: PacketCount,
    /// Messages that are no answer to a request of this test; counted nowhere else.
    pub foreign: PacketCount,
    /// From the start of the counted time to the last answer in time, this side's clock.
    #[serde(rename = "answering_s", with = "as_seconds", default)]
    #[schemars(with = "f64")]
    pub answering: Duration,
}

/// One reading of `TCP_INFO`. `None` means this kernel does not report the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct TcpSample {
    /// Time of the reading from the start of the stream on this side's clock, nanoseconds.
    pub at_ns: u64,
    /// Congestion window in bytes (`snd_cwnd` × `snd_mss`).
    pub cwnd_bytes: Option<u64>,
    /// Slow start threshold in bytes; `None` also while it is infinite.
    pub ssthresh_bytes: Option<u64>,
    /// Sender maximum segment size.
    pub smss_bytes: Option<u64>,
    /// Smoothed round-trip time (RFC 6298).
    pub srtt_ns: Option<u64>,
    /// Round-trip time variation (RFC 6298).
    pub rttvar_ns: Option<u64>,
    /// Smallest round-trip time seen.
    pub min_rtt_ns: Option<u64>,
    /// Window the peer advertises.
    pub snd_wnd_bytes: Option<u64>,
    /// Window this side advertises or its receive space.
    pub rcv_space_bytes: Option<u64>,
    /// Cumulative time with data to send (chronograph).
    pub busy_ns: Option<u64>,
    /// Cumulative time limited by the peer's window (chronograph).
    pub rwnd_limited_ns: Option<u64>,
    /// Cumulative time limited by this side's send buffer (chronograph).
    pub sndbuf_limited_ns: Option<u64>,
    /// Bytes in the send buffer that have not been sent yet.
    pub notsent_bytes: Option<u64>,
    /// Cumulative bytes sent, retransmissions included.
    pub bytes_sent: Option<u64>,
    /// Cumulative bytes retransmitted.
    pub bytes_retrans: Option<u64>,
    /// Cumulative bytes acknowledged by the peer.
    pub bytes_acked: Option<u64>,
    /// Cumulative bytes received from the peer.
    pub bytes_received: Option<u64>,
    /// Cumulative segments retransmitted.
    pub retrans_segments: Option<u64>,
    /// Segments now considered lost.
    pub lost_segments: Option<u64>,
    /// Cumulative duplicate SACKs received: retransmissions that were not needed.
    pub dsack_dups: Option<u64>,
    /// Cumulative segments delivered with a congestion mark.
    pub delivered_ce: Option<u64>,
    /// Delivery rate in bit/s as the kernel estimates it.
    pub delivery_rate_bps: Option<u64>,
    /// Whether that estimate was limited by the application.
    pub delivery_rate_app_limited: Option<bool>,
    /// Pacing rate in bit/s.
    pub pacing_rate_bps: Option<u64>,
    /// Path MTU.
    pub pmtu_bytes: Option<u64>,
    /// What the congestion control is doing (`tcpi_ca_state`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_state: Option<CongestionState>,
    /// Segments sent and not yet acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unacked_segments: Option<u64>,
    /// Cumulative segments sent that carried data, retransmissions included (RFC 4898).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_segments_sent: Option<u64>,
    /// Cumulative times that the peer's acknowledgements showed reordering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reordering_seen: Option<u64>,
    /// Cumulative segments that this side received out of order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_order_segments: Option<u64>,
    /// Window this side advertises (Linux 6.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rcv_wnd_bytes: Option<u64>,
    /// Cumulative retransmission timeouts (Linux 6.7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<u64>,
    /// Cumulative time spent in retransmission timeouts (Linux 6.7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ns: Option<u64>,
    /// Whether both ends agreed to use ECN (RFC 3168).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// Bytes that this side's application has not read yet (`SIOCINQ`; receiver only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread_bytes: Option<u64>,
}

/// What TCP's congestion control is doing (Linux `enum tcp_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CongestionState {
    /// Nothing is amiss.
    Open,
    /// Duplicate acknowledgements or SACKs came: reordering or the beginning of a loss.
    Disorder,
    /// The window is being reduced for an ECN mark or a full local queue.
    Reduced,
    /// Fast recovery: lost segments are being retransmitted.
    Recovery,
    /// A retransmission timeout expired.
    Loss,
}

/// What one side of one stream saw.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct StreamReport {
    /// Index of the stream within its direction, from 0.
    pub index: u16,
    /// L4 payload bytes: given to the system (sender) or taken from it without duplicates (receiver).
    pub bytes: ByteCount,
    /// Datagrams given to the system (sender), distinct datagrams taken from it (receiver), or
    /// completed transactions (request/response). Zero for a TCP byte stream.
    pub packets: PacketCount,
    /// Counted time: from the first counted byte to the last, on this side's clock.
    #[serde(rename = "duration_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub duration: Duration,
    /// Per-interval counts, in order.
    pub intervals: Vec<IntervalCount>,
    /// Sequence accounting (datagram receiver only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<SequenceCount>,
    /// Reads that took datagrams (datagram receiver only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<u64>,
    /// Those of them that took fewer than they could and so left the socket empty (datagram receiver only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emptying_reads: Option<u64>,
    /// Datagrams the kernel dropped at this very socket (`SO_RXQ_OVFL`; datagram receiver only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_overflows: Option<PacketCount>,
    /// Runs of datagrams that it dropped, where it counts those (`gro=true`): `socket_overflows` is then what is
    /// missing in the numbers where they were dropped, and at most what so many runs hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_runs: Option<u64>,
    /// Datagrams that the system refused (`EAGAIN`, `ENOBUFS`) and that were not sent again; they
    /// are not in `packets`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<PacketCount>,
    /// Datagrams the schedule called for but the sender did not get to before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsent: Option<PacketCount>,
    /// How late each batch left after its scheduled time (paced sender only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Histogram>,
    /// Round-trip time of each transaction (requester only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Histogram>,
    /// One-way delay variation against the fastest packet (RFC 5481 PDV; datagram receiver, and either end of
    /// request/response for what came to it).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pdv: Option<Histogram>,
    /// Interarrival jitter at the end (RFC 3550 §6.4.1), as iperf3 reports it, in nanoseconds (datagram
    /// receiver only). A smoothed mean that forgets what was before the last some 50 datagrams: for comparison
    /// with tools that show nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtp_jitter_ns: Option<u64>,
    /// Datagrams of the warm-up, which `sequence` leaves out (test with iperf3 and a warm-up only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<Omitted>,
    /// Datagrams that the far sender says it sent, those of the warm-up included (datagram receiver of a
    /// test with iperf2 whose end was heard only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_there: Option<PacketCount>,
    /// What a far receiver counted in its own way, as it said it (test with iperf2 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<PeerCounts>,
    /// The smallest one-way delay of each twentieth of the sending time, above the smallest of all,
    /// in nanoseconds; null where nothing arrived (datagram receiver of a test that ends by time).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delay_floor_ns: Vec<Option<u64>>,
    /// Readings of `TCP_INFO` of this side's socket over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tcp: Vec<TcpSample>,
    /// Errors of the data plane.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ErrorCount>,
    /// CPU time of the traffic thread, user and system.
    #[serde(rename = "thread_cpu_s", with = "as_seconds", default)]
    #[schemars(with = "f64")]
    pub thread_cpu: Duration,
    /// Time the traffic thread was runnable but waited for a core (`/proc/thread-self/schedstat`);
    /// `None` where the kernel does not account it.
    #[serde(
        rename = "run_delay_s",
        with = "as_optional_seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<f64>")]
    pub run_delay: Option<Duration>,
    /// Transactions that got no answer in time (requester only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<PacketCount>,
    /// Size of the receive buffer that the system really gave, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_buffer_bytes: Option<ByteCount>,
    /// Size of the send buffer that the system really gave, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_buffer_bytes: Option<ByteCount>,
    /// Congestion control algorithm of this side's socket (`TCP_CONGESTION`; TCP only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_control: Option<String>,
    /// Most datagrams given to the system in one burst (GSO segments included).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_max: Option<PacketCount>,
    /// From the time each request was meant to be sent to its answer, this side's clock (open-loop
    /// requester only); `rtt` is from the time it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Histogram>,
    /// Time to open each connection, from the first segment to the answer to it (opener of short connections
    /// only); `rtt` is then that of the request after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake: Option<Histogram>,
    /// Time of marks from the sending application through the loaded stream and back on the same connection
    /// (sender of a marked TCP stream only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_band: Option<Histogram>,
    /// What became of the requests (open-loop requester only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestCount>,
    /// Times of messages that came to this end, against the far clock (datagram receiver and both ends of
    /// request/response; native protocol only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transits: Option<Transits>,
    /// Inter-packet delay variation (RFC 3393; datagram receiver only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipdv: Option<SignedHistogram>,
    /// This end's parts of messages' ways, where the test asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<StageReport>,
    /// How frames passed the kernel's stack by, and what was dropped there (datapath af-xdp only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xdp: Option<XdpReport>,
    /// CPU time of kernel threads that worked for this stream alone (`iou-sqp` of `io_uring`), during its
    /// traffic; `None` where there was none, or where the kernel does not tell (then `path_notes` says so).
    #[serde(
        rename = "helper_cpu_s",
        with = "as_optional_seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<f64>")]
    pub helper_cpu: Option<Duration>,
    /// What the datapath asked of the system and did not get, and what it found out about its wait mode;
    /// at most [`MAX_PATH_NOTES`] are read.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "bounded_notes"
    )]
    pub path_notes: Vec<String>,
    /// Count, mean, spread and ends of the round-trip times in `rtt`, not rounded (requester only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_moments: Option<Moments>,
}

/// What one side of a stream over AF_XDP knows about its way past the kernel's stack. Counts are of this stream's
/// own sockets, since they were opened.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct XdpReport {
    /// The interface.
    pub interface: String,
    /// Whether the program ran in the driver; otherwise above it, after the kernel had made a packet of the frame.
    pub native: bool,
    /// Whether the driver used this process's memory itself; otherwise the kernel copied each frame, both ways.
    pub zero_copy: bool,
    /// Receive queues that frames were taken of.
    pub queues: u16,
    /// Frames dropped for want of a free one to receive into (`rx_dropped` of `XDP_STATISTICS`).
    pub dropped: PacketCount,
    /// Frames dropped because the receive ring was full (`rx_ring_full`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring_full: Option<PacketCount>,
    /// Times that no free frame was there when one was wanted (`rx_fill_ring_empty_descs`); with copying each is in
    /// `dropped` too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill_ring_empty: Option<u64>,
    /// Frames of this stream whose checksum or lengths were wrong.
    pub malformed: PacketCount,
    /// Datagrams of this stream that came as frames which the program does not choose, and so to the kernel's socket.
    pub stray: PacketCount,
}

/// Most notes of a datapath in one report.
pub const MAX_PATH_NOTES: usize = 16;

/// Longest note that is read, in bytes.
const MAX_NOTE: usize = 1024;

/// Reads a few short notes: they come from the peer.
fn bounded_notes<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    let notes = Vec::<String>::deserialize(d)?;
    let fits = notes.len() <= MAX_PATH_NOTES && notes.iter().all(|note| note.len() <= MAX_NOTE);
    if !fits {
        let message = format!("more than {MAX_PATH_NOTES} notes, or one over {MAX_NOTE} bytes");
        return Err(D::Error::custom(message));
    }
    Ok(notes)
}

/// Everything one side of one direction reports after a test.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct EndpointReport {
    /// Sender or receiver.
    pub side: Side,
    /// Each stream; at most [`MAX_STREAMS`] are read.
    #[serde(deserialize_with = "bounded_streams")]
    pub streams: Vec<StreamReport>,
    /// Host counters just before the first byte.
    pub before: Snapshot,
    /// Host counters just after the last byte.
    pub after: Snapshot,
    /// Sampled call stacks of this end, where the test asked for them and the host allowed it; if
    /// it did not, `after.missing` says why at `profile`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::profile::checked"
    )]
    pub profile: Option<Profile>,
    /// The clock that this end's times are of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockIdentity>,
}

impl EndpointReport {
    /// Streams of an end that tells nothing of its host.
    pub fn of_streams(side: Side, streams: Vec<StreamReport>) -> Self {
        Self {
            side,
            streams,
            before: Snapshot::default(),
            after: Snapshot::default(),
            profile: None,
            clock: None,
        }
    }
}

/// Reads at most `MAX_STREAMS` streams: each may hold histograms that are far larger than their text.
fn bounded_streams<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<StreamReport>, D::Error> {
    struct Streams;

    impl<'de> Visitor<'de> for Streams {
        type Value = Vec<StreamReport>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {MAX_STREAMS} stream reports")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut streams = Vec::new();
            while let Some(stream) = seq.next_element()? {
                if streams.len() == usize::from(MAX_STREAMS) {
                    return Err(A::Error::invalid_length(streams.len() + 1, &self));
                }
                streams.push(stream);
            }
            Ok(streams)
        }
    }

    d.deserialize_seq(Streams)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(streams: u16) -> EndpointReport {
        EndpointReport {
            side: Side::Receiver,
            streams: vec![StreamReport::default(); usize::from(streams)],
            before: Snapshot::default(),
            after: Snapshot::default(),
            profile: None,
            clock: None,
        }
    }

    #[test]
    fn a_report_of_the_most_streams_is_read_and_one_more_is_refused() {
        let most = report(MAX_STREAMS);
        let text = serde_json::to_string(&most).unwrap();
        assert_eq!(serde_json::from_str::<EndpointReport>(&text).unwrap(), most);
        let text = serde_json::to_string(&report(MAX_STREAMS + 1)).unwrap();
        let error = serde_json::from_str::<EndpointReport>(&text).unwrap_err();
        assert!(error.to_string().contains("at most 128"), "{error}");
    }
}

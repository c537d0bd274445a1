//! What a log says about one test, before the views of both ends are put together.

use super::bounds::{MAX_STREAMS, TOO_MANY};
use super::streams::MIXED;
use super::{Command, ImportError, Result, Rounded, Row, Series};
use linerate_model::WallTime;
use linerate_model::run::{Host, Tool, Trial};
use linerate_model::spec::{Direction, Transport};

/// One test of a log.
#[derive(Debug, Clone, PartialEq)]
pub enum ParsedTest {
    /// Request/response delay; already in the form of a run.
    Latency(Box<LatencyTest>),
    /// A test that cannot be read, among others that can.
    Refused(ImportError),
    /// A test whose kind is not imported, among others that are.
    Skipped(Skipped),
    /// Traffic in one direction or both, as one end saw it.
    Traffic(Box<TrafficTest>),
}

impl ParsedTest {
    /// Says what is not to be believed of its figures.
    pub(super) fn doubt(&mut self, doubt: &str) {
        match self {
            Self::Latency(test) => test.doubts.push(doubt.to_owned()),
            Self::Traffic(test) => test.doubts.push(doubt.to_owned()),
            Self::Refused(_) | Self::Skipped(_) => {}
        }
    }
}

impl From<Result<TrafficTest>> for ParsedTest {
    fn from(read: Result<TrafficTest>) -> Self {
        match read {
            Ok(test) => Self::Traffic(Box::new(test)),
            Err(error) => Self::Refused(error),
        }
    }
}

/// A test that is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Where it is.
    pub origin: Origin,
    /// Why it is left out.
    pub reason: String,
    /// The tool itself said so of its failure, or stopped.
    pub has_failed: bool,
}

/// Where in the files a test comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The file's name, as given.
    pub file: String,
    /// Line at which the test begins, from 1.
    pub line: usize,
}

impl Origin {
    /// What a doubt is about, with its place.
    pub(super) fn doubted(&self, doubt: &str) -> String {
        let Self { file, line } = self;
        format!("{file}: test at line {line}, {doubt}")
    }
}

/// A delay test with one trial per message size.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyTest {
    /// Where it comes from.
    pub origin: Origin,
    /// Id of the log format.
    pub format: &'static str,
    /// What measured.
    pub tool: Tool,
    /// Transport.
    pub transport: Transport,
    /// When it started.
    pub started: Option<WallTime>,
    /// The command line.
    pub command: Option<String>,
    /// Both hosts.
    pub hosts: Vec<Host>,
    /// One trial per size.
    pub trials: Vec<Trial>,
    /// What to be careful about.
    pub notes: Vec<String>,
    /// Where its figures contradict each other, and what that makes unknown.
    pub doubts: Vec<String>,
    /// Hash of the test's text.
    pub fingerprint: u64,
}

impl LatencyTest {
    /// How many figures of its delays are known.
    pub(super) fn figures(&self) -> usize {
        let delays = self.trials.iter().filter_map(Trial::delay);
        let known = delays.map(|delay| {
            let bounds = [delay.min_ns, delay.max_ns, delay.count];
            let quantiles = [delay.p50_ns, delay.p90_ns, delay.p99_ns, delay.p999_ns];
            let means = [delay.mean_ns, delay.stdev_ns];
            let whole = bounds.iter().chain(&quantiles).flatten().count();
            whole + means.iter().flatten().count()
        });
        known.sum()
    }
}

/// Which end wrote a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// The end that asked for the test.
    Client,
    /// The end that was asked.
    Server,
}

/// Address and port of one end of a stream.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// Address without zone.
    pub address: String,
    /// Port.
    pub port: u16,
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} port {}", self.address, self.port)
    }
}

/// One stream, seen from the end that wrote the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// The end that wrote the log.
    pub local: Endpoint,
    /// The other end.
    pub remote: Endpoint,
}

/// A traffic test as one end saw it.
#[derive(Debug, Clone, PartialEq)]
pub struct TrafficTest {
    /// Where it comes from.
    pub origin: Origin,
    /// Id of the log format.
    pub format: &'static str,
    /// What measured.
    pub tool: Tool,
    /// Which end wrote the log.
    pub view: View,
    /// Transport.
    pub transport: Transport,
    /// When it started.
    pub started: Option<WallTime>,
    /// The command line that began it, on the end that wrote the log.
    pub command: Option<Command>,
    /// What the tool's own rules make of the command's `-b`.
    pub intended: Option<Intended>,
    /// What the client made to name the test.
    pub cookie: Option<String>,
    /// The streams.
    pub connections: Vec<Connection>,
    /// Address of the other end, for a log that names no streams.
    pub peer: Option<String>,
    /// One or, for a duplex test, two directions.
    pub flows: Vec<Flow>,
    /// How much of the test its intervals are about.
    pub coverage: Coverage,
    /// The start of the test was not to be counted.
    pub omits_start: bool,
    /// Payload of each datagram or size of each write, if the log says it.
    pub payload_bytes: Option<u64>,
    /// Congestion control algorithm of the sender.
    pub congestion_control: Option<String>,
    /// Maximum segment size of the end that wrote the log.
    pub smss_bytes: Option<u64>,
    /// CPU time of the tool's one thread over the test's time: here, and at the other end.
    pub thread_load: [Option<f64>; 2],
    /// The log says that the test was ended early, and why.
    pub interrupted: Option<String>,
    /// What to be careful about.
    pub notes: Vec<String>,
    /// Where its figures contradict each other, and what that makes unknown.
    pub doubts: Vec<String>,
    /// Hash of the test's text.
    pub fingerprint: u64,
}

/// How much of a test the intervals of a tool are about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Coverage {
    /// All but a last one that is shorter than the others.
    #[default]
    ButLast,
    /// All of its time, though the total's counters may be read a moment later.
    Timed,
    /// All: their counts sum up to the total.
    Whole,
}

impl TrafficTest {
    /// Adds a stream. One that is the other end of one before is of the other end's log, and one to another host is of
    /// another client's test.
    pub(super) fn connect(&mut self, new: Connection) -> Result<(), &'static str> {
        if self.connections.len() >= MAX_STREAMS {
            return Err(TOO_MANY);
        }
        let is_other_end =
            |known: &Connection| known.local == new.remote && known.remote == new.local;
        let is_of_another = |known: &Connection| known.remote.address != new.remote.address;
        let mut known = self.connections.iter();
        if known.any(|known| is_other_end(known) || is_of_another(known)) {
            return Err(MIXED);
        }
        self.connections.push(new);
        Ok(())
    }

    /// How many of the figures are known that a log may have or not.
    pub(super) fn figures(&self) -> usize {
        let of_totals = |totals: &Totals| {
            let counts = [
                totals.datagrams,
                totals.lost,
                totals.arrived,
                totals.retransmitted,
            ];
            let rates = [totals.bytes, totals.bps, totals.jitter];
            counts.iter().flatten().count() + rates.iter().flatten().count()
        };
        let of_row = |row: &Row| {
            let counts = [row.datagrams, row.lost, row.retransmitted];
            let others = [row.jitter, row.cwnd, row.srtt];
            2 + counts.iter().flatten().count() + others.iter().flatten().count()
        };
        let of_flow = |flow: &Flow| {
            let totals = [&flow.sent, &flow.received].into_iter().flatten();
            let rows = flow.sent_rows.iter().chain(flow.received_rows.iter());
            // A log that tells no direction is read as forward.
            usize::from(flow.direction == Direction::Reverse)
                + totals.map(of_totals).sum::<usize>()
                + rows.map(of_row).sum::<usize>()
        };
        let settings = [self.payload_bytes, self.smss_bytes]
            .into_iter()
            .flatten()
            .count();
        let flows = self.flows.iter().map(of_flow).sum::<usize>();
        flows + settings + self.thread_load.iter().flatten().count()
    }

    /// Whether the end that wrote the log sent the traffic of `direction`.
    pub(super) fn sends(&self, direction: Direction) -> bool {
        (self.view == View::Client) == (direction == Direction::Forward)
    }
}

/// The intended load per stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Intended {
    /// As typed, or `default`.
    pub label: String,
    /// In bit/s of L4 payload; `None` is unpaced.
    pub bps: Option<Rounded>,
}

impl Intended {
    /// What iperf does when no rate is asked for: UDP at 2^20 bit/s, TCP without pacing.
    pub(super) fn by_default(transport: Transport) -> Self {
        match transport {
            Transport::Udp => Self {
                label: "1.05M (default)".to_owned(),
                bps: Some(Rounded::exact(1_048_576.0)),
            },
            Transport::Tcp => Self {
                label: "unpaced".to_owned(),
                bps: None,
            },
        }
    }
}

/// One direction of a test.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Seen from the client.
    pub direction: Direction,
    /// Parallel streams.
    pub streams: u16,
    /// The sender's totals.
    pub sent: Option<Totals>,
    /// The receiver's totals.
    pub received: Option<Totals>,
    /// What is told of the sender's streams, summed, where the tool's own sum is its total.
    pub sent_streams: Option<Totals>,
    /// What is told of the receiver's streams, summed, where the tool's own sum is its total.
    pub received_streams: Option<Totals>,
    /// The sender's intervals.
    pub sent_rows: Series,
    /// The receiver's intervals.
    pub received_rows: Series,
}

/// What one side counted over a test, all streams together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Totals {
    /// Counted time in seconds.
    pub seconds: Rounded,
    /// L4 payload bytes.
    pub bytes: Option<Rounded>,
    /// L4 payload bit/s.
    pub bps: Option<Rounded>,
    /// Datagrams: sent (sender), or highest sequence number seen (receiver).
    pub datagrams: Option<u64>,
    /// Datagrams missing below the highest sequence number seen (receiver).
    pub lost: Option<u64>,
    /// Datagrams that arrived, for a receiver that counts these and sees no sequence.
    pub arrived: Option<u64>,
    /// RFC 3550 jitter in seconds (receiver).
    pub jitter: Option<Rounded>,
    /// Segments retransmitted (TCP sender).
    pub retransmitted: Option<u64>,
    /// A counter of datagrams is negative: it went beyond its bits.
    pub is_wrapped: bool,
    /// The share of losses that is printed beside the counts is not theirs.
    pub is_misprinted: bool,
    /// By how many datagrams its counts may be off, since its witnesses differ by that.
    pub off_by: u64,
}

impl Totals {
    /// Totals of which only the time is known.
    pub(super) const fn over(seconds: Rounded) -> Self {
        Self {
            seconds,
            bytes: None,
            bps: None,
            datagrams: None,
            lost: None,
            arrived: None,
            jitter: None,
            retransmitted: None,
            is_wrapped: false,
            is_misprinted: false,
            off_by: 0,
        }
    }

    /// What a line over the whole test says.
    pub(super) fn of_line(row: &Row) -> Self {
        Self {
            bytes: Some(row.bytes),
            bps: Some(row.bps),
            datagrams: row.datagrams,
            lost: row.lost,
            jitter: row.jitter,
            retransmitted: row.retransmitted,
            is_wrapped: row.is_wrapped,
            is_misprinted: row.is_misprinted,
            ..Self::over(row.end.minus(row.start))
        }
    }

    /// Whether every counter of traffic that is told is zero.
    pub(super) fn is_nothing(&self) -> bool {
        let bytes = self.bytes.map(|bytes| bytes.value == 0.0);
        let datagrams = self.datagrams.map(|count| count == 0 && !self.is_wrapped);
        let told = [bytes, datagrams];
        told.contains(&Some(true)) && !told.contains(&Some(false))
    }

    /// The sum of all intervals, for a test that was ended before its summary.
    pub(super) fn of_intervals(rows: &[Row]) -> Option<Self> {
        let mut all = *rows.first()?;
        let last = rows.last()?;
        for row in &rows[1..] {
            all.add(row);
        }
        let seconds = last.end.minus(all.start);
        Some(Self {
            seconds,
            bps: all.bytes.per(seconds),
            ..Self::of_line(&all)
        })
    }
}

impl Flow {
    /// A direction of which nothing is known yet.
    pub(super) fn new(direction: Direction) -> Self {
        Self {
            direction,
            streams: 0,
            sent: None,
            received: None,
            sent_streams: None,
            received_streams: None,
            sent_rows: Series::default(),
            received_rows: Series::default(),
        }
    }
}

//! One test while its log is read: what every format says of a test, and the figures of its streams.
//!
//! A format adds what it finds, line by line; which figures a side measures, what a direction is made of, when a test
//! is whole and how its figures become those of a run is decided here, once.

use super::delay::{self, DelayFigures};
use super::line::Fingerprint;
use super::reader::{Draft, Log, Result};
use super::rounded::note;
use super::{
    Coverage, Flow, LatencyTest, LogFormat, Origin, ParsedTest, Rounded, Row, Series, Skipped,
    Totals, TrafficTest, View, witness,
};
use linerate_model::run::{Host, HostRole, Tool, Trial, TrialWork};
use linerate_model::spec::{Direction, Transport};
use linerate_model::{ByteCount, Quantity};
use std::ops::{Deref, DerefMut};
use std::time::Duration;

/// A test that is being read.
#[derive(Debug)]
pub(super) struct TestBuilder {
    test: TrafficTest,
    /// What names the test: the lines of it that count.
    pub(super) text: Fingerprint,
}

/// The figures of one direction, as the end that wrote the log knows them.
#[derive(Debug, Default)]
pub(super) struct DirectionFigures {
    /// Parallel streams.
    pub(super) streams: usize,
    /// What this end counted.
    pub(super) own: Option<Totals>,
    /// What the other end reported to it.
    pub(super) reported: Option<Totals>,
    /// What is told of each stream of this end, summed, where `own` is the tool's own sum.
    pub(super) own_streams: Option<Totals>,
    /// What is told of each stream of the other end, summed, where `reported` is the tool's own sum.
    pub(super) reported_streams: Option<Totals>,
    /// What this end counted over time.
    pub(super) rows: Series,
}

/// What a test of requests and answers tells beside what it timed.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    pub(super) figures: DelayFigures,
    /// Size of a request.
    pub(super) bytes: Option<u64>,
    pub(super) streams: Option<u16>,
    pub(super) seconds: Option<Rounded>,
    pub(super) per_second: Option<Rounded>,
}

impl Deref for TestBuilder {
    type Target = TrafficTest;

    fn deref(&self) -> &TrafficTest {
        &self.test
    }
}

impl DerefMut for TestBuilder {
    fn deref_mut(&mut self) -> &mut TrafficTest {
        &mut self.test
    }
}

impl TestBuilder {
    /// The test that begins at this line of a log, in the form of `format`.
    pub(super) fn new(log: &Log, format: &LogFormat, view: View, transport: Transport) -> Self {
        Self::at(log.origin(), format, view, transport).of_version(log.version.clone())
    }

    /// A test of which only the place is known and what carried it.
    pub(super) fn at(origin: Origin, format: &LogFormat, view: View, transport: Transport) -> Self {
        Self {
            test: TrafficTest::new(origin, format, view, transport),
            text: Fingerprint::default(),
        }
    }

    /// Sets the tool's version.
    pub(super) fn of_version(mut self, version: Option<String>) -> Self {
        self.tool.version = version;
        self
    }

    /// Says what is not to be believed.
    pub(super) fn doubt(&mut self, text: impl Into<String>) {
        self.test.doubts.push(text.into());
    }

    /// Says how many lines came more than once.
    pub(super) fn repeated(&mut self, count: usize) {
        if count > 0 {
            self.doubt(match count {
                1 => "1 line came more than once, and was counted once".to_owned(),
                count => format!("{count} lines came more than once, and were counted once"),
            });
        }
    }

    /// Says what to be careful about.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.test.notes.push(text.into());
    }

    /// Says of a log with a single line of figures of each stream, of a tool that prints intervals and the line over the
    /// whole test alike, that it may have been cut after its first interval: nothing in the log denies it, and how long
    /// the test was to be is not known.
    ///
    /// An interval ends with a whole second; so do some lines over a whole test.
    pub(super) fn lone_line(&mut self, total: &Row) {
        /// Longest interval that is usual: 1, 2 or 5 seconds. The default length of a test is twice that.
        const LONGEST: f64 = 5.0;
        let end = total.end.value;
        let is_whole = end.fract() == 0.0 && end <= LONGEST;
        if is_whole && self.command.is_none() {
            self.note(format!(
                "the only line of figures covers {end} s: the log does not tell whether that is the whole test, or its \
                 first interval and the rest is cut off"
            ));
        }
    }

    /// What this end counted over the whole test: of one that ended early, over its intervals.
    pub(super) fn or_early(&self, own: Option<Totals>, rows: &[Row]) -> Option<Totals> {
        let is_early = self.interrupted.is_some();
        own.or_else(|| Totals::of_intervals(rows).filter(|_| is_early))
    }

    /// Ends a test early whose other end is told to have counted nothing of what this end counted, while `witness` is
    /// not there, without which no report of it came: zeros are what tools print for figures that they never got.
    pub(super) fn lacks_report(
        &mut self,
        own: Option<Totals>,
        reported: Option<Totals>,
        witness: &str,
    ) {
        let is_denied = reported.is_some_and(|other| other.is_nothing())
            && own.is_some_and(|own| !own.is_nothing());
        if is_denied {
            self.interrupted.get_or_insert_with(|| {
                format!(
                    "no report of the other end came: {witness} is not there, and zeros stand for what the other end counted"
                )
            });
        }
    }

    /// Adds a direction with what is known of it.
    pub(super) fn flow(&mut self, direction: Direction, way: DirectionFigures) {
        let DirectionFigures {
            streams,
            own,
            mut reported,
            own_streams,
            mut reported_streams,
            mut rows,
        } = way;
        // What the other end counted comes at the very end: before that the tools print zeros.
        if self.test.interrupted.is_some() {
            (reported, reported_streams) = (None, None);
        }
        // Nothing arrives that was not sent.
        let sends = self.test.sends(direction);
        let counted = own.is_some_and(|own| !own.is_nothing());
        if !sends && counted && reported.is_some_and(|sender| sender.is_nothing()) {
            (reported, reported_streams) = (None, None);
            self.note("the sender did not report what it sent: zeros stand for it");
        }
        let mut flow = Flow::new(direction);
        flow.streams = u16::try_from(streams).unwrap_or(u16::MAX);
        if sends {
            // A sender measures neither, though some tools print zeros.
            rows.change(|row| (row.lost, row.jitter) = (None, None));
            (flow.sent, flow.received, flow.sent_rows) = (own, reported, rows);
            (flow.sent_streams, flow.received_streams) = (own_streams, reported_streams);
        } else {
            (flow.sent, flow.received, flow.received_rows) = (reported, own, rows);
            (flow.sent_streams, flow.received_streams) = (reported_streams, own_streams);
        }
        if let Some(sent) = &mut flow.sent {
            (sent.lost, sent.jitter) = (None, None);
        }
        self.test.flows.push(flow);
    }

    /// Adds the one direction of a test that knows what arrived, whichever end counts it.
    pub(super) fn received(&mut self, direction: Direction, totals: Totals) -> &mut Flow {
        self.test.flows.push(Flow {
            streams: 1,
            received: Some(totals),
            ..Flow::new(direction)
        });
        let last = self.test.flows.len() - 1;
        &mut self.test.flows[last]
    }

    /// The traffic test that was read.
    pub(super) fn traffic(mut self) -> ParsedTest {
        witness::examine(&mut self.test);
        self.test.fingerprint = self.text.get();
        ParsedTest::Traffic(Box::new(self.test))
    }

    /// A test that is left out among others.
    pub(super) fn skipped(self, reason: impl Into<String>) -> ParsedTest {
        ParsedTest::Skipped(Skipped {
            origin: self.test.origin,
            reason: reason.into(),
            has_failed: false,
        })
    }

    /// The trial of requests and answers that this test is, with what only its kind has.
    pub(super) fn trial(&self, exchanges: &Exchanges, work: impl Into<TrialWork>) -> Trial {
        let mut trial = Trial::from_log(0, self.transport, Direction::Forward, work);
        trial.label = exchanges.bytes.map(|bytes| format!("{bytes} B"));
        trial.payload_bytes = exchanges.bytes.map(ByteCount::new);
        trial.streams = exchanges.streams;
        if let Some(rate) = exchanges.per_second {
            note(&mut trial, Quantity::ReceivedPacketRate, rate);
        }
        if let Some(seconds) = exchanges.seconds {
            trial.duration = Duration::try_from_secs_f64(seconds.value).ok();
            note(&mut trial, Quantity::Duration, seconds);
        }
        exchanges.figures.note_rounding(&mut trial);
        trial
    }

    /// The delay test of these trials.
    pub(super) fn latency(self, trials: Vec<Trial>) -> ParsedTest {
        let test = self.test;
        let link = test.connections.first();
        let client = link.map(|link| link.local.address.clone());
        let server = link.map(|link| link.remote.address.clone()).or(test.peer);
        let mut test = LatencyTest {
            origin: test.origin,
            format: test.format,
            tool: test.tool,
            transport: test.transport,
            started: test.started,
            command: test.command.map(|command| command.line),
            hosts: hosts(client, server),
            trials,
            notes: test.notes,
            doubts: test.doubts,
            fingerprint: self.text.get(),
        };
        delay::examine(&mut test);
        ParsedTest::Latency(Box::new(test))
    }
}

/// A line that is a whole test.
impl Draft for TestBuilder {
    fn begun(&self) -> usize {
        self.origin.line
    }

    fn line(&mut self, _log: &Log, line: &str) -> Result<()> {
        self.text.add(line);
        Ok(())
    }

    fn is_over(&self) -> bool {
        true
    }

    fn finish(self, tests: &mut Vec<ParsedTest>) -> Result<()> {
        tests.push(self.traffic());
        Ok(())
    }
}

impl TrafficTest {
    /// A test of which nothing is known but where it is and what carried it.
    pub(super) fn new(
        origin: Origin,
        format: &LogFormat,
        view: View,
        transport: Transport,
    ) -> Self {
        Self {
            origin,
            format: format.id,
            tool: Tool::unversioned(format.tool),
            view,
            transport,
            started: None,
            command: None,
            intended: None,
            cookie: None,
            connections: Vec::new(),
            peer: None,
            flows: Vec::new(),
            coverage: Coverage::default(),
            omits_start: false,
            payload_bytes: None,
            congestion_control: None,
            smss_bytes: None,
            thread_load: [None; 2],
            interrupted: None,
            notes: Vec::new(),
            doubts: Vec::new(),
            fingerprint: 0,
        }
    }
}

/// The two ends by their names or addresses.
pub(super) fn hosts(client: Option<String>, server: Option<String>) -> Vec<Host> {
    let host = |role, name| Host {
        name,
        ..Host::new(role)
    };
    vec![
        host(HostRole::Client, client),
        host(HostRole::Server, server),
    ]
}

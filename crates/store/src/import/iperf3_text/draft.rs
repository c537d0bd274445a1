//! One test of an iperf3 log while it is read.

use super::FORMAT;
use crate::import::bounds::{MAX_STREAMS, TOO_MANY};
use crate::import::line::{DataLine, Kind, Loss, connection, figure, kind, remark, word};
use crate::import::reader::{self, Fault, Log, Result};
use crate::import::rounded::{byte_unit, decimal};
use crate::import::streams::{Figures, MIXED, Streams, total};
use crate::import::test_builder::{DirectionFigures, TestBuilder};
use crate::import::witness::covers;
use crate::import::{
    Command, Connection, Coverage, Origin, ParsedTest, Row, Series, Totals, View, iperf3,
};
use linerate_model::WallTime;
use linerate_model::spec::{Direction, Transport};
use std::collections::{BTreeMap, BTreeSet};

/// A test that is being read.
pub(super) struct Draft {
    test: TestBuilder,
    /// It is the peer's log inside the client's, which ends before its summary.
    is_inner: bool,
    /// The server's log inside this client's, while it is read.
    inner: Option<Box<Self>>,
    /// The server sends: what lines without a role tag are about.
    is_reverse: bool,
    /// Why it is left out.
    left_out: Option<&'static str>,
    /// The heading of the intervals.
    columns: String,
    /// iperf3 3.1 and before: the rate's column is `Bandwidth`.
    is_old: bool,
    phase: Phase,
    streams: Streams,
    summary: Vec<(Ending, Figures)>,
    /// The streams by their tags.
    announced: BTreeMap<String, Connection>,
    sent_datagrams: Option<u64>,
    /// CPU use in percent of one core: here, and at the other end.
    cpu: [Option<f64>; 2],
    /// Lines that came once more.
    repeated: usize,
    out_of_order: Option<String>,
    /// What the server's log inside this one was.
    told: Vec<ParsedTest>,
    /// What the tool said of an end before the first line of this test.
    ahead: Option<Box<Self>>,
}

/// Where in a test's log the reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Before the summary.
    Intervals,
    /// After a line of dashes, which a summary or another interval follows.
    Ruled,
    /// After it.
    Summary,
    /// The client said that it is done.
    Done,
}

/// Whose summary a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// No last word: an interval, or a UDP summary of 3.1 and before.
    None,
    /// The receiver's.
    Receiver,
    /// The sender's.
    Sender,
}

impl Draft {
    /// The test of one end that begins at `origin`.
    pub(super) fn new(log: &Log, origin: Origin, view: View, command: Option<Command>) -> Self {
        let asks = |short, long| command.as_ref().is_some_and(|c| c.has(short, long));
        let transport = if asks('u', "udp") {
            Transport::Udp
        } else {
            Transport::Tcp
        };
        let mut test =
            TestBuilder::at(origin, &FORMAT, view, transport).of_version(log.version.clone());
        let is_reverse = view == View::Client && asks('R', "reverse");
        let is_sctp = command.as_ref().is_some_and(iperf3::is_sctp);
        let left_out = is_sctp.then_some(iperf3::SCTP);
        test.command = command;
        test.coverage = Coverage::Whole;
        Self {
            test,
            is_inner: false,
            inner: None,
            is_reverse,
            left_out,
            columns: String::new(),
            is_old: false,
            phase: Phase::Intervals,
            streams: Streams::default(),
            summary: Vec::new(),
            announced: BTreeMap::new(),
            sent_datagrams: None,
            cpu: [None; 2],
            repeated: 0,
            out_of_order: None,
            told: Vec::new(),
            ahead: None,
        }
    }

    /// The server's log inside a client's, which begins at this line.
    pub(super) fn of_server(log: &Log, transport: Transport) -> Self {
        let mut inner = Self::new(log, log.origin(), View::Server, None);
        inner.test.transport = transport;
        inner.is_inner = true;
        inner
    }

    /// The time that a line of `-V` states.
    pub(super) fn time(line: &str) -> Option<WallTime> {
        let (_, time) = line.split_once("Time: ")?;
        started(time)
    }

    /// Sets when the test began.
    pub(super) fn begun_at(mut self, started: Option<WallTime>) -> Self {
        self.test.started = started;
        self
    }

    /// Begins to read the server's log inside this one; whether this is a client's.
    pub(super) fn begin_inner(&mut self, log: &Log) -> bool {
        let is_client = self.test.view == View::Client && self.inner.is_none();
        if is_client {
            let inner = Self::of_server(log, self.test.transport);
            let inner = inner.of_version(self.test.tool.version.clone());
            self.inner = Some(Box::new(inner));
        }
        is_client
    }

    fn of_version(mut self, version: Option<String>) -> Self {
        self.test.tool.version = version;
        self
    }

    /// Whether it is a client's that has neither streams nor an end yet.
    pub(super) fn is_bare(&self) -> bool {
        let has_begun = !self.announced.is_empty() || !self.streams.is_empty();
        self.test.view == View::Client && !has_begun && self.test.interrupted.is_none()
    }

    /// Takes the place of a bare one, which is cut off unless both are mixed.
    pub(super) fn instead_of(mut self, log: &Log, bare: Self) -> Self {
        let error = log.cut(bare.test.origin.line, "it has no figures");
        self.told.push(ParsedTest::Refused(error));
        self.ahead = self.ahead.or(bare.ahead);
        self
    }

    /// Whether its tool said that it is done: no line of it follows.
    pub(super) fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// Whether its end is that of a server that was stopped, in a test or between two.
    pub(super) fn is_of_server(&self) -> bool {
        let reason = self.test.interrupted.as_deref();
        reason.is_some_and(|reason| reason == SERVER_STOPPED)
    }

    /// Sets what the tool said of an end just before the first line of this test.
    pub(super) fn after(mut self, ahead: Option<Self>) -> Self {
        self.ahead = ahead.map(Box::new);
        self
    }

    /// Takes over the end of a server, unless this is no test of one.
    pub(super) fn stopped_by(&mut self, ahead: Self) -> Option<Self> {
        if self.test.view == View::Client || self.test.interrupted.is_some() {
            return Some(ahead);
        }
        self.take_over(&ahead);
        None
    }

    /// What the tool said of an end ahead is about this test if that lacks an end of its own; else it is about another
    /// one, which has no other line.
    fn settle_ahead(&mut self) -> Result<()> {
        let Some(ahead) = self.ahead.take() else {
            return Ok(());
        };
        let has_end = match self.test.view {
            View::Client => self.is_done(),
            View::Server => !self.summary.is_empty(),
        };
        let reason = ahead.test.interrupted.as_deref().unwrap_or_default();
        let has_begun = !self.announced.is_empty() || !self.streams.is_empty();
        let is_of_another = has_begun && BEFORE_STREAMS.iter().any(|why| reason.contains(why));
        if has_end || is_of_another || self.test.interrupted.is_some() {
            return reader::Draft::finish(*ahead, &mut self.told);
        }
        self.take_over(&ahead);
        Ok(())
    }

    fn take_over(&mut self, ahead: &Self) {
        let reason = ahead.test.interrupted.clone();
        self.test.text.add(reason.as_deref().unwrap_or_default());
        self.test.interrupted = reason;
        if self.test.command.is_none() {
            self.test.command.clone_from(&ahead.test.command);
        }
    }

    pub(super) fn is_in_inner(&self) -> bool {
        self.inner.is_some()
    }

    fn end_inner(&mut self) -> Result<()> {
        let Some(inner) = self.inner.take() else {
            return Ok(());
        };
        let ended = reader::Draft::finish(*inner, &mut self.told);
        ended.map_err(|fault| match fault {
            Fault::Wanted(missing) => Fault::Missing(missing.to_owned()),
            other => other,
        })
    }

    fn take(&mut self, ending: Ending, figures: Figures) -> Result<(), &'static str> {
        let is_interval =
            matches!(self.phase, Phase::Intervals | Phase::Ruled) && ending == Ending::None;
        if is_interval {
            self.phase = Phase::Intervals;
            return self.streams.add_interval(figures);
        }
        let is_old_line = ending == Ending::None;
        if is_old_line && !(self.is_old && self.test.transport == Transport::Udp) {
            return Err("\"sender\" or \"receiver\" at the end of a summary's line");
        }
        let mut known = self.summary.iter();
        let known = known.find(|(of, known)| *of == ending && known.is_of(&figures));
        if let Some((_, known)) = known {
            return if known.row.is_same(&figures.row) {
                self.repeated += 1;
                Ok(())
            } else {
                Err(MIXED)
            };
        }
        self.summary.push((ending, figures));
        if self.summary.len() > 4 * MAX_STREAMS {
            return Err(TOO_MANY);
        }
        Ok(())
    }

    fn tagged(&mut self, tag: &str, rest: &str) -> Result<(), &'static str> {
        if let Some(connection) = connection(rest)? {
            match self.announced.get(tag) {
                Some(known) if *known == connection => self.repeated += 1,
                Some(_) => return Err(MIXED),
                None => {
                    self.test.connect(connection.clone())?;
                    self.announced.insert(tag.to_owned(), connection);
                }
            }
        }
        self.out_of_order = remark(rest).or_else(|| self.out_of_order.take());
        let sent = rest.strip_prefix("Sent ");
        if let Some(sent) = sent.and_then(|rest| rest.strip_suffix(" datagrams")) {
            let sent = sent.parse::<u64>().ok();
            let all = sent.and_then(|sent| sent.checked_add(self.sent_datagrams.unwrap_or(0)));
            self.sent_datagrams = all.or(self.sent_datagrams);
        }
        Ok(())
    }

    fn other(&mut self, line: &str) -> Result<(), &'static str> {
        // Several streams have a line of dashes after each interval; the summary has its own heading.
        if line.contains("[ ID]") {
            if self.phase == Phase::Ruled {
                self.phase = Phase::Summary;
            }
            self.heading(line)?;
        } else if line.contains("- - - - -") && self.phase == Phase::Intervals {
            self.phase = Phase::Ruled;
        } else if line.contains("Reverse mode, ") && !self.streams.is_empty() {
            return Err(MIXED);
        } else if line.contains("Reverse mode, ") {
            self.is_reverse = true;
        } else if line.contains("iperf Done.") {
            self.phase = Phase::Done;
        } else if let Some(reason) = end(line) {
            self.test
                .interrupted
                .get_or_insert_with(|| reason.to_owned());
        } else if let Some((_, algorithm)) = line.split_once("snd_tcp_congestion ") {
            self.test.congestion_control = Some(algorithm.trim().to_owned());
        } else if let Some((_, used)) = line.split_once("CPU Utilization: ") {
            self.cpu = cpu(used);
        } else if let Some((_, cookie)) = line.split_once("Cookie: ") {
            self.test.cookie = Some(cookie.trim().to_owned());
        } else if let Some((_, segment)) = line.split_once("TCP MSS: ") {
            let bytes = segment.split_whitespace().next();
            self.test.smss_bytes = bytes.and_then(|bytes| bytes.parse().ok());
        } else if let Some(time) = Self::time(line) {
            self.test.started = Some(time);
        } else if let Some((_, test)) = line.split_once("Starting Test: ") {
            self.starting(test);
        }
        Ok(())
    }

    fn heading(&mut self, line: &str) -> Result<(), &'static str> {
        if line.contains("Datagrams") && self.test.transport == Transport::Tcp {
            if !self.streams.is_empty() {
                return Err("the headings of TCP, like the figures before");
            }
            self.test.transport = Transport::Udp;
        }
        self.is_old |= line.contains("Bandwidth");
        let sends = line.contains("Retr") || line.contains(" Total Datagrams");
        let has_losses = line.contains("Lost/Total");
        match (self.test.view, self.phase) {
            (View::Server, Phase::Intervals) => self.is_reverse = sends && !has_losses,
            (View::Client, Phase::Intervals) => {
                line.clone_into(&mut self.columns);
                self.check_direction(line, has_losses);
            }
            // What its sender sent again, only the server knows.
            (View::Client, _) if self.test.transport == Transport::Tcp => {
                // The heading of the intervals may be lost; then their own columns tell.
                let is_shown = !self.columns.is_empty() || !self.streams.is_empty();
                let is_sender = self.columns.contains("Retr") || self.streams.is_sender();
                self.check_direction(line, sends && is_shown && !is_sender);
            }
            _ => {}
        }
        Ok(())
    }

    /// Believes columns that only a receiver prints, where nothing says that the server sends.
    fn check_direction(&mut self, heading: &str, is_receiver: bool) {
        if is_receiver && !self.is_reverse && !heading.contains("[Role]") {
            self.is_reverse = true;
            self.test.doubt(
                "the line \"Reverse mode, remote host … is sending\" is not there: by its columns the server sent",
            );
        }
    }

    /// `protocol: UDP, 1 streams, 1448 byte blocks, …` of `-V`.
    fn starting(&mut self, test: &str) {
        let blocks = test
            .split(", ")
            .find_map(|part| part.strip_suffix(" byte blocks"));
        self.test.payload_bytes = blocks.and_then(|bytes| bytes.parse().ok());
        if test.contains("protocol: UDP") {
            self.test.transport = Transport::Udp;
        }
        if test.contains("protocol: SCTP") {
            self.left_out = Some(iperf3::SCTP);
        }
    }

    /// The direction of lines without a role tag.
    fn direction(&self) -> Direction {
        if self.is_reverse {
            Direction::Reverse
        } else {
            Direction::Forward
        }
    }

    fn flows(&mut self) -> Result<()> {
        let untold = self.direction();
        self.streams.tell(untold);
        for direction in [Direction::Forward, Direction::Reverse] {
            let rows = self.streams.rows(direction);
            let (summary, others): (Vec<_>, _) = std::mem::take(&mut self.summary)
                .into_iter()
                .partition(|(_, figures)| figures.direction.unwrap_or(untold) == direction);
            self.summary = others;
            if rows.is_some() || !summary.is_empty() {
                self.flow(direction, rows.unwrap_or_default(), &summary)?;
            }
        }
        if self.test.flows.is_empty() && self.test.interrupted.is_none() {
            return Err("it has no figures".into());
        }
        Ok(())
    }

    fn flow(
        &mut self,
        direction: Direction,
        rows: Series,
        summary: &[(Ending, Figures)],
    ) -> Result<()> {
        let told = self.totals(self.test.sends(direction), summary, &rows);
        // A server knows nothing of the other end, but prints a line of zeros for it.
        let is_client = self.test.view == View::Client;
        let reported = told.reported.filter(|_| is_client);
        // Only a client that has the other end's report is done.
        if is_client && !self.is_done() {
            self.test
                .lacks_report(told.own, reported, "its last line (\"iperf Done.\")");
        }
        let own = self.test.or_early(told.own, &rows);
        let is_early = self.test.interrupted.is_some();
        if own.is_none() && !self.is_inner {
            return Err("its summary is not there".into());
        }
        if reported.is_none() && is_client && !is_early && !self.is_single() {
            return Err("its summary lacks the other end's line".into());
        }
        if is_client && !is_early && self.phase != Phase::Done && reported.is_none() {
            return Err("its last line (\"iperf Done.\") is not there".into());
        }
        let streams = self.tags(direction, summary)?;
        let lacks_sum = |ending| {
            let mut lines = summary.iter().filter(|(of, _)| *of == ending).peekable();
            lines.peek().is_some() && !lines.any(|(_, figures)| figures.is_sum)
        };
        let lacks_sum = [Ending::Sender, Ending::Receiver, Ending::None]
            .into_iter()
            .any(lacks_sum);
        if streams > 1 && lacks_sum && !is_early && !self.is_inner {
            return Err("its summary lacks the sum of its streams".into());
        }
        let way = DirectionFigures {
            streams,
            own,
            reported,
            rows,
            ..told
        };
        self.test.flow(direction, way);
        Ok(())
    }

    /// How many streams have figures of one direction.
    fn tags(&self, direction: Direction, summary: &[(Ending, Figures)]) -> Result<usize> {
        let ended = summary.iter().filter(|(_, figures)| !figures.is_sum);
        let ended = ended.map(|(_, figures)| figures.tag.as_str());
        let tags: BTreeSet<_> = self.streams.tags(direction).chain(ended).collect();
        let is_known = |tag: &&str| self.announced.contains_key(*tag);
        if !self.announced.is_empty() && !tags.iter().all(is_known) {
            return Err(
                "the line that names a stream's ends (\"local … connected to …\") is not there"
                    .into(),
            );
        }
        Ok(tags.len())
    }

    /// Whether the summary has one line for both ends: UDP up to 3.1.
    fn is_single(&self) -> bool {
        self.test.transport == Transport::Udp && self.is_old
    }

    /// What this end counted over the whole test of one direction, and what the other end reported.
    fn totals(&self, sends: bool, summary: &[(Ending, Figures)], rows: &[Row]) -> DirectionFigures {
        let [sender, receiver, single] =
            [Ending::Sender, Ending::Receiver, Ending::None].map(|ending| told(summary, ending));
        let single = single.total.filter(|_| self.is_single());
        match (single, sends) {
            // Up to 3.1 the one line has the sender's bytes and the receiver's losses, and a server
            // does not say how many it sent.
            (Some(single), true) => {
                let own = single.datagrams.filter(|_| self.test.view == View::Server);
                let sent = self.sent_datagrams.or(own).map(|sent| Totals {
                    datagrams: Some(sent),
                    lost: None,
                    is_wrapped: false,
                    ..single
                });
                let arrived = Totals {
                    bytes: None,
                    bps: None,
                    ..single
                };
                way(&End::of(sent), &End::of(Some(arrived)))
            }
            (Some(single), false) => {
                let own = Totals::of_intervals(rows);
                let own = own.filter(|_| covers(rows, single.seconds, self.test.coverage));
                let arrived = Totals {
                    bytes: own.and_then(|own| own.bytes),
                    bps: own.and_then(|own| own.bytes?.per(single.seconds)),
                    ..single
                };
                way(&End::of(Some(arrived)), &sender)
            }
            (None, true) => way(&sender, &receiver),
            (None, false) => way(&receiver, &sender),
        }
    }
}

/// What a summary tells of one end.
#[derive(Default)]
struct End {
    total: Option<Totals>,
    /// The sum of its streams, where the total is the tool's own sum.
    streams: Option<Totals>,
}

impl End {
    /// One of which only the total is told.
    fn of(total: Option<Totals>) -> Self {
        Self {
            total,
            streams: None,
        }
    }
}

/// What the summary tells of one end.
fn told(summary: &[(Ending, Figures)], ending: Ending) -> End {
    let lines = summary.iter().filter(|(of, _)| *of == ending);
    let (sums, streams): (Vec<_>, Vec<_>) = lines.partition(|(_, figures)| figures.is_sum);
    let sum = |lines: &[&(Ending, Figures)]| {
        let all = total(lines.iter().map(|(_, figures)| figures.row));
        all.as_ref().map(Totals::of_line)
    };
    let of_streams = sum(&streams);
    match sum(&sums) {
        Some(all) => End {
            total: Some(all),
            streams: of_streams,
        },
        None => End::of(of_streams),
    }
}

/// What both ends told.
fn way(own: &End, reported: &End) -> DirectionFigures {
    DirectionFigures {
        own: own.total,
        own_streams: own.streams,
        reported: reported.total,
        reported_streams: reported.streams,
        ..DirectionFigures::default()
    }
}

impl reader::Draft for Draft {
    fn begun(&self) -> usize {
        self.test.origin.line
    }

    fn line(&mut self, log: &Log, line: &str) -> Result<()> {
        if let Some(inner) = &mut self.inner {
            if !line.contains("iperf Done.") {
                return inner.line(log, line);
            }
            self.end_inner()?;
        }
        let line = line.trim_end();
        let kind = kind(line);
        let is_summed = matches!(self.phase, Phase::Done | Phase::Summary);
        if is_summed && matches!(kind, Kind::Other) && !line.contains("iperf Done.") {
            self.test.text.add_between(line);
        } else {
            self.test.text.add(line);
        }
        match kind {
            Kind::Data(data) => match figures(log.number, &data, self.test.transport)? {
                Some((ending, figures)) => self.take(ending, figures)?,
                None => self.test.omits_start = true,
            },
            Kind::Damaged(wanted) => return Err(wanted.into()),
            Kind::Tagged { tag, rest } => self.tagged(tag, rest)?,
            Kind::Other => self.other(line)?,
        }
        Ok(())
    }

    fn finish(mut self, tests: &mut Vec<ParsedTest>) -> Result<()> {
        if let Some(reason) = self.left_out {
            tests.push(self.test.skipped(reason));
            return Ok(());
        }
        self.end_inner()?;
        self.settle_ahead()?;
        tests.append(&mut self.told);
        self.flows()?;
        let mut test = self.test;
        let repeated = self.repeated + self.streams.repeated();
        test.repeated(repeated);
        test.notes.extend(self.out_of_order);
        if test.omits_start {
            test.note(iperf3::OMITTED);
        }
        if let Some(command) = test.command.as_ref().filter(|_| test.view == View::Client) {
            test.intended = iperf3::intended(command, test.transport);
        }
        let asked = test.command.as_ref().and_then(iperf3::payload);
        test.payload_bytes = test.payload_bytes.or(asked);
        let [own, other] = self.cpu;
        iperf3::add_cpu(&mut test, own, other);
        iperf3::note_multipath(&mut test);
        tests.push(test.traffic());
        Ok(())
    }
}

/// What a server says that is stopped.
const SERVER_STOPPED: &str = "interrupt - the server has terminated";

/// What the tool says of failures that come before any stream.
const BEFORE_STREAMS: &[&str] = &["unable to connect to server", "unable to start listener"];

/// What the tool says of an end that came early. Its other messages are about single datagrams or settings.
pub(super) fn end(line: &str) -> Option<&str> {
    const BEGINS: &[&str] = &["error", "interrupt"];
    const ENDS: &[&str] = &["has terminated", "has unexpectedly closed the connection"];
    let reason = line
        .split_once("iperf3: ")
        .map_or(line, |(_, reason)| reason);
    let is_end = BEGINS.iter().any(|end| reason.starts_with(end)) && reason != line;
    let said = reason.strip_prefix("error - ").unwrap_or(reason);
    (is_end || ENDS.iter().any(|end| reason.contains(end))).then_some(said)
}

/// Reads a line of figures; `None` for one of the omitted start.
fn figures(
    number: usize,
    data: &DataLine<'_>,
    transport: Transport,
) -> Result<Option<(Ending, Figures)>, &'static str> {
    let mut row = data.row(number);
    let mut rest = data.rest;
    if let Some((loss, after)) = rest.contains(" ms").then(|| Loss::take(rest)).flatten() {
        row.jitter = loss.jitter;
        loss.count(&mut row);
        rest = after;
    } else if rest.starts_with(|c: char| c.is_ascii_digit()) {
        let count = word(&mut rest).and_then(|count| count.parse().ok());
        let count = Some(count.ok_or("a whole number after the rate")?);
        match transport {
            Transport::Tcp => row.retransmitted = count,
            Transport::Udp => row.datagrams = count,
        }
    }
    if rest.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
        row.cwnd = Some(figure(&mut rest, byte_unit).ok_or("a window such as 148 KBytes")?);
    }
    let ending = match rest.trim() {
        "" => Ending::None,
        "sender" => Ending::Sender,
        "receiver" => Ending::Receiver,
        "(omitted)" => return Ok(None),
        _ => return Err("\"sender\", \"receiver\" or the end of the line"),
    };
    let figures = Figures {
        direction: data.role.and_then(role),
        is_sum: data.tag.starts_with("SUM"),
        tag: data.tag.to_owned(),
        row,
    };
    Ok(Some((ending, figures)))
}

/// The direction that a role tag means: who it is, and whether it sends.
fn role(tag: &str) -> Option<Direction> {
    match tag {
        "TX-C" | "RX-S" => Some(Direction::Forward),
        "RX-C" | "TX-S" => Some(Direction::Reverse),
        _ => None,
    }
}

/// `local/sender 5.6% (0.6%u/5.0%s), remote/receiver 12.3% (…)` of `-V`, in percent of one core.
fn cpu(used: &str) -> [Option<f64>; 2] {
    ["local/", "remote/"].map(|end| {
        let (_, after) = used.split_once(end)?;
        let percent = after.split_whitespace().nth(1)?.strip_suffix('%')?;
        decimal(percent).filter(|percent| *percent >= 0.0)
    })
}

/// `Sat, 21 Nov 2026 05:59:37 GMT` of `-V`.
fn started(time: &str) -> Option<WallTime> {
    let (_, time) = time.trim().split_once(", ")?;
    let time = time
        .strip_suffix("GMT")
        .or_else(|| time.strip_suffix("UTC"))?;
    let at = jiff::Timestamp::strptime("%d %b %Y %H:%M:%S %z", format!("{time}+0000")).ok()?;
    WallTime::from_unix(at.as_second())
}

//! One test of an iperf3 log while it is read.

use super::FORMAT;
use crate::import::bounds::{MAX_STREAMS, TOO_MANY};
use crate::import::line::{DataLine, Kind, Loss, connection, figure, kind, remark, word};
use crate::import::reader::{self, Fault, Log};
use crate::import::rounded::byte_unit;
use crate::import::streams::{Figures, Streams, total};
use crate::import::test_builder::{TestBuilder, Way};
use crate::import::{Command, Origin, ParsedTest, Row, Series, Totals, View, iperf3};
use linerate_model::WallTime;
use linerate_model::spec::{Direction, Transport};
use std::collections::BTreeSet;

/// A test that is being read.
pub(super) struct Draft {
    test: TestBuilder,
    /// It is the peer's log inside the client's, which ends before its summary.
    is_inner: bool,
    /// The server's log inside this client's, while it is read.
    inner: Option<Box<Self>>,
    /// The server sends: what lines without a role tag are about.
    is_reverse: bool,
    /// iperf3 3.1 and before: the rate's column is `Bandwidth`.
    is_old: bool,
    phase: Phase,
    streams: Streams,
    summary: Vec<(Ending, Figures)>,
    sent_datagrams: Option<u64>,
    /// CPU use in percent of one core: here, and at the other end.
    cpu: [Option<f64>; 2],
    /// How many lines of the start were omitted.
    omitted: usize,
    out_of_order: Option<String>,
    /// What the server's log inside this one was.
    told: Vec<ParsedTest>,
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
        test.command = command;
        test.prints_last_interval = true;
        Self {
            test,
            is_inner: false,
            inner: None,
            is_reverse,
            is_old: false,
            phase: Phase::Intervals,
            streams: Streams::default(),
            summary: Vec::new(),
            sent_datagrams: None,
            cpu: [None; 2],
            omitted: 0,
            out_of_order: None,
            told: Vec::new(),
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

    pub(super) fn is_in_inner(&self) -> bool {
        self.inner.is_some()
    }

    fn end_inner(&mut self) -> Result<(), Fault> {
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
        self.summary.push((ending, figures));
        if self.summary.len() > 4 * MAX_STREAMS {
            return Err(TOO_MANY);
        }
        Ok(())
    }

    fn tagged(&mut self, rest: &str) -> Result<(), &'static str> {
        if let Some(connection) = connection(rest)? {
            self.test.connect(connection)?;
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

    fn other(&mut self, line: &str) {
        // Several streams have a line of dashes after each interval; the summary has its own heading.
        if line.contains("[ ID]") {
            if self.phase == Phase::Ruled {
                self.phase = Phase::Summary;
            }
            self.heading(line);
        } else if line.contains("- - - - -") && self.phase == Phase::Intervals {
            self.phase = Phase::Ruled;
        } else if line.contains("Reverse mode, ") {
            self.is_reverse = true;
        } else if line.contains("iperf Done.") {
            self.phase = Phase::Done;
        } else if let Some((_, reason)) = line.split_once("iperf3: ") {
            self.test
                .interrupted
                .get_or_insert_with(|| reason.to_owned());
        } else if line.contains("the client has terminated") {
            self.test.interrupted.get_or_insert_with(|| line.to_owned());
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
    }

    fn heading(&mut self, line: &str) {
        if line.contains("Datagrams") {
            self.test.transport = Transport::Udp;
        }
        self.is_old |= line.contains("Bandwidth");
        let sends = line.contains("Retr") || line.contains(" Total Datagrams");
        if self.test.view == View::Server && self.phase == Phase::Intervals {
            self.is_reverse = sends && !line.contains("Lost/Total");
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
    }

    /// The direction of lines without a role tag.
    fn direction(&self) -> Direction {
        if self.is_reverse {
            Direction::Reverse
        } else {
            Direction::Forward
        }
    }

    fn flows(&mut self) -> Result<(), Fault> {
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
    ) -> Result<(), Fault> {
        let (own, reported) = self.totals(self.test.sends(direction), summary, &rows);
        // A server knows nothing of the other end, but prints a line of zeros for it.
        let reported = reported.filter(|_| self.test.view == View::Client);
        let own = self.test.or_early(own, &rows);
        let is_early = self.test.interrupted.is_some();
        if own.is_none() && !self.is_inner {
            return Err("its summary is not there".into());
        }
        let is_open = self.test.view == View::Client && self.phase != Phase::Done && !is_early;
        if reported.is_none() && is_open {
            return Err("its summary lacks the other end's line".into());
        }
        let ended = summary.iter().filter(|(_, figures)| !figures.is_sum);
        let ended = ended.map(|(_, figures)| figures.tag.as_str());
        let tags: BTreeSet<_> = self.streams.tags(direction).chain(ended).collect();
        let streams = tags.len();
        let has_sum = summary.iter().any(|(_, figures)| figures.is_sum);
        if streams > 1 && !has_sum && !is_early && !self.is_inner {
            return Err("its summary lacks the sum of its streams".into());
        }
        let way = Way {
            streams,
            own,
            reported,
            rows,
        };
        self.test.flow(direction, way);
        Ok(())
    }

    /// What this end counted over the whole test of one direction, and what the other end reported.
    fn totals(
        &self,
        sends: bool,
        summary: &[(Ending, Figures)],
        rows: &[Row],
    ) -> (Option<Totals>, Option<Totals>) {
        let of = |ending| {
            let lines = summary.iter().filter(|(of, _)| *of == ending);
            let (sums, streams): (Vec<_>, Vec<_>) = lines.partition(|(_, figures)| figures.is_sum);
            // The tool's own sum where it prints one, else the sum of the streams.
            let lines = if sums.is_empty() { streams } else { sums };
            let (_, Figures { row: first, .. }) = lines.first()?;
            // The streams of one summary have the same bounds.
            let rows = lines.iter().map(|(_, figures)| figures.row);
            let total = total(rows.filter(|row| row.start == first.start && row.end == first.end));
            total.as_ref().map(Totals::of_line)
        };
        let (sender, receiver) = (of(Ending::Sender), of(Ending::Receiver));
        let single =
            of(Ending::None).filter(|_| self.test.transport == Transport::Udp && self.is_old);
        match (single, sends) {
            // Up to 3.1 the one line has the sender's bytes and the receiver's losses, and a server
            // does not say how many it sent.
            (Some(single), true) => {
                let own = single.datagrams.filter(|_| self.test.view == View::Server);
                let sent = self.sent_datagrams.or(own).map(|sent| Totals {
                    datagrams: Some(sent),
                    ..single
                });
                let arrived = Totals {
                    bytes: None,
                    bps: None,
                    ..single
                };
                (sent, Some(arrived))
            }
            (Some(single), false) => {
                let own = Totals::of_intervals(rows);
                let arrived = Totals {
                    bytes: own.and_then(|own| own.bytes),
                    bps: own.and_then(|own| own.bytes?.per(single.seconds)),
                    ..single
                };
                (Some(arrived), sender)
            }
            (None, true) => (sender, receiver),
            (None, false) => (receiver, sender),
        }
    }
}

impl reader::Draft for Draft {
    fn begun(&self) -> usize {
        self.test.origin.line
    }

    fn line(&mut self, log: &Log, line: &str) -> Result<(), Fault> {
        if let Some(inner) = &mut self.inner {
            if !line.contains("iperf Done.") {
                return inner.line(log, line);
            }
            self.end_inner()?;
        }
        let line = line.trim_end();
        self.test.text.add(line);
        match kind(line) {
            Kind::Data(data) => match figures(log.number, &data, self.test.transport)? {
                Some((ending, figures)) => self.take(ending, figures)?,
                None => self.omitted += 1,
            },
            Kind::Damaged(wanted) => return Err(wanted.into()),
            Kind::Tagged { rest, .. } => self.tagged(rest)?,
            Kind::Other => self.other(line),
        }
        Ok(())
    }

    fn finish(mut self, tests: &mut Vec<ParsedTest>) -> Result<(), Fault> {
        self.end_inner()?;
        tests.append(&mut self.told);
        self.flows()?;
        let mut test = self.test;
        test.notes.extend(self.out_of_order);
        if self.omitted > 0 {
            test.note(iperf3::OMITTED);
        }
        if let Some(command) = test.command.as_ref().filter(|_| test.view == View::Client) {
            test.intended = iperf3::intended(command, test.transport);
        }
        let asked = test.command.as_ref().and_then(iperf3::payload);
        test.payload_bytes = test.payload_bytes.or(asked);
        let [own, other] = self.cpu;
        iperf3::add_cpu(&mut test, own, other);
        tests.push(test.traffic());
        Ok(())
    }
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
        (row.jitter, row.lost) = (loss.jitter, loss.lost);
        row.datagrams = Some(loss.total);
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
        percent.parse().ok().filter(|percent| *percent >= 0.0)
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

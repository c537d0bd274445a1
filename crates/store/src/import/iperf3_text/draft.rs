//! One test of an iperf3 log while it is read.

use super::ID;
use crate::import::bounds::{MAX_STREAMS, TOO_MANY};
use crate::import::intervals::Intervals;
use crate::import::line::{
    DataLine, Fingerprint, Kind, Loss, connection, figure, kind, remark, word,
};
use crate::import::rounded::byte_unit;
use crate::import::{
    Command, Flow, ImportError, Origin, Row, Series, Totals, TrafficTest, View, iperf3,
};
use linerate_model::WallTime;
use linerate_model::spec::{Direction, Transport};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// A test that is being read.
pub(super) struct Draft {
    test: TrafficTest,
    /// It is the peer's log inside the client's, which ends before its summary.
    is_inner: bool,
    /// The server sends: what lines without a role tag are about.
    is_reverse: bool,
    /// iperf3 3.1 and before: the rate's column is `Bandwidth`.
    is_old: bool,
    phase: Phase,
    /// By direction, as far as a line tells it, and whether they are the tool's own sums.
    intervals: BTreeMap<(Option<Direction>, bool), Intervals>,
    /// Streams that have intervals.
    tags: BTreeSet<(Option<Direction>, String)>,
    summary: Vec<Figures>,
    sent_datagrams: Option<u64>,
    /// CPU use in percent of one core: here, and at the other end.
    cpu: [Option<f64>; 2],
    /// How many lines of the start were omitted.
    omitted: usize,
    out_of_order: Option<String>,
    text: Fingerprint,
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

/// A line of figures with what its role tag and last word say.
struct Figures {
    direction: Option<Direction>,
    is_sum: bool,
    tag: String,
    ending: Ending,
    row: Row,
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
    pub(super) fn new(
        origin: Origin,
        view: View,
        command: Option<Command>,
        version: Option<String>,
    ) -> Self {
        let asks = |short, long| command.as_ref().is_some_and(|c| c.has(short, long));
        let transport = if asks('u', "udp") {
            Transport::Udp
        } else {
            Transport::Tcp
        };
        let mut test = TrafficTest::new(origin, ID, "iperf3", view, transport);
        let is_reverse = view == View::Client && asks('R', "reverse");
        test.tool.version = version;
        test.command = command;
        test.prints_last_interval = true;
        Self {
            test,
            is_inner: false,
            is_reverse,
            is_old: false,
            phase: Phase::Intervals,
            intervals: BTreeMap::new(),
            tags: BTreeSet::new(),
            summary: Vec::new(),
            sent_datagrams: None,
            cpu: [None; 2],
            omitted: 0,
            out_of_order: None,
            text: Fingerprint::default(),
        }
    }

    /// The time that a line of `-V` states.
    pub(super) fn time(line: &str) -> Option<WallTime> {
        let (_, time) = line.split_once("Time: ")?;
        started(time)
    }

    /// Sets when the test began.
    pub(super) fn begun(mut self, started: Option<WallTime>) -> Self {
        self.test.started = started;
        self
    }

    /// The server's log inside this client's.
    pub(super) fn inner(&self, number: usize) -> Self {
        let origin = Origin {
            file: self.test.origin.file.clone(),
            line: number,
        };
        let version = self.test.tool.version.clone();
        let mut inner = Self::new(origin, View::Server, None, version);
        inner.test.transport = self.test.transport;
        inner.is_inner = true;
        inner
    }

    pub(super) fn origin(&self) -> &Origin {
        &self.test.origin
    }

    pub(super) fn is_client(&self) -> bool {
        self.test.view == View::Client
    }

    pub(super) fn line(&mut self, number: usize, line: &str) -> Result<(), ImportError> {
        self.text.add(line);
        let damaged = |wanted| ImportError::line(&self.test.origin.file, number, wanted, line);
        match kind(line) {
            Kind::Data(data) => {
                let figures = figures(number, &data, self.test.transport).map_err(damaged)?;
                self.take(figures).map_err(|wanted| {
                    ImportError::line(&self.test.origin.file, number, wanted, line)
                })?;
            }
            Kind::Damaged(wanted) => return Err(damaged(wanted)),
            Kind::Tagged { rest, .. } => self.tagged(number, rest)?,
            Kind::Other => self.other(line),
        }
        Ok(())
    }

    fn take(&mut self, figures: Option<Figures>) -> Result<(), &'static str> {
        let Some(figures) = figures else {
            self.omitted += 1;
            return Ok(());
        };
        let is_interval =
            matches!(self.phase, Phase::Intervals | Phase::Ruled) && figures.ending == Ending::None;
        if is_interval {
            self.phase = Phase::Intervals;
            let Figures {
                direction, is_sum, ..
            } = figures;
            let side = self.intervals.entry((direction, is_sum)).or_default();
            side.add(&figures.row);
            if !is_sum && !self.tags.contains(&(direction, figures.tag.clone())) {
                self.tags.insert((direction, figures.tag));
            }
        } else {
            self.summary.push(figures);
        }
        if self.tags.len().max(self.summary.len()) > 4 * MAX_STREAMS {
            return Err(TOO_MANY);
        }
        Ok(())
    }

    fn tagged(&mut self, number: usize, rest: &str) -> Result<(), ImportError> {
        if let Some(connection) = connection(&self.test.origin.file, number, rest)? {
            self.test.connect(number, connection)?;
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

    pub(super) fn finish(mut self) -> Result<TrafficTest, ImportError> {
        let flows = self.flows()?;
        let mut test = self.test;
        test.flows = flows;
        test.fingerprint = self.text.get();
        test.notes.extend(self.out_of_order);
        if self.omitted > 0 {
            test.notes
                .push("the omitted start of the test is not counted".to_owned());
        }
        if let Some(command) = test.command.as_ref().filter(|_| test.view == View::Client) {
            test.intended = iperf3::intended(command, test.transport);
        }
        let asked = test.command.as_ref().and_then(iperf3::payload);
        test.payload_bytes = test.payload_bytes.or(asked);
        let [own, other] = self.cpu;
        iperf3::add_cpu(&mut test, own, other);
        Ok(test)
    }

    /// The direction of lines without a role tag.
    fn direction(&self) -> Direction {
        if self.is_reverse {
            Direction::Reverse
        } else {
            Direction::Forward
        }
    }

    fn flows(&mut self) -> Result<Vec<Flow>, ImportError> {
        let untold = self.direction();
        let intervals = std::mem::take(&mut self.intervals);
        let mut sides: BTreeMap<(Direction, bool), Intervals> = BTreeMap::new();
        for ((direction, is_sum), side) in intervals {
            let key = (direction.unwrap_or(untold), is_sum);
            match sides.entry(key) {
                Entry::Vacant(place) => {
                    place.insert(side);
                }
                Entry::Occupied(mut other) => other.get_mut().add_all(side),
            }
        }
        let mut flows = Vec::new();
        for direction in [Direction::Forward, Direction::Reverse] {
            let sums = sides.remove(&(direction, true));
            let streams = sides.remove(&(direction, false));
            let summary = self.summary.iter();
            let summary: Vec<_> = summary
                .filter(|figures| figures.direction.unwrap_or(untold) == direction)
                .collect();
            // The tool's own sum where it prints one, else the sum of the streams.
            let rows = sums.or(streams);
            if rows.is_some() || !summary.is_empty() {
                let rows = rows.unwrap_or_default().finish();
                flows.push(self.flow(direction, rows, &summary)?);
            }
        }
        if flows.is_empty() && self.test.interrupted.is_none() {
            return Err(self.cut("it has no figures"));
        }
        Ok(flows)
    }

    fn flow(
        &self,
        direction: Direction,
        rows: Series,
        summary: &[&Figures],
    ) -> Result<Flow, ImportError> {
        let sends = self.test.sends(direction);
        let (mut sent, mut received) = self.totals(sends, summary, &rows);
        if self.test.view == View::Server {
            // A server knows nothing of the other end, but prints a line of zeros for it.
            if sends {
                received = None;
            } else {
                sent = None;
            }
        }
        let own = if sends { &mut sent } else { &mut received };
        if own.is_none() && self.test.interrupted.is_some() {
            *own = Totals::of_intervals(&rows);
        }
        let is_told = own.is_some() || self.is_inner;
        if !is_told {
            return Err(self.cut("its summary is not there"));
        }
        let both = sent.is_some() && received.is_some();
        if self.test.view == View::Client
            && !both
            && self.phase != Phase::Done
            && self.test.interrupted.is_none()
        {
            return Err(self.cut("its summary lacks the other end's line"));
        }
        let untold = self.direction();
        let ended = summary.iter().filter(|figures| !figures.is_sum);
        let tags: BTreeSet<_> = self
            .tags
            .iter()
            .filter(|(way, _)| way.unwrap_or(untold) == direction)
            .map(|(_, tag)| tag)
            .chain(ended.map(|figures| &figures.tag))
            .collect();
        let has_sum = summary.iter().any(|figures| figures.is_sum);
        if tags.len() > 1 && !has_sum && self.test.interrupted.is_none() && !self.is_inner {
            return Err(self.cut("its summary lacks the sum of its streams"));
        }
        let (sent_rows, received_rows) = if sends {
            (rows, Series::default())
        } else {
            (Series::default(), rows)
        };
        Ok(Flow {
            streams: u16::try_from(tags.len()).unwrap_or(u16::MAX),
            sent,
            received,
            sent_rows,
            received_rows,
            ..Flow::new(direction)
        })
    }

    /// The sender's and the receiver's totals of one direction.
    fn totals(
        &self,
        sends: bool,
        summary: &[&Figures],
        rows: &[Row],
    ) -> (Option<Totals>, Option<Totals>) {
        let of = |ending| {
            let lines: Vec<_> = summary
                .iter()
                .copied()
                .filter(|f| f.ending == ending)
                .collect();
            sum(&lines).first().map(Totals::of_line)
        };
        let sent = of(Ending::Sender).map(|totals| Totals {
            // The sender's line has these columns, but a sender measures neither.
            lost: None,
            jitter: None,
            ..totals
        });
        let single =
            of(Ending::None).filter(|_| self.test.transport == Transport::Udp && self.is_old);
        match (single, sends) {
            // Up to 3.1 the one line has the sender's bytes and the receiver's losses, and a server
            // does not say how many it sent.
            (Some(single), true) => {
                let own = single.datagrams.filter(|_| self.test.view == View::Server);
                let sent = self.sent_datagrams.or(own).map(|sent| Totals {
                    datagrams: Some(sent),
                    lost: None,
                    jitter: None,
                    ..single
                });
                let received = Totals {
                    bytes: None,
                    bps: None,
                    ..single
                };
                (sent, Some(received))
            }
            (Some(single), false) => {
                let own = Totals::of_intervals(rows);
                let received = Totals {
                    bytes: own.and_then(|own| own.bytes),
                    bps: own.and_then(|own| own.bytes?.per(single.seconds)),
                    ..single
                };
                (sent, Some(received))
            }
            (None, _) => (sent, of(Ending::Receiver)),
        }
    }

    fn cut(&self, missing: &str) -> ImportError {
        ImportError::Cut {
            file: self.test.origin.file.clone(),
            line: self.test.origin.line,
            missing: missing.to_owned(),
        }
    }
}

/// Reads a line of figures; `None` for one of the omitted start.
fn figures(
    number: usize,
    data: &DataLine<'_>,
    transport: Transport,
) -> Result<Option<Figures>, &'static str> {
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
    Ok(Some(Figures {
        direction: data.role.and_then(role),
        is_sum: data.tag.starts_with("SUM"),
        tag: data.tag.to_owned(),
        ending,
        row,
    }))
}

/// The direction that a role tag means: who it is, and whether it sends.
fn role(tag: &str) -> Option<Direction> {
    match tag {
        "TX-C" | "RX-S" => Some(Direction::Forward),
        "RX-C" | "TX-S" => Some(Direction::Reverse),
        _ => None,
    }
}

/// The tool's own sum where it prints one, else the sum of the streams.
fn sum(figures: &[&Figures]) -> Vec<Row> {
    let has_sum = figures.iter().any(|figures| figures.is_sum);
    let mut rows: Vec<Row> = Vec::new();
    for figures in figures.iter().filter(|f| f.is_sum == has_sum) {
        let row = figures.row;
        // The streams of one interval are printed one after another.
        match rows.last_mut() {
            Some(other) if other.start == row.start && other.end == row.end => other.add(&row),
            _ => rows.push(row),
        }
    }
    rows
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

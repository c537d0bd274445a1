//! One test of an iperf 2 log while it is read.

use super::FORMAT;
use crate::import::bounds::MAX_STREAMS;
use crate::import::delay::DelayFigures;
use crate::import::line::{DataLine, Kind, Loss, connection, kind, remark};
use crate::import::reader::{self, Fault, Log, Result};
use crate::import::streams::{Figures, MIXED, Streams};
use crate::import::test_builder::{DirectionFigures, Exchanges, TestBuilder};
use crate::import::{
    Command, Connection, ImportError, Intended, ParsedTest, Rounded, Row, Totals, View, command,
};
use linerate_model::WallTime;
use linerate_model::spec::{Direction, Transport};
use std::collections::{BTreeMap, BTreeSet};

/// Whether what is said of a stream says that the server sends in it.
fn is_reverse(words: &str) -> bool {
    words.contains("(reverse)")
}

/// A test that is being read.
pub(super) struct Draft {
    pub(super) test: TestBuilder,
    /// This end both calls and listens: streams to its own port come back.
    pub(super) listens: bool,
    /// Tags of the streams in which the server sends.
    reverse: BTreeSet<String>,
    columns: Vec<String>,
    rows: Streams,
    /// Over how many streams its sums are, where they say it: `[SUM-4]`.
    summed: Option<usize>,
    report: Streams,
    /// Tags of the streams of which the server's report has begun.
    reported: BTreeSet<String>,
    /// `Sent N datagrams` by stream, end packets included or not.
    sent: BTreeMap<String, u64>,
    remarks: BTreeMap<String, String>,
    no_report: bool,
    /// A message of the tool that something failed.
    has_failed: bool,
    /// Tags of the streams that were announced.
    announced: BTreeSet<String>,
    /// Tag and words of the stream that the line before announced.
    announcement: Option<(String, String)>,
    refused: Option<ImportError>,
    bounce: Option<Bounce>,
}

/// A bounce-back test: request and reply by TCP.
#[derive(Debug, Clone, Copy, Default)]
struct Bounce {
    bytes: Option<u64>,
    /// Count, and mean, smallest, largest and standard deviation in seconds, over the whole test.
    total: Option<(u64, [Rounded; 4])>,
}

impl Draft {
    pub(super) fn new(log: &Log, view: View, transport: Transport) -> Self {
        Self {
            test: TestBuilder::new(log, &FORMAT, view, transport),
            listens: false,
            reverse: BTreeSet::new(),
            columns: Vec::new(),
            rows: Streams::default(),
            summed: None,
            report: Streams::default(),
            reported: BTreeSet::new(),
            sent: BTreeMap::new(),
            remarks: BTreeMap::new(),
            no_report: false,
            has_failed: false,
            announced: BTreeSet::new(),
            announcement: None,
            refused: None,
            bounce: None,
        }
    }

    /// What follows this client's test on its own port: the way back of `-r`.
    pub(super) fn way_back(&self, log: &Log) -> Self {
        let mut back = Self::new(log, self.test.view, self.test.transport);
        back.test.tool.version.clone_from(&self.test.tool.version);
        back.test.payload_bytes = self.test.payload_bytes;
        back.listens = true;
        back
    }

    /// Lets it keep no more intervals than this of each side.
    pub(super) fn set_limit(&mut self, limit: usize) {
        self.rows.set_limit(limit);
    }

    pub(super) fn has_figures(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Whether one of its streams has this tag.
    pub(super) fn has_stream(&self, tag: &str) -> bool {
        self.announced.contains(stream(tag))
    }

    /// Whether the last line of each stream so far can be the one over the whole test.
    pub(super) fn is_whole(&self) -> bool {
        self.announced.iter().all(|tag| self.rows.is_over(tag))
    }

    /// Whether a stream can be one more of this test: it is with the same host, and the test is not over.
    pub(super) fn can_have(&self, rest: &str) -> bool {
        let new = connection(rest).ok().flatten();
        let Some((known, new)) = self.test.connections.first().zip(new) else {
            return !self.has_figures();
        };
        let is_same_host = known.remote.address == new.remote.address;
        let is_same_port = known.local.port == new.local.port;
        is_same_host && (!self.has_figures() || is_same_port && !self.is_whole())
    }

    /// Whether this client may be waiting for its server to call back.
    pub(super) fn is_calling(&self) -> bool {
        self.test.view == View::Client && !self.has_figures() && !self.has_failed
    }

    /// Takes a line; a damaged one refuses the test when it ends.
    pub(super) fn line_or_refuse(&mut self, log: &Log, line: &str) {
        if let Err(fault) = reader::Draft::line(self, log, line) {
            let error = || log.error(fault, line, None);
            self.refused.get_or_insert_with(error);
        }
    }

    fn tagged(&mut self, tag: &str, rest: &str) -> Result<(), &'static str> {
        if let Some(connection) = connection(rest)? {
            // A server that calls back marks its own stream; a client with `--reverse` its figures.
            if tag.starts_with('*') && self.test.connections.is_empty() {
                self.test.view = View::Server;
            }
            if is_reverse(rest) || self.comes_back(tag, &connection) {
                self.reverse.insert(tag.to_owned());
            }
            self.announcement = Some((tag.to_owned(), rest.to_owned()));
            if self.test.connections.contains(&connection) {
                return Ok(());
            }
            self.test.connect(connection)?;
            if !self.announced.insert(stream(tag).to_owned()) {
                return Err(MIXED);
            }
            // Without its last packet no end says that the test is over: there is no report.
            self.no_report |= rest.contains("(no-udp-fin)");
            self.test.started = self.test.started.take().or_else(|| started(rest));
            if let Some((_, sizes)) = rest.split_once("(bb w/") {
                let bytes = sizes
                    .split_once("hold=")
                    .and_then(|(_, sizes)| sizes.split('/').next());
                let bounce = self.bounce.get_or_insert_default();
                bounce.bytes = bytes.and_then(|bytes| bytes.parse().ok());
            }
        } else if let Some(sent) = rest.strip_prefix("Sent ") {
            let sent = sent.strip_suffix(" datagrams").and_then(|n| n.parse().ok());
            if self.sent.len() < MAX_STREAMS {
                self.sent.extend(sent.map(|sent| (tag.to_owned(), sent)));
            }
        } else if let Some(note) = remark(rest) {
            let what = rest.rsplit(' ').next().unwrap_or_default();
            self.remarks.insert(what.to_owned(), note);
        } else if rest.starts_with("Server Report") {
            if self.reported.len() < MAX_STREAMS {
                self.reported.insert(tag.to_owned());
            }
        } else if rest.starts_with("WARNING: did not receive ack") {
            const UNKNOWN: &str = "the server's report did not arrive: what it received is unknown";
            self.no_report = true;
            if self.test.notes.iter().all(|note| note != UNKNOWN) {
                self.test.note(UNKNOWN);
            }
        }
        Ok(())
    }

    /// Whether a stream carries traffic from server to client: 2.1 and after mark it, in 2.0 it is a
    /// stream to the port that the first one came from, or to which this client listens.
    fn comes_back(&self, tag: &str, new: &Connection) -> bool {
        let first = self.test.connections.first();
        tag.starts_with('*')
            || match self.test.view {
                View::Client if self.listens && first.is_none() => new.local.port < new.remote.port,
                View::Client => first.is_some_and(|first| {
                    first.remote.port == new.local.port && first.local.port != new.local.port
                }),
                View::Server => first.is_some_and(|first| {
                    first.local.port == new.remote.port && first.local.port != new.local.port
                }),
            }
    }

    fn figures(&mut self, number: usize, data: &DataLine<'_>) -> Result<(), &'static str> {
        // The sum of both directions of a full-duplex stream.
        if data.tag.starts_with("FD") {
            return Ok(());
        }
        let is_reverse = self.reverse.contains(data.tag) || data.tag.starts_with('*');
        let mut row = data.row(number);
        if let Some(bounce) = &mut self.bounce {
            bounce.total = bounced(data.rest).filter(|_| row.start.low == 0.0);
        }
        let summed = data.tag.strip_prefix("SUM-");
        let summed = summed.and_then(|count| count.parse().ok());
        self.summed = self.summed.or(summed);
        let is_udp = self.test.transport == Transport::Udp;
        let is_loss = is_udp && data.rest.contains(" ms");
        if is_loss {
            let wanted = "jitter, lost and total such as 0.001 ms 692/17011 (4.1%)";
            let (loss, _) = Loss::take(data.rest).ok_or(wanted)?;
            row.jitter = loss.jitter;
            loss.count(&mut row);
        } else if !is_udp {
            self.tcp_columns(data.rest, &mut row);
            // A sum over streams has no window, and a receiver's line none of these columns.
            let is_sender = row.retransmitted.is_some() && !data.tag.starts_with("SUM");
            if is_sender && self.is_cut(data.rest) {
                return Err("a window and a round-trip time such as 767K/100(96) us");
            }
        } else if data.rest.contains('(')
            && let Some((loss, _)) = Loss::without_jitter(data.rest)
        {
            // A sum over streams has no jitter. A sender's `17010/0` has no share behind it.
            loss.count(&mut row);
        }
        let figures = Figures {
            direction: Some(if is_reverse {
                Direction::Reverse
            } else {
                Direction::Forward
            }),
            is_sum: data.tag.starts_with("SUM"),
            tag: data.tag.to_owned(),
            row,
        };
        // A report without its heading line in 2.0.
        let is_report = is_loss && self.test.view == View::Client && !is_reverse;
        if is_report || self.reported.contains(data.tag) {
            self.report.add(figures)
        } else {
            self.rows.add(figures)
        }
    }

    /// Whether a line of `-e` ends before or in its window: a unit or another column follows.
    fn is_cut(&self, rest: &str) -> bool {
        let column = self.columns.iter().position(|name| name.contains("Cwnd"));
        column.is_some_and(|at| rest.split_whitespace().count() <= at + 1)
    }

    /// Retransmissions, window and round-trip time of `-e`, found by their headings.
    fn tcp_columns(&self, rest: &str, row: &mut Row) {
        let words: Vec<_> = rest.split_whitespace().collect();
        let column = |wanted: &str| self.columns.iter().position(|name| name.contains(wanted));
        if let Some(at) = column("Rtry") {
            row.retransmitted = words.get(at).and_then(|word| word.parse().ok());
        }
        // A unit or another column follows what is whole.
        if let Some(at) = column("Cwnd")
            && let Some(word) = words.get(at).filter(|_| words.len() > at + 1)
        {
            let names = self.columns[at].split('/');
            for (name, value) in names.zip(word.split('/')) {
                let plain = value.split('(').next().unwrap_or(value);
                if name.starts_with("Cwnd") {
                    let kib = plain.strip_suffix('K').and_then(Rounded::parse);
                    row.cwnd = kib.map(|kib| kib.scaled(1024.0));
                } else if name.starts_with("RTT") {
                    row.srtt = Rounded::parse(plain).map(|micros| micros.scaled(1e-6));
                }
            }
        }
    }

    /// Says of which streams there are no figures; refuses figures of one that was not announced, where others were: which
    /// way they went is not known.
    fn silent_streams(&mut self) -> Result<()> {
        let ways = [Direction::Forward, Direction::Reverse].into_iter();
        let known: BTreeSet<_> = ways
            .flat_map(|way| self.rows.tags(way))
            .map(stream)
            .collect();
        let mut strange = known.iter().filter(|tag| !self.announced.contains(**tag));
        if let Some(tag) = strange.next().filter(|_| !self.announced.is_empty()) {
            return Err(Fault::Missing(format!(
                "the line that announces stream {tag} (\"local … connected with …\") is not there"
            )));
        }
        let silent = self
            .announced
            .iter()
            .filter(|tag| !known.contains(tag.as_str()));
        let silent: Vec<_> = silent.map(String::as_str).collect();
        if !silent.is_empty() && !self.rows.are_sums() {
            let doubt = format!(
                "the log has no figures of stream {}, which it announces",
                silent.join(", ")
            );
            self.test.doubt(doubt);
        }
        Ok(())
    }

    /// How many streams have figures of one direction, of their own or in sums alone (`--sum-only`), which only clients
    /// that send print.
    fn streams(&self, direction: Direction) -> usize {
        if !self.rows.are_sums() {
            return self.rows.tags(direction).count();
        }
        let is_known = direction == Direction::Forward && self.reverse.is_empty();
        let count = self.summed.unwrap_or(self.announced.len()).max(1);
        if is_known { count } else { 0 }
    }

    fn flow(&mut self, direction: Direction) -> Result<(), &'static str> {
        let streams = self.streams(direction);
        if streams == 0 {
            return Ok(());
        }
        if streams > 1
            && !self.rows.are_sums()
            && self.rows.lacks_sum(self.test.view == View::Client)
        {
            self.test.note(
                "the log has no sum of its streams over the whole test: figures are made of those of the streams",
            );
        }
        let (rows, total) = self.rows.split(direction).ok_or(NO_TOTAL)?;
        if rows.is_empty() {
            self.test.lone_line(&total);
        }
        let mut way = DirectionFigures {
            streams,
            own: Some(Totals::of_line(&total)),
            rows,
            ..DirectionFigures::default()
        };
        if self.test.sends(direction) {
            if self.test.view == View::Client && self.test.transport == Transport::Udp {
                way.reported = self.report()?;
            }
            let expected = way.reported.and_then(|received| received.datagrams);
            way.own = Some(Totals {
                datagrams: self.datagrams_sent(&total).max(expected),
                ..Totals::of_line(&total)
            });
        }
        self.test.flow(direction, way);
        Ok(())
    }

    /// The datagrams that the client counts as sent, without the packets that only say the end.
    fn datagrams_sent(&self, total: &Row) -> Option<u64> {
        // 2.0 prints one decimal of a second and does not count the end packet; 2.1 and after do.
        let is_old = total.end.high - total.end.value > 0.01;
        let by_stream = self.sent.iter().filter(|(tag, _)| !tag.starts_with("SUM"));
        by_stream
            .map(|(_, sent)| sent.checked_sub(u64::from(!is_old)))
            .reduce(|sum, sent| sum?.checked_add(sent?))?
    }

    /// The server's report at the end of a UDP client's log.
    fn report(&mut self) -> Result<Option<Totals>, &'static str> {
        let reported: BTreeSet<_> = self.report.tags(Direction::Forward).collect();
        let mut sending = self.rows.tags(Direction::Forward);
        let silent = sending.find(|tag| !reported.contains(tag));
        if let Some(tag) = silent.filter(|_| !reported.is_empty()) {
            let doubt = format!(
                "the server's report of stream {tag} is not there: what the server received is unknown"
            );
            self.test.doubt(doubt);
            return Ok(None);
        }
        if !self.report.is_empty() {
            let (_, total) = self.report.split(Direction::Forward).ok_or(NO_TOTAL)?;
            return Ok(Some(Totals::of_line(&total)));
        }
        if self.no_report {
            return Ok(None);
        }
        Err("the server's report is not there")
    }

    /// The command of a client.
    fn command(&self) -> Option<&Command> {
        let is_client = self.test.view == View::Client;
        self.test.command.as_ref().filter(|_| is_client)
    }

    /// iperf 2 does not mark an early end: a TCP client that ran clearly shorter than asked.
    fn ended_early(&self) -> Option<String> {
        let flow = self.test.flows.first()?;
        let command = self.command()?;
        if command.value("-n", &["num"]).is_some() {
            return None;
        }
        let asked = command
            .value("-t", &["time"])
            .unwrap_or("10")
            .parse::<f64>()
            .ok()?;
        let ran = flow.sent.as_ref().or(flow.received.as_ref())?.seconds.high;
        (ran + 0.5 < asked).then(|| format!("it ran {ran:.1} s of {asked} s"))
    }

    /// The intended load per stream by iperf 2's rules.
    fn intended(&self) -> Option<Intended> {
        let command = self.command()?;
        let Some(typed) = command.value("-b", &["bandwidth"]) else {
            return Some(Intended::by_default(self.test.transport));
        };
        let small = command::rate_argument(typed, 1000.0)?;
        let large = command::rate_argument(typed, 1024.0)?;
        let is_upper = typed.ends_with(|c: char| c.is_ascii_uppercase());
        let bps = match (is_upper, self.test.tool.version.as_deref()) {
            (false, _) => Rounded::exact(small),
            (true, Some(version)) if !version.starts_with("2.0") => Rounded::exact(large),
            // Which of both depends on a version that the log does not tell.
            (true, _) => Rounded {
                value: small,
                low: small,
                high: large,
            },
        };
        Some(Intended {
            label: typed.to_owned(),
            bps: Some(bps),
        })
    }

    /// `None`: the server's side of a bounce-back test, which has no figures of its own.
    fn bounced(self, bounce: Bounce) -> Result<Option<ParsedTest>, &'static str> {
        if self.test.view == View::Server {
            return Ok(None);
        }
        let total = bounce.total.ok_or("its figures of delay are not there")?;
        let (count, [mean, min, max, stdev]) = total;
        let exchanges = Exchanges {
            figures: DelayFigures {
                min: Some(min),
                mean: Some(mean),
                max: Some(max),
                stdev: Some(stdev),
                count: Some(count),
                ..DelayFigures::default()
            },
            bytes: bounce.bytes,
            streams: u16::try_from(self.test.connections.len()).ok(),
            ..Exchanges::default()
        };
        let trial = self
            .test
            .trial(&exchanges, exchanges.figures.closed_loop(None));
        Ok(Some(self.test.latency(vec![trial])))
    }
}

impl reader::Draft for Draft {
    fn begun(&self) -> usize {
        self.test.origin.line
    }

    fn line(&mut self, log: &Log, line: &str) -> Result<()> {
        if matches!(kind(line), Kind::Other) {
            self.test.text.add_between(line);
        } else {
            self.test.text.add(line);
        }
        // A histogram that 2.1 and after prints below a summary.
        if line.contains("-PDF:") {
            return Ok(());
        }
        let before = self.announcement.take();
        match kind(line) {
            Kind::Data(data) => self.figures(log.number, &data)?,
            Kind::Damaged(wanted) => return Err(wanted.into()),
            Kind::Tagged { tag, rest } => self.tagged(tag, rest)?,
            Kind::Other => {
                // A mail or a terminal may have wrapped the line before.
                let whole = |(tag, words): (String, String)| (tag, words + line.trim_start());
                let reverse = before.map(whole).filter(|(_, words)| is_reverse(words));
                self.reverse.extend(reverse.map(|(tag, _)| tag));
                self.has_failed |= line.contains(" failed: ") || line.starts_with("ERROR");
                if line.contains("Bounceback test ") {
                    // Below another test's figures it is of one whose own first line is not above it.
                    if self.bounce.is_none() && !self.rows.is_empty() {
                        return Err("“Client connecting” above the line on bounce-back".into());
                    }
                    self.bounce.get_or_insert_default();
                }
                // A receiver's columns say nothing of TCP's state.
                if line.contains("[ ID]") && line.contains("Rtry") {
                    self.columns = line
                        .split_whitespace()
                        .skip_while(|word| *word != "Bandwidth")
                        .skip(1)
                        .map(str::to_owned)
                        .collect();
                }
            }
        }
        Ok(())
    }

    fn finish(mut self, tests: &mut Vec<ParsedTest>) -> Result<()> {
        if let Some(error) = self.refused.take() {
            return Err(error.into());
        }
        if self.rows.is_empty() {
            return Err("it has no figures".into());
        }
        if let Some(bounce) = self.bounce.take() {
            tests.extend(self.bounced(bounce)?);
            return Ok(());
        }
        self.silent_streams()?;
        self.flow(Direction::Forward)?;
        self.flow(Direction::Reverse)?;
        let repeated = self.rows.repeated() + self.report.repeated();
        self.test.repeated(repeated);
        self.test.interrupted = self.ended_early();
        self.test.intended = self.intended();
        self.test.notes.extend(self.remarks.into_values());
        tests.push(self.test.traffic());
        Ok(())
    }
}

const NO_TOTAL: &str = "its last line, over the whole test, is not there";

/// A stream's tag without the star that marks its way back.
pub(super) fn stream(tag: &str) -> &str {
    tag.trim_start_matches('*')
}

/// `10=1.405/0.017/12.883/4.044 ms`: count and mean, smallest, largest, standard deviation.
fn bounced(rest: &str) -> Option<(u64, [Rounded; 4])> {
    let (count, after) = rest.split_once('=')?;
    let (figures, _) = after.split_once(" ms")?;
    let figures: Option<Vec<_>> = figures
        .split('/')
        .map(|figure| Rounded::parse(figure).map(|millis| millis.scaled(1e-3)))
        .collect();
    Some((count.trim().parse().ok()?, figures?.try_into().ok()?))
}

/// `… on 2026-11-21 05:59:37 (UTC)`; other zones are abbreviations that may mean anything.
fn started(rest: &str) -> Option<WallTime> {
    let (_, time) = rest.rsplit_once(" on ")?;
    let time = time.trim().strip_suffix("(UTC)")?.trim();
    let seconds = time.split('.').next().unwrap_or(time);
    let at = jiff::Timestamp::strptime("%Y-%m-%d %H:%M:%S %z", format!("{seconds} +0000")).ok()?;
    WallTime::from_unix(at.as_second())
}

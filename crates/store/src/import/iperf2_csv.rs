//! iperf 2's CSV output (`-y C`): the classic lines, and those with a heading of 2.1 and after (`-e`).
//!
//! # References
//! - Classic: time, local address and port, remote address and port, id, `start-end`, bytes, bit/s, and
//!   for what a UDP receiver counts jitter in ms, lost, total, percent and out of order
//! - Lines with id −1 are sums over streams; the streams are added instead
//! - Up to 2.0 a server's lines begin with its own address, from 2.1 on with the client's

use super::bounds::MAX_STREAMS;
use super::intervals::Intervals;
use super::line::late;
use super::reader::{Draft as _, Grammar, Log, Place, Reader, Result, Step};
use super::streams::total;
use super::test_builder::{DirectionFigures, TestBuilder};
use super::{
    Command, Connection, Endpoint, ImportError, LogFormat, ParsedTest, Rounded, Row, Totals, View,
    reader,
};
use linerate_model::spec::{Direction, Transport};

/// iperf 2's CSV output.
pub(super) static FORMAT: LogFormat = LogFormat {
    id: "iperf2-csv",
    tool: "iperf2",
    summary: "CSV output of an iperf 2 client or server (-y C), classic or with -e",
    recognise: |line| usize::from(is_heading(line) || is_line(line)),
    begins: |line| {
        // A time of 14 digits before a comma, behind whatever.
        let times = line.match_indices(',').filter_map(|(comma, _)| {
            let at = comma.checked_sub(14)?;
            let is_alone = !line.get(..at)?.ends_with(|c: char| c.is_alphanumeric());
            (is_alone && is_line(&line[at..])).then_some(at)
        });
        line.find("time,src").or_else(|| times.min())
    },
    reader: |file, _| Reader::boxed(file, Iperf2Csv::default()),
};

/// The columns of a classic line; the last five only where a UDP receiver counted.
const CLASSIC: &[&str] = &[
    "time",
    "srcaddress",
    "srcport",
    "dstaddr",
    "dstport",
    "transferid",
    "interval",
    "bytes",
    "speed",
    "jitter",
    "errors",
    "datagrams",
    "errpercent",
    "outoforder",
];
/// How many columns a classic line has without those of a UDP receiver.
const SHORT: usize = 9;

fn is_heading(line: &str) -> bool {
    line.starts_with("time,src")
}

/// Whether a line begins with a time and has enough columns.
fn is_line(line: &str) -> bool {
    has_time(line) && line.split(',').count() >= SHORT
}

/// Whether a line begins with a time such as `20261121060000`, with or without parts of a second and a
/// zone.
fn has_time(line: &str) -> bool {
    let time = line.split_once(',').map_or("", |(time, _)| time);
    time.bytes().take_while(u8::is_ascii_digit).count() == 14
}

/// A line by the names of its columns.
struct Line<'a> {
    number: usize,
    names: Vec<&'a str>,
    words: Vec<&'a str>,
}

impl<'a> Line<'a> {
    fn word(&self, name: &str) -> Option<&'a str> {
        let at = self.names.iter().position(|known| *known == name)?;
        self.words.get(at).copied()
    }

    fn figure(&self, name: &str) -> Option<Rounded> {
        Rounded::parse(self.word(name)?)
    }

    fn count(&self, name: &str) -> Option<u64> {
        self.word(name)?.parse().ok()
    }

    fn has(&self, name: &str) -> bool {
        self.word(name).is_some()
    }

    fn endpoint(&self, address: &str, port: &str) -> Option<Endpoint> {
        let address = self.word(address)?;
        Some(Endpoint {
            address: address.split('%').next().unwrap_or(address).to_owned(),
            port: self.word(port)?.parse().ok()?,
        })
    }

    fn connection(&self) -> Option<Connection> {
        Some(Connection {
            local: self.endpoint("srcaddress", "srcport")?,
            remote: self.endpoint("dstaddr", "dstport")?,
        })
    }

    /// Which end counted the figures of this line, where the columns tell.
    fn counted_by(&self) -> Option<Counter> {
        if self.has("writecnt") {
            Some(Counter::Sender)
        } else if self.has("readcnt") || self.has("jitter") {
            Some(Counter::Receiver)
        } else {
            None
        }
    }

    fn row(&self) -> Option<Row> {
        let (start, end) = match self.word("interval") {
            Some(interval) => interval.split_once('-')?,
            None => (self.word("istart")?, self.word("iend")?),
        };
        let is_receiver = self.counted_by() == Some(Counter::Receiver);
        // Plain numbers: bytes are exact, bit/s are rounded to a whole number.
        let bytes = self.count("bytes")?;
        Some(Row {
            line: self.number,
            start: Rounded::parse(start.trim())?,
            end: Rounded::parse(end.trim())?,
            bytes: Rounded::exact(super::exact(bytes)),
            bps: self.figure("speed")?,
            datagrams: self.count("datagrams"),
            lost: self.count("errors").filter(|_| is_receiver),
            jitter: self
                .figure("jitter")
                .filter(|_| is_receiver)
                .map(|millis| millis.scaled(1e-3)),
            is_wrapped: false,
            is_misprinted: false,
            retransmitted: self.count("tcpretry"),
            cwnd: None,
            srtt: self
                .figure("tcprtt")
                .filter(|micros| micros.value > 0.0)
                .map(|micros| micros.scaled(1e-6)),
        })
    }
}

/// Who counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counter {
    Receiver,
    Sender,
}

/// Lines are of one test as long as their streams are.
#[derive(Default)]
struct Iperf2Csv {
    /// The last ones, each once.
    headings: Vec<Vec<String>>,
}

/// A test that is being read.
struct Draft {
    test: TestBuilder,
    time: String,
    streams: Vec<Stream>,
    /// The lines of all streams but the last one of each.
    before: Intervals,
    /// The last sum over streams.
    sum: Option<Row>,
    /// Lines that came more than once.
    repeated: usize,
    /// Losses and jitter are a sender's zeros.
    is_sender: bool,
    is_udp: bool,
    /// Why a line that came after its first one could not be read.
    refused: Option<ImportError>,
}

/// The lines of one stream.
struct Stream {
    connection: Connection,
    /// The last line of the end that the log is of.
    last: Row,
    /// The end of the line before that.
    before_s: Option<Rounded>,
    /// Its only interval came twice: the second is the line over the whole time.
    is_twice: bool,
    counted_by: Option<Counter>,
    /// What the server reported to a UDP client.
    report: Option<Row>,
    late: u64,
}

impl Grammar for Iperf2Csv {
    type Test = Draft;

    /// The only interval of a test is the line over the whole of it, too.
    fn may_repeat(&self, line: &str) -> bool {
        is_line(line) && line.split(',').any(|word| word.starts_with("0.0"))
    }

    fn step(&mut self, log: &mut Log, open: &mut Option<Draft>, line: &str) -> Result<Step<Draft>> {
        let line = line.trim();
        let is_last = matches!(log.place, Place::Last { .. });
        if let Some(command) = Command::find(line, &["iperf", "iperf2"]) {
            log.command = Some(command);
        } else if is_heading(line) {
            self.heading(line);
        } else if is_line(line) {
            let headings = std::mem::take(&mut self.headings);
            let taken = self.place_line(&headings, log, open, line);
            self.headings = headings;
            if taken.is_none() {
                refuse(log, open, line);
            }
        } else if has_time(line) || is_last && line.starts_with(|c: char| c.is_ascii_digit()) {
            refuse(log, open, line);
        }
        Ok(Step::Taken)
    }
}

/// A line that cannot be read is taken for one of the test before it.
fn refuse(log: &Log, open: &mut Option<Draft>, text: &str) {
    let wanted = "a line of iperf 2's CSV with all its columns";
    let begun = open.as_ref().map_or(log.number, Draft::begun);
    let error = log.error(wanted.into(), text, Some(begun));
    let draft = open.get_or_insert_with(|| Draft::new(log, ""));
    draft.refused.get_or_insert(error);
}

impl Iperf2Csv {
    fn heading(&mut self, text: &str) {
        /// More layouts than any log has.
        const MAX_HEADINGS: usize = 16;
        let names: Vec<_> = text.split(',').map(|name| name.trim().to_owned()).collect();
        self.headings.retain(|known| *known != names);
        if self.headings.len() >= MAX_HEADINGS {
            self.headings.remove(0);
        }
        self.headings.push(names);
    }

    fn place_line(
        &mut self,
        headings: &[Vec<String>],
        log: &mut Log,
        open: &mut Option<Draft>,
        text: &str,
    ) -> Option<()> {
        let words: Vec<_> = text.split(',').map(str::trim).collect();
        let mut fitting = headings
            .iter()
            .rev()
            .filter(|names| names.len() == words.len());
        let names = match fitting.next() {
            Some(names) => names.iter().map(String::as_str).collect(),
            None if words.len() == SHORT || words.len() == CLASSIC.len() => {
                CLASSIC[..words.len()].to_vec()
            }
            None => return None,
        };
        let line = Line {
            number: log.number,
            names,
            words,
        };
        let row = line.row()?;
        if line.word("transferid") == Some("-1") {
            if let Some(open) = open {
                open.sum = Some(row);
            }
            return Some(());
        }
        // A line that ends in the middle of its rate has all columns.
        let is_open = log.place == (Place::Last { has_end: false });
        if is_open && !super::witness::row_agrees(&row) {
            return None;
        }
        let connection = line.connection()?;
        let time = line.word("time")?;
        let fits = open.as_ref().is_some_and(|test| {
            let is_known = test.has(&connection);
            is_known && !test.begins_anew(&connection, &row)
                || !is_known && test.time == time && test.is_beside(&connection, &row)
        });
        if !fits {
            self.close(log, open.take());
            let mut draft = Draft::new(log, time);
            draft.test.command = log.command.take();
            draft.is_udp = draft.asks_for_udp();
            *open = Some(draft);
        }
        let draft = open.as_mut()?;
        time.clone_into(&mut draft.time);
        // A line that comes once more is no other test.
        let mut streams = draft.streams.iter();
        let is_again = streams
            .any(|stream| is_same(&stream.connection, &connection) && stream.last.is_same(&row));
        if !is_again {
            draft.test.text.add(text);
        }
        draft.is_udp |= line.has("datagrams");
        draft.add(&line, row, connection)
    }
}

/// Whether two streams are one, seen from either end.
fn is_same(a: &Connection, b: &Connection) -> bool {
    a == b || a.local == b.remote && a.remote == b.local
}

impl Draft {
    fn new(log: &Log, time: &str) -> Self {
        Self {
            test: TestBuilder::new(log, &FORMAT, View::Client, Transport::Tcp),
            time: time.to_owned(),
            is_udp: false,
            streams: Vec::new(),
            before: Intervals::default(),
            sum: None,
            repeated: 0,
            is_sender: false,
            refused: None,
        }
    }

    fn asks_for_udp(&self) -> bool {
        let command = self.test.command.as_ref();
        command.is_some_and(|command| command.has('u', "udp"))
    }

    fn has(&self, connection: &Connection) -> bool {
        let mut streams = self.streams.iter();
        streams.any(|stream| is_same(&stream.connection, connection))
    }

    /// Whether a line begins a stream once more whose line over the whole test was there: the log stands twice in its file.
    fn begins_anew(&self, connection: &Connection, row: &Row) -> bool {
        /// The first of several intervals is at most half of the whole; a report of the other end is about as long.
        const LARGEST: f64 = 0.75;
        let is_over = |stream: &&Stream| {
            let is_total = stream.before_s.is_some() && stream.total().is_some();
            is_same(&stream.connection, connection) && is_total && !stream.last.is_same(row)
        };
        let mut over = self.streams.iter().filter(is_over);
        row.start.low == 0.0 && over.any(|stream| row.end.value < LARGEST * stream.last.end.value)
    }

    /// Whether a new stream ran between the same hosts in the same time.
    fn is_beside(&self, new: &Connection, row: &Row) -> bool {
        self.streams.iter().any(|stream| {
            let known = &stream.connection;
            let same = known.local.address == new.local.address
                && known.remote.address == new.remote.address;
            same && (stream.last.end.value - row.end.value).abs() < 0.5
        })
    }

    /// `None`: one stream too many.
    fn add(&mut self, line: &Line<'_>, row: Row, connection: Connection) -> Option<()> {
        // From 2.1 on a UDP sender's lines have a receiver's columns, of zeros, and no total at the end.
        let is_sender = line.word("datagrams") == Some("-1");
        let counted_by = if is_sender {
            Some(Counter::Sender)
        } else {
            line.counted_by()
        };
        self.is_sender |= is_sender;
        let late = line.count("outoforder").unwrap_or(0);
        let is_full = self.streams.len() >= MAX_STREAMS;
        let mut streams = self.streams.iter_mut();
        match streams.find(|stream| is_same(&stream.connection, &connection)) {
            // A sender's log ends with what its receiver reported.
            Some(stream) if !is_sender && stream.counted_by != counted_by => {
                stream.report = Some(row);
                stream.late = late;
            }
            Some(stream) if stream.last.is_same(&row) => {
                let is_total = stream.before_s.is_none() && !stream.is_twice;
                stream.is_twice = is_total;
                self.repeated += usize::from(!is_total);
            }
            Some(stream) => {
                self.repeated += usize::from(std::mem::take(&mut stream.is_twice));
                let before = std::mem::replace(&mut stream.last, row);
                stream.before_s = Some(before.end);
                self.before.add(&before);
                if is_sender {
                    stream.counted_by = counted_by;
                } else {
                    stream.late = stream.late.max(late);
                }
            }
            None if is_full => return None,
            None => self.streams.push(Stream {
                connection,
                last: row,
                before_s: None,
                is_twice: false,
                counted_by,
                report: None,
                late,
            }),
        }
        Some(())
    }

    /// Which end the log is of: what the columns say, else the one whose port is not the server's.
    fn counter(&self) -> Counter {
        let given = self.streams.iter().find_map(|stream| {
            let is_sender = stream.report.is_some();
            stream
                .counted_by
                .filter(|_| !is_sender)
                .or_else(|| is_sender.then_some(Counter::Sender))
        });
        given.unwrap_or_else(|| {
            let listens =
                |stream: &Stream| stream.connection.local.port < stream.connection.remote.port;
            if self.streams.iter().any(listens) {
                Counter::Receiver
            } else {
                Counter::Sender
            }
        })
    }
}

impl Stream {
    /// The last line, over the whole time.
    fn total(&self) -> Option<Row> {
        let starts = self.last.start.low == 0.0;
        // With intervals, the first of which begins at zero too, the last is over all of them.
        let is_whole = self
            .before_s
            .is_none_or(|end| end.low <= self.last.end.high);
        (starts && is_whole).then_some(self.last)
    }

    /// The stream as `view` names its ends: the server's port is the lower one.
    fn seen_by(&self, view: View) -> Connection {
        let Connection { local, remote } = self.connection.clone();
        let is_server = local.port < remote.port;
        if is_server == (view == View::Server) {
            return Connection { local, remote };
        }
        Connection {
            local: remote,
            remote: local,
        }
    }
}

impl reader::Draft for Draft {
    fn begun(&self) -> usize {
        self.test.origin.line
    }

    fn finish(mut self, tests: &mut Vec<ParsedTest>) -> Result<()> {
        if let Some(error) = self.refused.take() {
            return Err(error.into());
        }
        let counter = self.counter();
        let (view, end) = match counter {
            Counter::Receiver => (View::Server, "server"),
            Counter::Sender => (View::Client, "client"),
        };
        self.test.view = view;
        if self.is_udp {
            self.test.transport = Transport::Udp;
        }
        let seen = self.streams.iter().map(|stream| stream.seen_by(view));
        self.test.connections = seen.collect();
        for stream in self.streams.iter().filter(|stream| stream.is_twice) {
            self.before.add(&stream.last);
        }
        self.test.repeated(self.repeated);
        let ends: Option<Vec<_>> = self.streams.iter().map(Stream::total).collect();
        let own = total(ends.ok_or("its last line, over the whole test, is not there")?);
        let report = total(self.streams.iter().filter_map(|stream| stream.report));
        let has_one_line = |stream: &Stream| stream.before_s.is_none() && !stream.is_twice;
        if let Some(only) = own.filter(|_| self.streams.iter().all(has_one_line)) {
            self.test.lone_line(&only);
        }
        let own = own.as_ref().map(Totals::of_line);
        let is_whole = |sum: &Row| {
            let seconds = own.map(|own| own.seconds.value);
            sum.start.low <= 0.0 && seconds.is_some_and(|own| sum.end.value >= 0.9 * own)
        };
        let sum = self.sum.filter(is_whole).zip(own);
        let way = DirectionFigures {
            streams: self.streams.len(),
            own: sum.map_or(own, |(sum, own)| {
                let bytes = Some(sum.bytes);
                Some(Totals { bytes, ..own })
            }),
            reported: report.as_ref().map(Totals::of_line),
            own_streams: sum.map(|(_, own)| Totals {
                bytes: own.bytes,
                ..Totals::over(own.seconds)
            }),
            reported_streams: None,
            rows: self.before.finish(),
        };
        self.test.flow(Direction::Forward, way);
        let late_ones = self.streams.iter().map(|stream| stream.late).max();
        if let Some(count) = late_ones.filter(|count| *count > 0) {
            self.test.note(late(count));
        }
        let is_nameless = |stream: &Stream| stream.counted_by.is_none();
        if self.streams.iter().all(is_nameless) {
            self.test.note(format!(
                "this CSV does not name the end that counted: by its ports it is taken for the {end}"
            ));
        }
        tests.push(self.test.traffic());
        Ok(())
    }
}

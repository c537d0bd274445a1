//! iperf 2's CSV output (`-y C`): the classic lines, and those with a heading of 2.1 and after (`-e`).
//!
//! # References
//! - Classic: time, local address and port, remote address and port, id, `start-end`, bytes, bit/s, and
//!   for what a UDP receiver counts jitter in ms, lost, total, percent and out of order
//! - Lines with id −1 are sums over streams; the streams are added instead
//! - Up to 2.0 a server's lines begin with its own address, from 2.1 on with the client's

use super::bounds::MAX_STREAMS;
use super::intervals::Intervals;
use super::line::{Fingerprint, late};
use super::{
    Command, Connection, Endpoint, Flow, Hints, ImportError, LogFormat, LogReader, Origin,
    ParsedTest, Rounded, Row, Totals, TrafficTest, View,
};
use linerate_model::spec::{Direction, Transport};

/// iperf 2's CSV output.
#[derive(Debug)]
pub(super) struct Iperf2Csv;

const ID: &str = "iperf2-csv";

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

impl LogFormat for Iperf2Csv {
    fn id(&self) -> &'static str {
        ID
    }

    fn summary(&self) -> &'static str {
        "CSV output of an iperf 2 client or server (-y C), classic or with -e"
    }

    fn recognise(&self, line: &str) -> usize {
        usize::from(is_heading(line) || is_line(line))
    }

    fn reader(&self, file: &str, _hints: &Hints) -> Box<dyn LogReader> {
        Box::new(Reader {
            file: file.to_owned(),
            last: None,
            ends: true,
            command: None,
            headings: Vec::new(),
            open: None,
            tests: Vec::new(),
        })
    }
}

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

/// Gathers lines to tests.
struct Reader {
    file: String,
    /// Number of the last line, once it is known: damage there is a cut.
    last: Option<usize>,
    /// That line has its end.
    ends: bool,
    command: Option<Command>,
    /// The last ones, each once.
    headings: Vec<Vec<String>>,
    open: Option<Draft>,
    tests: Vec<ParsedTest>,
}

/// A test that is being read.
struct Draft {
    line: usize,
    time: String,
    command: Option<Command>,
    streams: Vec<Stream>,
    /// The lines of all streams but the last one of each.
    before: Intervals,
    /// Losses and jitter are a sender's zeros.
    is_sender: bool,
    is_udp: bool,
    text: Fingerprint,
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
    counted_by: Option<Counter>,
    /// What the server reported to a UDP client.
    report: Option<Row>,
    late: u64,
}

impl LogReader for Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), ImportError> {
        let text = line.trim();
        let is_last = self.last == Some(number);
        if let Some(command) = Command::find(text, &["iperf", "iperf2"]) {
            self.command = Some(command);
        } else if is_heading(text) {
            self.heading(text);
        } else if is_line(text) {
            let headings = std::mem::take(&mut self.headings);
            let taken = self.place_line(&headings, number, text);
            self.headings = headings;
            if taken.is_none() {
                return Err(self.damaged(number, text));
            }
        } else if has_time(text) || is_last && text.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.damaged(number, text));
        }
        Ok(())
    }

    fn last(&mut self, number: usize, has_end: bool) {
        (self.last, self.ends) = (Some(number), has_end);
    }

    fn close(&mut self) -> Result<(), ImportError> {
        if let Some(draft) = self.open.take() {
            self.tests.push(draft.finish(&self.file).into());
        }
        Ok(())
    }

    fn forget(&mut self) {}

    fn tests(&mut self) -> &mut Vec<ParsedTest> {
        &mut self.tests
    }

    /// A line that cannot be read is taken for one of the test before it.
    fn refuse(&mut self, error: ImportError) {
        let command = &self.command;
        let test = self
            .open
            .get_or_insert_with(|| Draft::new(0, "", command.clone()));
        test.refused.get_or_insert(error);
    }
}

impl Reader {
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

    fn damaged(&self, number: usize, text: &str) -> ImportError {
        if self.last == Some(number) {
            return ImportError::Cut {
                file: self.file.clone(),
                line: self.open.as_ref().map_or(number, |test| test.line),
                missing: format!("line {number}, the last one, is not whole"),
            };
        }
        let wanted = "a line of iperf 2's CSV with all its columns";
        ImportError::line(&self.file, number, wanted, text)
    }

    fn place_line(&mut self, headings: &[Vec<String>], number: usize, text: &str) -> Option<()> {
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
            number,
            names,
            words,
        };
        if line.word("transferid") == Some("-1") {
            return Some(());
        }
        let row = line.row()?;
        // A line that ends in the middle of its rate has all columns.
        let is_open = self.last == Some(number) && !self.ends;
        if is_open && !super::check::row_agrees(&row) {
            return None;
        }
        let connection = line.connection()?;
        let time = line.word("time")?;
        let fits = self.open.as_ref().is_some_and(|test| {
            test.has(&connection) || test.time == time && test.is_beside(&connection, &row)
        });
        if !fits {
            self.settle();
            self.open = Some(Draft::new(number, time, self.command.take()));
        }
        let draft = self.open.as_mut()?;
        time.clone_into(&mut draft.time);
        draft.text.add(text);
        draft.is_udp |= line.has("datagrams");
        draft.add(&line, row, connection)
    }
}

/// The lines of a test with its streams added.
#[derive(Default)]
struct Sums {
    /// Over the whole test.
    total: Option<Row>,
    /// Of the other end, over the whole test.
    report: Option<Row>,
}

/// Whether two streams are one, seen from either end.
fn is_same(a: &Connection, b: &Connection) -> bool {
    a == b || a.local == b.remote && a.remote == b.local
}

impl Draft {
    fn new(line: usize, time: &str, command: Option<Command>) -> Self {
        Self {
            line,
            time: time.to_owned(),
            is_udp: command.as_ref().is_some_and(|c| c.has('u', "udp")),
            command,
            streams: Vec::new(),
            before: Intervals::default(),
            is_sender: false,
            text: Fingerprint::default(),
            refused: None,
        }
    }

    fn has(&self, connection: &Connection) -> bool {
        let mut streams = self.streams.iter();
        streams.any(|stream| is_same(&stream.connection, connection))
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
            Some(stream) => {
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
                counted_by,
                report: None,
                late,
            }),
        }
        Some(())
    }

    fn finish(mut self, file: &str) -> Result<TrafficTest, ImportError> {
        if let Some(error) = self.refused.take() {
            return Err(error);
        }
        let origin = Origin {
            file: file.to_owned(),
            line: self.line,
        };
        let transport = if self.is_udp {
            Transport::Udp
        } else {
            Transport::Tcp
        };
        let counter = self.counter();
        let view = match counter {
            Counter::Receiver => View::Server,
            Counter::Sender => View::Client,
        };
        let mut test = TrafficTest::new(origin, ID, "iperf2", view, transport);
        test.fingerprint = self.text.get();
        test.connections = self
            .streams
            .iter()
            .map(|stream| stream.seen_by(view))
            .collect();
        let mut flow = Flow {
            streams: u16::try_from(self.streams.len()).unwrap_or(u16::MAX),
            ..Flow::new(Direction::Forward)
        };
        let Sums { total, report } = self.sums(file)?;
        let mut rows = std::mem::take(&mut self.before).finish();
        if self.is_sender {
            rows.change(without_losses);
        }
        let own = total.as_ref().map(Totals::of_line);
        match counter {
            Counter::Receiver => (flow.received, flow.received_rows) = (own, rows),
            Counter::Sender => {
                (flow.sent, flow.sent_rows) = (own, rows);
                flow.received = report.as_ref().map(Totals::of_line);
            }
        }
        let late_ones = self.streams.iter().map(|stream| stream.late).max();
        test.notes
            .extend(late_ones.filter(|count| *count > 0).map(late));
        let is_nameless = |stream: &Stream| stream.counted_by.is_none();
        if self.streams.iter().all(is_nameless) {
            test.notes.push(format!(
                "this CSV does not name the end that counted: by its ports it is taken for the {}",
                match counter {
                    Counter::Receiver => "server",
                    Counter::Sender => "client",
                }
            ));
        }
        test.command = self.command;
        test.flows = vec![flow];
        Ok(test)
    }

    /// All streams together.
    fn sums(&self, file: &str) -> Result<Sums, ImportError> {
        let mut sums = Sums::default();
        for stream in &self.streams {
            let mut last = stream.total().ok_or_else(|| ImportError::Cut {
                file: file.to_owned(),
                line: self.line,
                missing: "its last line, over the whole test, is not there".to_owned(),
            })?;
            if stream.counted_by == Some(Counter::Sender) && self.is_sender {
                without_losses(&mut last);
            }
            join(&mut sums.total, &last);
            if let Some(row) = &stream.report {
                join(&mut sums.report, row);
            }
        }
        Ok(sums)
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

fn without_losses(row: &mut Row) {
    (row.lost, row.jitter) = (None, None);
}

fn join(sum: &mut Option<Row>, row: &Row) {
    match sum {
        Some(sum) => sum.add(row),
        None => *sum = Some(*row),
    }
}

//! netperf's classic output, with its banner and with CPU time (`-c`, `-C`), and what tests print by name (`-k`, `-o`, `-O`).
//!
//! Tests of connections without a request (CC) are left out.
//!
//! # References
//! - Throughput is in 10^6 bit/s of payload unless the table's last heading says otherwise
//! - A UDP stream has two lines: what was sent, and below it what arrived

mod background;
mod bare;
mod omni;

use super::delay::DelayFigures;
use super::intervals::Intervals;
use super::line::first_of;
use super::reader::{Draft, Fault, Grammar, Log, Reader, Result, Step};
use super::streams::MIXED;
use super::test_builder::{Exchanges, TestBuilder};
use super::{
    Command, Flow, LogFormat, ParsedTest, Rounded, Row, Skipped, Totals, View, exact, whole,
};
use background::{Waiting, is_background};
use bare::bare;
use linerate_model::PacketRate;
use linerate_model::run::ConnectionsResult;
use linerate_model::spec::{Direction, Transport};
use omni::{Keys, unit};

/// netperf's output.
pub(super) static FORMAT: LogFormat = LogFormat {
    id: "netperf",
    tool: "netperf",
    summary: "output of netperf: TCP_STREAM, TCP_MAERTS, UDP_STREAM, TCP_RR, UDP_RR, TCP_CRR, with -c -C, -k, -o, -O",
    recognise: |line| {
        const MARKS: &[&str] = &[
            "Size   Size    Size",
            "Size    Size     Time",
            "Socket Size   Request",
            "THROUGHPUT=",
            "THROUGHPUT_UNITS=",
            "Interim result:",
            "Throughput,Throughput Units",
            "Mean Latency Microseconds,",
            "netperf -H ",
            NO_SERVER,
        ];
        let is_mark = MARKS.iter().any(|mark| line.contains(mark));
        usize::from(line.contains(BANNER) || is_mark || bare(line).is_some())
    },
    begins: |line| {
        const WORDS: &[&str] = &[
            "MIGRATED ",
            "OMNI ",
            "Recv   Send",
            "Socket Socket  Message",
            "Socket  Message",
            "Socket Size",
            "Size   Size",
            "bytes  bytes",
            "Local /Remote",
            "THROUGHPUT=",
            "Interim result: ",
        ];
        let other = line.find(BANNER).map(|at| {
            // Old ones call no test migrated: `TCP STREAM TEST from …`.
            let kinds = ["TCP ", "UDP ", "SCTP ", "DLPI ", "STREAM ", "DG "];
            first_of(&line[..at], &kinds).unwrap_or(at)
        });
        let command = bare(line).and_then(|_| line.rfind("$ ").or_else(|| line.find("netperf ")));
        // Figures between commas, of which one is the unit.
        let unit = first_of(line, &[",Trans/s,", "bits/s,"]);
        let figures = unit.map(|at| {
            let before = line[..at].rfind(char::is_whitespace);
            before.map_or(0, |at| at + 1)
        });
        let others = other.into_iter().chain(command).chain(figures);
        first_of(line, WORDS).into_iter().chain(others).min()
    },
    reader: |file, _| Reader::boxed(file, Netperf::default()),
};

/// Lines of figures that the largest table has.
const MAX_TABLE_LINES: usize = 4;
/// What it says where no server answers.
const NO_SERVER: &str = "establish_control could not establish the control connection";
/// What is missing of a test without figures.
const NO_TABLE: &str = "its table is not there";
/// What is said of a test that ran beside others.
const BESIDE: &str = "netperf was started in the background: this is one of the tests that may have run at the same time, and \
                      each one's figures are its own; nobody measured their sum";
/// Stands between the kind of a test and its ends.
const BANNER: &str = " TEST from ";

/// What kind of test a banner begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Requests and responses.
    Request,
    /// The client sends.
    Stream,
    /// The server sends.
    Maerts,
    /// Whatever the keys say.
    Omni,
    /// A connection for each request and response.
    Connections,
    /// Connections without a request.
    Connect,
}

/// Tests begin with a banner.
#[derive(Default)]
struct Netperf {
    waiting: Waiting,
}

/// What is printed of a test.
struct Output {
    test: TestBuilder,
    kind: Kind,
    /// The direction that an omni test's banner names: `OMNI Receive TEST from …`.
    way: Option<String>,
    /// It has neither banner nor headings: the kind of its command line.
    bare: Option<&'static str>,
    /// Only one request is under way at a time.
    is_closed: bool,
    /// Bits per second of one unit of throughput.
    unit: f64,
    /// The first lines of figures.
    rows: Vec<Vec<String>>,
    keys: Keys,
    /// CPU time of the whole client's and server's host in percent, as printed.
    cpu: [Option<String>; 2],
    interim: Intervals,
    /// When the last interim result ended: by the test's clock, and by that of the host.
    interim_end: Rounded,
    interim_time: Option<f64>,
    /// Width of the interval of confidence in percent, where that which was asked for was not reached.
    scatter: Option<Rounded>,
    has_heading: bool,
    /// Headings of classic output were printed.
    has_table: bool,
}

impl Grammar for Netperf {
    type Test = Output;

    fn step(
        &mut self,
        log: &mut Log,
        open: &mut Option<Output>,
        line: &str,
    ) -> Result<Step<Output>> {
        let line = line.trim_end();
        if let Some(version) = line.strip_prefix("Netperf version ") {
            log.version = Some(version.trim().to_owned());
        } else if let Some(command) = Command::find(line.trim_start_matches("### "), &["netperf"]) {
            log.command = Some(command);
            if let Some(kind) = bare(line) {
                return Ok(Step::Begin(Output::of_command(log, kind)));
            }
        } else if let Some((kind, ends)) = line.split_once(BANNER) {
            if self.waiting.take_banner(log, open.as_mut(), line) {
                return Ok(Step::Taken);
            }
            return Ok(Step::Begin(Output::new(log, kind, ends)));
        } else if self.waiting.take_table(open.as_ref(), line)
            && let Some((kind, ends)) = self.waiting.banner().split_once(BANNER)
        {
            let mut next = Output::new(log, kind, ends);
            next.ran_with_others();
            return Ok(Step::Begin(next));
        } else if let Some(kind) = open.as_ref().and_then(|open| open.bare_before(line)) {
            // A script printed the next one's figures alone, too.
            log.command = open.as_ref().and_then(|open| open.test.command.clone());
            return Ok(Step::Begin(Output::of_command(log, kind)));
        } else if open.is_none() && line.starts_with(NO_SERVER) {
            // It ends before its banner.
            log.tests.push(ParsedTest::Skipped(Skipped {
                origin: log.origin(),
                reason: line.to_owned(),
                has_failed: true,
            }));
            return Ok(Step::Taken);
        } else {
            return Ok(Step::Inside);
        }
        Ok(Step::Between)
    }

    /// Tests that were started together have the same one.
    fn may_repeat(&self, line: &str) -> bool {
        line.contains(BANNER)
    }

    fn finish(&mut self, log: &mut Log) {
        log.tests.extend(self.waiting.left());
    }

    /// Figures outside of any test mean that its first line is gone.
    fn outside(&mut self, log: &mut Log, line: &str) -> Result<()> {
        let is_figure = is_heading(line)
            || line.starts_with("THROUGHPUT=")
            || line.contains("Throughput,Throughput Units")
            || line.contains("Latency Microseconds,")
            || line.contains("Microseconds Microseconds")
            || line.starts_with("Interim result: ");
        if is_figure && !log.is_lost {
            let missing = "its first line (\"… TEST from … to …\") is not there";
            return Err(Fault::Missing(missing.to_owned()));
        }
        Ok(())
    }
}

/// The first line of figures' headings that each test has once.
fn is_heading(line: &str) -> bool {
    [
        "Size   Size    Size",
        "Size    Size     Time",
        "Socket Size   Request",
    ]
    .iter()
    .any(|mark| line.contains(mark))
}

impl Output {
    /// A test that has no banner, by the command line that began it.
    fn of_command(log: &mut Log, kind: &'static str) -> Self {
        let mut output = Self::new(log, kind, "");
        output.bare = Some(kind);
        if let Some(command) = &output.test.command {
            let of_test = command.line.split_once(" -- ").map_or("", |(_, rest)| rest);
            output.is_closed = !of_test
                .split_whitespace()
                .any(|word| word.starts_with("-b"));
            output.test.peer = command.value("-H", &[]).map(str::to_owned);
        }
        output
    }

    fn new(log: &mut Log, kind: &str, ends: &str) -> Self {
        let kind = kind.to_ascii_uppercase();
        let way = kind.rsplit_once("OMNI ").map(|(_, way)| way.to_owned());
        let transport = if kind.contains("UDP") {
            Transport::Udp
        } else {
            Transport::Tcp
        };
        let mut test = TestBuilder::new(log, &FORMAT, View::Client, transport);
        let server = ends.split_once(" to ");
        test.peer = server.and_then(|(_, to)| Some(to.split(' ').next()?.to_owned()));
        let command = log.command.as_ref();
        let together = command.is_some_and(|command| is_background(&command.line));
        test.command.clone_from(&log.command);
        if together {
            // One line may start several.
            test.note(BESIDE);
        } else {
            log.command = None;
        }
        Self {
            test,
            way,
            kind: if kind.contains("OMNI") {
                Kind::Omni
            } else if kind.contains("CONNECT/REQUEST") {
                Kind::Connections
            } else if kind.contains("CONNECT") {
                Kind::Connect
            } else if kind.contains("REQUEST/RESPONSE") {
                Kind::Request
            } else if kind.contains("MAERTS") {
                Kind::Maerts
            } else {
                Kind::Stream
            },
            bare: None,
            is_closed: burst(ends) == Some("0"),
            unit: 1e6,
            rows: Vec::new(),
            keys: Keys::default(),
            cpu: [None, None],
            interim: Intervals::default(),
            interim_end: Rounded::exact(0.0),
            interim_time: None,
            scatter: None,
            has_heading: false,
            has_table: false,
        }
    }
}

/// The burst that a banner names: so many transactions more than one are under way.
fn burst(ends: &str) -> Option<&str> {
    let (_, burst) = ends.split_once(": first burst ")?;
    burst.split_whitespace().next()
}

impl Draft for Output {
    fn begun(&self) -> usize {
        self.test.origin.line
    }

    fn line(&mut self, log: &Log, line: &str) -> Result<()> {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with("###") || bare(line).is_some() {
            return Ok(());
        }
        self.test.text.add(line);
        // Each table of classic output begins with the sizes of sockets.
        self.has_table |= line.contains("Socket");
        if let Some((_, width)) = line.split_once("Confidence intervals: Throughput") {
            let width = width.trim_start().trim_start_matches(':').trim();
            let percent = width.strip_suffix('%').and_then(Rounded::parse);
            self.scatter = Some(percent.ok_or("the width of an interval such as 6.800%")?);
        } else if let Some(result) = line.strip_prefix("Interim result: ") {
            let row = self
                .interim(log.number, result)
                .ok_or("an interim result with its rate and seconds")?;
            self.interim_end = row.end;
            self.interim.add(&row);
        } else if self.keys.take(line)? || !self.keys.are_none() || line.contains(',') {
            return Ok(());
        } else if is_heading(line) && std::mem::replace(&mut self.has_heading, true) {
            return Err(MIXED.into());
        } else if self.rows.is_empty() && line.trim_start().starts_with("bytes ") {
            // With CPU time other columns follow: `10^6bits/s  % S      % S      us/KB   us/KB`.
            let unit_word = line.split_whitespace().find(|word| word.contains("/s"));
            let is_stream = matches!(self.kind, Kind::Maerts | Kind::Stream);
            match unit_word.and_then(unit) {
                Some(unit) => self.unit = unit,
                None if is_stream => return Err("a unit of throughput such as 10^6bits/sec".into()),
                None => {}
            }
        } else if line.trim_start().starts_with(|c: char| c.is_ascii_digit())
            && self.rows.len() < MAX_TABLE_LINES
        {
            self.rows
                .push(line.split_whitespace().map(str::to_owned).collect());
        }
        Ok(())
    }

    fn finish(mut self, tests: &mut Vec<ParsedTest>) -> Result<()> {
        const CONNECT: &str = "tests of connections without a request (CC) are not imported";
        let table = match &self.rows[..] {
            [alone] if alone.len() == 1 => {
                "its sizes and times are not there (netperf prints them without `-v 0`)"
            }
            [_] if self.test.transport == Transport::Udp => "its line of what arrived is not there",
            _ => NO_TABLE,
        };
        // A test is printed in one form: with two, the first line of the second is gone.
        if !self.keys.are_none() && (!self.rows.is_empty() || self.has_interim()) {
            return Err(MIXED.into());
        }
        let is_classic = self.has_table || self.bare.is_some();
        tests.push(match self.kind {
            Kind::Connect => self.test.skipped(CONNECT),
            _ if self.kind == Kind::Omni || !self.keys.are_none() => self.omni()?,
            _ if !is_classic => return Err(table.into()),
            Kind::Request | Kind::Connections => {
                let exchanges = self.request().ok_or(table)?;
                self.exchanges(&exchanges)
            }
            _ => {
                let read = match self.test.transport {
                    Transport::Tcp => self.tcp(),
                    Transport::Udp => self.udp(),
                };
                read.ok_or(table)?;
                self.traffic()
            }
        });
        Ok(())
    }
}

impl Output {
    /// Whether nothing of it was printed but its banner.
    fn has_banner_only(&self) -> bool {
        !self.has_heading && self.rows.is_empty() && self.keys.are_none() && !self.has_interim()
    }

    /// Says that it ran beside others.
    fn ran_with_others(&mut self) {
        if !self.test.notes.iter().any(|note| note == BESIDE) {
            self.test.note(BESIDE);
        }
    }

    /// Whether results of a test under way were printed.
    const fn has_interim(&self) -> bool {
        self.interim_time.is_some()
    }

    /// `36709.57 10^6bits/s over 0.810 seconds ending at …`
    fn interim(&mut self, number: usize, text: &str) -> Option<Row> {
        let mut words = text.split_whitespace();
        let rate = Rounded::with_decimals(words.next()?, 2)?;
        let bps = rate.scaled(unit(words.next()?)?);
        let seconds = Rounded::with_decimals(words.nth(1)?, 3)?;
        let time = Rounded::with_decimals(words.nth(3)?, 3)?.value;
        // What lies between two results is missing.
        let missing = self
            .interim_time
            .map_or(0.0, |before| time - before - seconds.value);
        let missing = Rounded::exact(if missing > 0.05 { missing } else { 0.0 });
        self.interim_time = Some(time);
        let start = self.interim_end.plus(missing);
        let end = start.plus(seconds);
        let bytes = bps.times(seconds).scaled(0.125);
        Some(Row::of_rate(number, start, end, bytes, bps))
    }

    /// The throughput with the interval of confidence that netperf reached, if it is not the one that was asked for.
    fn scattered(&mut self, figure: Rounded) -> Rounded {
        let Some(percent) = self.scatter.take() else {
            return figure;
        };
        self.test.doubt(format!(
            "netperf did not reach the requested confidence: the interval of its throughput is {:.3} % wide",
            percent.value
        ));
        let half = percent.high / 200.0;
        Rounded {
            value: figure.value,
            low: (figure.low * (1.0 - half)).max(0.0),
            high: figure.high * (1.0 + half),
        }
    }

    /// Receive socket, send socket, message, seconds, throughput: what the sender gave TCP.
    fn tcp(&mut self) -> Option<()> {
        // With CPU time that of both ends follows, and per kilobyte.
        let first = self.rows.first()?.clone();
        let [_, _, message, seconds, rate, cpu @ ..] = &first[..] else {
            return None;
        };
        self.take_cpu(cpu)?;
        let rate = Rounded::with_decimals(rate, 2)?.scaled(self.unit);
        let totals = Totals {
            bps: Some(self.scattered(rate)),
            ..Totals::over(Rounded::parse(seconds)?)
        };
        let direction = match self.kind {
            Kind::Maerts => Direction::Reverse,
            _ => Direction::Forward,
        };
        self.test.payload_bytes = message.parse().ok();
        // netperf counts what its receiver took, over the time of the client.
        let flow = self.test.received(direction, totals);
        flow.received_rows = std::mem::take(&mut self.interim).finish();
        Some(())
    }

    /// Sent: socket, message, seconds, messages, errors, throughput. Arrived: socket, seconds, messages,
    /// throughput.
    fn udp(&mut self) -> Option<()> {
        let (sent, came) = (&self.rows.first()?[..], &self.rows.get(1)?[..]);
        let (
            [_, message, seconds, okay, _, rate, own @ ..],
            [_, time, arrived, received, other @ ..],
        ) = (sent, came)
        else {
            return None;
        };
        // With CPU time that of each end follows, and per kilobyte.
        let (decimals, cpu) = match (own, other) {
            ([], []) => (2, [None, None]),
            ([own, _], [other, _]) => (1, [own, other].map(|it| Some(it.clone()))),
            _ => return None,
        };
        self.cpu = cpu;
        let payload: u64 = message.parse().ok()?;
        let side = |seconds: &str, count: &str, rate: &str| {
            let count: u64 = count.parse().ok()?;
            let bytes = count.checked_mul(payload).map(exact);
            Some(Totals {
                bytes: bytes.map(Rounded::exact),
                bps: Some(Rounded::with_decimals(rate, decimals)?.scaled(self.unit)),
                datagrams: Some(count),
                ..Totals::over(Rounded::parse(seconds)?)
            })
        };
        let mut sent = side(seconds, okay, rate)?;
        let mut received = Totals {
            // It counts what came and does not see what is missing.
            datagrams: None,
            arrived: arrived.parse().ok(),
            ..side(time, arrived, received)?
        };
        if self.scatter.is_some() {
            received.bps = received.bps.map(|bps| self.scattered(bps));
            sent.bps = sent.bps.map(|bps| self.scattered(bps));
        }
        let flow: &mut Flow = self.test.received(Direction::Forward, received);
        flow.sent = Some(sent);
        self.test.payload_bytes = Some(payload);
        Some(())
    }

    /// Sockets, request, response, seconds, transactions per second.
    fn request(&mut self) -> Option<Exchanges> {
        // With CPU time that of both ends follows, and per transaction.
        let first = self.rows.first()?.clone();
        let [_, _, request, _, seconds, rate, cpu @ ..] = &first[..] else {
            return None;
        };
        self.take_cpu(cpu)?;
        let per_second = Rounded::with_decimals(rate, 2)?;
        let per_second = self.scattered(per_second);
        match (self.kind, self.is_closed) {
            (Kind::Connections, _) => {}
            (_, true) => self.test.note(
                "the mean round trip is the time over the transactions: one was under way at a time",
            ),
            (_, false) => self
                .test
                .note("delay is unknown: several transactions may have been under way at a time"),
        }
        Some(Exchanges {
            figures: DelayFigures {
                mean: inverse(per_second).filter(|_| self.is_closed),
                ..DelayFigures::default()
            },
            bytes: request.parse().ok(),
            streams: Some(1),
            seconds: Some(Rounded::parse(seconds)?),
            per_second: Some(per_second),
        })
    }

    /// Takes the CPU time of both ends that follows the figures: in percent, and for a unit of work.
    fn take_cpu(&mut self, columns: &[String]) -> Option<()> {
        match columns {
            [] => {}
            [own, other, _, _] => self.cpu = [own, other].map(|it| Some(it.clone())),
            _ => return None,
        }
        Some(())
    }

    /// What was measured of requests and responses, each on a connection of its own or all on one.
    fn exchanges(mut self, exchanges: &Exchanges) -> ParsedTest {
        self.note_cpu();
        let per_second = exchanges
            .per_second
            .map(|rate| PacketRate::from_pps(rate.value));
        let trial = if self.kind == Kind::Connections {
            if let Some(mean) = exchanges.figures.mean {
                self.test.note(format!(
                    "netperf times each transaction from the opening of its connection to its answer: {} us in the \
                     mean; handshake and round trip by themselves are unknown",
                    mean.value * 1e6
                ));
            }
            let work = ConnectionsResult {
                received_packet_rate: per_second,
                ..ConnectionsResult::default()
            };
            let transactions = Exchanges {
                figures: DelayFigures::default(),
                ..*exchanges
            };
            self.test.trial(&transactions, work)
        } else {
            let work = exchanges.figures.closed_loop(per_second);
            self.test.trial(exchanges, work)
        };
        self.test.latency(vec![trial])
    }

    fn traffic(mut self) -> ParsedTest {
        self.note_cpu();
        self.test.traffic()
    }

    /// Says what `-c` and `-C` measured: of all cores of a host together, so it is no thread's.
    fn note_cpu(&mut self) {
        let used = ["client", "server"]
            .iter()
            .zip(&self.cpu)
            .filter_map(|(end, cpu)| {
                let percent = cpu.as_deref()?;
                Rounded::parse(percent)?;
                Some(format!("{percent} % of the {end}'s host"))
            });
        let used: Vec<_> = used.collect();
        if !used.is_empty() {
            self.test
                .note(format!("CPU time, of all cores: {}", used.join(", ")));
        }
    }
}

/// Seconds per transaction.
fn inverse(per_second: Rounded) -> Option<Rounded> {
    (per_second.low > 0.0).then(|| Rounded {
        value: per_second.value.recip(),
        low: per_second.high.recip(),
        high: per_second.low.recip(),
    })
}

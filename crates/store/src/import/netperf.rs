//! netperf's classic output, with its banner, and `key=value` output of omni tests (`-k`).
//!
//! Connect tests (CRR, CC) are left out: they time more than a request.
//!
//! # References
//! - Throughput is in 10^6 bit/s of payload unless the table's last heading says otherwise
//! - A UDP stream has two lines: what was sent, and below it what arrived

use super::delay::{self, DelayFigures};
use super::intervals::Intervals;
use super::line::Fingerprint;
use super::rounded::note_rounding;
use super::{
    Command, Flow, Hints, ImportError, LatencyTest, LogFormat, LogReader, Origin, ParsedTest,
    Rounded, Row, Skipped, Totals, TrafficTest, View, exact, whole,
};
use linerate_model::run::Trial;
use linerate_model::spec::{Direction, Transport};
use linerate_model::{ByteCount, PacketRate};
use std::collections::BTreeMap;

/// netperf's output.
#[derive(Debug)]
pub(super) struct Netperf;

const ID: &str = "netperf";
/// Lines of figures that the largest table has.
const MAX_TABLE_LINES: usize = 4;
/// More than all the keys that omni tests know.
const MAX_KEYS: usize = 512;
/// Stands between the kind of a test and its ends.
const BANNER: &str = " TEST from ";

impl LogFormat for Netperf {
    fn id(&self) -> &'static str {
        ID
    }

    fn summary(&self) -> &'static str {
        "output of netperf: TCP_STREAM, TCP_MAERTS, UDP_STREAM, TCP_RR, UDP_RR, and omni -k"
    }

    fn recognise(&self, line: &str) -> usize {
        const MARKS: &[&str] = &[
            "Size   Size    Size",
            "Size    Size     Time",
            "Socket Size   Request",
            "THROUGHPUT=",
            "THROUGHPUT_UNITS=",
            "Interim result:",
        ];
        usize::from(line.contains(BANNER) || MARKS.iter().any(|mark| line.contains(mark)))
    }

    fn reader(&self, file: &str, _hints: &Hints) -> Box<dyn LogReader> {
        Box::new(Reader {
            file: file.to_owned(),
            version: None,
            command: None,
            open: None,
            tests: Vec::new(),
        })
    }
}

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
    /// A connection for each request.
    Connect,
}

/// Cuts a log into tests.
struct Reader {
    file: String,
    version: Option<String>,
    command: Option<Command>,
    open: Option<Draft>,
    tests: Vec<ParsedTest>,
}

/// A test that is being read.
struct Draft {
    origin: Origin,
    kind: Kind,
    transport: Transport,
    /// Only one request is under way at a time.
    is_closed: bool,
    server: Option<String>,
    command: Option<Command>,
    version: Option<String>,
    /// Bits per second of one unit of throughput.
    unit: f64,
    /// The first lines of figures.
    rows: Vec<Vec<String>>,
    keys: BTreeMap<String, String>,
    interim: Intervals,
    /// When the last interim result ended, in seconds.
    interim_end: Rounded,
    text: Fingerprint,
}

impl LogReader for Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), ImportError> {
        let line = line.trim_end();
        if let Some(version) = line.strip_prefix("Netperf version ") {
            self.settle();
            self.version = Some(version.trim().to_owned());
        } else if let Some(command) = Command::find(line.trim_start_matches("### "), &["netperf"]) {
            self.settle();
            self.command = Some(command);
        } else if let Some((kind, ends)) = line.split_once(BANNER) {
            self.settle();
            let origin = Origin {
                file: self.file.clone(),
                line: number,
            };
            let mut draft = Draft::new(origin, kind, ends);
            draft.command = self.command.take();
            draft.version.clone_from(&self.version);
            draft.text.add(line);
            self.open = Some(draft);
        } else if let Some(draft) = &mut self.open {
            draft
                .line(number, line)
                .map_err(|wanted| ImportError::line(&self.file, number, wanted, line))?;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), ImportError> {
        let Some(draft) = self.open.take() else {
            return Ok(());
        };
        let origin = draft.origin.clone();
        let test = draft.finish().map_err(|missing| ImportError::Cut {
            file: origin.file,
            line: origin.line,
            missing: missing.to_owned(),
        })?;
        self.tests.push(test);
        Ok(())
    }

    fn forget(&mut self) {
        self.open = None;
    }

    fn tests(&mut self) -> &mut Vec<ParsedTest> {
        &mut self.tests
    }
}

impl Draft {
    fn new(origin: Origin, kind: &str, ends: &str) -> Self {
        let kind = kind.to_ascii_uppercase();
        let server = ends
            .split_once(" to ")
            .and_then(|(_, to)| to.split(' ').next());
        Self {
            origin,
            kind: if kind.contains("OMNI") {
                Kind::Omni
            } else if kind.contains("CONNECT") {
                Kind::Connect
            } else if kind.contains("REQUEST/RESPONSE") {
                Kind::Request
            } else if kind.contains("MAERTS") {
                Kind::Maerts
            } else {
                Kind::Stream
            },
            transport: if kind.contains("UDP") {
                Transport::Udp
            } else {
                Transport::Tcp
            },
            is_closed: ends.trim_end().ends_with("first burst 0"),
            server: server.map(str::to_owned),
            command: None,
            version: None,
            unit: 1e6,
            rows: Vec::new(),
            keys: BTreeMap::new(),
            interim: Intervals::default(),
            interim_end: Rounded::exact(0.0),
            text: Fingerprint::default(),
        }
    }

    fn line(&mut self, number: usize, line: &str) -> Result<(), &'static str> {
        if line.is_empty() || line.starts_with("###") {
            return Ok(());
        }
        self.text.add(line);
        if let Some(result) = line.strip_prefix("Interim result: ") {
            let row = self
                .interim(number, result)
                .ok_or("an interim result with its rate and seconds")?;
            self.interim_end = row.end;
            self.interim.add(&row);
        } else if let Some((key, value)) = line.split_once('=') {
            let is_key = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
            if key.chars().all(is_key) && self.keys.len() < MAX_KEYS {
                self.keys.insert(key.to_owned(), value.trim().to_owned());
            }
        } else if line.contains("/sec") {
            self.unit = unit(line.split_whitespace().next_back().unwrap_or_default())
                .ok_or("a unit of throughput such as 10^6bits/sec")?;
        } else if line.trim_start().starts_with(|c: char| c.is_ascii_digit())
            && self.rows.len() < MAX_TABLE_LINES
        {
            self.rows
                .push(line.split_whitespace().map(str::to_owned).collect());
        }
        Ok(())
    }

    /// `36709.57 10^6bits/s over 0.810 seconds ending at …`
    fn interim(&self, number: usize, text: &str) -> Option<Row> {
        let mut words = text.split_whitespace();
        let rate = Rounded::parse(words.next()?)?;
        let bps = rate.scaled(unit(words.next()?)?);
        let seconds = Rounded::parse(words.nth(1)?)?;
        let start = self.interim_end;
        let end = start.plus(seconds);
        let bytes = bps.times(seconds).scaled(0.125);
        Some(Row::of_rate(number, (start, end), bytes, bps))
    }

    fn finish(mut self) -> Result<ParsedTest, &'static str> {
        const TABLE: &str = "its table is not there";
        match self.kind {
            Kind::Connect => Ok(ParsedTest::Skipped(Skipped {
                origin: self.origin,
                reason: "tests that make a connection for each request (CRR, CC) are not imported"
                    .to_owned(),
            })),
            Kind::Omni => self.omni(),
            Kind::Request => {
                let (figures, requests) = self.request().ok_or(TABLE)?;
                Ok(self.latency(&figures, &requests))
            }
            Kind::Stream | Kind::Maerts => {
                let (flow, payload) = match self.transport {
                    Transport::Tcp => self.tcp(),
                    Transport::Udp => self.udp(),
                }
                .ok_or(TABLE)?;
                Ok(self.traffic(flow, payload))
            }
        }
    }

    /// Receive socket, send socket, message, seconds, throughput: what the sender gave TCP.
    fn tcp(&mut self) -> Option<(Flow, Option<u64>)> {
        let [_, _, message, seconds, rate] = &self.rows.first()?[..] else {
            return None;
        };
        let seconds = Rounded::parse(seconds)?;
        let bps = Rounded::parse(rate)?.scaled(self.unit);
        let payload = message.parse().ok();
        let direction = match self.kind {
            Kind::Maerts => Direction::Reverse,
            _ => Direction::Forward,
        };
        let mut flow = Flow {
            streams: 1,
            ..Flow::new(direction)
        };
        let totals = Totals {
            bps: Some(bps),
            ..Totals::over(seconds)
        };
        // netperf counts what its receiver took, over the time of the client.
        flow.received = Some(totals);
        flow.received_rows = std::mem::take(&mut self.interim).finish();
        Some((flow, payload))
    }

    /// Sent: socket, message, seconds, messages, errors, throughput. Arrived: socket, seconds, messages,
    /// throughput.
    fn udp(&self) -> Option<(Flow, Option<u64>)> {
        let ([_, message, seconds, okay, _, rate], [_, time, arrived, received]) =
            (&self.rows.first()?[..], &self.rows.get(1)?[..])
        else {
            return None;
        };
        let payload: u64 = message.parse().ok()?;
        let side = |seconds: &str, count: &str, rate: &str| {
            let count: u64 = count.parse().ok()?;
            Some(Totals {
                bytes: count
                    .checked_mul(payload)
                    .map(|bytes| Rounded::exact(exact(bytes))),
                bps: Some(Rounded::parse(rate)?.scaled(self.unit)),
                datagrams: Some(count),
                ..Totals::over(Rounded::parse(seconds)?)
            })
        };
        let flow = Flow {
            streams: 1,
            sent: Some(side(seconds, okay, rate)?),
            received: Some(Totals {
                // It counts what came and does not see what is missing.
                datagrams: None,
                arrived: arrived.parse().ok(),
                ..side(time, arrived, received)?
            }),
            ..Flow::new(Direction::Forward)
        };
        Some((flow, Some(payload)))
    }

    /// Sockets, request, response, seconds, transactions per second.
    fn request(&self) -> Option<(DelayFigures, Requests)> {
        let [_, _, request, _, seconds, rate] = &self.rows.first()?[..] else {
            return None;
        };
        let per_second = Rounded::parse(rate)?;
        let figures = DelayFigures {
            mean: inverse(per_second).filter(|_| self.is_closed),
            ..DelayFigures::default()
        };
        let requests = Requests {
            bytes: request.parse().ok(),
            seconds: Some(Rounded::parse(seconds)?),
            per_second,
        };
        Some((figures, requests))
    }

    /// Requests and responses by their keys; of streams the units say so.
    fn omni(mut self) -> Result<ParsedTest, &'static str> {
        let figure = |key: &str| self.keys.get(key).and_then(|text| Rounded::parse(text));
        let rate = figure("THROUGHPUT").ok_or("its key THROUGHPUT is not there")?;
        let units = self
            .keys
            .get("THROUGHPUT_UNITS")
            .ok_or("its key THROUGHPUT_UNITS is not there")?;
        let protocol = self.keys.get("PROTOCOL");
        if protocol.is_some_and(|protocol| protocol == "UDP") {
            self.transport = Transport::Udp;
        }
        if units == "Trans/s" {
            let micros = |key| figure(key).map(|figure| figure.scaled(1e-6));
            let figures = DelayFigures {
                min: micros("MIN_LATENCY"),
                mean: micros("MEAN_LATENCY"),
                p50: micros("P50_LATENCY"),
                p90: micros("P90_LATENCY"),
                p99: micros("P99_LATENCY"),
                p999: None,
                max: micros("MAX_LATENCY"),
                stdev: micros("STDDEV_LATENCY"),
                count: figure("LOCAL_TRANSACTIONS_COUNT").and_then(|count| whole(count.value)),
            };
            let requests = Requests {
                bytes: figure("REQUEST_SIZE").and_then(|bytes| whole(bytes.value)),
                seconds: figure("ELAPSED_TIME"),
                per_second: rate,
            };
            return Ok(self.latency(&figures, &requests));
        }
        let bps = rate.scaled(unit(units).ok_or("a unit of throughput such as 10^6bits/s")?);
        let seconds = figure("ELAPSED_TIME").ok_or("its key ELAPSED_TIME is not there")?;
        let mut flow = Flow {
            streams: 1,
            ..Flow::new(Direction::Forward)
        };
        flow.received = Some(Totals {
            bps: Some(bps),
            ..Totals::over(seconds)
        });
        Ok(self.traffic(flow, None))
    }

    fn traffic(self, flow: Flow, payload: Option<u64>) -> ParsedTest {
        let mut test = TrafficTest::new(self.origin, ID, ID, View::Client, self.transport);
        test.tool.version = self.version;
        test.command = self.command;
        test.peer = self.server;
        test.payload_bytes = payload;
        test.fingerprint = self.text.get();
        test.flows = vec![flow];
        ParsedTest::Traffic(Box::new(test))
    }

    fn latency(self, figures: &DelayFigures, requests: &Requests) -> ParsedTest {
        let per_second = PacketRate::from_pps(requests.per_second.value);
        let work = figures.closed_loop(Some(per_second));
        let mut trial = Trial::from_log(0, self.transport, Direction::Forward, work);
        trial.label = requests.bytes.map(|bytes| format!("{bytes} B"));
        trial.streams = Some(1);
        trial.payload_bytes = requests.bytes.map(ByteCount::new);
        note_rounding(&mut trial, "received_pps", requests.per_second.interval());
        if let Some(seconds) = requests.seconds {
            trial.duration = std::time::Duration::try_from_secs_f64(seconds.value).ok();
            note_rounding(&mut trial, "duration_s", seconds.interval());
        }
        figures.note_rounding(&mut trial);
        let mut test = LatencyTest::new(self.origin, ID, ID, self.transport);
        if self.kind == Kind::Request {
            let note = if self.is_closed {
                "the mean round trip is the time over the transactions: one was under way at a time"
            } else {
                "delay is not told: several transactions may have been under way at a time"
            };
            test.notes.push(note.to_owned());
        }
        test.tool.version = self.version;
        test.command = self.command.map(|command| command.line);
        test.hosts = delay::hosts(None, self.server.as_deref());
        test.fingerprint = self.text.get();
        test.trials = vec![trial];
        ParsedTest::Latency(Box::new(test))
    }
}

/// What a request/response test says beside its delay.
struct Requests {
    bytes: Option<u64>,
    seconds: Option<Rounded>,
    per_second: Rounded,
}

/// Seconds per transaction.
fn inverse(per_second: Rounded) -> Option<Rounded> {
    (per_second.low > 0.0).then(|| Rounded {
        value: per_second.value.recip(),
        low: per_second.high.recip(),
        high: per_second.low.recip(),
    })
}

/// Bits per second of one unit.
fn unit(text: &str) -> Option<f64> {
    Some(match text.trim_end_matches("/sec").trim_end_matches("/s") {
        "10^3bits" => 1e3,
        "10^6bits" => 1e6,
        "10^9bits" => 1e9,
        "Bytes" => 8.0,
        "KBytes" => 8.0 * 1024.0,
        "MBytes" => 8.0 * 1_048_576.0,
        "GBytes" => 8.0 * 1_073_741_824.0,
        _ => return None,
    })
}

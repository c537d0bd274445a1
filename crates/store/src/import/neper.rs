//! neper's `key=value` output: `tcp_rr`, `tcp_crr`, `udp_rr`, `tcp_stream`, `udp_stream`.
//!
//! # References
//! - A test begins with `VERSION=`; a request/response test has `request_size`, a TCP test
//!   `congestion_control`; of these only `tcp_crr` has neither `noburst` nor `delay`
//! - `local_throughput` and `remote_throughput` are what either end received: bit/s, or transactions
//! - `tcp_crr` times from one answer to the next (`rr_ts_0` to `rr_ts_2`): the connection's opening too

use super::delay::{self, DelayFigures};
use super::line::Fingerprint;
use super::rounded::note_rounding;
use super::{
    Flow, Hints, ImportError, LatencyTest, LogFormat, LogReader, Origin, ParsedTest, Rounded,
    Skipped, Totals, TrafficTest, View, whole,
};
use linerate_model::run::{ConnectionsResult, Trial, TrialWork};
use linerate_model::spec::{Direction, Transport};
use linerate_model::{ByteCount, PacketRate};
use std::collections::BTreeMap;

/// neper's output.
#[derive(Debug)]
pub(super) struct Neper;

const ID: &str = "neper";
/// More than all the keys that its tests print.
const MAX_KEYS: usize = 512;
/// Most tests of a server before the first of a client.
const MAX_SERVERS: usize = 10_000;

impl LogFormat for Neper {
    fn id(&self) -> &'static str {
        ID
    }

    fn summary(&self) -> &'static str {
        "output of neper's tcp_rr, tcp_crr, udp_rr, tcp_stream and udp_stream"
    }

    fn recognise(&self, line: &str) -> usize {
        const MARKS: &[&str] = &[
            "VERSION=",
            "total_run_time=",
            "time_end=",
            "local_throughput=",
            "remote_throughput=",
        ];
        usize::from(MARKS.iter().any(|mark| line.starts_with(mark)))
    }

    fn reader(&self, file: &str, _hints: &Hints) -> Box<dyn LogReader> {
        Box::new(Reader {
            file: file.to_owned(),
            open: None,
            has_client: false,
            servers: Vec::new(),
            tests: Vec::new(),
        })
    }
}

/// Cuts a log into tests.
struct Reader {
    file: String,
    open: Option<Section>,
    has_client: bool,
    /// Views of servers, which are left out where there is one of a client.
    servers: Vec<Section>,
    tests: Vec<ParsedTest>,
}

impl LogReader for Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), ImportError> {
        let Some((key, value)) = line.trim().split_once('=') else {
            return Ok(());
        };
        if key == "VERSION" {
            self.settle();
            self.open = Some(Section::new(number));
        }
        if let Some(section) = &mut self.open {
            section.text.add(line);
            if section.keys.len() < MAX_KEYS && !section.keys.contains_key(key) {
                section.keys.insert(key.to_owned(), value.to_owned());
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), ImportError> {
        let Some(section) = self.open.take() else {
            return Ok(());
        };
        if section.view() == View::Client {
            self.has_client = true;
            return self.add(&section);
        }
        if self.has_client {
            self.tests.push(section.of_server(&self.file));
        } else if self.servers.len() < MAX_SERVERS {
            self.servers.push(section);
        } else {
            return Err(ImportError::TooLarge {
                file: self.file.clone(),
                line: section.line,
                what: "a server's log",
                limit: "10 000 tests",
                hint: "give the log of the client, or cut this one",
            });
        }
        Ok(())
    }

    fn finish(&mut self) {
        self.settle();
        for section in std::mem::take(&mut self.servers) {
            if self.has_client {
                self.tests.push(section.of_server(&self.file));
            } else if let Err(error) = self.add(&section) {
                self.refuse(error);
            }
        }
    }

    fn forget(&mut self) {
        self.open = None;
    }

    fn tests(&mut self) -> &mut Vec<ParsedTest> {
        &mut self.tests
    }
}

impl Reader {
    fn add(&mut self, section: &Section) -> Result<(), ImportError> {
        let test = section
            .test(&self.file)
            .map_err(|missing| ImportError::Cut {
                file: self.file.clone(),
                line: section.line,
                missing: missing.to_owned(),
            })?;
        self.tests.push(test);
        Ok(())
    }
}

/// The keys of one test.
struct Section {
    line: usize,
    keys: BTreeMap<String, String>,
    text: Fingerprint,
}

impl Section {
    fn new(line: usize) -> Self {
        Self {
            line,
            keys: BTreeMap::new(),
            text: Fingerprint::default(),
        }
    }

    /// A server's view of a test whose client's view is there.
    fn of_server(&self, file: &str) -> ParsedTest {
        ParsedTest::Skipped(Skipped {
            origin: Origin {
                file: file.to_owned(),
                line: self.line,
            },
            reason: "it is the server's view of a test whose client's view is there".to_owned(),
        })
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.keys
            .get(key)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    fn figure(&self, key: &str) -> Option<Rounded> {
        Rounded::parse(self.text(key)?)
    }

    fn count(&self, key: &str) -> Option<u64> {
        whole(self.figure(key)?.value)
    }

    fn view(&self) -> View {
        if self.text("client") == Some("1") {
            View::Client
        } else {
            View::Server
        }
    }

    fn transport(&self) -> Transport {
        if self.keys.contains_key("congestion_control") {
            Transport::Tcp
        } else {
            Transport::Udp
        }
    }

    fn test(&self, file: &str) -> Result<ParsedTest, &'static str> {
        let origin = Origin {
            file: file.to_owned(),
            line: self.line,
        };
        if !self.keys.contains_key("request_size") {
            return self.stream(origin);
        }
        if ["noburst", "delay"]
            .iter()
            .any(|key| self.keys.contains_key(*key))
        {
            self.exchanges(origin)
        } else {
            self.connections(origin)
        }
    }

    fn seconds(&self) -> Option<Rounded> {
        let (start, end) = (self.figure("time_start"), self.figure("time_end"));
        match start.zip(end) {
            Some((start, end)) => Some(end.minus(start)),
            None => self
                .figure("total_run_time")
                .map(|time| Rounded::exact(time.value)),
        }
    }

    /// Requests and answers on connections that stay open.
    fn exchanges(&self, origin: Origin) -> Result<ParsedTest, &'static str> {
        let rate = self
            .figure("throughput")
            .ok_or("its key throughput is not there")?;
        // A server prints zeros for what it does not time.
        let known = |key| self.figure(key).filter(|figure| figure.value > 0.0);
        let figures = DelayFigures {
            min: known("latency_min"),
            mean: known("latency_mean"),
            max: known("latency_max"),
            stdev: known("latency_stddev"),
            count: self.count("num_transactions"),
            ..DelayFigures::default()
        };
        let work = figures.closed_loop(Some(PacketRate::from_pps(rate.value)));
        let mut test = self.latency(origin, rate, work.into());
        figures.note_rounding(&mut test.trials[0]);
        Ok(ParsedTest::Latency(Box::new(test)))
    }

    /// A connection for each request and answer.
    fn connections(&self, origin: Origin) -> Result<ParsedTest, &'static str> {
        // The server of this test counts nothing itself; the client tells it the rate.
        let rate = self
            .figure("throughput")
            .or_else(|| self.figure("remote_throughput"))
            .ok_or("its keys throughput and remote_throughput are not there")?;
        let work = ConnectionsResult {
            received_packet_rate: Some(PacketRate::from_pps(rate.value)),
            ..ConnectionsResult::default()
        };
        let mut test = self.latency(origin, rate, work.into());
        if let (Some(min), Some(mean), Some(max)) = (
            self.text("latency_min"),
            self.text("latency_mean"),
            self.text("latency_max"),
        ) {
            test.notes.push(format!(
                "neper times each transaction from the opening of its connection to its answer: \
                 {min} s at least, {mean} s in the mean, {max} s at most; handshake and round trip \
                 by themselves are not told"
            ));
        }
        Ok(ParsedTest::Latency(Box::new(test)))
    }

    /// What both kinds of transactions tell. `rate` is in transactions per second.
    fn latency(&self, origin: Origin, rate: Rounded, work: TrialWork) -> LatencyTest {
        let transport = self.transport();
        let payload = self.count("request_size");
        let mut trial = Trial::from_log(0, transport, Direction::Forward, work);
        trial.label = payload.map(|bytes| format!("{bytes} B"));
        trial.payload_bytes = payload.map(ByteCount::new);
        trial.streams = self.streams();
        note_rounding(&mut trial, "received_pps", rate.interval());
        trial.duration = self
            .seconds()
            .and_then(|seconds| std::time::Duration::try_from_secs_f64(seconds.value).ok());
        let mut test = LatencyTest::new(origin, ID, ID, transport);
        test.tool.version = self.text("VERSION").map(str::to_owned);
        test.hosts = delay::hosts(None, self.text("host"));
        test.fingerprint = self.text.get();
        test.trials = vec![trial];
        test
    }

    fn streams(&self) -> Option<u16> {
        u16::try_from(self.count("num_flows")?).ok()
    }

    fn stream(&self, origin: Origin) -> Result<ParsedTest, &'static str> {
        const MISSING: &str = "its keys local_throughput and remote_throughput are not there";
        let view = self.view();
        let mut test = TrafficTest::new(origin, ID, ID, view, self.transport());
        let seconds = self.seconds().ok_or("its length is not there")?;
        let local = self.figure("local_throughput").ok_or(MISSING)?;
        let remote = self.figure("remote_throughput").ok_or(MISSING)?;
        let (forward, reverse) = match view {
            View::Client => (remote, local),
            View::Server => (local, remote),
        };
        let all = [(Direction::Forward, forward), (Direction::Reverse, reverse)];
        for (direction, bps) in all.into_iter().filter(|(_, bps)| bps.value > 0.0) {
            test.flows.push(Flow {
                streams: self.streams().unwrap_or(0),
                received: Some(Totals {
                    bps: Some(bps),
                    ..Totals::over(seconds)
                }),
                ..Flow::new(direction)
            });
        }
        if test.flows.is_empty() {
            test.interrupted = Some("nothing was received".to_owned());
        }
        test.tool.version = self.text("VERSION").map(str::to_owned);
        test.payload_bytes = self.count("buffer_size");
        test.congestion_control = self.text("congestion_control").map(str::to_owned);
        test.peer = self.text("host").map(str::to_owned);
        test.fingerprint = self.text.get();
        Ok(ParsedTest::Traffic(Box::new(test)))
    }
}

//! neper's `key=value` output: `tcp_rr`, `tcp_crr`, `udp_rr`, `tcp_stream`, `udp_stream`.
//!
//! # References
//! - A test begins with `VERSION=`; a request/response test has `request_size`, a TCP test
//!   `congestion_control`; of these only `tcp_crr` has neither `noburst` nor `delay`
//! - `local_throughput` and `remote_throughput` are what either end received: bit/s, or transactions
//! - `tcp_crr` times from one answer to the next (`rr_ts_0` to `rr_ts_2`): the connection's opening too

use super::delay::DelayFigures;
use super::line::first_of;
use super::reader::{Draft, Grammar, Log, Reader, Result, Step};
use super::streams::MIXED;
use super::test_builder::{Exchanges, TestBuilder};
use super::{ImportError, LogFormat, ParsedTest, Rounded, Totals, View, whole};
use linerate_model::PacketRate;
use linerate_model::run::ConnectionsResult;
use linerate_model::spec::{Direction, Transport};
use std::collections::BTreeMap;

/// Keys with which lines of every test begin.
const MARKS: &[&str] = &[
    "VERSION=",
    "total_run_time=",
    "time_end=",
    "local_throughput=",
    "remote_throughput=",
];

/// neper's output.
pub(super) static FORMAT: LogFormat = LogFormat {
    id: "neper",
    tool: "neper",
    summary: "output of neper's tcp_rr, tcp_crr, udp_rr, tcp_stream and udp_stream",
    recognise: |line| usize::from(MARKS.iter().any(|mark| line.starts_with(mark))),
    begins: |line| {
        // Of a key that ends in another one the words before are a part.
        let at = first_of(line, MARKS)?;
        let is_key = |c: char| c.is_alphanumeric() || c == '_';
        (!line[..at].ends_with(is_key)).then_some(at)
    },
    reader: |file, _| Reader::boxed(file, Neper::default()),
};

/// More than all the keys that its tests print.
const MAX_KEYS: usize = 512;
/// Most tests of a server before the first of a client.
const MAX_SERVERS: usize = 10_000;

/// Tests begin with the version.
#[derive(Default)]
struct Neper {
    has_client: bool,
    /// Views of servers, which are left out where there is one of a client.
    servers: Vec<Section>,
}

impl Grammar for Neper {
    type Test = Section;

    fn step(
        &mut self,
        log: &mut Log,
        _open: &mut Option<Section>,
        line: &str,
    ) -> Result<Step<Section>> {
        Ok(match line.trim().split_once('=') {
            Some(("VERSION", _)) => Step::Begin(Section::new(log)),
            _ => Step::Inside,
        })
    }

    fn close(&mut self, log: &mut Log, section: Option<Section>) {
        let Some(section) = section else { return };
        if section.view() == View::Client {
            self.has_client = true;
            log.end(section);
        } else if self.has_client {
            log.tests.push(section.of_server());
        } else if self.servers.len() < MAX_SERVERS {
            self.servers.push(section);
        } else {
            log.refuse(ImportError::TooLarge {
                file: log.file.clone(),
                line: section.begun(),
                what: "a server's log",
                limit: "10 000 tests",
                hint: "give the log of the client, or cut this one",
            });
        }
    }

    fn finish(&mut self, log: &mut Log) {
        for section in std::mem::take(&mut self.servers) {
            if self.has_client {
                log.tests.push(section.of_server());
            } else {
                log.end(section);
            }
        }
    }
}

/// The keys of one test.
struct Section {
    test: TestBuilder,
    keys: BTreeMap<String, String>,
}

impl Draft for Section {
    fn begun(&self) -> usize {
        self.test.origin.line
    }

    fn line(&mut self, _log: &Log, line: &str) -> Result<()> {
        let Some((key, value)) = line.trim().split_once('=') else {
            return Ok(());
        };
        self.test.text.add(line);
        if self.keys.get(key).is_some_and(|known| known != value) {
            return Err(MIXED.into());
        }
        if self.keys.len() < MAX_KEYS && !self.keys.contains_key(key) {
            self.keys.insert(key.to_owned(), value.to_owned());
        }
        Ok(())
    }

    fn finish(mut self, tests: &mut Vec<ParsedTest>) -> Result<()> {
        self.check()?;
        let has = |key: &&str| self.keys.contains_key(*key);
        self.test.transport = if has(&"congestion_control") {
            Transport::Tcp
        } else {
            Transport::Udp
        };
        self.test.tool.version = self.text("VERSION").map(str::to_owned);
        self.test.peer = self.text("host").map(str::to_owned);
        tests.push(if !has(&"request_size") {
            self.stream()?
        } else if ["noburst", "delay"].iter().any(has) {
            self.exchanges()?
        } else {
            self.connections()?
        });
        Ok(())
    }
}

impl Section {
    fn new(log: &Log) -> Self {
        Self {
            test: TestBuilder::new(log, &FORMAT, View::Client, Transport::Tcp),
            keys: BTreeMap::new(),
        }
    }

    /// Whether its times are both there, and figures with decimals have all of them.
    fn check(&self) -> Result<(), &'static str> {
        const DECIMALS: &[(&str, usize)] = &[
            ("latency_max", 9),
            ("latency_mean", 9),
            ("latency_min", 9),
            ("latency_stddev", 9),
            ("throughput", 2),
            ("time_end", 9),
            ("time_start", 9),
        ];
        let has = |key| self.keys.contains_key(key);
        if has("request_size") != has("response_size") {
            return Err("its keys request_size and response_size are not both there");
        }
        let is_timed = has("request_size") && self.view() == View::Client;
        if is_timed && has("time_start") != has("time_end") {
            return Err("its keys time_start and time_end are not both there");
        }
        let mut printed = DECIMALS
            .iter()
            .filter_map(|(key, decimals)| Some((self.text(key)?, *decimals)));
        let is_whole = |(text, decimals)| Rounded::with_decimals(text, decimals).is_some();
        // What every test by TCP prints beside it.
        if has("tcp_tx_delay") && !has("congestion_control") {
            return Err("its key congestion_control is not there");
        }
        if printed.all(is_whole) {
            Ok(())
        } else {
            Err("a figure of it lacks decimals")
        }
    }

    /// A server's view of a test whose client's view is there.
    fn of_server(self) -> ParsedTest {
        self.test
            .skipped("it is the server's view of a test whose client's view is there")
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
    fn exchanges(self) -> Result<ParsedTest, &'static str> {
        let rate = self.figure("throughput");
        let rate = rate.ok_or("its key throughput is not there")?;
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
        let transactions = Exchanges {
            figures,
            ..self.transactions(rate)
        };
        let trial = self.test.trial(&transactions, work);
        Ok(self.test.latency(vec![trial]))
    }

    /// A connection for each request and answer.
    fn connections(mut self) -> Result<ParsedTest, &'static str> {
        // The server of this test counts nothing itself; the client tells it the rate.
        let rate = self
            .figure("throughput")
            .or_else(|| {
                self.figure("remote_throughput")
                    .filter(|rate| rate.value > 0.0)
            })
            .ok_or("its keys throughput and remote_throughput are not there")?;
        let work = ConnectionsResult {
            received_packet_rate: Some(PacketRate::from_pps(rate.value)),
            ..ConnectionsResult::default()
        };
        let trial = self.test.trial(&self.transactions(rate), work);
        if let (Some(min), Some(mean), Some(max)) = (
            self.text("latency_min"),
            self.text("latency_mean"),
            self.text("latency_max"),
        ) {
            let note = format!(
                "neper times each transaction from the opening of its connection to its answer: \
                 {min} s at least, {mean} s in the mean, {max} s at most; handshake and round trip \
                 by themselves are unknown"
            );
            self.test.note(note);
        }
        Ok(self.test.latency(vec![trial]))
    }

    /// What both kinds of transactions tell. `rate` is in transactions per second.
    fn transactions(&self, rate: Rounded) -> Exchanges {
        let seconds = self.seconds();
        Exchanges {
            figures: DelayFigures::default(),
            bytes: self.count("request_size"),
            streams: self.streams(),
            seconds: seconds.map(|seconds| Rounded::exact(seconds.value)),
            per_second: Some(rate),
        }
    }

    fn streams(&self) -> Option<u16> {
        u16::try_from(self.count("num_flows")?).ok()
    }

    fn stream(mut self) -> Result<ParsedTest, &'static str> {
        const MISSING: &str = "its keys local_throughput and remote_throughput are not there";
        self.test.view = self.view();
        let seconds = self.seconds().ok_or("its length is not there")?;
        let local = self.figure("local_throughput").ok_or(MISSING)?;
        let remote = self.figure("remote_throughput").ok_or(MISSING)?;
        let (forward, reverse) = match self.test.view {
            View::Client => (remote, local),
            View::Server => (local, remote),
        };
        let streams = self.streams().unwrap_or(0);
        let all = [(Direction::Forward, forward), (Direction::Reverse, reverse)];
        for (direction, bps) in all.into_iter().filter(|(_, bps)| bps.value > 0.0) {
            let totals = Totals {
                bps: Some(bps),
                ..Totals::over(seconds)
            };
            self.test.received(direction, totals).streams = streams;
        }
        if self.test.flows.is_empty() {
            self.test.interrupted = Some("nothing was received".to_owned());
        }
        self.test.payload_bytes = self.count("buffer_size");
        self.test.congestion_control = self.text("congestion_control").map(str::to_owned);
        Ok(self.test.traffic())
    }
}

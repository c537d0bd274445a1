//! qperf's output: bandwidth and latency by TCP and UDP.
//!
//! # References
//! - A test begins with its name and a colon; indented lines have a key, `=`, a figure of three digits and its unit
//! - Steps of units are 10^3. `latency` is the time over the messages of both ends: half of a round trip
//! - How long a test took is told by `-vc` only (`time`), or by `-t` of the command line

use super::delay::DelayFigures;
use super::reader::{Draft, Fault, Grammar, Log, Reader, Result, Step};
use super::streams::MIXED;
use super::test_builder::{Exchanges, TestBuilder};
use super::{Command, LogFormat, ParsedTest, Rounded, Totals, View, whole};
use linerate_model::run::{ClosedLoopResult, DelayOf};
use linerate_model::spec::{Direction, Transport};

/// qperf's output.
pub(super) static FORMAT: LogFormat = LogFormat {
    id: "qperf",
    tool: "qperf",
    summary: "output of a qperf client: tcp_bw, udp_bw, tcp_lat, udp_lat",
    // Anywhere in the line: it may stand inside JSON.
    recognise: |line| {
        let is_apart = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':'));
        usize::from(line.split(is_apart).any(|word| heading(word).is_some()))
    },
    begins: |line| line.rfind(heading(line)?),
    reader: |file, _| Reader::boxed(file, Qperf),
};

/// Ends of the names of its tests.
const KINDS: &[&str] = &["_bw", "_lat", "_mr"];
/// Beginnings of the names of its tests.
const CARRIERS: &[&str] = &[
    "tcp_", "udp_", "sctp_", "sdp_", "rds_", "rc_", "uc_", "ud_", "xrc_",
];

/// Keys of what a test found.
const FIGURES: &[&str] = &["bw", "send_bw", "recv_bw", "latency"];

/// The name of the test that begins with this line, behind whatever a logger wrote.
fn heading(line: &str) -> Option<&str> {
    let name = line.split_whitespace().next_back()?.strip_suffix(':')?;
    let is_name = CARRIERS.iter().any(|begin| name.starts_with(begin))
        && KINDS.iter().any(|end| name.ends_with(end));
    is_name.then_some(name)
}

/// Tests begin with their name.
struct Qperf;

/// What is printed of a test.
struct Output {
    test: TestBuilder,
    name: String,
    sent: Option<Rounded>,
    received: Option<Rounded>,
    latency: Option<Rounded>,
    seconds: Option<Rounded>,
    bytes: Option<u64>,
}

impl Grammar for Qperf {
    type Test = Output;

    fn step(
        &mut self,
        log: &mut Log,
        _open: &mut Option<Output>,
        line: &str,
    ) -> Result<Step<Output>> {
        let is_call = line.contains("qperf ") && KINDS.iter().any(|kind| line.contains(kind));
        if is_call {
            // Its options may come after the host.
            log.command = line.split_once("qperf ").map(|(prompt, rest)| Command {
                host: Command::find(&format!("{prompt}qperf -"), &["qperf"])
                    .and_then(|found| found.host),
                line: format!("qperf {}", rest.trim()),
            });
            return Ok(Step::Between);
        }
        Ok(match heading(line) {
            Some(name) => Step::Begin(Output::new(log, name)),
            None => Step::Inside,
        })
    }

    /// Figures outside of any test mean that its name is gone.
    fn outside(&mut self, log: &mut Log, line: &str) -> Result<()> {
        let key = line.split_once('=').map(|(key, _)| key.trim());
        if key.is_some_and(|key| FIGURES.contains(&key)) && !log.is_lost {
            return Err(Fault::Missing(
                "the name of its test is not there".to_owned(),
            ));
        }
        Ok(())
    }
}

impl Draft for Output {
    fn begun(&self) -> usize {
        self.test.origin.line
    }

    fn line(&mut self, _log: &Log, line: &str) -> Result<()> {
        const RATE: &str = "a rate such as 5.78 GB/sec";
        const TIME: &str = "a time such as 26.1 us";
        self.test.text.add(line);
        let Some((key, value)) = line.split_once('=') else {
            return Ok(());
        };
        let (key, value) = (key.trim(), value.trim());
        // What carries every byte has one bandwidth, what may lose some has two.
        let is_twice = match key {
            "bw" => self.received.is_some() || self.sent.is_some(),
            "recv_bw" => self.received.is_some(),
            "send_bw" => self.sent.is_some() || self.received.is_some(),
            "latency" => self.latency.is_some(),
            _ => false,
        };
        // A figure of another kind, or once more, is of a test whose name is gone.
        if is_twice || FIGURES.contains(&key) && (key == "latency") != self.name.ends_with("_lat") {
            return Err(MIXED.into());
        }
        match key {
            "bw" | "recv_bw" => self.received = Some(rate(value).ok_or(RATE)?),
            "send_bw" => self.sent = Some(rate(value).ok_or(RATE)?),
            "latency" => self.latency = Some(time(value).ok_or(TIME)?),
            "time" => self.seconds = Some(time(value).ok_or(TIME)?),
            "msg_size" => self.bytes = size(value),
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self, tests: &mut Vec<ParsedTest>) -> Result<()> {
        self.test.transport = match self.name.split('_').next() {
            Some("tcp") => Transport::Tcp,
            Some("udp") => Transport::Udp,
            _ => {
                let reason = format!("{} is a test of neither TCP nor UDP", self.name);
                tests.push(self.test.skipped(reason));
                return Ok(());
            }
        };
        self.test.payload_bytes = self.bytes;
        if self.name.ends_with("_lat") {
            let mean = self
                .latency
                .ok_or_else(|| Fault::Missing("its latency is not there".to_owned()))?;
            tests.push(self.latency_test(mean));
            return Ok(());
        }
        let received = self
            .received
            .ok_or_else(|| Fault::Missing("its bandwidth is not there".to_owned()))?;
        if self.test.transport == Transport::Udp && self.sent.is_none() {
            return Err(Fault::Missing("its send_bw is not there".to_owned()));
        }
        let Some(seconds) = self.seconds.or_else(|| self.commanded()) else {
            let reason = "the log does not say how long it took: give qperf's output with -vc, or with its command line and -t";
            tests.push(self.test.skipped(reason));
            return Ok(());
        };
        let of_rate = |bps| Totals {
            bps: Some(bps),
            ..Totals::over(seconds)
        };
        let sent = self.sent.map(of_rate);
        self.test
            .received(Direction::Forward, of_rate(received))
            .sent = sent;
        tests.push(self.test.traffic());
        Ok(())
    }
}

impl Output {
    fn new(log: &Log, name: &str) -> Self {
        let mut test = TestBuilder::new(log, &FORMAT, View::Client, Transport::Tcp);
        test.command.clone_from(&log.command);
        let first = test
            .command
            .as_ref()
            .and_then(|command| command.words().next());
        let host = first.filter(|word| !word.starts_with('-'));
        test.peer = host.map(str::to_owned);
        Self {
            test,
            name: name.to_owned(),
            sent: None,
            received: None,
            latency: None,
            seconds: None,
            bytes: None,
        }
    }

    /// The time of `-t`: seconds, or with a unit of `m` or `s`. Without it a test takes two seconds.
    fn commanded(&self) -> Option<Rounded> {
        let command = self.test.command.as_ref()?;
        let text = command.value("-t", &["time"]).unwrap_or("2");
        let (number, scale) = match text.strip_suffix('m') {
            Some(minutes) => (minutes, 60.0),
            None => (text.trim_end_matches('s'), 1.0),
        };
        Some(Rounded::exact(Rounded::parse(number)?.value * scale))
    }

    fn latency_test(self, mean: Rounded) -> ParsedTest {
        let figures = DelayFigures {
            mean: Some(mean),
            ..DelayFigures::default()
        };
        let work = ClosedLoopResult {
            delay: Some(figures.delay(DelayOf::HalfRoundTrip)),
            ..ClosedLoopResult::default()
        };
        let exchanges = Exchanges {
            figures,
            bytes: self.bytes,
            streams: Some(1),
            seconds: self.seconds,
            per_second: None,
        };
        let trial = self.test.trial(&exchanges, work);
        self.test.latency(vec![trial])
    }
}

/// A figure and its unit.
fn figure(text: &str) -> Option<(Rounded, &str)> {
    let mut words = text.split_whitespace();
    Some((
        Rounded::parse(&words.next()?.replace(',', ""))?,
        words.next()?,
    ))
}

/// `5.78 GB/sec`, or with `-ub` `46.2 Gb/sec`, in bit/s.
fn rate(text: &str) -> Option<Rounded> {
    let (value, unit) = figure(text)?;
    let scale = match unit {
        "bits/sec" => 1.0,
        "Kb/sec" => 1e3,
        "Mb/sec" => 1e6,
        "Gb/sec" => 1e9,
        "Tb/sec" => 1e12,
        "bytes/sec" => 8.0,
        "KB/sec" => 8e3,
        "MB/sec" => 8e6,
        "GB/sec" => 8e9,
        "TB/sec" => 8e12,
        _ => return None,
    };
    Some(value.scaled(scale))
}

/// `26.1 us`, in seconds.
fn time(text: &str) -> Option<Rounded> {
    let (value, unit) = figure(text)?;
    let scale = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "sec" => 1.0,
        _ => return None,
    };
    Some(value.scaled(scale))
}

/// `64 KiB (65,536)`, `1 bytes`: exact where all digits are there.
fn size(text: &str) -> Option<u64> {
    let digits = match text.split_once('(') {
        Some((_, exact)) => exact.split(')').next()?,
        None => text.strip_suffix(" bytes").unwrap_or(text),
    };
    whole(Rounded::parse(&digits.replace(',', ""))?.value)
}

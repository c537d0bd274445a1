//! sockperf's client output: ping-pong, under-load and throughput.
//!
//! # References
//! - Times are in microseconds and, unless the summary says `Round trip`, half of a round trip
//! - `MBps` is 2^20 bytes and `Mbps` 2^20 bits per second, `Gb` figures divide the MB ones by 1000;
//!   the rate is of message payload at the sender
//! - The message size is known from the command line (default 14), or from the hint at a better one

use super::bounds::MAX_STREAMS;
use super::delay::DelayFigures;
use super::reader::{Draft, Grammar, Log, Reader, Result, Step};
use super::rounded::decimal;
use super::streams::MIXED;
use super::test_builder::{DirectionFigures, Exchanges, TestBuilder};
use super::{Command, LogFormat, ParsedTest, Rounded, Totals, View, exact};
use linerate_model::run::{
    ClosedLoopResult, DelayOf, OpenLoopResult, Packets, Requests, Trial, TrialWork, UnitCounts,
};
use linerate_model::spec::{Arrival, Direction, Transport};
use linerate_model::{PacketCount, PacketRate, Ratio};
use std::time::Duration;

/// sockperf's client output.
pub(super) static FORMAT: LogFormat = LogFormat {
    id: "sockperf",
    tool: "sockperf",
    summary: "output of a sockperf client: ping-pong, under-load or throughput",
    recognise: |line| usize::from(line.contains(TAG)),
    // Loggers call the program by the same name before it does.
    begins: |line| line.rfind(TAG),
    reader: |file, _| Reader::boxed(file, Sockperf),
};

/// What begins each line of sockperf.
const TAG: &str = "sockperf: ";

/// Tests begin with what the client says of itself.
struct Sockperf;

/// What is printed of a test.
struct Output {
    test: TestBuilder,
    /// Addresses of its servers, in their order.
    servers: Vec<String>,
    /// What was measured with the servers before the one whose figures come.
    before: Vec<Trial>,
    transport: Option<Transport>,
    of: DelayOf,
    figures: DelayFigures,
    /// Counted time of a delay test in seconds.
    seconds: Option<Rounded>,
    /// Sent and received messages of the counted time.
    messages: Option<(u64, u64)>,
    dropped: Option<[u64; 3]>,
    /// The mean delay in seconds, once more.
    summary: Option<Rounded>,
    /// Messages sent, and in how many seconds, by a throughput test.
    sent: Option<(u64, Rounded)>,
    /// Payload bit/s of a throughput test.
    bps: Option<Rounded>,
    /// Messages per second.
    per_second: Option<Rounded>,
    /// The last line of the summary was seen.
    is_whole: bool,
    failed: Option<String>,
}

/// The line without what begins each of sockperf.
fn tagged(line: &str) -> Option<&str> {
    line.split_once(TAG).map(|(_, rest)| rest.trim())
}

impl Grammar for Sockperf {
    type Test = Output;

    fn step(
        &mut self,
        log: &mut Log,
        open: &mut Option<Output>,
        line: &str,
    ) -> Result<Step<Output>> {
        if let Some(command) = find(line) {
            log.command = Some(command);
            return Ok(Step::Between);
        }
        let tagged = tagged(line);
        let version = tagged.and_then(|rest| rest.strip_prefix("== version #"));
        if let Some(version) = version {
            log.version = version.split([' ', '=']).next().map(str::to_owned);
            return Ok(Step::Between);
        }
        let is_headless = open.is_none() && !log.is_lost && tagged.is_some_and(begins);
        if line.starts_with("sockperf[CLIENT]") || is_headless {
            return Ok(Step::Begin(Output::new(log)));
        }
        Ok(Step::Inside)
    }
}

/// Lines with which a test's output can begin if its first line is not there.
fn begins(rest: &str) -> bool {
    ["Warmup stage", "Starting test", "[Total Run]", "Total of "]
        .iter()
        .any(|begin| rest.starts_with(begin))
}

/// A call of sockperf; its mode comes before its options.
fn find(line: &str) -> Option<Command> {
    const MODES: &[&str] = &[
        "pp",
        "ping-pong",
        "ul",
        "under-load",
        "tp",
        "throughput",
        "pb",
        "playback",
    ];
    let (prompt, rest) = line.split_once("sockperf ")?;
    let mode = rest.split_whitespace().next()?;
    let host = Command::find(&format!("{prompt}sockperf -{mode}"), &["sockperf"])?.host;
    MODES.contains(&mode).then(|| Command {
        host,
        line: format!("sockperf {}", rest.trim()),
    })
}

impl Draft for Output {
    fn begun(&self) -> usize {
        self.test.origin.line
    }

    fn line(&mut self, _log: &Log, line: &str) -> Result<()> {
        self.test.text.add(line);
        match tagged(line) {
            Some(rest) => self.tagged(rest)?,
            None => self.other(line),
        }
        Ok(())
    }

    fn finish(mut self, tests: &mut Vec<ParsedTest>) -> Result<()> {
        let transport = self.transport;
        if let (Some(reason), false) = (self.failed.take(), self.is_whole) {
            self.test.transport = transport.unwrap_or(Transport::Udp);
            self.test.interrupted = Some(reason);
            tests.push(self.test.traffic());
            return Ok(());
        }
        if !self.is_whole {
            return Err(self.missing().into());
        }
        self.test.transport =
            transport.ok_or("the line that names its server (\"[ 0] IP = …\")")?;
        if self.bps.is_none() && self.figures.mean.is_none() {
            return Err("its mean delay is not there".into());
        }
        tests.push(match self.bps {
            Some(_) => self.throughput(),
            None => self.latency(),
        });
        Ok(())
    }
}

impl Output {
    fn new(log: &mut Log) -> Self {
        let command = log.command.take();
        let transport = command.as_ref().map(|command| {
            if command.has('-', "tcp") {
                Transport::Tcp
            } else {
                Transport::Udp
            }
        });
        let mut test = TestBuilder::new(log, &FORMAT, View::Client, Transport::Udp);
        let server = command.as_ref().and_then(|it| it.value("-i", &["ip"]));
        test.peer = server.map(str::to_owned);
        test.command = command;
        Self {
            test,
            servers: Vec::new(),
            before: Vec::new(),
            transport,
            of: DelayOf::HalfRoundTrip,
            figures: DelayFigures::default(),
            seconds: None,
            messages: None,
            dropped: None,
            summary: None,
            sent: None,
            bps: None,
            per_second: None,
            is_whole: false,
            failed: None,
        }
    }

    /// The first of the lines with its figures that is not there.
    const fn missing(&self) -> &'static str {
        if self.sent.is_some() {
            "its rate (\"Summary: BandWidth is …\") is not there"
        } else if self.seconds.is_none() {
            "its counted time (\"[Valid Duration] …\") is not there"
        } else if self.summary.is_none() {
            "its mean delay (\"Summary: Latency is …\") is not there"
        } else {
            "the end of its quantiles (\"---> <MIN> observation\") is not there"
        }
    }

    /// `[ 0] IP = 127.0.0.1       PORT = 11111 # UDP`
    fn other(&mut self, line: &str) {
        let Some((_, rest)) = line.split_once("IP = ") else {
            return;
        };
        let mut words = rest.split_whitespace();
        let server = words.next().map(str::to_owned);
        if self.servers.len() < MAX_STREAMS {
            self.servers.extend(server.clone());
        }
        self.test.peer = server;
        match words.next_back() {
            Some("UDP") => self.transport = Some(Transport::Udp),
            Some("TCP") => self.transport = Some(Transport::Tcp),
            _ => {}
        }
    }

    fn tagged(&mut self, rest: &str) -> Result<(), &'static str> {
        const MEAN: &str = "a mean such as Latency is 6.741 usec";
        if rest.contains(" Printing statistics for Server No:") && self.seconds.is_some() {
            self.next_server()?;
        } else if rest.starts_with("[Valid Duration] ") && self.seconds.is_some() {
            return Err(MIXED);
        } else if let Some(run) = rest.strip_prefix("[Valid Duration] ") {
            self.valid(run)
                .ok_or("RunTime, SentMessages and ReceivedMessages")?;
        } else if let Some(mean) = rest.strip_prefix("====> avg-") {
            self.mean(mean)
                .ok_or("a mean and a standard deviation such as 6.741 (std-dev=1.527)")?;
        } else if let Some(counts) = rest.strip_prefix("# dropped messages = ") {
            self.dropped = Some(dropped(counts).ok_or("three numbers of messages")?);
        } else if let Some(count) = rest.strip_prefix("Total of ") {
            self.sent = Some(sent(count).ok_or("messages and seconds")?);
        } else if let Some(rate) = rest.strip_prefix("Summary: Message Rate is ") {
            let rate = rate.strip_suffix(" [msg/sec]").and_then(Rounded::parse);
            self.per_second = Some(rate.ok_or("a rate such as 44232 [msg/sec]")?);
        } else if let Some(rate) = rest.strip_prefix("Summary: BandWidth is ") {
            self.bps = Some(rate_of(rate).ok_or("a rate such as 16.320 MBps (130.556 Mbps)")?);
            self.is_whole = true;
        } else if let Some((_, mean)) = rest
            .split_once("Summary: ")
            .and_then(|(_, summary)| delay(summary))
        {
            let mean = mean.trim_end().strip_suffix(" usec").ok_or(MEAN)?;
            self.summary = Some(micros(mean.trim()).ok_or(MEAN)?);
        } else if let Some(count) = rest.strip_prefix("Total ") {
            let count = count.split(' ').next().and_then(|count| count.parse().ok());
            self.figures.count = Some(count.ok_or("a number of observations")?);
        } else if let Some(figure) = rest.strip_prefix("---> ") {
            self.quantile(figure)
                .ok_or("a quantile such as percentile 99.000 = 8.412")?;
        } else if let Some((_, size)) = rest.split_once(" using msg-size=") {
            let size = size.split(['.', ' ']).next();
            self.test.payload_bytes = size.and_then(|size| size.parse().ok());
        } else if let Some(reason) = rest.strip_prefix("ERROR: ") {
            self.failed = Some(reason.to_owned());
        } else if rest.contains("No messages were received") {
            self.failed = Some(rest.to_owned());
        }
        Ok(())
    }

    /// `RunTime=0.550 sec; SentMessages=40712; ReceivedMessages=40712`
    fn valid(&mut self, run: &str) -> Option<()> {
        let of = |key: &str| Some(run.split_once(key)?.1.split([';', ' ']).next()?.trim());
        self.seconds = Some(Rounded::parse(of("RunTime=")?)?);
        self.messages = Some((
            of("SentMessages=")?.parse().ok()?,
            of("ReceivedMessages=")?.parse().ok()?,
        ));
        Some(())
    }

    /// `latency=6.741 (std-dev=1.527, …)`; since 3.8 `rtt=` with `--full-rtt`.
    fn mean(&mut self, text: &str) -> Option<()> {
        let (what, after) = text.split_once('=')?;
        if what != "latency" && what != "lat" {
            self.of = DelayOf::RoundTrip;
        }
        let (mean, after) = after.trim_start().split_once(' ')?;
        let (_, stdev) = after.split_once("std-dev=")?;
        let stdev = stdev.split([',', ')']).next()?;
        self.figures.mean = Some(micros(mean)?);
        self.figures.stdev = Some(micros(stdev)?);
        Some(())
    }

    /// `percentile 99.900 =   11.022`, `<MAX> observation =  64.310`
    fn quantile(&mut self, text: &str) -> Option<()> {
        let (what, value) = text.split_once('=')?;
        let value = micros(value.trim())?;
        let figures = &mut self.figures;
        match what.trim().trim_start_matches("percentile ").trim_end() {
            "<MAX> observation" | "MAX observation" => figures.max = Some(value),
            "<MIN> observation" | "MIN observation" => {
                figures.min = Some(value);
                self.is_whole = true;
            }
            quantile => {
                let quantile = decimal(quantile)?;
                let known = [
                    (50.0, &mut figures.p50),
                    (90.0, &mut figures.p90),
                    (99.0, &mut figures.p99),
                    (99.9, &mut figures.p999),
                ];
                for (wanted, slot) in known {
                    if quantile.total_cmp(&wanted).is_eq() {
                        *slot = Some(value);
                    }
                }
            }
        }
        Some(())
    }

    /// The message size, which is printed only where another one would be better.
    fn payload(&self) -> Option<u64> {
        // What sockperf sends without `-m`: its header alone.
        const DEFAULT: u64 = 14;
        let asked = |command: &Command| match command.value("-m", &["msg-size"]) {
            Some(typed) => typed.parse().ok(),
            None => Some(DEFAULT),
        };
        let printed = self.test.payload_bytes;
        printed.or_else(|| self.test.command.as_ref().and_then(asked))
    }

    /// Messages per second that were asked for; `None` for ping-pong and for as fast as possible.
    fn asked_pps(&self) -> Option<u64> {
        let typed = self.test.command.as_ref()?.value("--mps", &["mps"])?;
        typed.parse().ok()
    }

    /// What became of the messages that asked for an answer, of a test that sent whatever is under way. Each is waited
    /// for until the test ends.
    fn requests(&self) -> Option<Requests> {
        if !self.is_under_load() {
            return None;
        }
        let (sent, received) = self.messages?;
        let [dropped, duplicated, reordered] = self.dropped?;
        let all = received.checked_add(dropped).filter(|all| *all <= sent)?;
        // With `--reply-every` most messages ask for none.
        let rate = self.asked_pps().filter(|_| all == sent);
        let count = PacketCount::new;
        Some(Requests {
            arrival: Arrival::Constant,
            intended_rate: rate.map(|pps| PacketRate::from_pps(exact(pps))),
            intended: count(all),
            unsent: count(0),
            sent: count(all),
            answered: count(received),
            unanswered: count(dropped),
            late_answers: count(0),
            duplicated: count(duplicated),
            reordered: count(reordered),
            answer_timeout: Duration::try_from_secs_f64(self.seconds?.value).ok()?,
        })
    }

    /// Whether the client sends at a rate, whatever is still under way.
    fn is_under_load(&self) -> bool {
        let command = self.test.command.as_ref();
        let mode = command.and_then(|command| command.line.split_whitespace().nth(1));
        mode.is_some_and(|mode| ["pb", "playback", "ul", "under-load"].contains(&mode))
    }

    /// What was exchanged: a message at a time, or at a rate.
    fn work(&self) -> TrialWork {
        let counts = UnitCounts {
            packets: self.packets(),
            ..UnitCounts::default()
        };
        let delay = Some(self.figures.delay(self.of));
        if !self.is_under_load() {
            return ClosedLoopResult {
                counts,
                delay,
                ..ClosedLoopResult::default()
            }
            .into();
        }
        OpenLoopResult {
            counts,
            delay,
            requests: self.requests(),
            ..OpenLoopResult::default()
        }
        .into()
    }

    /// Keeps what was measured with one of several servers: each has figures of its own.
    fn next_server(&mut self) -> Result<(), &'static str> {
        if !self.is_whole || self.before.len() >= MAX_STREAMS {
            return Err(self.missing());
        }
        let trial = self.delays();
        self.before.push(trial);
        self.figures = DelayFigures::default();
        (self.seconds, self.messages, self.dropped, self.summary) = (None, None, None, None);
        self.is_whole = false;
        Ok(())
    }

    /// What was measured with one server.
    fn delays(&mut self) -> Trial {
        self.test.transport = self.transport.unwrap_or(self.test.transport);
        self.contradictions();
        let work = self.work();
        let exchanges = Exchanges {
            figures: self.figures,
            bytes: self.payload(),
            streams: Some(1),
            seconds: self.seconds,
            per_second: None,
        };
        let mut trial = self.test.trial(&exchanges, work);
        let load = self.asked_pps().filter(|_| self.is_under_load());
        let load = load.map(|pps| format!("under a load of {pps} messages per second"));
        trial.reasons.extend(load);
        let left = self.messages.zip(self.dropped);
        if let Some(((sent, _), [dropped, ..])) = left.filter(|(_, [dropped, ..])| *dropped > 0) {
            trial.reasons.push(format!(
                "{dropped} of {sent} messages were not answered: the delays are of those that were"
            ));
        }
        if let Some(server) = self.servers.get(self.before.len())
            && self.servers.len() > 1
        {
            let size = trial.label.take().map(|size| format!("{size}, "));
            trial.label = Some(size.unwrap_or_default() + server);
        }
        trial
    }

    fn latency(mut self) -> ParsedTest {
        let last = self.delays();
        self.test
            .note("sockperf leaves out the first 400 ms and the last 50 ms of a test");
        if self.servers.len() > 1 {
            self.test.peer = None;
        }
        self.before.push(last);
        let (named, measured) = (self.servers.len().max(1), self.before.len());
        if named != measured {
            self.test.doubt(format!(
                "the log names {named} of sockperf's servers, and has figures of {measured}"
            ));
        }
        self.test.latency(self.before)
    }

    /// Messages, observations and the two means that contradict each other.
    fn contradictions(&mut self) {
        let mut doubts = Vec::new();
        let observed = self.messages.zip(self.figures.count);
        if let Some(((_, received), count)) = observed.filter(|((_, a), b)| a != b) {
            self.figures.count = None;
            doubts.push(format!(
                "the number of values is unknown: {received} messages were received, {count} are observed"
            ));
        }
        if let Some((mean, summary)) = self.figures.mean.zip(self.summary)
            && !mean.agrees(summary)
        {
            self.figures.mean = None;
            doubts.push("the mean delay is unknown: the summary has another one".to_owned());
        }
        for doubt in doubts {
            self.test.doubt(doubt);
        }
    }

    /// Datagrams asked and answered. A loss on either way is the same to a client.
    fn packets(&self) -> Option<Packets> {
        let is_udp = self.test.transport == Transport::Udp;
        let (sent, received) = self.messages.filter(|_| is_udp)?;
        let lost = sent.checked_sub(received)?;
        // Under load only some messages ask for an answer.
        let [dropped, duplicated, reordered] =
            self.dropped.filter(|[dropped, ..]| *dropped == lost)?;
        Some(Packets {
            sent: Some(PacketCount::new(sent)),
            received: Some(PacketCount::new(received)),
            lost: Some(PacketCount::new(dropped)),
            duplicated: Some(PacketCount::new(duplicated)),
            reordered: Some(PacketCount::new(reordered)),
            loss_ratio: (sent > 0).then(|| Ratio::from_parts(dropped, sent)),
        })
    }

    fn throughput(mut self) -> ParsedTest {
        let payload = self.payload();
        let is_udp = self.test.transport == Transport::Udp;
        self.test.payload_bytes = payload;
        if let Some((messages, seconds)) = self.sent {
            let counted = Rounded::exact(exact(messages)).per(seconds);
            let both = counted.zip(self.per_second);
            if let Some((_, rate)) =
                both.filter(|(counted, rate)| !counted.scaled(0.125).agrees(*rate))
            {
                self.test.doubt(format!(
                    "the message rate is another than that of its messages: {messages} in {:.3} s are not {} per second",
                    seconds.value, rate.value
                ));
            }
            let bytes = payload.and_then(|payload| messages.checked_mul(payload));
            let own = Totals {
                bytes: bytes.map(|bytes| Rounded::exact(exact(bytes))),
                bps: self.bps,
                datagrams: Some(messages).filter(|_| is_udp),
                ..Totals::over(seconds)
            };
            let way = DirectionFigures {
                streams: 1,
                own: Some(own),
                ..DirectionFigures::default()
            };
            self.test.flow(Direction::Forward, way);
        }
        self.test
            .note("the receiver counts nothing: what arrived is unknown");
        self.test.traffic()
    }
}

/// What and how much of `Latency is 32.219 usec`; `Message Rate is …` is no delay.
fn delay(summary: &str) -> Option<(&str, &str)> {
    let (what, much) = summary.split_once(" is ")?;
    ["Latency", "RTT", "Round trip"]
        .contains(&what)
        .then_some((what, much))
}

/// sockperf prints three decimals: fewer are a line that was cut.
fn micros(text: &str) -> Option<Rounded> {
    Some(Rounded::with_decimals(text, 3)?.scaled(1e-6))
}

/// `0; # duplicated messages = 0; # out-of-order messages = 0`
fn dropped(text: &str) -> Option<[u64; 3]> {
    let counts: Option<Vec<u64>> = text
        .split(';')
        .map(|part| part.rsplit(' ').next()?.trim().parse().ok())
        .collect();
    counts?.try_into().ok()
}

/// `1345345 messages sent in 1.100 sec`
fn sent(text: &str) -> Option<(u64, Rounded)> {
    let (messages, rest) = text.split_once(" messages sent in ")?;
    let seconds = Rounded::parse(rest.strip_suffix(" sec")?.trim())?;
    Some((messages.trim().parse().ok()?, seconds))
}

/// `16.320 MBps (130.556 Mbps)`, or `GBps` with `Gbps`, as bit/s.
fn rate_of(text: &str) -> Option<Rounded> {
    const MEBI: f64 = 1_048_576.0;
    let (_, bits) = text.split_once('(')?;
    let (number, unit) = bits.trim_end_matches(')').split_once(' ')?;
    let scale = match unit {
        "Mbps" => MEBI,
        "Gbps" => MEBI * 1000.0,
        _ => return None,
    };
    Some(Rounded::parse(number)?.scaled(scale))
}

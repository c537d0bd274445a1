//! sockperf's client output: ping-pong, under-load and throughput.
//!
//! # References
//! - Times are in microseconds and, unless the summary says `Round trip`, half of a round trip
//! - `MBps` is 2^20 bytes and `Mbps` 2^20 bits per second, `Gb` figures divide the MB ones by 1000;
//!   the rate is of message payload at the sender
//! - The message size is known from the command line (default 14), or from the hint at a better one

use super::delay::{self, DelayFigures};
use super::line::Fingerprint;
use super::rounded::note_rounding;
use super::{
    Command, Flow, Hints, ImportError, LatencyTest, LogFormat, LogReader, Origin, ParsedTest,
    Rounded, Totals, TrafficTest, View, exact,
};
use linerate_model::run::{ClosedLoopResult, DelayOf, Packets, Trial, UnitCounts};
use linerate_model::spec::{Direction, Transport};
use linerate_model::{ByteCount, PacketCount, Ratio};

/// sockperf's client output.
#[derive(Debug)]
pub(super) struct Sockperf;

const ID: &str = "sockperf";
/// What begins each line of sockperf.
const TAG: &str = "sockperf: ";

impl LogFormat for Sockperf {
    fn id(&self) -> &'static str {
        ID
    }

    fn summary(&self) -> &'static str {
        "output of a sockperf client: ping-pong, under-load or throughput"
    }

    fn recognise(&self, line: &str) -> usize {
        usize::from(line.contains(TAG))
    }

    fn reader(&self, file: &str, _hints: &Hints) -> Box<dyn LogReader> {
        Box::new(Reader {
            file: file.to_owned(),
            command: None,
            version: None,
            open: None,
            is_lost: false,
            tests: Vec::new(),
        })
    }
}

/// Cuts a log into tests.
struct Reader {
    file: String,
    command: Option<Command>,
    version: Option<String>,
    open: Option<Draft>,
    /// The lines are those of a test that was refused.
    is_lost: bool,
    tests: Vec<ParsedTest>,
}

/// A test that is being read.
struct Draft {
    line: usize,
    command: Option<Command>,
    transport: Option<Transport>,
    server: Option<String>,
    of: DelayOf,
    figures: DelayFigures,
    /// Counted time of a delay test in seconds.
    seconds: Option<Rounded>,
    /// Sent and received messages of the counted time.
    messages: Option<(u64, u64)>,
    dropped: Option<[u64; 3]>,
    /// Message size.
    payload: Option<u64>,
    /// Messages sent, and in how many seconds, by a throughput test.
    sent: Option<(u64, Rounded)>,
    /// Payload bit/s of a throughput test.
    bps: Option<Rounded>,
    /// The last line of the summary was seen.
    is_whole: bool,
    failed: Option<String>,
    text: Fingerprint,
}

impl LogReader for Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), ImportError> {
        if let Some(command) = find(line) {
            self.settle();
            self.is_lost = false;
            self.command = Some(command);
            return Ok(());
        }
        let tagged = line.split_once(TAG).map(|(_, rest)| rest.trim());
        if let Some(version) = tagged.and_then(|rest| rest.strip_prefix("== version #")) {
            self.settle();
            self.is_lost = false;
            self.version = version.split([' ', '=']).next().map(str::to_owned);
        }
        let is_client = line.starts_with("sockperf[CLIENT]");
        let is_headless = self.open.is_none() && !self.is_lost && tagged.is_some_and(begins);
        if is_client || is_headless {
            self.settle();
            self.is_lost = false;
            self.open = Some(Draft::new(number, self.command.take()));
        }
        let Some(draft) = &mut self.open else {
            return Ok(());
        };
        draft.text.add(line);
        let Some(rest) = tagged else {
            draft.other(line);
            return Ok(());
        };
        draft
            .tagged(rest)
            .map_err(|wanted| ImportError::line(&self.file, number, wanted, line))
    }

    fn close(&mut self) -> Result<(), ImportError> {
        if let Some(draft) = self.open.take() {
            let test = draft.finish(&self.file, self.version.clone())?;
            self.tests.push(test);
        }
        Ok(())
    }

    fn forget(&mut self) {
        (self.open, self.is_lost) = (None, true);
    }

    fn tests(&mut self) -> &mut Vec<ParsedTest> {
        &mut self.tests
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

impl Draft {
    fn new(line: usize, command: Option<Command>) -> Self {
        let transport = command.as_ref().map(|command| {
            if command.has('-', "tcp") {
                Transport::Tcp
            } else {
                Transport::Udp
            }
        });
        Self {
            line,
            server: command
                .as_ref()
                .and_then(|command| command.value("-i", &["ip"]))
                .map(str::to_owned),
            transport,
            command,
            of: DelayOf::HalfRoundTrip,
            figures: DelayFigures::default(),
            seconds: None,
            messages: None,
            dropped: None,
            payload: None,
            sent: None,
            bps: None,
            is_whole: false,
            failed: None,
            text: Fingerprint::default(),
        }
    }

    /// `[ 0] IP = 127.0.0.1       PORT = 11111 # UDP`
    fn other(&mut self, line: &str) {
        let Some((_, rest)) = line.split_once("IP = ") else {
            return;
        };
        let mut words = rest.split_whitespace();
        self.server = words.next().map(str::to_owned);
        match words.next_back() {
            Some("UDP") => self.transport = Some(Transport::Udp),
            Some("TCP") => self.transport = Some(Transport::Tcp),
            _ => {}
        }
    }

    fn tagged(&mut self, rest: &str) -> Result<(), &'static str> {
        if let Some(run) = rest.strip_prefix("[Valid Duration] ") {
            self.valid(run)
                .ok_or("RunTime, SentMessages and ReceivedMessages")?;
        } else if let Some(mean) = rest.strip_prefix("====> avg-") {
            self.mean(mean)
                .ok_or("a mean and a standard deviation such as 6.741 (std-dev=1.527)")?;
        } else if let Some(counts) = rest.strip_prefix("# dropped messages = ") {
            self.dropped = Some(dropped(counts).ok_or("three numbers of messages")?);
        } else if let Some(count) = rest.strip_prefix("Total of ") {
            self.sent = Some(sent(count).ok_or("messages and seconds")?);
        } else if let Some(rate) = rest.strip_prefix("Summary: BandWidth is ") {
            self.bps = Some(rate_of(rate).ok_or("a rate such as 16.320 MBps (130.556 Mbps)")?);
            self.is_whole = true;
        } else if let Some(count) = rest.strip_prefix("Total ") {
            let count = count.split(' ').next().and_then(|count| count.parse().ok());
            self.figures.count = Some(count.ok_or("a number of observations")?);
        } else if let Some(figure) = rest.strip_prefix("---> ") {
            self.quantile(figure)
                .ok_or("a quantile such as percentile 99.000 = 8.412")?;
        } else if let Some((_, size)) = rest.split_once(" using msg-size=") {
            let size = size.split(['.', ' ']).next();
            self.payload = size.and_then(|size| size.parse().ok());
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
                let quantile: f64 = quantile.parse().ok()?;
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

    fn finish(self, file: &str, version: Option<String>) -> Result<ParsedTest, ImportError> {
        let origin = Origin {
            file: file.to_owned(),
            line: self.line,
        };
        let cut = |missing: &str| ImportError::Cut {
            file: file.to_owned(),
            line: self.line,
            missing: missing.to_owned(),
        };
        let transport = self
            .transport
            .ok_or_else(|| cut("the line that names its server (\"[ 0] IP = …\")"));
        if let (Some(reason), false) = (&self.failed, self.is_whole) {
            let mut test = TrafficTest::new(
                origin,
                ID,
                ID,
                View::Client,
                transport.unwrap_or(Transport::Udp),
            );
            test.interrupted = Some(reason.clone());
            return Ok(ParsedTest::Traffic(Box::new(test)));
        }
        if !self.is_whole {
            return Err(cut("its summary is not there"));
        }
        let transport = transport?;
        if self.bps.is_some() {
            let test = self.throughput(origin, transport, version);
            return Ok(ParsedTest::Traffic(Box::new(test)));
        }
        let test = self.latency(origin, transport, version);
        Ok(ParsedTest::Latency(Box::new(test)))
    }

    /// The message size, which is printed only where another one would be better.
    fn payload(&self) -> Option<u64> {
        // What sockperf sends without `-m`: its header alone.
        const DEFAULT: u64 = 14;
        let asked = |command: &Command| match command.value("-m", &["msg-size"]) {
            Some(typed) => typed.parse().ok(),
            None => Some(DEFAULT),
        };
        self.payload
            .or_else(|| self.command.as_ref().and_then(asked))
    }

    /// Messages per second that were asked for; `None` for ping-pong and for as fast as possible.
    fn asked_pps(&self) -> Option<u64> {
        let typed = self.command.as_ref()?.value("--mps", &["mps"])?;
        typed.parse().ok()
    }

    fn latency(self, origin: Origin, transport: Transport, version: Option<String>) -> LatencyTest {
        let mut test = LatencyTest::new(origin, ID, ID, transport);
        let work = ClosedLoopResult {
            counts: UnitCounts {
                packets: self.packets(transport),
                ..UnitCounts::default()
            },
            delay: Some(self.figures.delay(self.of)),
            ..ClosedLoopResult::default()
        };
        let mut trial = Trial::from_log(0, transport, Direction::Forward, work);
        let payload = self.payload();
        trial.label = payload.map(|bytes| format!("{bytes} B"));
        trial.streams = Some(1);
        trial.payload_bytes = payload.map(ByteCount::new);
        trial.duration = self
            .seconds
            .and_then(|seconds| std::time::Duration::try_from_secs_f64(seconds.value).ok());
        if let Some(seconds) = self.seconds {
            note_rounding(&mut trial, "duration_s", seconds.interval());
        }
        self.figures.note_rounding(&mut trial);
        if let Some(pps) = self.asked_pps() {
            trial
                .reasons
                .push(format!("under a load of {pps} messages per second"));
        }
        test.tool.version = version;
        test.hosts = delay::hosts(None, self.server.as_deref());
        test.fingerprint = self.text.get();
        test.command = self.command.map(|command| command.line);
        test.trials = vec![trial];
        test.notes
            .push("sockperf leaves out the first 400 ms and the last 50 ms of a test".to_owned());
        test
    }

    /// Datagrams asked and answered. A loss on either way is the same to a client.
    fn packets(&self, transport: Transport) -> Option<Packets> {
        let (sent, received) = self.messages.filter(|_| transport == Transport::Udp)?;
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

    fn throughput(
        self,
        origin: Origin,
        transport: Transport,
        version: Option<String>,
    ) -> TrafficTest {
        let mut test = TrafficTest::new(origin, ID, ID, View::Client, transport);
        let payload = self.payload();
        test.tool.version = version;
        test.payload_bytes = payload;
        test.peer.clone_from(&self.server);
        test.fingerprint = self.text.get();
        if let Some((messages, seconds)) = self.sent {
            let bytes = payload.and_then(|payload| messages.checked_mul(payload));
            test.flows = vec![Flow {
                streams: 1,
                sent: Some(Totals {
                    bytes: bytes.map(|bytes| Rounded::exact(exact(bytes))),
                    bps: self.bps,
                    datagrams: Some(messages).filter(|_| transport == Transport::Udp),
                    ..Totals::over(seconds)
                }),
                ..Flow::new(Direction::Forward)
            }];
        }
        test.notes
            .push("the receiver counts nothing: what arrived is unknown".to_owned());
        test.command = self.command;
        test
    }
}

fn micros(text: &str) -> Option<Rounded> {
    Some(Rounded::parse(text)?.scaled(1e-6))
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

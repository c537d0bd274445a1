//! Output of Microsoft's `NTttcp` for Linux, of either end.
//!
//! # References
//! - A test begins with the tool's name and version; its totals follow `#####  Totals:  #####`, and the CPU's figures follow
//!   these
//! - `retrans segs` is printed of TCP only, `connections created` and `connections tested` by the sender only; what an end counts is what it sent or
//!   took itself
//! - Rates are of 10^3 steps

use super::reader::{Draft, Fault, Grammar, Log, Reader, Result, Step};
use super::streams::MIXED;
use super::test_builder::{DirectionFigures, TestBuilder};
use super::{LogFormat, ParsedTest, Rounded, Totals, View};
use linerate_model::spec::{Direction, Transport};

/// Words of lines that no other tool prints.
const MARKS: &[&str] = &[
    HEAD,
    "#####  Totals:  #####",
    "INFO: Network activity progressing...",
    "INFO: Test cycle finished.",
];

/// What a test begins with, before the version.
const HEAD: &str = "NTTTCP for Linux ";

/// Output of `NTttcp` for Linux.
pub(super) static FORMAT: LogFormat = LogFormat {
    id: "ntttcp",
    tool: "NTttcp",
    summary: "output of NTttcp for Linux, sender or receiver",
    recognise: |line| usize::from(MARKS.iter().any(|mark| line.contains(mark))),
    begins: |line| line.find(HEAD),
    reader: |file, _| Reader::boxed(file, Ntttcp),
};

/// Tests begin with the tool's name.
struct Ntttcp;

/// What is printed of a test.
struct Output {
    test: TestBuilder,
    has_totals: bool,
    seconds: Option<Rounded>,
    bytes: Option<u64>,
    bps: Option<Rounded>,
    retransmitted: Option<u64>,
    connections: Option<u16>,
    /// It said that it opened connections.
    is_sender: bool,
    /// The CPU's figures have begun.
    is_whole: bool,
}

impl Grammar for Ntttcp {
    type Test = Output;

    fn step(
        &mut self,
        log: &mut Log,
        _open: &mut Option<Output>,
        line: &str,
    ) -> Result<Step<Output>> {
        let Some((_, version)) = line.split_once(HEAD) else {
            return Ok(Step::Inside);
        };
        log.version = version.split_whitespace().next().map(str::to_owned);
        Ok(Step::Begin(Output::new(log)))
    }
}

impl Draft for Output {
    fn begun(&self) -> usize {
        self.test.origin.line
    }

    fn line(&mut self, _log: &Log, line: &str) -> Result<()> {
        let Some((_, text)) = line.split_once("INFO: ") else {
            return Ok(());
        };
        self.test.text.add(line);
        let text = text.trim();
        if text.contains("Totals:") {
            self.has_totals = true;
        } else if text.contains(" connections created in ") {
            self.is_sender = true;
        } else if let Some(count) = text.strip_suffix(" connections tested") {
            self.connections = Some(count.parse().map_err(|_| "a number of connections")?);
        } else if self.has_totals
            && let Some((key, value)) = text.split_once(':')
        {
            self.figure(key.trim(), value.trim())?;
        }
        Ok(())
    }

    fn finish(mut self, tests: &mut Vec<ParsedTest>) -> Result<()> {
        let missing = |what: &str| Fault::Missing(format!("{what} is not there"));
        let seconds = self
            .seconds
            .ok_or_else(|| missing("its \"test duration\""))?;
        let bytes = self.bytes.ok_or_else(|| missing("its \"total bytes\""))?;
        let bps = self.bps.ok_or_else(|| missing("its \"throughput\""))?;
        // Whether segments were sent again, by which TCP is known, stands before it.
        if !self.is_whole {
            return Err(missing("its \"cpu cores\""));
        }
        if self.is_sender && self.connections.is_none() {
            return Err(missing("its \"connections tested\""));
        }
        self.test.view = if self.connections.is_some() {
            View::Client
        } else {
            View::Server
        };
        if self.retransmitted.is_none() {
            self.test.transport = Transport::Udp;
            self.test.note(
                "NTttcp names the transport nowhere: without a line \"retrans segs\", which it prints of TCP, it is taken as UDP",
            );
        }
        let own = Totals {
            bytes: Some(Rounded::exact(super::exact(bytes))),
            bps: Some(bps),
            retransmitted: self
                .retransmitted
                .filter(|_| self.test.view == View::Client),
            ..Totals::over(seconds)
        };
        let way = DirectionFigures {
            streams: self.connections.unwrap_or(0).into(),
            own: Some(own),
            ..DirectionFigures::default()
        };
        self.test.flow(Direction::Forward, way);
        tests.push(self.test.traffic());
        Ok(())
    }
}

impl Output {
    fn new(log: &Log) -> Self {
        Self {
            test: TestBuilder::new(log, &FORMAT, View::Client, Transport::Tcp),
            has_totals: false,
            seconds: None,
            bytes: None,
            bps: None,
            retransmitted: None,
            connections: None,
            is_sender: false,
            is_whole: false,
        }
    }

    fn figure(&mut self, key: &str, value: &str) -> Result<(), &'static str> {
        match key {
            "test duration" => {
                let seconds = value.strip_suffix(" seconds");
                let seconds = seconds.and_then(|text| Rounded::with_decimals(text, 2));
                self.seconds = Some(seconds.ok_or("a time such as 60.00 seconds")?);
            }
            "total bytes" => {
                let bytes = value.parse().map_err(|_| "a number of bytes")?;
                // Two tests that wrote to one file at once.
                if self.bytes.is_some_and(|other| other != bytes) {
                    return Err(MIXED);
                }
                self.bytes = Some(bytes);
            }
            "throughput" => {
                self.bps = Some(rate(value).ok_or("a rate such as 953.35Mbps")?);
            }
            "retrans segs" => {
                self.retransmitted = Some(value.parse().map_err(|_| "a number of segments")?);
            }
            "cpu cores" => self.is_whole = true,
            _ => {}
        }
        Ok(())
    }
}

/// `953.35Mbps`
fn rate(text: &str) -> Option<Rounded> {
    let unit = text.find(|c: char| c.is_ascii_alphabetic())?;
    let scale = match &text[unit..] {
        "bps" => 1.0,
        "Kbps" => 1e3,
        "Mbps" => 1e6,
        "Gbps" => 1e9,
        "Tbps" => 1e12,
        _ => return None,
    };
    Some(Rounded::with_decimals(&text[..unit], 2)?.scaled(scale))
}

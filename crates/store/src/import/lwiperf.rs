//! Reports of lwIP's lwiperf: one line per transfer, or the lines of vendors' examples; TCP only.
//!
//! # References
//! - `lwiperf report: TCP_DONE_SERVER local A:p remote B:p bytes=… ms=… kbit/s=…`, and the line of
//!   lwIP's own example: `IPERF report: type=…, remote: B:p, total bytes: …, duration in ms: …, kbits/s: …`
//! - Examples of NXP, RT-Thread and others have a line for each figure: `TCP_DONE_SERVER (RX)`, `Local address : A  Port
//!   p`, `Remote address : B  Port p`, `Bytes Transferred …`, `Duration (ms) …`, `Bandwidth (kbitpsec) …`
//! - Its byte counter has 32 bits, and its rate is bytes per millisecond, cut off, times eight

use super::reader::{Fault, Grammar, Log, Reader, Result, Step};
use super::test_builder::{DirectionFigures, TestBuilder};
use super::{Connection, Endpoint, LogFormat, Rounded, Totals, View, exact};
use linerate_model::spec::{Direction, Transport};

/// Reports of lwIP's lwiperf.
pub(super) static FORMAT: LogFormat = LogFormat {
    id: "lwiperf",
    tool: "lwiperf",
    summary: "report lines of lwIP's lwiperf, client or server, TCP",
    recognise: |line| usize::from(report(line).is_some() || begins(line).is_some()),
    begins,
    reader: |file, _| Reader::boxed(file, Lwiperf::default()),
};

/// Each report is a test.
#[derive(Default)]
struct Lwiperf {
    /// A report of several lines that is not over.
    open: Option<Lines>,
}

/// The lines of a report, as the one line that lwIP's own example prints.
struct Lines {
    test: TestBuilder,
    report: String,
}

/// Figures of a report that has a line for each, and how the one line calls them.
const FIGURES: &[(&str, &str)] = &[
    ("Bytes Transferred ", " bytes="),
    ("Duration (ms) ", " ms="),
    (LAST, " kbit/s="),
];
/// Addresses of such a report.
const ADDRESSES: &[(&str, &str)] = &[
    ("Local address : ", " local "),
    ("Remote address : ", " remote "),
];
/// The last line of such a report.
const LAST: &str = "Bandwidth (kbitpsec) ";
/// What begins the first line of such a report.
const KINDS: &[&str] = &[
    "TCP_ABORTED_",
    "TCP_DONE_CLIENT (TX)",
    "TCP_DONE_SERVER (RX)",
];

/// Where the words of a report of several lines begin in a line.
fn begins(line: &str) -> Option<usize> {
    if report(line).is_some() {
        return None;
    }
    let words = FIGURES.iter().chain(ADDRESSES).map(|(words, _)| *words);
    let words = words.chain(KINDS.iter().copied());
    words.filter_map(|words| line.find(words)).min()
}

impl Grammar for Lwiperf {
    type Test = TestBuilder;

    fn step(
        &mut self,
        log: &mut Log,
        _open: &mut Option<TestBuilder>,
        line: &str,
    ) -> Result<Step<TestBuilder>> {
        let Some(report) = report(line) else {
            let whole = self.lines(log, line)?;
            return Ok(whole.map_or(Step::Taken, Step::Begin));
        };
        self.cut(log);
        let Some(test) = begin(log, report) else {
            return Ok(Step::Taken);
        };
        Ok(Step::Begin(read(test, report).ok_or(WANTED)?))
    }

    fn finish(&mut self, log: &mut Log) {
        self.cut(log);
    }
}

impl Lwiperf {
    /// Takes a line of a report of several ones; the test, if it is the last one.
    fn lines(&mut self, log: &mut Log, line: &str) -> Result<Option<TestBuilder>> {
        let Some(at) = begins(line) else {
            return Ok(None);
        };
        let line = line[at..].trim();
        if KINDS.iter().any(|kind| line.starts_with(kind)) {
            self.cut(log);
            let report = line.split(' ').next().unwrap_or_default().to_owned();
            self.open = begin(log, &report).map(|mut test| {
                test.text.add(line);
                Lines { test, report }
            });
            log.is_lost = self.open.is_none();
            return Ok(None);
        }
        let Some(open) = &mut self.open else {
            if log.is_lost {
                return Ok(None);
            }
            let missing = "its first line (\"TCP_DONE_SERVER (RX)\" or \"TCP_DONE_CLIENT (TX)\") is not there";
            return Err(Fault::Missing(missing.to_owned()));
        };
        open.take(line);
        if !line.contains(LAST) {
            open.test.text.add(line);
            return Ok(None);
        }
        let whole = self.open.take();
        let test = whole.and_then(|Lines { test, report }| read(test, &report));
        test.map_or_else(|| Err(WANTED.into()), |test| Ok(Some(test)))
    }

    /// Refuses the report that is not over.
    fn cut(&mut self, log: &mut Log) {
        if let Some(Lines { test, .. }) = self.open.take() {
            let missing = format!("its last line (\"{}\") is not there", LAST.trim());
            let error = log.cut(test.origin.line, missing);
            log.refuse(error);
        }
    }
}

impl Lines {
    /// Adds the figures or the address of a line.
    fn take(&mut self, line: &str) {
        for (words, key) in FIGURES {
            if let Some(figure) = after(line, words) {
                self.report.extend([*key, figure]);
            }
        }
        for (words, key) in ADDRESSES {
            if let Some((address, port)) = after(line, words).zip(after(line, "Port ")) {
                self.report.extend([*key, address, ":", port]);
            }
        }
    }
}

const WANTED: &str = "the ends, bytes and milliseconds of a report";

/// The test of which a report is, by its first word or its type; one that was aborted is left out.
fn begin(log: &mut Log, report: &str) -> Option<TestBuilder> {
    let kind = after(report, "type=").or_else(|| report.split(' ').next());
    let view = match kind {
        Some("TCP_DONE_SERVER" | "0") => View::Server,
        Some("TCP_DONE_CLIENT" | "1") => View::Client,
        kind => {
            let reason = format!("it was aborted ({})", kind.unwrap_or_default());
            let test = TestBuilder::new(log, &FORMAT, View::Client, Transport::Tcp);
            log.tests.push(test.skipped(reason));
            return None;
        }
    };
    Some(TestBuilder::new(log, &FORMAT, view, Transport::Tcp))
}

/// What follows the words that begin a report.
fn report(line: &str) -> Option<&str> {
    let (_, report) = line
        .split_once("iperf report: ")
        .or_else(|| line.split_once("IPERF report: "))?;
    Some(report)
}

/// The word after `key`.
fn after<'a>(report: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = report.split_once(key)?;
    let rest = rest.trim_start();
    rest.split([' ', ','])
        .next()
        .filter(|word| !word.is_empty())
}

fn endpoint(text: &str) -> Option<Endpoint> {
    let (address, port) = text.rsplit_once(':')?;
    Some(Endpoint {
        address: address.to_owned(),
        port: port.parse().ok()?,
    })
}

fn read(mut test: TestBuilder, report: &str) -> Option<TestBuilder> {
    let number = |keys: [&str; 2]| {
        let word = keys.iter().find_map(|key| after(report, key))?;
        word.parse::<u64>().ok()
    };
    let bytes = number(["bytes=", "total bytes:"])?;
    let millis = number(["ms=", "duration in ms:"])?;
    let kbits = number(["kbit/s=", "kbits/s:"])?;
    let remote = after(report, "remote").and_then(|word| {
        let word = word.trim_start_matches(':');
        endpoint(if word.is_empty() {
            after(report, "remote:")?
        } else {
            word
        })
    });
    let local = after(report, "local").and_then(endpoint);
    test.peer = remote.as_ref().map(|remote| remote.address.clone());
    let link = local.zip(remote);
    test.connections
        .extend(link.map(|(local, remote)| Connection { local, remote }));
    let way = DirectionFigures {
        streams: 1,
        own: Some(totals(bytes, millis, kbits)),
        ..DirectionFigures::default()
    };
    test.flow(Direction::Forward, way);
    test.note(
        "lwiperf counts bytes in 32 bits: a transfer of 4 GiB or more shows what is left over",
    );
    Some(test)
}

/// Milliseconds are cut off, and so are bytes per millisecond.
fn totals(bytes: u64, millis: u64, kbits: u64) -> Totals {
    let cut_off = |count: u64, step: u64, unit: f64| Rounded {
        value: exact(count) * unit,
        low: exact(count) * unit,
        high: exact(count.saturating_add(step)) * unit,
    };
    Totals {
        bytes: Some(Rounded::exact(exact(bytes))),
        bps: Some(cut_off(kbits, 8, 1e3)),
        ..Totals::over(cut_off(millis, 1, 1e-3))
    }
}

//! Reports of lwIP's lwiperf: one line per transfer, TCP only.
//!
//! # References
//! - `lwiperf report: TCP_DONE_SERVER local A:p remote B:p bytes=… ms=… kbit/s=…`, and the line of
//!   lwIP's own example: `IPERF report: type=…, remote: B:p, total bytes: …, duration in ms: …, kbits/s: …`
//! - Its byte counter has 32 bits, and its rate is bytes per millisecond, cut off, times eight

use super::reader::{Grammar, Log, Reader, Result, Step};
use super::test_builder::{DirectionFigures, TestBuilder};
use super::{Connection, Endpoint, LogFormat, Rounded, Totals, View, exact};
use linerate_model::spec::{Direction, Transport};

/// Reports of lwIP's lwiperf.
pub(super) static FORMAT: LogFormat = LogFormat {
    id: "lwiperf",
    tool: "lwiperf",
    summary: "report lines of lwIP's lwiperf, client or server, TCP",
    recognise: |line| usize::from(report(line).is_some()),
    begins: |_| None,
    reader: |file, _| Reader::boxed(file, Lwiperf),
};

/// Each report is a test.
struct Lwiperf;

impl Grammar for Lwiperf {
    type Test = TestBuilder;

    fn step(
        &mut self,
        log: &mut Log,
        _open: &mut Option<TestBuilder>,
        line: &str,
    ) -> Result<Step<TestBuilder>> {
        let Some(report) = report(line) else {
            return Ok(Step::Taken);
        };
        let kind = after(report, "type=").or_else(|| report.split(' ').next());
        let view = match kind {
            Some("TCP_DONE_SERVER" | "0") => View::Server,
            Some("TCP_DONE_CLIENT" | "1") => View::Client,
            kind => {
                let reason = format!("it was aborted ({})", kind.unwrap_or_default());
                let test = TestBuilder::new(log, &FORMAT, View::Client, Transport::Tcp);
                log.tests.push(test.skipped(reason));
                return Ok(Step::Taken);
            }
        };
        let test = TestBuilder::new(log, &FORMAT, view, Transport::Tcp);
        let wanted = "the ends, bytes and milliseconds of a report";
        Ok(Step::Begin(read(test, report).ok_or(wanted)?))
    }
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

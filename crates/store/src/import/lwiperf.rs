//! Reports of lwIP's lwiperf: one line per transfer, TCP only.
//!
//! # References
//! - `lwiperf report: TCP_DONE_SERVER local A:p remote B:p bytes=… ms=… kbit/s=…`, and the line of
//!   lwIP's own example: `IPERF report: type=…, remote: B:p, total bytes: …, duration in ms: …, kbits/s: …`
//! - Its byte counter has 32 bits, and its rate is bytes per millisecond, cut off, times eight

use super::line::Fingerprint;
use super::{
    Connection, Endpoint, Flow, Hints, ImportError, LogFormat, LogReader, Origin, ParsedTest,
    Rounded, Skipped, Totals, TrafficTest, View, exact,
};
use linerate_model::spec::{Direction, Transport};

/// Reports of lwIP's lwiperf.
#[derive(Debug)]
pub(super) struct Lwiperf;

const ID: &str = "lwiperf";

impl LogFormat for Lwiperf {
    fn id(&self) -> &'static str {
        ID
    }

    fn summary(&self) -> &'static str {
        "report lines of lwIP's lwiperf, client or server, TCP"
    }

    fn recognise(&self, line: &str) -> usize {
        usize::from(report(line).is_some())
    }

    fn reader(&self, file: &str, _hints: &Hints) -> Box<dyn LogReader> {
        Box::new(Reader {
            file: file.to_owned(),
            tests: Vec::new(),
        })
    }
}

/// Each report is a test.
struct Reader {
    file: String,
    tests: Vec<ParsedTest>,
}

impl LogReader for Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), ImportError> {
        if let Some(report) = report(line) {
            let wanted = "the ends, bytes and milliseconds of a report";
            let read = test(&self.file, number, line, report)
                .ok_or_else(|| ImportError::line(&self.file, number, wanted, line))?;
            self.tests.push(read);
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), ImportError> {
        Ok(())
    }

    fn forget(&mut self) {}

    fn tests(&mut self) -> &mut Vec<ParsedTest> {
        &mut self.tests
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

fn test(file: &str, number: usize, line: &str, report: &str) -> Option<ParsedTest> {
    let origin = Origin {
        file: file.to_owned(),
        line: number,
    };
    let kind = after(report, "type=").or_else(|| report.split(' ').next())?;
    let view = match kind {
        "TCP_DONE_SERVER" | "0" => View::Server,
        "TCP_DONE_CLIENT" | "1" => View::Client,
        _ => {
            return Some(ParsedTest::Skipped(Skipped {
                origin,
                reason: format!("it was aborted ({kind})"),
            }));
        }
    };
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
    let mut test = TrafficTest::new(origin, ID, ID, view, Transport::Tcp);
    test.fingerprint = Fingerprint::of([line].into_iter());
    test.peer = remote.as_ref().map(|remote| remote.address.clone());
    test.connections = local
        .zip(remote)
        .map(|(local, remote)| Connection { local, remote })
        .into_iter()
        .collect();
    let totals = totals(bytes, millis, kbits);
    let mut flow = Flow {
        streams: 1,
        ..Flow::new(Direction::Forward)
    };
    match view {
        View::Client => flow.sent = Some(totals),
        View::Server => flow.received = Some(totals),
    }
    test.flows = vec![flow];
    test.notes.push(
        "lwiperf counts bytes in 32 bits: a transfer of 4 GiB or more shows what is left over"
            .to_owned(),
    );
    Some(ParsedTest::Traffic(Box::new(test)))
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

//! The `iperf` command of ESP-IDF's examples and of its component `iperf-cmd`.
//!
//! ```text
//! mode=tcp-server sip=192.168.1.71:5001, dip=0.0.0.0:5001, interval=3, time=30
//! I (390763) iperf: accept: 192.168.1.72,50743
//!
//!         Interval Bandwidth
//!    0-   3 sec       0.03 Mbits/sec
//!    …
//!    0-  30 sec       0.08 Mbits/sec
//! ```
//!
//! The last line is the mean over all before it. Each end counts its own side; that of a UDP server tells no loss.

use super::intervals::Intervals;
use super::line::first_of;
use super::reader::{Draft, Fault, Grammar, Log, Reader, Result, Step};
use super::rounded::rate_unit;
use super::test_builder::{DirectionFigures, TestBuilder};
use super::{Command, Connection, Endpoint, LogFormat, ParsedTest, Rounded, Row, Totals, View};
use linerate_model::spec::{Direction, Transport};

/// The iperf of ESP-IDF.
pub(super) static FORMAT: LogFormat = LogFormat {
    id: "esp-iperf",
    tool: "ESP-IDF iperf",
    summary: "output of the iperf command of ESP-IDF, client or server, TCP or UDP",
    recognise: |line| usize::from(mode(line).is_some() || is_heading(line)),
    begins: |line| first_of(line, &[MODE]),
    reader: |file, _| Reader::boxed(file, EspIperf),
};

const MODE: &str = "mode=";

/// Tests begin with what the command was understood to ask for.
struct EspIperf;

/// What is printed of a test.
struct Output {
    test: TestBuilder,
    intervals: Intervals,
    /// The end of the interval before, in seconds.
    end: Option<Rounded>,
    /// The mean of the whole test.
    whole: Option<Row>,
    /// What the tool said before it ended.
    last: Option<String>,
}

impl Grammar for EspIperf {
    type Test = Output;

    fn step(
        &mut self,
        log: &mut Log,
        _open: &mut Option<Output>,
        line: &str,
    ) -> Result<Step<Output>> {
        if let Some(command) = Command::find(line.trim(), &["iperf"]) {
            log.command = Some(command);
            return Ok(Step::Between);
        }
        let Some((transport, view, settings)) = mode(line) else {
            return Ok(Step::Inside);
        };
        let mut test = TestBuilder::new(log, &FORMAT, view, transport);
        test.command = log.command.take();
        let ends = [endpoint(settings, "sip="), endpoint(settings, "dip=")];
        if let [Some(local), Some(remote)] = ends
            && remote.address != ANY
        {
            // A client's own port is not the one that it prints.
            test.peer = Some(remote.address.clone());
            if view == View::Server {
                test.connections.push(Connection { local, remote });
            }
        }
        Ok(Step::Begin(Output {
            test,
            intervals: Intervals::default(),
            end: None,
            whole: None,
            last: None,
        }))
    }

    fn outside(&mut self, log: &mut Log, line: &str) -> Result<()> {
        if !log.is_lost && is_heading(line) {
            return Err(Fault::Missing(format!("its line \"{MODE}…\" is not there")));
        }
        Ok(())
    }
}

impl Draft for Output {
    fn begun(&self) -> usize {
        self.test.origin.line
    }

    fn line(&mut self, log: &Log, line: &str) -> Result<()> {
        let line = line.trim();
        if line.is_empty() {
            return Ok(());
        }
        self.test.text.add(line);
        if let Some((_, peer)) = line.split_once("accept: ") {
            let address = peer.split([',', ':']).next();
            self.test.peer = address.map(str::to_owned);
        } else if line.contains(" iperf: ") || line.contains(" IPERF: ") {
            self.last = line.rsplit_once(": ").map(|(_, said)| said.to_owned());
        } else if line.contains("bits/sec") {
            let row = row(log.number, line)
                .ok_or("an interval and a rate such as 0-3 sec 0.03 Mbits/sec")?;
            self.row(row)?;
        }
        Ok(())
    }

    fn finish(mut self, tests: &mut Vec<ParsedTest>) -> Result<()> {
        let rows = self.intervals.finish();
        if self.whole.is_none() && self.last.is_some() {
            self.test.interrupted = self.last;
        }
        let whole = self.whole.as_ref().map(Totals::of_line);
        let own = self.test.or_early(whole, &rows);
        let own = own.ok_or("its last line, of the whole test, is not there")?;
        if self.test.transport == Transport::Udp && self.test.view == View::Server {
            self.test.note("this tool's UDP server prints no losses");
        }
        let way = DirectionFigures {
            streams: 1,
            own: Some(own),
            rows,
            ..DirectionFigures::default()
        };
        self.test.flow(Direction::Forward, way);
        tests.push(self.test.traffic());
        Ok(())
    }
}

impl Output {
    fn row(&mut self, row: Row) -> Result<(), &'static str> {
        let before = self.end.map_or(0.0, |end| end.value);
        let is_next = (row.start.value - before).abs() < f64::EPSILON;
        let is_whole = row.start.value == 0.0 && (row.end.value - before).abs() < f64::EPSILON;
        if self.whole.is_some() {
            return Err("no interval after the line of the whole test");
        }
        if is_whole {
            self.whole = Some(row);
        } else if is_next {
            self.end = Some(row.end);
            self.intervals.add(&row);
        } else {
            return Err("the interval that follows the one before");
        }
        Ok(())
    }
}

/// Address that stands for all of a host.
const ANY: &str = "0.0.0.0";

/// What `mode=tcp-server sip=…` says, with the settings behind it.
fn mode(line: &str) -> Option<(Transport, View, &str)> {
    let (_, rest) = line.split_once(MODE)?;
    let (mode, settings) = rest.split_once(' ')?;
    let (transport, role) = mode.split_once('-')?;
    let transport = match transport {
        "tcp" => Transport::Tcp,
        "udp" => Transport::Udp,
        _ => return None,
    };
    let view = match role {
        "client" => View::Client,
        "server" => View::Server,
        _ => return None,
    };
    Some((transport, view, settings))
}

fn is_heading(line: &str) -> bool {
    line.split_whitespace().eq(["Interval", "Bandwidth"])
}

/// `192.168.1.71:5001` behind a key.
fn endpoint(settings: &str, key: &str) -> Option<Endpoint> {
    let (_, value) = settings.split_once(key)?;
    let (address, port) = value.split([',', ' ']).next()?.rsplit_once(':')?;
    Some(Endpoint {
        address: address.to_owned(),
        port: port.parse().ok()?,
    })
}

/// `  0-   3 sec       0.03 Mbits/sec`
fn row(number: usize, line: &str) -> Option<Row> {
    let (interval, rate) = line.split_once("sec")?;
    let (start, end) = interval.split_once('-')?;
    let start = Rounded::parse(start.trim())?;
    let end = Rounded::parse(end.trim())?;
    let (rate, unit) = rate.trim().split_once(' ')?;
    let bps = Rounded::parse(rate)?.scaled(rate_unit(unit.trim())?);
    let whole = |time: Rounded| Rounded::exact(time.value);
    let (start, end) = (whole(start), whole(end));
    let seconds = end.minus(start);
    (seconds.value > 0.0).then(|| {
        let bytes = bps.times(seconds).scaled(0.125);
        Row::of_rate(number, start, end, bytes, bps)
    })
}

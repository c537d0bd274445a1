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
//!
//! The component has a line for the ends of each stream, and bytes in steps of 1000 where the rate is of bits, of 1024
//! where it is of bytes:
//!
//! ```text
//! [  1] local 192.168.1.71:54321 connected to 192.168.1.2:5001
//!
//! [ ID] Interval          Transfer        Bandwidth
//! [  1]  0.0- 1.0 sec     2.88 MBytes     23.04 Mbits/sec
//! ```

use super::intervals::Intervals;
use super::line::first_of;
use super::reader::{Draft, Fault, Grammar, Log, Reader, Result, Step};
use super::rounded::{byte_unit, rate_unit};
use super::streams::{Figures, Streams};
use super::test_builder::{DirectionFigures, TestBuilder};
use super::{Command, Connection, Endpoint, LogFormat, ParsedTest, Rounded, Row, Totals, View};
use linerate_model::spec::{Direction, Transport};

/// The iperf of ESP-IDF.
pub(super) static FORMAT: LogFormat = LogFormat {
    id: "esp-iperf",
    tool: "ESP-IDF iperf",
    summary: "output of the iperf command of ESP-IDF, client or server, TCP or UDP",
    recognise: |line| {
        let is_old = mode(line).is_some() || is_heading(line);
        // Other tools have some of the words of such a line.
        2 * usize::from(ends(line).is_some()) + usize::from(is_old)
    },
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
    /// What the component counted of each stream.
    streams: Streams,
    /// Streams whose ends it named.
    announced: usize,
    /// What the tool said last, after its last interval.
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
            streams: Streams::default(),
            announced: 0,
            last: None,
        }))
    }

    fn outside(&mut self, log: &mut Log, line: &str) -> Result<()> {
        if !log.is_lost && (is_heading(line) || ends(line).is_some()) {
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
        if let Some(connection) = ends(line) {
            self.announced += 1;
            self.test.connect(connection)?;
        } else if let Some((tag, figures)) = tagged(line) {
            let row = stream_row(log.number, figures).ok_or(
                "an interval, bytes and a rate such as 0.0- 1.0 sec 2.88 MBytes 23.04 Mbits/sec",
            )?;
            self.streams.add(Figures {
                direction: Some(Direction::Forward),
                is_sum: false,
                tag: tag.to_owned(),
                row,
            })?;
        } else if let Some((_, peer)) = line.split_once("accept: ") {
            let address = peer.split([',', ':']).next();
            self.test.peer = address.map(str::to_owned);
        } else if [" iperf: ", " IPERF: "]
            .iter()
            .any(|tag| line.contains(tag))
            || is_end(line)
        {
            self.last = line.rsplit(": ").next().map(str::to_owned);
        } else if line.contains("bits/sec") {
            let row = row(log.number, line)
                .ok_or("an interval and a rate such as 0-3 sec 0.03 Mbits/sec")?;
            self.row(row)?;
        }
        Ok(())
    }

    fn finish(mut self, tests: &mut Vec<ParsedTest>) -> Result<()> {
        if !self.streams.is_empty() {
            return self.component(tests);
        }
        self.note_losses();
        let rows = self.intervals.finish();
        if self.whole.is_none() && self.last.is_some() {
            self.test.interrupted = self.last.take();
        }
        let whole = self.whole.as_ref().map(Totals::of_line);
        let own = self.test.or_early(whole, &rows);
        let own = own.ok_or(NO_TOTAL)?;
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
    /// What the component counted.
    fn component(mut self, tests: &mut Vec<ParsedTest>) -> Result<()> {
        let count = self.streams.tags(Direction::Forward).count();
        if count > self.announced {
            return Err(
                "the line that names a stream's ends (\"local … connected to …\") is not there"
                    .into(),
            );
        }
        if count < self.announced {
            let doubt = "the log has no figures of a stream that it announces";
            self.test.doubt(doubt);
        }
        let (rows, total) = self.streams.split(Direction::Forward).ok_or(NO_TOTAL)?;
        self.test.repeated(self.streams.repeated());
        if rows.is_empty() {
            self.test.lone_line(&total);
        }
        self.note_losses();
        let way = DirectionFigures {
            streams: count,
            own: Some(Totals::of_line(&total)),
            rows,
            ..DirectionFigures::default()
        };
        self.test.flow(Direction::Forward, way);
        tests.push(self.test.traffic());
        Ok(())
    }

    fn note_losses(&mut self) {
        if self.test.transport == Transport::Udp && self.test.view == View::Server {
            self.test.note("this tool's UDP server prints no losses");
        }
    }

    fn row(&mut self, row: Row) -> Result<(), &'static str> {
        self.last = None;
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

/// What a test without a line over the whole of it lacks.
const NO_TOTAL: &str = "its last line, of the whole test, is not there";

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

/// Whether the tool says that a test is over; a logger's words before it may be gone.
fn is_end(line: &str) -> bool {
    ["iperf exit", " is closed."]
        .iter()
        .any(|end| line.ends_with(end))
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

/// `[  1] local 192.168.1.71:54321 connected to 192.168.1.2:5001`, of IPv6 with addresses in brackets.
fn ends(line: &str) -> Option<Connection> {
    let (_, words) = line.split_once("] local ")?;
    let (local, remote) = words.split_once(" connected to ")?;
    let end = |text: &str| {
        let (address, port) = text.trim().rsplit_once(':')?;
        Some(Endpoint {
            address: address.trim_matches(['[', ']']).to_owned(),
            port: port.parse().ok()?,
        })
    };
    Some(Connection {
        local: end(local)?,
        remote: end(remote)?,
    })
}

/// `[  1]  0.0- 1.0 sec …`: the tag of a stream, and its figures.
fn tagged(line: &str) -> Option<(&str, &str)> {
    let (tag, figures) = line.strip_prefix('[')?.split_once(']')?;
    let (tag, figures) = (tag.trim(), figures.trim());
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    (is_number(tag) && is_number(figures)).then_some((tag, figures))
}

/// `0.0- 1.0 sec  2.88 MBytes  23.04 Mbits/sec`
fn stream_row(number: usize, line: &str) -> Option<Row> {
    let (interval, figures) = line.split_once("sec")?;
    let (start, end) = interval.split_once('-')?;
    let time = |text: &str| Some(Rounded::exact(Rounded::parse(text.trim())?.value));
    let (start, end) = (time(start)?, time(end)?);
    let words: Vec<_> = figures.split_whitespace().collect();
    let [bytes, unit, rate, per_second] = words[..] else {
        return None;
    };
    let step = if per_second.contains("bit") {
        match unit {
            "KBytes" => 1e3,
            "MBytes" => 1e6,
            _ => return None,
        }
    } else {
        byte_unit(unit)?
    };
    let bytes = Rounded::with_decimals(bytes, 2)?.scaled(step);
    let bps = Rounded::with_decimals(rate, 2)?.scaled(rate_unit(per_second)?);
    (end.value > start.value).then(|| Row::of_rate(number, start, end, bytes, bps))
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

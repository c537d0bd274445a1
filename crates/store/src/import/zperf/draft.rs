//! One test of a zperf session while it is read.

use super::FORMAT;
use super::units::{Rate, Units, seconds};
use crate::import::line::late;
use crate::import::reader::{self, Log, Result};
use crate::import::streams::MIXED;
use crate::import::test_builder::{DirectionFigures, TestBuilder};
use crate::import::{Intended, ParsedTest, Rounded, Totals, View, exact};
use linerate_model::spec::{Direction, Transport};

/// A test that is being read.
pub(super) struct Draft {
    test: TestBuilder,
    stage: Stage,
    /// `Packet size:`.
    payload: Option<u64>,
    /// `Rate:` of the settings: in `kbps`, and once more in a unit that fits.
    asked: Vec<Rate>,
    /// Figures of the board, and of the server that it sent to.
    own: Figures,
    server: Figures,
    /// The server's report was not there, or not of the layout that this board knows.
    has_no_report: bool,
}

/// What a server prints before the figures of a session.
pub(super) const SESSION_END: &str = "End of session!";

/// Where in a test's output the reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Its settings are printed.
    Settings,
    /// It runs, or its figures are printed.
    Figures,
}

/// What is printed of one end.
#[derive(Debug, Clone, Copy, Default)]
struct Figures {
    seconds: Option<Rounded>,
    packets: Option<u64>,
    lost: Option<u64>,
    late: Option<u64>,
    jitter: Option<Rounded>,
    rate: Option<Rate>,
}

impl Draft {
    /// The test that begins with this line.
    pub(super) fn begins(log: &mut Log, line: &str) -> Option<Self> {
        let command = log.command.as_ref();
        let says = |word| command.is_none_or(|command| command.line.contains(word));
        let (view, transport, stage) = match line {
            "New session started." => (View::Server, Transport::Udp, Stage::Figures),
            "New TCP session started." => (View::Server, Transport::Tcp, Stage::Figures),
            _ if line.starts_with("Connecting to ") && says(" upload") => {
                let transport = if says("zperf udp") {
                    Transport::Udp
                } else {
                    Transport::Tcp
                };
                (View::Client, transport, Stage::Settings)
            }
            _ => return None,
        };
        let mut test = TestBuilder::new(log, &FORMAT, view, transport);
        if view == View::Client {
            test.command = log.command.take();
            test.peer = line.strip_prefix("Connecting to ").map(str::to_owned);
        }
        Some(Self {
            test,
            stage,
            payload: None,
            asked: Vec::new(),
            own: Figures::default(),
            server: Figures::default(),
            has_no_report: false,
        })
    }

    fn mark(&mut self, line: &str) -> Result<(), &'static str> {
        if self.is_whole() && self.stage == Stage::Figures && line == SESSION_END {
            return Err(MIXED);
        }
        match line {
            "Upload completed!" => self.stage = Stage::Figures,
            "LAST PACKET NOT RECEIVED!!!" => self.has_no_report = true,
            _ => {}
        }
        // Without the command a TCP upload shows by what it prints.
        if self.test.command.is_none() && line.starts_with("Upload completed") {
            self.test.transport = Transport::Tcp;
        }
        Ok(())
    }

    fn setting(&mut self, key: &str, value: &str) -> Result<(), &'static str> {
        match key {
            "Packet size" => {
                let bytes = value.trim().strip_suffix(" bytes");
                let bytes = bytes.and_then(|bytes| bytes.trim().parse().ok());
                self.payload = Some(bytes.ok_or("a size such as 1024 bytes")?);
            }
            "Rate" => {
                let rate = Rate::parse(value).ok_or("a rate such as 5120 kbps")?;
                // In `kbps`, and once more.
                if self.asked.len() < 2 {
                    self.asked.push(rate);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn figure(&mut self, key: &str, value: &str) -> Result<(), &'static str> {
        const TIME: &str = "a time such as 2.99 s";
        const COUNT: &str = "a number of packets";
        const RATE: &str = "a rate such as 4.98 Mbps";
        let (first, second) = two(value);
        let is_upload = self.test.view == View::Client;
        // An upload by UDP prints the server's figures first.
        let has_server = is_upload && second.is_some();
        if key == "Statistics" {
            self.test.transport = Transport::Udp;
        }
        let count = |text: &str| text.trim().parse::<u64>().map_err(|_| COUNT);
        let (own, server) = (&mut self.own, &mut self.server);
        match key {
            "Duration" | "duration" => {
                let value = seconds(first).ok_or(TIME)?;
                if has_server {
                    server.seconds = Some(value);
                    own.seconds = Some(seconds(second.unwrap_or_default()).ok_or(TIME)?);
                } else {
                    own.seconds = Some(value);
                }
            }
            "Num packets" => {
                if has_server {
                    server.packets = Some(count(first)?);
                    own.packets = Some(count(second.unwrap_or_default())?);
                } else {
                    own.packets = Some(count(first)?);
                }
            }
            "received packets" => own.packets = Some(count(first)?),
            "Num packets lost" => server.lost = Some(count(first)?),
            "nb packets lost" => own.lost = Some(count(first)?),
            "Num packets out order" => server.late = Some(count(first)?),
            "nb packets outorder" => own.late = Some(count(first)?),
            "Jitter" => server.jitter = Some(seconds(first).ok_or(TIME)?),
            "jitter" => own.jitter = Some(seconds(first).ok_or(TIME)?),
            "Rate" | "rate" => {
                let value = Rate::parse(first).ok_or(RATE)?;
                if has_server {
                    server.rate = Some(value);
                    own.rate = Some(Rate::parse(second.unwrap_or_default()).ok_or(RATE)?);
                } else {
                    own.rate = Some(value);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The rate is the last figure of every kind of test.
    fn is_whole(&self) -> bool {
        self.own.rate.is_some()
    }

    /// Whether the test has all its figures.
    pub(super) fn has_figures(&self) -> bool {
        let own = &self.own;
        own.rate.is_some()
            && own.seconds.is_some()
            && (self.test.transport == Transport::Tcp || own.packets.is_some())
    }

    /// One of which the session has no figures.
    pub(super) fn without_figures(self) -> ParsedTest {
        self.test.skipped("the session goes on without its figures")
    }

    /// Makes what the user told a part of what names the test.
    pub(super) fn name_with(&mut self, told: &str) {
        self.test.text.add(told);
    }

    /// What this test tells about the step of its units.
    pub(super) fn tell(&self, units: &mut Units) {
        if let [first, second, ..] = self.asked[..] {
            // `5120 kbps` and `5.00 Mbps` are the same rate.
            for step in [1000.0, 1024.0] {
                if second
                    .bps(step)
                    .agrees(Rounded::exact(first.bps(step).value))
                {
                    units.compare(Rounded::exact(first.bps(step).value), second);
                }
            }
        }
        let bps = self
            .bytes()
            .zip(self.own.seconds)
            .and_then(|(bytes, seconds)| Rounded::exact(bytes).per(seconds));
        if let (Some(rate), Some(bps)) = (self.own.rate, bps) {
            units.compare(bps, rate);
        }
    }

    /// Bytes that an upload gave to the stack.
    fn bytes(&self) -> Option<f64> {
        let bytes = self.own.packets?.checked_mul(self.payload?)?;
        (self.test.view == View::Client).then(|| exact(bytes))
    }

    /// The test in units that are known.
    pub(super) fn test(mut self, units: Units) -> ParsedTest {
        if units.step().is_none() {
            self.test.note(
                "nothing tells whether K and M are steps of 1000 or of 1024: rates have an interval \
                 that holds both",
            );
        }
        let packets = self.own.packets;
        let mut way = DirectionFigures {
            streams: 1,
            own: Self::totals(&self.own, units),
            ..DirectionFigures::default()
        };
        if let Some(own) = &mut way.own {
            match self.test.view {
                View::Client => {
                    own.bytes = self.bytes().map(Rounded::exact);
                    own.datagrams = packets.filter(|_| self.test.transport == Transport::Udp);
                }
                View::Server => {
                    own.datagrams = packets.and_then(|it| it.checked_add(self.own.lost?));
                }
            }
        }
        if self.test.view == View::Client {
            way.reported = self.report(units);
            self.test.payload_bytes = self.payload;
        }
        self.test.intended = self.intended(units);
        self.test.flow(Direction::Forward, way);
        let late_ones = self.own.late.or(self.server.late);
        if self.has_no_report {
            self.test.note(
                "the server's report did not come, or is of a layout that this board does not know: \
                 what it received is unknown",
            );
        } else if let Some(count) = late_ones.filter(|count| *count > 0) {
            self.test.note(late(count));
        }
        self.test.traffic()
    }

    fn totals(figures: &Figures, units: Units) -> Option<Totals> {
        Some(Totals {
            bps: figures.rate.map(|rate| rate.in_units(units)),
            lost: figures.lost,
            jitter: figures.jitter,
            ..Totals::over(figures.seconds?)
        })
    }

    /// What the server of an upload reports.
    fn report(&self, units: Units) -> Option<Totals> {
        let server = &self.server;
        let is_void = self.has_no_report || server.rate.is_none_or(Rate::is_zero);
        let (packets, lost) = server.packets.zip(server.lost).filter(|_| !is_void)?;
        let all = packets.checked_add(lost)?;
        // zperf's own server counts what it received, iperf's the highest number that it saw.
        let total = if all <= self.own.packets? {
            all
        } else {
            packets
        };
        Some(Totals {
            datagrams: Some(total),
            ..Self::totals(server, units)?
        })
    }

    /// The rate that was asked for; TCP does not pace.
    fn intended(&self, units: Units) -> Option<Intended> {
        if self.test.view == View::Server {
            return None;
        }
        if self.test.transport == Transport::Tcp {
            return Some(Intended::by_default(Transport::Tcp));
        }
        let asked = self.asked.first()?.in_units(units);
        let typed = self.test.command.as_ref().and_then(|command| {
            let after = command.line.split_once(self.test.peer.as_deref()?)?.1;
            after.split_whitespace().nth(3)
        });
        // A whole number of kbit/s, rounded up.
        let bps = Rounded {
            value: asked.value,
            low: asked.low.min(asked.value),
            high: if units.step().is_some() {
                asked.value
            } else {
                asked.high
            },
        };
        Some(Intended {
            label: typed.map_or_else(
                || linerate_model::BitRate::from_f64(bps.value).to_string(),
                str::to_owned,
            ),
            bps: Some(bps),
        })
    }
}

impl reader::Draft for Draft {
    fn begun(&self) -> usize {
        self.test.origin.line
    }

    fn line(&mut self, _log: &Log, line: &str) -> Result<()> {
        let line = line.trim();
        let Some((key, value)) = line.split_once(':') else {
            return Ok(self.mark(line)?);
        };
        // Messages of the system's log, and a shell's output of other commands.
        let begins_figures = ["Num packets", "Statistics", "received packets"].contains(&key);
        if begins_figures && self.is_whole() && self.stage == Stage::Figures {
            return Err(MIXED.into());
        }
        if key.starts_with('[') || self.is_whole() && self.stage == Stage::Figures {
            return Ok(());
        }
        if value.contains('(') && !value.contains(')') {
            return Err("the bracket that ends a figure".into());
        }
        self.test.text.add(line);
        match self.stage {
            Stage::Settings => self.setting(key, value)?,
            Stage::Figures => self.figure(key, value)?,
        }
        Ok(())
    }

    /// Without the units that the rest of a session may tell.
    fn finish(self, tests: &mut Vec<ParsedTest>) -> Result<()> {
        tests.push(self.test(Units::default()));
        Ok(())
    }
}

/// Splits `2.99 s` from the `(3.00 s)` behind it.
fn two(value: &str) -> (&str, Option<&str>) {
    match value.split_once('(') {
        Some((first, second)) => {
            let second = second.split(')').next().unwrap_or(second);
            // `0 (retry or fail)` is one figure with a remark.
            let is_figure = second.starts_with(|c: char| c.is_ascii_digit());
            (first.trim(), is_figure.then_some(second.trim()))
        }
        None => (value.trim(), None),
    }
}

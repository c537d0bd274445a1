//! One test of a zperf session while it is read.

use super::ID;
use super::units::{Rate, Units, seconds};
use crate::import::line::{Fingerprint, late};
use crate::import::{
    Command, Flow, ImportError, Intended, Origin, Rounded, Totals, TrafficTest, View, exact,
};
use linerate_model::spec::{Direction, Transport};

/// A test that is being read.
pub(super) struct Draft {
    test: TrafficTest,
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
    text: Fingerprint,
}

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
    pub(super) fn begins(
        file: &str,
        number: usize,
        line: &str,
        command: &mut Option<Command>,
    ) -> Option<Self> {
        let words = command.as_ref().map(|command| command.line.clone());
        let is_udp = || {
            words
                .as_deref()
                .is_none_or(|line| line.contains("zperf udp"))
        };
        let upload = || words.as_deref().is_none_or(|line| line.contains(" upload"));
        let (view, transport, stage) = match line {
            "New session started." => (View::Server, Transport::Udp, Stage::Figures),
            "New TCP session started." => (View::Server, Transport::Tcp, Stage::Figures),
            _ if line.starts_with("Connecting to ") && upload() => {
                let transport = if is_udp() {
                    Transport::Udp
                } else {
                    Transport::Tcp
                };
                (View::Client, transport, Stage::Settings)
            }
            _ => return None,
        };
        let origin = Origin {
            file: file.to_owned(),
            line: number,
        };
        let mut test = TrafficTest::new(origin, ID, ID, view, transport);
        if view == View::Client {
            test.command = command.take();
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
            text: Fingerprint::default(),
        })
    }

    pub(super) fn origin(&self) -> &Origin {
        &self.test.origin
    }

    pub(super) fn line(&mut self, number: usize, line: &str) -> Result<(), ImportError> {
        let Some((key, value)) = line.split_once(':') else {
            self.mark(line);
            return Ok(());
        };
        // Messages of the system's log, and a shell's output of other commands.
        if key.starts_with('[') || self.is_whole() && self.stage == Stage::Figures {
            return Ok(());
        }
        self.text.add(line);
        let read = match self.stage {
            Stage::Settings => self.setting(key, value),
            Stage::Figures => self.figure(key, value),
        };
        read.map_err(|wanted| ImportError::line(&self.test.origin.file, number, wanted, line))
    }

    fn mark(&mut self, line: &str) {
        match line {
            "Upload completed!" => self.stage = Stage::Figures,
            "LAST PACKET NOT RECEIVED!!!" => self.has_no_report = true,
            _ => {}
        }
        // Without the command a TCP upload shows by what it prints.
        if self.test.command.is_none() && line.starts_with("Upload completed") {
            self.test.transport = Transport::Tcp;
        }
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
    pub(super) fn check(&self) -> Result<(), ImportError> {
        let own = &self.own;
        let is_value = own.rate.is_some()
            && own.seconds.is_some()
            && (self.test.transport == Transport::Tcp || own.packets.is_some());
        if is_value {
            return Ok(());
        }
        Err(ImportError::Cut {
            file: self.test.origin.file.clone(),
            line: self.test.origin.line,
            missing: "its figures are not all there".to_owned(),
        })
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

    pub(super) fn finish(mut self, units: Units) -> TrafficTest {
        if units.step().is_none() {
            self.test.notes.push(
                "nothing tells whether K and M are steps of 1000 or of 1024: rates have an interval \
                 that holds both"
                    .to_owned(),
            );
        }
        let mut flow = Flow {
            streams: 1,
            ..Flow::new(Direction::Forward)
        };
        let own = Self::totals(&self.own, units);
        match self.test.view {
            View::Client => {
                let is_udp = self.test.transport == Transport::Udp;
                flow.sent = own.map(|own| Totals {
                    bytes: self.bytes().map(Rounded::exact),
                    datagrams: self.own.packets.filter(|_| is_udp),
                    ..own
                });
                flow.received = self.report(units);
                self.test.payload_bytes = self.payload;
            }
            View::Server => {
                flow.received = own.map(|own| Totals {
                    datagrams: self
                        .own
                        .packets
                        .and_then(|packets| packets.checked_add(self.own.lost?)),
                    ..own
                });
            }
        }
        let intended = self.intended(units);
        let mut test = self.test;
        test.intended = intended;
        test.fingerprint = self.text.get();
        let late_ones = self.own.late.or(self.server.late);
        test.notes.extend(
            late_ones
                .filter(|count| *count > 0 && !self.has_no_report)
                .map(late),
        );
        if self.has_no_report {
            test.notes.push(
                "the server's report did not come, or is of a layout that this board does not know: \
                 what it received is unknown"
                    .to_owned(),
            );
        }
        test.flows = vec![flow];
        test
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

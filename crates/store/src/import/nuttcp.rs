//! nuttcp's output: the client's lines of each interval, and the last line with the CPU use of both ends.
//!
//! # References
//! - `MB` is 2^20 bytes, `Mbps` 10^6 bit/s, both of what the receiving end took; a UDP test has `drop/pkt` in each line
//! - Lines of intervals (`-i`) are of the receiver, and end with a `~` in what is about; the last one of a test alone has
//!   `%TX` and `%RX`
//! - Nothing tells the direction but the command line: `-r` receives

use super::intervals::Intervals;
use super::reader::{Draft, Fault, Grammar, Log, Reader, Result, Step};
use super::test_builder::TestBuilder;
use super::{Command, LogFormat, ParsedTest, Rounded, Row, Totals, View};
use linerate_model::spec::{Direction, Transport};

/// nuttcp's output.
pub(super) static FORMAT: LogFormat = LogFormat {
    id: "nuttcp",
    tool: "nuttcp",
    summary: "output of a nuttcp client: TCP or UDP, with or without intervals",
    recognise: |line| usize::from(Figures::find(line).is_some()),
    begins: |_| None,
    reader: |file, _| Reader::boxed(file, Nuttcp),
};

/// A test begins with its command line, or its first figures.
struct Nuttcp;

/// What is printed of a test.
struct Output {
    test: TestBuilder,
    rows: Intervals,
    end: Rounded,
    /// Whether an interval told of datagrams.
    has_datagrams: bool,
    last: Option<Figures>,
}

/// One line of figures.
struct Figures {
    bytes: Rounded,
    seconds: Rounded,
    bps: Rounded,
    /// Lost and sent datagrams.
    datagrams: Option<(u64, u64)>,
    retransmitted: Option<u64>,
    /// Whether it is about the whole test.
    is_last: bool,
}

impl Figures {
    /// `11.3203 MB /   2.01 sec =   47.3219 Mbps 38 %TX 0 %RX 77 / 1526 drop/pkt 5.05 %loss`
    fn find(line: &str) -> Option<Self> {
        const MB: f64 = 1_048_576.0;
        let (megabytes, rest) = line.split_once(" MB / ")?;
        let (seconds, rest) = rest.split_once(" sec = ")?;
        let (rate, rest) = rest.split_once(" Mbps")?;
        let figure = |text: &str, decimals| {
            Rounded::with_decimals(text.split_whitespace().next_back()?, decimals)
        };
        let is_last = rest.contains("%TX");
        if is_last && !Self::is_whole(rest) {
            return None;
        }
        Some(Self {
            bytes: figure(megabytes, 4)?.scaled(MB),
            seconds: figure(seconds, 2)?,
            bps: figure(rate, 4)?.scaled(1e6),
            datagrams: Self::datagrams(rest),
            retransmitted: rest
                .split_once(" retrans")
                .and_then(|(before, _)| before.split_whitespace().next_back()?.parse().ok()),
            is_last,
        })
    }

    /// Whether what follows the rate of a whole test goes on to the use of both CPUs and, where more follows, to what that is
    /// a count of.
    fn is_whole(rest: &str) -> bool {
        let Some((_, more)) = rest.split_once("%RX") else {
            return false;
        };
        let is_named = |key: &&str| more.contains(*key);
        more.trim().is_empty() || ["drop/pkt", "retrans", "msRTT"].iter().any(is_named)
    }

    fn datagrams(rest: &str) -> Option<(u64, u64)> {
        let (counts, _) = rest.split_once("drop/pkt")?;
        let (lost, sent) = counts.trim_end_matches(['~', ' ']).rsplit_once('/')?;
        let lost = lost.split_whitespace().next_back()?;
        Some((lost.parse().ok()?, sent.trim().parse().ok()?))
    }
}

impl Grammar for Nuttcp {
    type Test = Output;

    /// Intervals have no times: those of a link that is full are all the same.
    fn may_repeat(&self, line: &str) -> bool {
        Figures::find(line).is_some_and(|figures| !figures.is_last)
    }

    fn step(
        &mut self,
        log: &mut Log,
        open: &mut Option<Output>,
        line: &str,
    ) -> Result<Step<Output>> {
        if let Some(command) = Command::find(line, &["nuttcp"]) {
            let is_server = command.has('S', "") || command.has('1', "");
            log.command = Some(command);
            return Ok(if is_server {
                Step::Between
            } else {
                Step::Begin(Output::new(log))
            });
        }
        if open.is_none() && line.contains(" MB / ") {
            return Ok(Step::Begin(Output::new(log)));
        }
        Ok(Step::Inside)
    }
}

impl Draft for Output {
    fn begun(&self) -> usize {
        self.test.origin.line
    }

    fn line(&mut self, log: &Log, line: &str) -> Result<()> {
        let Some(figures) = Figures::find(line) else {
            if line.contains(" Mbps") || line.contains(" MB / ") {
                return Err("figures such as 61.0000 MB /   1.01 sec =  505.6060 Mbps".into());
            }
            return Ok(());
        };
        self.test.text.add(line);
        if figures.is_last {
            self.last = Some(figures);
            return Ok(());
        }
        let start = self.end;
        self.end = start.plus(figures.seconds);
        let mut row = Row::of_rate(
            log.origin().line,
            start,
            self.end,
            figures.bytes,
            figures.bps,
        );
        self.has_datagrams |= figures.datagrams.is_some();
        (row.lost, row.datagrams) = figures.datagrams.unzip();
        self.rows.add(&row);
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.last.is_some()
    }

    fn finish(mut self, tests: &mut Vec<ParsedTest>) -> Result<()> {
        const CUT: &str = "its last line, with %TX and %RX, is not there";
        let whole = self.last.ok_or_else(|| Fault::Missing(CUT.to_owned()))?;
        let reverse = self
            .test
            .command
            .as_ref()
            .map(|command| command.has('r', ""));
        if reverse.is_none() {
            self.test
                .note("nuttcp does not print the direction of a test: it is taken as from client to server, which -r turns");
        }
        let direction = match reverse {
            Some(true) => Direction::Reverse,
            _ => Direction::Forward,
        };
        let is_of_datagrams = |command: &Command| command.has('u', "");
        let is_asked = self.test.command.as_ref().is_some_and(is_of_datagrams);
        if (self.has_datagrams || is_asked) && whole.datagrams.is_none() {
            return Err(Fault::Missing(
                "its last line has no drop/pkt, though datagrams were sent".to_owned(),
            ));
        }
        let (lost, sent) = whole.datagrams.unzip();
        if sent.is_some() {
            self.test.transport = Transport::Udp;
        }
        let totals = Totals {
            bytes: Some(whole.bytes),
            bps: Some(whole.bps),
            datagrams: sent,
            lost,
            ..Totals::over(whole.seconds)
        };
        let rows = self.rows.finish();
        let flow = self.test.received(direction, totals);
        flow.received_rows = rows;
        flow.sent = whole.retransmitted.map(|retransmitted| Totals {
            retransmitted: Some(retransmitted),
            ..Totals::over(whole.seconds)
        });
        tests.push(self.test.traffic());
        Ok(())
    }
}

impl Output {
    fn new(log: &mut Log) -> Self {
        let mut test = TestBuilder::new(log, &FORMAT, View::Client, Transport::Tcp);
        test.command = log.command.take();
        // Its options have their values attached.
        let words = test.command.iter().flat_map(Command::words);
        let host = words.filter(|word| !word.starts_with('-')).last();
        test.peer = host.map(str::to_owned);
        Self {
            test,
            rows: Intervals::default(),
            end: Rounded::exact(0.0),
            has_datagrams: false,
            last: None,
        }
    }
}

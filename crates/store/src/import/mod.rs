//! Logs of other tools become runs.
//!
//! ```text
//! Source ─► lines ─► LogReader ─► ParsedTest ─► merge views ─► group ─► Run
//! ```
//!
//! A log is read twice, a line at a time: to tell its format, and to read its tests. It is never in memory whole; what
//! its tests take there is bounded (`gathered`).
//!
//! Does not judge what a test means. Invariants: a test is imported whole or not at all, and one that
//! cannot be read is named; a rounded figure carries the interval in which its true value lies; what a log cannot tell stays `None`,
//! never zero; figures that contradict each other give a warning.

mod bounds;
mod build;
mod command;
mod delay;
mod embedded;
mod enclosed;
mod error;
mod esp_iperf;
mod flow;
mod gathered;
mod hgrm;
mod interleaved;
mod intervals;
mod iperf2_csv;
mod iperf2_text;
mod iperf3;
mod iperf3_json;
mod iperf3_text;
mod layers;
mod line;
mod lwiperf;
mod merge;
mod neper;
mod netperf;
mod ntttcp;
mod nuttcp;
mod other_tools;
mod pairs;
mod panes;
mod qperf;
mod reader;
mod rounded;
mod row;
mod sfnt_pingpong;
mod sockperf;
mod source;
mod streams;
mod table;
mod test_builder;
mod text;
mod warnings;
mod witness;
mod wrapped;
mod zperf;

#[cfg(test)]
mod tests;

pub use command::Command;
pub use error::ImportError;
use error::Result;
pub use flow::{
    Connection, Coverage, Endpoint, Flow, Intended, LatencyTest, Origin, ParsedTest, Skipped,
    Totals, TrafficTest, View,
};
pub use hgrm::{HgrmHint, TimeUnit};
pub use intervals::{Joined, Readings, Series};
pub use reader::LogReader;
pub use rounded::Rounded;
pub use row::Row;
pub use source::{LogFile, Source};
pub use table::{ColumnKind, Columns, QUANTITIES, import_table};
pub use text::{Line, Writer};
pub use zperf::UnitStep;

use enclosed::Enclosure;
use gathered::Gathered;
use interleaved::Shares;
use layers::{Layers, Signs};
use linerate_model::run::{Run, Trial};
use linerate_model::spec::Transport;
use linerate_model::{BitRate, Quantity};
use std::ops::ControlFlow;
use warnings::Warnings;
use wrapped::Unwrapped;

/// A log format of another tool.
pub struct LogFormat {
    /// Unique kebab-case id, which becomes the run's `source.format`.
    pub id: &'static str,
    /// The tool whose logs they are.
    pub tool: &'static str,
    /// What it reads, in one sentence.
    pub summary: &'static str,
    /// How many signs of this format a line has; zero: none.
    pub recognise: fn(&str) -> usize,
    /// Where the tool's own text begins in a line that has words with which lines of it begin. What stands before is a
    /// logger's.
    pub begins: fn(&str) -> Option<usize>,
    /// Reads the log of a name. What the user knows is used where the log does not tell it.
    ///
    /// A test that is not whole is refused, unless the log itself says that it was ended early.
    pub reader: fn(&str, &Hints) -> Box<dyn LogReader>,
}

/// What the user knows of logs that do not tell it. What a log tells is believed before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hints {
    /// The step of `K` and `M` in what zperf prints.
    pub zperf_units: Option<UnitStep>,
    /// Transport and unit of `.hgrm` files.
    pub hgrm: Option<HgrmHint>,
    /// Speed of the link that the tests crossed, at L2: no log tells it, and verdicts need it.
    pub link_speed: Option<BitRate>,
}

/// Every format that can be imported, by id.
pub static ALL: &[&LogFormat] = &[
    &esp_iperf::FORMAT,
    &hgrm::FORMAT,
    &iperf2_csv::FORMAT,
    &iperf2_text::FORMAT,
    &iperf3_json::FORMAT,
    &iperf3_text::FORMAT,
    &lwiperf::FORMAT,
    &neper::FORMAT,
    &netperf::FORMAT,
    &ntttcp::FORMAT,
    &nuttcp::FORMAT,
    &qperf::FORMAT,
    &sfnt_pingpong::FORMAT,
    &sockperf::FORMAT,
    &zperf::FORMAT,
];

/// The tools whose logs can be imported, as a sentence lists them.
pub fn tools() -> String {
    let mut tools: Vec<_> = ALL.iter().map(|format| format.tool).collect();
    tools.dedup();
    tools.join(", ")
}

/// What came out of an import.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Imported {
    /// The runs, in the order of their first file. Not yet in any store.
    pub runs: Vec<Run>,
    /// Figures that contradict each other, each with file and line.
    pub warnings: Vec<String>,
    /// Files and tests that could not be read, beside those that could.
    pub refused: Vec<ImportError>,
}

/// Sets the link speed that the user gave, if what arrived can have crossed such a link.
fn set_link_speed(run: &mut Run, speed: BitRate) {
    /// Share of what a sender counts that may still be in its buffers at the end.
    const BUFFERED: f64 = 0.1;
    let arrived = |trial: &Trial| {
        let low = |quantity, rate: Option<BitRate>| {
            let rounded = trial.rounding(quantity).map(|interval| interval.low);
            rounded.or_else(|| rate.map(BitRate::as_f64))
        };
        let sent = || {
            let is_acknowledged = trial.transport == Transport::Tcp;
            let sent = low(Quantity::OfferedRate, trial.offered_load);
            sent.filter(|_| is_acknowledged)
                .map(|sent| sent * (1.0 - BUFFERED))
        };
        low(Quantity::ReceivedRate, trial.received_rate).or_else(sent)
    };
    let most = run.trials.iter().filter_map(arrived).max_by(f64::total_cmp);
    if let Some(most) = most.filter(|most| *most > speed.as_f64()) {
        run.doubts.push(format!(
            "a link speed of {speed} was given at import, but at least {} of L4 payload arrived, which no such link \
             carries: the speed is not used; give that of the slowest link that the test crossed",
            BitRate::from_f64(most)
        ));
        return;
    }
    run.id = build::told(&run.id, &format!("link speed {} bit/s", speed.bps()));
    run.config.link_speed = Some(speed);
    run.notes.push(format!(
        "a link speed of {speed} was given at import; the log does not tell it"
    ));
}

/// What came out of an import beside its runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Findings {
    /// Figures that contradict each other, each with file and line.
    pub warnings: Vec<String>,
    /// Files and tests that could not be read, beside those that could.
    pub refused: Vec<ImportError>,
}

/// Imports logs together: the client's and the server's log of one test become one trial, UDP tests between the same
/// two hosts become one run.
///
/// What cannot be read is named in [`Imported::refused`]; an error if that leaves nothing.
pub fn import<S: Source>(logs: &[S]) -> Result<Imported, ImportError> {
    import_with(logs, &Hints::default())
}

/// Imports logs together, with what the user knows and the logs do not tell.
pub fn import_with<S: Source>(logs: &[S], hints: &Hints) -> Result<Imported, ImportError> {
    let mut runs = Vec::new();
    let Findings { warnings, refused } = import_in_parts(logs, hints, &mut |part| {
        runs.extend(part);
        ControlFlow::Continue(())
    })?;
    Ok(Imported {
        runs,
        warnings,
        refused,
    })
}

/// Imports logs together and hands out runs while they are read: at most some hundreds at once, so that no more of them need be in
/// memory. `take` says whether to go on.
pub fn import_in_parts<S: Source>(
    logs: &[S],
    hints: &Hints,
    take: &mut dyn FnMut(Vec<Run>) -> ControlFlow<()>,
) -> Result<Findings, ImportError> {
    let mut completed = |mut runs: Vec<Run>| {
        if let Some(speed) = hints.link_speed {
            for run in &mut runs {
                set_link_speed(run, speed);
            }
        }
        take(runs)
    };
    let mut gathered = Gathered::new(&mut completed);
    for log in logs {
        if let Err(error) = read(log, *hints, &mut gathered) {
            gathered.refuse(error);
        }
    }
    gathered.finish()
}

/// Adds the tests of one log, or those of each pane in it.
fn read(log: &dyn Source, hints: Hints, gathered: &mut Gathered<'_>) -> Result<(), ImportError> {
    let (layers, signs) = Layers::find(log)?;
    let panes = if signs.has_bars() {
        panes::split(log)?
    } else {
        None
    };
    let Some(panes) = panes else {
        return read_whole(log, &layers, &signs, hints, gathered);
    };
    for pane in &panes {
        let (layers, signs) = Layers::find(pane)?;
        if let Err(error) = read_whole(pane, &layers, &signs, hints, gathered) {
            gathered.refuse(error);
        }
    }
    Ok(())
}

/// Adds the tests of one log. Of one that is written in something, the errors say in what.
fn read_whole(
    log: &dyn Source,
    layers: &Layers,
    signs: &Signs,
    hints: Hints,
    gathered: &mut Gathered<'_>,
) -> Result<(), ImportError> {
    let enclosure = layers.enclosure();
    let explain = |error| match (enclosure, &error) {
        // What the other tool wrote into may look like an enclosure.
        (None, _) | (_, ImportError::OtherTool { .. }) => error,
        (Some(enclosure), _) => enclosure.explain(error),
    };
    let Some(unwrapped) = wrapped::unwrap(log, layers, signs, &hints)? else {
        return read_below(log, layers, signs, hints, gathered).map_err(explain);
    };
    gathered.warn(format!(
        "{}: {} seems to have wrapped its lines at {} columns; they were joined",
        log.name(),
        unwrapped.by.writer(),
        unwrapped.width
    ));
    let Unwrapped {
        log, layers, signs, ..
    } = &unwrapped;
    read_below(log, layers, signs, hints, gathered).map_err(explain)
}

/// Adds the tests of the lines of one log that are below its layers, and have these signs.
fn read_below(
    log: &dyn Source,
    layers: &Layers,
    signs: &Signs,
    hints: Hints,
    gathered: &mut Gathered<'_>,
) -> Result<(), ImportError> {
    let shares = Shares::find(log, layers, signs.clone(), &hints)?;
    let formats = shares.formats();
    let file = log.name();
    let mut lines = layers.open(log)?;
    let mut readers = shares.readers(&file, &hints)?;
    let mut tests = TestsOfLog::new(gathered, layers.enclosure());
    tests.is_of_look_alike = signs.are_of_look_alike();
    while let Some(line) = lines.next()? {
        readers.take(&line, &mut |test| tests.add(test));
        if tests.gathered.is_over() {
            return Ok(());
        }
    }
    readers.finish(&mut |test| tests.add(test));
    tests.finish(signs)?;
    signs.others(&formats, |error| gathered.refuse(error));
    Ok(())
}

/// The tests of one log while it is read. Those that failed are left out among others; a log of nothing else is an
/// error.
struct TestsOfLog<'a, 'g> {
    gathered: &'a mut Gathered<'g>,
    /// What the log is written in.
    enclosure: Option<&'static Enclosure>,
    /// The first one that failed.
    failed: Option<ImportError>,
    /// What to say of those that are left out.
    left_out: Warnings,
    has_others: bool,
    /// What seems to be a damaged test is of another tool, unless others are whole.
    is_of_look_alike: bool,
    /// The first such test.
    look_alike: Option<ImportError>,
}

impl<'a, 'g> TestsOfLog<'a, 'g> {
    fn new(gathered: &'a mut Gathered<'g>, enclosure: Option<&'static Enclosure>) -> Self {
        Self {
            gathered,
            enclosure,
            failed: None,
            left_out: Warnings::default(),
            has_others: false,
            is_of_look_alike: false,
            look_alike: None,
        }
    }

    fn add(&mut self, test: ParsedTest) {
        match test {
            ParsedTest::Skipped(skipped) => return self.leave_out(skipped),
            ParsedTest::Traffic(test) if test.flows.is_empty() => {
                let reason = test.interrupted.unwrap_or_else(|| "no figures".to_owned());
                return self.leave_out(Skipped {
                    origin: test.origin,
                    reason,
                    has_failed: true,
                });
            }
            ParsedTest::Refused(error) if self.is_of_look_alike && !self.has_others => {
                self.look_alike.get_or_insert(error);
                return;
            }
            ParsedTest::Refused(error) => self.gathered.refuse(match self.enclosure {
                Some(enclosure) => enclosure.explain(error),
                None => error,
            }),
            ParsedTest::Latency(test) => self.gathered.add_latency(*test),
            ParsedTest::Traffic(test) => self.gathered.add_traffic(*test),
        }
        self.has_others = true;
    }

    fn leave_out(&mut self, skipped: Skipped) {
        let Origin { file, line } = skipped.origin;
        let reason = shortened(&skipped.reason);
        let is_plain = !skipped.has_failed || reason.contains("failed");
        let why = if is_plain {
            reason.clone()
        } else {
            format!("it failed ({reason})")
        };
        self.left_out
            .push(format!("{file}: test at line {line} was left out: {why}"));
        self.failed.get_or_insert(if skipped.has_failed {
            ImportError::Failed { file, line, reason }
        } else {
            ImportError::LeftOut { file, line, reason }
        });
    }

    fn finish(self, signs: &Signs) -> Result<(), ImportError> {
        match self.failed {
            Some(failed) if !self.has_others => Err(failed),
            None if !self.has_others => Err(signs.no_test()),
            _ => {
                if let Some(error) = self.look_alike {
                    self.gathered.refuse(error);
                }
                self.gathered.warn_all(self.left_out);
                Ok(())
            }
        }
    }
}

/// What a log says, short enough for a message.
fn shortened(text: &str) -> String {
    const ENOUGH: usize = 200;
    text.trim().chars().take(ENOUGH).collect()
}

/// A figure as a whole number, if it is one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be whole, not negative and below 2^53"
)]
fn whole(value: f64) -> Option<u64> {
    (value.fract() == 0.0 && (0.0..9e15).contains(&value)).then_some(value as u64)
}

/// A count as a figure.
fn exact(count: u64) -> f64 {
    linerate_model::PacketCount::new(count).as_f64()
}

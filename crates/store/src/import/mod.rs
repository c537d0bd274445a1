//! Logs of other tools become runs.
//!
//! ```text
//! bytes ─► text ─► LogFormat::parse ─► ParsedTest ─► merge views ─► group ─► Run
//! ```
//!
//! Does not judge what a test means. Invariants: a test is imported whole or not at all, and one that
//! cannot be read is named; a rounded figure carries the interval in which its true value lies; what a log cannot tell stays `None`,
//! never zero; figures that contradict each other give a warning.

mod build;
mod check;
mod command;
mod delay;
mod error;
mod flow;
mod hgrm;
mod hint;
mod iperf2_csv;
mod iperf2_text;
mod iperf3;
mod iperf3_json;
mod iperf3_text;
mod line;
mod lwiperf;
mod merge;
mod neper;
mod netperf;
mod pairs;
mod reader;
mod rounded;
mod sfnt_pingpong;
mod sockperf;
mod zperf;

#[cfg(test)]
mod tests;

pub use command::Command;
pub use error::ImportError;
pub use flow::{
    Connection, Endpoint, Flow, Intended, LatencyTest, Origin, ParsedTest, Row, Skipped, Totals,
    TrafficTest, View,
};
pub use hint::{HgrmHint, TimeUnit};
pub use rounded::Rounded;

use linerate_model::run::Run;
use std::borrow::Cow;

/// A log format of another tool.
pub trait LogFormat: Sync {
    /// Unique kebab-case id, which becomes the run's `source.format`.
    fn id(&self) -> &'static str;

    /// What it reads, in one sentence.
    fn summary(&self) -> &'static str;

    /// How many lines of `text` only this format has; zero: not mine.
    fn recognise(&self, text: &str) -> usize;

    /// Every test in `text`. `name` is the file's name, for messages.
    ///
    /// A test that is not whole is refused, unless the log itself says that it was ended early.
    fn parse(&self, name: &str, text: &str) -> Result<Vec<ParsedTest>, ImportError>;

    /// The same with what the user knows; a format that tells it all needs nothing.
    fn parse_with(
        &self,
        name: &str,
        text: &str,
        _hints: &Hints,
    ) -> Result<Vec<ParsedTest>, ImportError> {
        self.parse(name, text)
    }
}

/// What the user knows of logs that do not tell it. What a log tells is believed before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hints {
    /// The step of `K` and `M` in what zperf prints.
    pub zperf_units: Option<UnitStep>,
    /// Transport and unit of `.hgrm` files.
    pub hgrm: Option<HgrmHint>,
}

/// The step from one unit to its next larger one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitStep {
    /// 1024: zperf before Zephyr 3.6.
    Binary,
    /// 1000: zperf from Zephyr 3.6 on.
    Decimal,
}

/// Every format that can be imported, by id.
pub static ALL: &[&dyn LogFormat] = &[
    &hgrm::Hgrm,
    &iperf2_csv::Iperf2Csv,
    &iperf2_text::Iperf2Text,
    &iperf3_json::Iperf3Json,
    &iperf3_text::Iperf3Text,
    &lwiperf::Lwiperf,
    &neper::Neper,
    &netperf::Netperf,
    &sfnt_pingpong::SfntPingpong,
    &sockperf::Sockperf,
    &zperf::Zperf,
];

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

/// Imports log files, given by name and content, together: the client's and the server's log of
/// one test become one trial, UDP tests between the same two hosts become one run.
///
/// What cannot be read is named in [`Imported::refused`]; an error if that leaves nothing.
pub fn import(files: &[(String, Vec<u8>)]) -> Result<Imported, ImportError> {
    import_with(files, &Hints::default())
}

/// The same with what the user knows and the logs do not tell.
pub fn import_with(files: &[(String, Vec<u8>)], hints: &Hints) -> Result<Imported, ImportError> {
    let mut imported = Imported::default();
    let mut sorted = Sorted::default();
    for (name, bytes) in files {
        match read(name, bytes, *hints, &mut imported.warnings) {
            Ok(found) => sorted.add(found, &mut imported),
            Err(error) => imported.refused.push(error),
        }
    }
    let Sorted { traffic, latency } = sorted;
    for test in &traffic {
        check::test(test, &mut imported.warnings);
    }
    for test in &latency {
        check::latency(test, &mut imported.warnings);
    }
    let merged = merge::views(traffic, &mut imported.warnings);
    imported.runs = build::runs(merged, latency);
    if imported.runs.is_empty() && !imported.refused.is_empty() {
        return Err(imported.refused.swap_remove(0));
    }
    Ok(imported)
}

/// The tests of one file.
fn read(
    name: &str,
    bytes: &[u8],
    hints: Hints,
    warnings: &mut Vec<String>,
) -> Result<Vec<ParsedTest>, ImportError> {
    let text = as_text(name, bytes)?;
    let format = recognise(name, &text)?;
    let found = format.parse_with(name, &text, &hints)?;
    warnings.extend(others(name, &text, format));
    refuse_if_all_failed(&found)?;
    Ok(found)
}

/// What a reader found, if it found anything.
fn at_least_one<T>(found: Vec<T>, file: &str, format: &'static str) -> Result<Vec<T>, ImportError> {
    if found.is_empty() {
        return Err(ImportError::NoTest {
            file: file.to_owned(),
            format,
        });
    }
    Ok(found)
}

/// Tests that failed are left out among others; a file of nothing else is an error.
fn refuse_if_all_failed(tests: &[ParsedTest]) -> Result<(), ImportError> {
    let mut failed = None;
    for test in tests {
        let (origin, reason) = match test {
            ParsedTest::Traffic(test) if test.flows.is_empty() => {
                (&test.origin, test.interrupted.clone())
            }
            ParsedTest::Skipped(test) => (&test.origin, Some(test.reason.clone())),
            ParsedTest::Latency(_) | ParsedTest::Refused(_) | ParsedTest::Traffic(_) => {
                return Ok(());
            }
        };
        failed.get_or_insert((origin, reason));
    }
    match failed {
        None => Ok(()),
        Some((origin, reason)) => Err(ImportError::Failed {
            file: origin.file.clone(),
            line: origin.line,
            reason: shortened(&reason.unwrap_or_default()),
        }),
    }
}

/// The format that knows most lines of `text`.
fn recognise(name: &str, text: &str) -> Result<&'static dyn LogFormat, ImportError> {
    ALL.iter()
        .map(|format| (format.recognise(text), *format))
        .filter(|(score, _)| *score > 0)
        .max_by_key(|(score, _)| *score)
        .map(|(_, format)| format)
        .ok_or_else(|| ImportError::Unknown {
            file: name.to_owned(),
            first: first_line(text),
        })
}

/// What else a file holds: output of several tools in one file is a mix of which one is read.
fn others(name: &str, text: &str, read: &dyn LogFormat) -> Vec<String> {
    // Fewer lines can be words that two tools share.
    const ENOUGH: usize = 3;
    ALL.iter()
        .filter(|format| format.id() != read.id() && format.recognise(text) >= ENOUGH)
        .map(|other| {
            format!(
                "{name}: read as {}; it also has lines of {}, which were left out: give them in a \
                 file of their own",
                read.id(),
                other.id()
            )
        })
        .collect()
}

/// The first line that is not blank, shortened for a message.
fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.unwrap_or_default().trim().chars().take(60).collect()
}

/// What a log says, short enough for a message.
fn shortened(text: &str) -> String {
    const ENOUGH: usize = 200;
    text.trim().chars().take(ENOUGH).collect()
}

/// The file's text with its white space made plain, or why it is no text.
fn as_text(name: &str, bytes: &[u8]) -> Result<String, ImportError> {
    let file = || name.to_owned();
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(ImportError::Empty { file: file() });
    }
    let binary = |offset| ImportError::Binary {
        file: file(),
        offset,
    };
    let text = std::str::from_utf8(bytes).map_err(|error| binary(error.valid_up_to()))?;
    let text = without_controls(text);
    let plain = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r');
    if let Some((offset, _)) = text.char_indices().find(|(_, c)| !plain(*c)) {
        return Err(binary(offset));
    }
    // Logs that went through a mail or a web page have no-break spaces in their columns.
    Ok(text.replace('\u{a0}', " "))
}

/// Takes out the control sequences of a terminal: colours, and the cursor's moves of a board's shell.
fn without_controls(text: &str) -> Cow<'_, str> {
    const BEGIN: &str = "\u{1b}[";
    if !text.contains(BEGIN) {
        return Cow::Borrowed(text);
    }
    let mut pieces = text.split(BEGIN);
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|c: char| ('@'..='~').contains(&c));
        plain.push_str(end.map_or("", |end| &piece[end + 1..]));
    }
    Cow::Owned(plain)
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

/// The tests of all files by their kind.
#[derive(Default)]
struct Sorted {
    traffic: Vec<TrafficTest>,
    latency: Vec<LatencyTest>,
}

impl Sorted {
    fn add(&mut self, tests: Vec<ParsedTest>, imported: &mut Imported) {
        for test in tests {
            match test {
                ParsedTest::Latency(test) => self.latency.push(*test),
                ParsedTest::Refused(error) => imported.refused.push(error),
                ParsedTest::Skipped(Skipped { origin, reason }) => {
                    imported.warnings.push(format!(
                        "{}: test at line {} was left out: {}",
                        origin.file,
                        origin.line,
                        shortened(&reason)
                    ));
                }
                ParsedTest::Traffic(test) => self.traffic.push(*test),
            }
        }
    }
}

//! What one wrong line does to a log: never another number without a word.
//!
//! Every line of every fixture is dropped, doubled, swapped with the next and cut. What comes out is an error, a note
//! on the run that was not there before, or no other figure: those that are there are the same, and those that went
//! with the line are unknown.

use linerate_model::run::{Run, Trial};
use linerate_store::import::{Imported, import};
use serde_json::Value;
use std::collections::BTreeSet;
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is done to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// So many fourths of it are left; four: all but its last character.
    Cut(usize),
    Double,
    Drop,
    Swap,
}

const CHANGES: [Change; 7] = [
    Change::Drop,
    Change::Double,
    Change::Swap,
    Change::Cut(1),
    Change::Cut(2),
    Change::Cut(3),
    Change::Cut(4),
];

impl Change {
    /// The text with the change at the line `at`.
    fn of(self, lines: &[&str], at: usize) -> String {
        let mut changed: Vec<&str> = lines.to_vec();
        match self {
            Self::Cut(fourths) => {
                let line = lines[at].trim_end();
                let end = match fourths {
                    4 => line.len().saturating_sub(1),
                    _ => line.len() * fourths / 4,
                };
                let end = (0..=end).rfind(|end| line.is_char_boundary(*end));
                changed[at] = &line[..end.unwrap_or(0)];
            }
            Self::Double => changed.insert(at, lines[at]),
            Self::Drop => drop(changed.remove(at)),
            Self::Swap if at + 1 < lines.len() => changed.swap(at, at + 1),
            Self::Swap => {}
        }
        let mut text = changed.join("\n");
        text.push('\n');
        text
    }
}

/// What was imported of one text.
struct Read {
    trials: Vec<(BTreeSet<String>, Value)>,
    is_refused: bool,
    warnings: BTreeSet<String>,
}

impl Read {
    fn of(name: &str, text: &str) -> Option<Self> {
        let Imported {
            runs,
            warnings,
            refused,
        } = import(&[(name.to_owned(), text.as_bytes().to_vec())]).ok()?;
        let trials = runs.iter().flat_map(|run| {
            let of = |trial| (notes(run, trial), figures(trial));
            run.trials.iter().map(of).collect::<Vec<_>>()
        });
        Some(Self {
            trials: trials.collect(),
            is_refused: !refused.is_empty(),
            warnings: warnings.into_iter().collect(),
        })
    }

    /// What this shows that `whole` does not, without a word on it.
    fn untold(&self, whole: &Self) -> Option<String> {
        if self.is_refused {
            return None;
        }
        let known: BTreeSet<_> = whole.trials.iter().flat_map(|(notes, _)| notes).collect();
        let mut left: Vec<_> = whole.trials.iter().map(|(_, figures)| figures).collect();
        for (notes, figures) in &self.trials {
            let differences = left.iter().map(|known| difference("", known, figures));
            let differences: Vec<_> = differences.collect();
            match differences.iter().position(Option::is_none) {
                Some(at) => drop(left.remove(at)),
                None if notes.iter().any(|note| !known.contains(note)) => {}
                None => return differences.into_iter().flatten().min_by_key(String::len),
            }
        }
        let is_less = self.trials.len() < whole.trials.len();
        let mut notes = self.trials.iter().flat_map(|(notes, _)| notes);
        let has_word =
            !self.warnings.is_subset(&whole.warnings) || notes.any(|note| !known.contains(note));
        (is_less && !has_word).then(|| "a test is gone".to_owned())
    }
}

fn notes(run: &Run, trial: &Trial) -> BTreeSet<String> {
    let all = run.notes.iter().chain(&run.doubts).chain(&trial.reasons);
    all.cloned().collect()
}

/// All that is known of a trial but how it is called and what is said of it.
fn figures(trial: &Trial) -> Value {
    let mut value = serde_json::to_value(trial).unwrap();
    let members = value.as_object_mut().unwrap();
    for name in ["index", "label", "reasons"] {
        members.remove(name);
    }
    value
}

/// Whether `found` has at `key` an interval that holds what is known: the same figure, known less well.
fn is_wider(key: &str, known: &Value, found: &Value) -> bool {
    let bound = |name| found["rounding"][key][name].as_f64();
    let bounds = bound("low").zip(bound("high"));
    let value = known[key].as_f64();
    bounds
        .zip(value)
        .is_some_and(|((low, high), value)| (low..=high).contains(&value))
}

/// Where `found` has something that `known` has not: less is unknown, and no other figure. Of intervals each counts.
fn difference(path: &str, known: &Value, found: &Value) -> Option<String> {
    let other = || Some(format!("{path}: {known} is {found}"));
    match (known, found) {
        (Value::Object(members), Value::Object(others)) => {
            others.iter().find_map(|(key, value)| {
                if key == "rounding" || is_wider(key, known, found) {
                    return None;
                }
                let known = members;
                let path = format!("{path}/{key}");
                match known.get(key) {
                    Some(known) => difference(&path, known, value),
                    None if value.is_null() => None,
                    None => Some(format!("{path}: {value} is new")),
                }
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut both = a.iter().zip(b);
            both.find_map(|(known, found)| difference(path, known, found))
        }
        (Value::Array(a), Value::Array(b)) if path == "/intervals" && lacks_short_end(a, b) => None,
        (Value::Array(a), Value::Array(b)) => Some(format!("{path}: {} are {}", a.len(), b.len())),
        (_, Value::Null) => None,
        _ if known == found => None,
        _ => other(),
    }
}

/// Whether `found` lacks but the last interval of `known`, which is shorter than half of the first: the tools may leave it
/// out.
fn lacks_short_end(known: &[Value], found: &[Value]) -> bool {
    let Some((last, before)) = known.split_last() else {
        return false;
    };
    let seconds =
        |interval: &Value| Some(interval["end_s"].as_f64()? - interval["start_s"].as_f64()?);
    let first = known.first().and_then(seconds);
    let is_short = seconds(last)
        .zip(first)
        .is_some_and(|(last, first)| last < 0.5 * first);
    is_short && before == found
}

/// Every log of the fixtures, by name.
pub(crate) fn logs() -> Vec<(String, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path
                    .strip_prefix(&root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned();
                files.push((name, std::fs::read(path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// What every `stride`th change of all fixtures makes wrong without a word.
pub(crate) fn wrong(stride: usize) -> Vec<String> {
    let logs = logs();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut wrong = Vec::new();
        while let Some((name, bytes)) = logs.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Ok(text) = std::str::from_utf8(bytes) {
                wrong.append(&mut wrong_of(name, text, stride));
            }
        }
        wrong
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut wrong: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        all.into_iter()
            .flat_map(|one| one.join().unwrap())
            .collect()
    });
    wrong.sort();
    wrong
}

/// What every `stride`th change of one log makes wrong without a word.
fn wrong_of(name: &str, text: &str, stride: usize) -> Vec<String> {
    let Some(whole) = Read::of(name, text) else {
        return Vec::new();
    };
    let lines: Vec<_> = text.lines().collect();
    let all = (0..lines.len()).flat_map(|at| CHANGES.map(|change| (at, change)));
    let tried = all.skip(name.len() % stride).step_by(stride);
    let wrong = tried.filter_map(|(at, change)| {
        let changed = change.of(&lines, at);
        let what = Read::of(name, &changed)?.untold(&whole)?;
        let what: String = what.chars().take(200).collect();
        let is_told = is_exempt(name, change, lines[at]);
        (!is_told).then(|| format!("{name}:{}: {change:?}: {what}", at + 1))
    });
    wrong.collect()
}

/// Names of a stream's ends: with others it is another stream, whose figures are what each end counted.
const NAMES: &[&str] = &[
    "_host\"",
    "_port\"",
    "connected to",
    "connected with",
    "cookie",
];
/// Formats with whole numbers at the end of a line that no other figure contradicts when a shorter one is left.
const LONE: &[&str] = &[
    "hgrm",
    "neper.txt",
    "netperf",
    "ntttcp",
    "sfnet",
    "sfnt",
    "zperf",
];

/// What nothing else in a log tells, so that nothing can contradict it.
fn is_exempt(name: &str, change: Change, line: &str) -> bool {
    let is_name = NAMES.iter().any(|name| line.contains(name));
    let is_cut = matches!(change, Change::Cut(_));
    let is_shorter = is_cut && line.trim_end().ends_with(|c: char| c.is_ascii_digit());
    let is_lone = LONE.iter().any(|format| name.contains(format));
    // Values between two lines of a distribution count as the upper one, with one line less too.
    let is_distribution = name.contains("hgrm") && change == Change::Drop;
    // The line over the whole test, twice, is what iperf 2 prints of a test of a single interval.
    let is_whole = ["0.0-", "0.00-", "0.0000-"].iter().any(|begin| {
        line.split([' ', ',', '\u{a0}'])
            .any(|word| word.starts_with(begin))
    });
    let is_single = change == Change::Double && is_whole;
    // What a command asked for beside a rate no figure tells.
    let is_command =
        (line.starts_with("$ ") || line.starts_with("### ")) && !line.contains("iperf");
    // A line of sfnt-pingpong's table is a test by itself, and so is the only line of a stream: what is gone is unknown.
    let alone = ["sfn", "csvP.", "fd.server"];
    let is_only = change == Change::Drop && alone.iter().any(|format| name.contains(format));
    // An interval that is shorter than the last digit of its times.
    let mut times = line
        .split_whitespace()
        .filter_map(|word| word.split_once('-'));
    let is_short =
        change == Change::Drop && times.any(|(start, end)| start == end && start.contains('.'));
    // The name of an algorithm, of which any may be.
    let is_algorithm = is_cut && line.contains("_tcp_congestion ");
    // nuttcp's intervals have no times: where they stand is all that tells their order.
    let is_order = change == Change::Swap && name.contains("nuttcp") && !line.contains("%TX");
    let is_untold = is_order || is_name || is_command || is_algorithm || is_only || is_short;
    is_untold || is_single || is_shorter && is_lone || is_distribution
}

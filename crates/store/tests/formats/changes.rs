//! What one wrong line does to a log: never another number without a word.
//!
//! Every line of every fixture is dropped, doubled, swapped with the next and cut. What comes out is an error, a note
//! on the run that was not there before, or no other figure: those that are there are the same, and those that went
//! with the line are unknown.

use linerate_model::run::{Run, Trial};
use linerate_store::import::{Imported, import};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

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
        (Value::Array(a), Value::Array(b)) => Some(format!("{path}: {} are {}", a.len(), b.len())),
        (_, Value::Null) => None,
        _ if known == found => None,
        _ => other(),
    }
}

/// Every log of the fixtures, by name.
fn logs() -> Vec<(String, Vec<u8>)> {
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
    let mut wrong = Vec::new();
    let mut count = 0;
    for (name, bytes) in logs() {
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        let Some(whole) = Read::of(&name, &text) else {
            continue;
        };
        let lines: Vec<_> = text.lines().collect();
        for at in 0..lines.len() {
            for change in CHANGES {
                count += 1;
                let is_open = OPEN.contains(&(name.as_str(), at + 1, change));
                if count % stride != 0 || is_open || is_exempt(&name, change, lines[at]) {
                    continue;
                }
                let changed = change.of(&lines, at);
                if let Some(what) = Read::of(&name, &changed).and_then(|read| read.untold(&whole)) {
                    let what: String = what.chars().take(200).collect();
                    wrong.push(format!("{name}:{}: {change:?}: {what}", at + 1));
                }
            }
        }
    }
    wrong
}

/// Changes, by file and line, that are not noticed yet: which way the data went, or which test a line belongs to, stands
/// in that line alone.
const OPEN: &[(&str, usize, Change)] = &[
    ("transcripts/iperf2-versions.txt", 43, Change::Cut(1)),
    ("transcripts/iperf2-versions.txt", 120, Change::Cut(1)),
    ("transcripts/iperf2-versions.txt", 197, Change::Cut(1)),
    ("transcripts/iperf3-versions.txt", 148, Change::Drop),
    ("transcripts/neper.txt", 575, Change::Drop),
    ("transcripts/zperf-16byte-header.txt", 27, Change::Drop),
];

/// Names of a stream's ends: with others it is another stream, whose figures are what each end counted.
const NAMES: &[&str] = &[
    "_host\"",
    "_port\"",
    "connected to",
    "connected with",
    "cookie",
];
/// Formats with whole numbers at the end of a line that no other figure contradicts when a shorter one is left.
const LONE: &[&str] = &["hgrm", "neper.txt", "netperf.txt", "sfnet", "sfnt", "zperf"];

/// What nothing else in a log tells, so that nothing can contradict it.
fn is_exempt(name: &str, change: Change, line: &str) -> bool {
    let is_name = NAMES.iter().any(|name| line.contains(name));
    let is_cut = matches!(change, Change::Cut(_));
    let is_shorter = is_cut && line.trim_end().ends_with(|c: char| c.is_ascii_digit());
    let is_lone = LONE.iter().any(|format| name.contains(format));
    // Values between two lines of a distribution count as the upper one, with one line less too.
    let is_distribution = name.contains("hgrm") && change == Change::Drop;
    // The line over the whole test, twice, is what iperf 2 prints of a test of a single interval.
    let is_whole = line.contains(" 0.0-") || line.contains(" 0.0000-");
    let is_single = change == Change::Double && is_whole;
    // What a command asked for beside a rate no figure tells.
    let is_command =
        (line.starts_with("$ ") || line.starts_with("### ")) && !line.contains("iperf");
    // A line of sfnt-pingpong's table is a test by itself, and so is the only line of a stream: what is gone is unknown.
    let alone = ["sfn", "csvP.server", "fd.server"];
    let is_only = change == Change::Drop && alone.iter().any(|format| name.contains(format));
    // An interval that is shorter than the last digit of its times.
    let is_short = change == Change::Drop && line.contains("10.00-10.0");
    // Which end sent, this line alone tells.
    let is_direction = is_cut && line.starts_with("Reverse mode");
    let is_untold = is_name || is_command || is_direction || is_only || is_short;
    is_untold || is_single || is_shorter && is_lone || is_distribution
}

//! Reading runs, whole or torn.

use super::density::too_dense;
use super::{Figure, HEADER, PARTS, RUN, StoreError, Summary, TRIALS};
use crate::regular::{self, Links};
use crate::v1;
use linerate_model::run::{Run, RunKind, RunStatus, SCHEMA, Tool};
use linerate_model::{BitRate, ByteCount, PacketRate, WallTime};
use serde::de::{DeserializeOwned, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::marker::PhantomData;
use std::path::Path;

/// Above any run document: a day of raw one-second samples of 128 streams takes less than half.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Loads the run in directory `dir`.
pub(super) fn run(dir: &Path) -> Result<Run, StoreError> {
    let finished = dir.join(RUN);
    if finished.exists() {
        return run_from_document(&finished, &read_file(&finished, Links::Refused)?);
    }
    let header = dir.join(HEADER);
    if !header.exists() {
        return Err(StoreError::NotARun {
            path: dir.to_owned(),
        });
    }
    let bytes = read_file(&header, Links::Refused)?;
    // One program writes the header and the logs beside it.
    let version = Version::find(&header, &bytes)?;
    let mut run: Run = version
        .decode(&bytes, v1::upgrade_run)
        .map_err(|error| corrupt(&header, &error))?;
    let path = dir.join(TRIALS);
    let log = Log::read(&path)?;
    let is_latency = run.kind() == RunKind::Latency;
    run.trials =
        log.values(|line| version.decode(line, |trial| v1::upgrade_trial(trial, is_latency)))?;
    let path = dir.join(PARTS);
    let parts = Log::read(&path)?;
    if let Some(kept) = run.parts_mut() {
        *kept = parts.values(|line| version.decode(line, v1::upgrade_run))?;
    }
    run.status = RunStatus::Incomplete;
    run.notes.push(match (run.trials.len(), run.parts().len()) {
        (_, parts @ 1..) => {
            format!("the run did not come to its end; its first {parts} parts were kept")
        }
        (0, 0) => "the run did not come to its end; no trial was finished".to_owned(),
        (n, 0) => format!("the run did not come to its end; its first {n} trials were kept"),
    });
    if log.torn || parts.torn {
        run.notes.push(
            "a trial or part was being written when the run ended; it was dropped".to_owned(),
        );
    }
    Ok(run)
}

/// Loads one run document.
pub(super) fn document(path: &Path) -> Result<Run, StoreError> {
    run_from_document(path, &read_file(path, Links::Followed)?)
}

/// The run of a document of any version; `path` is its name in messages.
pub fn run_from_document(path: &Path, bytes: &[u8]) -> Result<Run, StoreError> {
    let version = Version::find(path, bytes)?;
    let run = match version {
        Version::Current => parts_apart(bytes),
        Version::V1 => version.decode(bytes, v1::upgrade_run),
    };
    run.map_err(|error| corrupt(path, &error))
}

/// The run of a document whose parts are decoded by themselves. Decoded with the rest, all of them would be held as untyped
/// values first, as everything is that only one kind of run has (serde's `flatten`): most of what a large study takes.
fn parts_apart(bytes: &[u8]) -> serde_json::Result<Run> {
    #[derive(Deserialize)]
    struct Parts<'a> {
        #[serde(borrow, default)]
        parts: Option<&'a RawValue>,
    }
    let decode = |bytes: &[u8]| Version::Current.decode(bytes, |_| ());
    let Parts { parts: Some(parts) } = serde_json::from_slice(bytes)? else {
        return decode(bytes);
    };
    let parts = parts.get().as_bytes();
    let start = parts.as_ptr().addr() - bytes.as_ptr().addr();
    let mut run = decode(&[&bytes[..start], b"[]", &bytes[start + parts.len()..]].concat())?;
    if let Some(kept) = run.parts_mut() {
        *kept = Version::Current
            .decode(parts, |_| ())
            .map_err(|error| serde_json::Error::custom(format_args!("in its parts: {error}")))?;
    }
    Ok(run)
}

/// Whether what `open` opens is a document of linerate, of any version, whole or damaged.
pub fn is_document<R: Read>(open: impl Fn() -> io::Result<R>) -> io::Result<bool> {
    #[derive(Deserialize)]
    struct Schema {
        schema: String,
    }
    /// More than comes before the schema in a document as linerate writes it.
    const SCHEMA_SEARCH_BYTES: u64 = 256;
    const SCHEMA_PREFIX: &str = "linerate/";
    let mut beginning = Vec::new();
    open()?
        .take(SCHEMA_SEARCH_BYTES)
        .read_to_end(&mut beginning)?;
    let beginning = String::from_utf8_lossy(&beginning);
    if !beginning.trim_start().starts_with('{') {
        return Ok(false);
    }
    let head: Result<Schema, _> = serde_json::from_reader(io::BufReader::new(open()?));
    Ok(head.map_or_else(
        |_| beginning.contains("\"schema\"") && beginning.contains(SCHEMA_PREFIX),
        |head| head.schema.starts_with(SCHEMA_PREFIX),
    ))
}

/// Reads the head of the run in directory `dir`.
pub(super) fn summary(dir: &Path) -> Result<Summary, StoreError> {
    if let Some(head) = Head::read(&dir.join(RUN))? {
        let (status, trials) = (head.status, head.trials.count);
        return Ok(head.summary(status, trials));
    }
    let head = Head::read(&dir.join(HEADER))?.ok_or_else(|| StoreError::NotARun {
        path: dir.to_owned(),
    })?;
    let trials = Log::read(&dir.join(TRIALS))?.lines().count();
    Ok(head.summary(RunStatus::Incomplete, trials))
}

/// The part of a run document that a list shows, the same in every version.
#[derive(Deserialize)]
struct Head {
    schema: String,
    kind: RunKind,
    title: Option<String>,
    started: Option<WallTime>,
    status: RunStatus,
    tool: Tool,
    #[serde(default)]
    trials: Elements<TrialHead>,
    #[serde(default)]
    parts: Elements<PartHead>,
    #[serde(default)]
    goals: Vec<GoalHead>,
    #[serde(default)]
    forwarding: Vec<ForwardingHead>,
    #[serde(default)]
    verdict: Option<VerdictHead>,
}

/// The part of what a device forwards that a list shows.
#[derive(Deserialize)]
struct ForwardingHead {
    frame_bytes: ByteCount,
    #[serde(default)]
    goals: Vec<FrameGoalHead>,
}

#[derive(Deserialize)]
struct FrameGoalHead {
    #[serde(default)]
    lower_bound_pps: Option<PacketRate>,
}

/// The part of a run within another that a list shows.
#[derive(Deserialize)]
struct PartHead {
    #[serde(default)]
    trials: Elements<TrialHead>,
}

/// The part of a trial that a list shows.
#[derive(Deserialize)]
struct TrialHead {
    #[serde(default)]
    valid: bool,
    #[serde(default)]
    received_bps: Option<BitRate>,
    #[serde(default)]
    delay: Option<DelayHead>,
}

#[derive(Deserialize)]
struct DelayHead {
    #[serde(default)]
    p50_ns: Option<u64>,
    #[serde(default)]
    mean_ns: Option<f64>,
}

#[derive(Deserialize)]
struct GoalHead {
    #[serde(default)]
    lower_bound_bps: Option<BitRate>,
}

#[derive(Deserialize)]
struct VerdictHead {
    limit: String,
    #[serde(default)]
    limit_name: String,
}

/// What of the elements of a list is kept while it is read: how many there are, and of trials the best.
struct Elements<T> {
    count: usize,
    received: Option<BitRate>,
    median_ns: Option<u64>,
    mean_ns: Option<f64>,
    /// Of parts, the best rate of each that has one.
    rates: Vec<BitRate>,
    of: PhantomData<T>,
}

impl<T> Default for Elements<T> {
    fn default() -> Self {
        Self {
            count: 0,
            received: None,
            median_ns: None,
            mean_ns: None,
            rates: Vec::new(),
            of: PhantomData,
        }
    }
}

/// An element of a list, and what is kept of it.
trait Element: Sized {
    fn add_to(self, all: &mut Elements<Self>);
}

impl Element for PartHead {
    fn add_to(self, all: &mut Elements<Self>) {
        all.rates.extend(self.trials.received);
    }
}

impl Element for TrialHead {
    fn add_to(self, all: &mut Elements<Self>) {
        if !self.valid {
            return;
        }
        all.received = all.received.max(self.received_bps);
        let Some(delay) = self.delay else {
            return;
        };
        all.median_ns = [all.median_ns, delay.p50_ns].into_iter().flatten().min();
        let means = [all.mean_ns, delay.mean_ns].into_iter().flatten();
        all.mean_ns = means.min_by(f64::total_cmp);
    }
}

impl<'de, T: Element + Deserialize<'de>> Deserialize<'de> for Elements<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List<T>(PhantomData<T>);
        impl<'de, T: Element + Deserialize<'de>> Visitor<'de> for List<T> {
            type Value = Elements<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Elements<T>, A::Error> {
                let mut all = Elements::default();
                while let Some(element) = list.next_element::<T>()? {
                    all.count += 1;
                    element.add_to(&mut all);
                }
                Ok(all)
            }
        }
        deserializer.deserialize_seq(List(PhantomData))
    }
}

impl Head {
    /// Reads the head of a document; `None` if there is no such file.
    fn read(path: &Path) -> Result<Option<Self>, StoreError> {
        let bytes = match read_file(path, Links::Refused) {
            Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                return Ok(None);
            }
            read => read?,
        };
        // Once over a document of a version that can be read; what else it is, is worth a second look.
        match serde_json::from_slice(&bytes) {
            Ok(Self { schema, .. }) if schema != SCHEMA && schema != v1::SCHEMA => {
                Err(Version::unknown(path, schema))
            }
            Ok(head) => Ok(Some(head)),
            Err(error) => {
                Version::find(path, &bytes)?;
                Err(corrupt(path, &error))
            }
        }
    }

    /// The figure that people ask for first.
    fn result(&self) -> Option<Figure> {
        match self.kind {
            RunKind::Saturate if !self.goals.is_empty() => {
                self.goals[0].lower_bound_bps.map(Figure::LowerBound)
            }
            RunKind::Latency => {
                let median = self.trials.median_ns.map(Figure::MedianNs);
                median.or_else(|| self.trials.mean_ns.map(Figure::MeanNs))
            }
            RunKind::Switch => {
                let first = self.forwarding.first()?;
                Some(Figure::FrameLowerBound {
                    frame: first.frame_bytes,
                    rate: first.goals.first()?.lower_bound_pps?,
                })
            }
            RunKind::Demo => None,
            RunKind::Study => median(&self.parts.rates).map(Figure::MedianReceived),
            RunKind::Saturate | RunKind::Tcp | RunKind::Udp => {
                self.trials.received.map(Figure::Received)
            }
        }
    }

    fn summary(self, status: RunStatus, trials: usize) -> Summary {
        Summary {
            result: self.result(),
            parts: self.parts.count,
            limit: self.verdict.map(|found| {
                let name = if found.limit_name.is_empty() {
                    found.limit.clone()
                } else {
                    found.limit_name
                };
                (found.limit, name)
            }),
            kind: self.kind,
            title: self.title,
            started: self.started,
            status,
            tool: self.tool,
            trials,
        }
    }
}

/// The median; of an even number of rates the lower of the two in the middle.
fn median(rates: &[BitRate]) -> Option<BitRate> {
    let mut rates = rates.to_vec();
    rates.sort_unstable();
    rates.get(rates.len().checked_sub(1)? / 2).copied()
}

/// A version of the run document that can be read.
#[derive(Clone, Copy)]
enum Version {
    /// What is written today.
    Current,
    /// `linerate/run/1`.
    V1,
}

impl Version {
    /// The version of the document `bytes`, which was read from `path`.
    fn find(path: &Path, bytes: &[u8]) -> Result<Self, StoreError> {
        /// The only part of a document that every version shares.
        #[derive(Deserialize)]
        struct Schema {
            schema: String,
        }
        let found: Schema = serde_json::from_slice(bytes).map_err(|error| corrupt(path, &error))?;
        match found.schema.as_str() {
            SCHEMA => Ok(Self::Current),
            v1::SCHEMA => Ok(Self::V1),
            _ => Err(Self::unknown(path, found.schema)),
        }
    }

    fn unknown(path: &Path, found: String) -> StoreError {
        StoreError::Version {
            path: path.to_owned(),
            found,
        }
    }

    /// Decodes a value of this version, which `upgrade` changes first if it is an old one. Unknown keys are ignored.
    fn decode<T: DeserializeOwned>(
        self,
        bytes: &[u8],
        upgrade: impl FnOnce(&mut Value),
    ) -> serde_json::Result<T> {
        if let Some(why) = too_dense(bytes) {
            return Err(serde_json::Error::custom(why));
        }
        match self {
            Self::Current => serde_json::from_slice(bytes),
            Self::V1 => {
                let mut value = serde_json::from_slice(bytes)?;
                upgrade(&mut value);
                // Through text: code that reads runs out of values would be in the program for this alone.
                serde_json::from_slice(&serde_json::to_vec(&value)?)
            }
        }
    }
}

fn corrupt(path: &Path, error: &serde_json::Error) -> StoreError {
    StoreError::Corrupt {
        path: path.to_owned(),
        // A value that was decoded already has lost its line.
        line: error.line().max(1),
        reason: error.to_string(),
    }
}

fn read_file(path: &Path, links: Links) -> Result<Vec<u8>, StoreError> {
    let fail = |source| StoreError::io("read", path, source);
    let file = regular::open(path, links).map_err(fail)?;
    let bytes = file.metadata().map_err(fail)?.len();
    if bytes > MAX_FILE_BYTES {
        return Err(StoreError::TooLarge {
            path: path.to_owned(),
            bytes,
            limit: MAX_FILE_BYTES,
        });
    }
    let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0) + 1);
    // A file of `/proc` states no length.
    let read = file.take(MAX_FILE_BYTES).read_to_end(&mut content);
    read.map_err(fail)?;
    Ok(content)
}

/// The trials of a run that did not come to its end.
struct Log<'a> {
    path: &'a Path,
    /// Whole lines only.
    bytes: Vec<u8>,
    /// Whether a last line without its line feed was dropped.
    torn: bool,
}

impl<'a> Log<'a> {
    /// Reads the log at `path`; one that was not created yet is empty.
    fn read(path: &'a Path) -> Result<Self, StoreError> {
        let mut bytes = match read_file(path, Links::Refused) {
            Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                Vec::new()
            }
            other => other?,
        };
        let whole = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |last| last + 1);
        let torn = whole < bytes.len();
        bytes.truncate(whole);
        Ok(Self { path, bytes, torn })
    }

    /// The whole lines, without their line feeds.
    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes
            .split_inclusive(|byte| *byte == b'\n')
            .map(|line| &line[..line.len() - 1])
    }

    fn values<T>(
        &self,
        decode: impl Fn(&[u8]) -> serde_json::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.lines()
            .enumerate()
            .map(|(index, line)| {
                decode(line).map_err(|error| StoreError::Corrupt {
                    path: self.path.to_owned(),
                    line: index + 1,
                    reason: error.to_string(),
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn read(text: &str) -> Result<Run, StoreError> {
        run_from_document(Path::new("run.json"), text.as_bytes())
    }

    fn named(id: &str, kind: RunKind) -> Run {
        Run::new(id, kind, Tool::unversioned("linerate"))
    }

    #[test]
    fn parts_are_read_with_their_run_and_what_damages_one_is_said() {
        let mut study = named("study", RunKind::Study);
        let parts = vec![named("a", RunKind::Tcp), named("b", RunKind::Udp)];
        *study.parts_mut().unwrap() = parts;
        study.notes.push("\"parts\":[] in a note".to_owned());
        let text = serde_json::to_string(&study).unwrap();
        assert_eq!(read(&text).unwrap(), study);
        // Where they stand in the document is nobody's promise.
        let mut value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read(&value.to_string()).unwrap(), study);
        value["parts"][1]["status"] = Value::from(7);
        let error = read(&value.to_string()).unwrap_err().to_string();
        assert!(error.contains("in its parts: expected value at"), "{error}");
    }

    #[test]
    fn parts_of_a_run_that_has_none_are_an_unknown_key() {
        let run = named("a", RunKind::Tcp);
        let mut value = serde_json::to_value(&run).unwrap();
        value["parts"] = Value::from(7);
        assert_eq!(read(&value.to_string()).unwrap(), run);
    }
}

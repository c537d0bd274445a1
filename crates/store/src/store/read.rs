//! Reading runs, whole or torn.

use super::{HEADER, PARTS, RUN, StoreError, Summary, TRIALS};
use linerate_model::WallTime;
use linerate_model::run::{Run, RunKind, RunStatus, SCHEMA, Tool, Trial};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde::de::IgnoredAny;
use std::io::ErrorKind;
use std::path::Path;

/// Above any run document: a day of raw one-second samples of 128 streams takes less than half.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Loads the run in directory `dir`.
pub(super) fn run(dir: &Path) -> Result<Run, StoreError> {
    let finished = dir.join(RUN);
    if finished.exists() {
        return document(&finished);
    }
    let header = dir.join(HEADER);
    if !header.exists() {
        return Err(StoreError::NotARun {
            path: dir.to_owned(),
        });
    }
    let mut run = document(&header)?;
    let path = dir.join(TRIALS);
    let log = Log::read(&path)?;
    run.trials = log.values::<Trial>()?;
    let path = dir.join(PARTS);
    let parts = Log::read(&path)?;
    run.parts = parts.values::<Run>()?;
    run.status = RunStatus::Incomplete;
    run.notes.push(match (run.trials.len(), run.parts.len()) {
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
    parse(path, &read_file(path)?)
}

/// Reads the head of the run in directory `dir`.
pub(super) fn summary(dir: &Path) -> Result<Summary, StoreError> {
    let finished = dir.join(RUN);
    if finished.exists() {
        let head: Head = parse(&finished, &read_file(&finished)?)?;
        let (status, trials) = (head.status, head.trials.len());
        return Ok(head.summary(status, trials));
    }
    let header = dir.join(HEADER);
    if !header.exists() {
        return Err(StoreError::NotARun {
            path: dir.to_owned(),
        });
    }
    let head: Head = parse(&header, &read_file(&header)?)?;
    let trials = Log::read(&dir.join(TRIALS))?.lines().count();
    Ok(head.summary(RunStatus::Incomplete, trials))
}

/// The part of a run document that a list shows.
#[derive(Deserialize)]
struct Head {
    kind: RunKind,
    title: Option<String>,
    started: Option<WallTime>,
    status: RunStatus,
    tool: Tool,
    #[serde(default)]
    trials: Vec<IgnoredAny>,
}

impl Head {
    fn summary(self, status: RunStatus, trials: usize) -> Summary {
        Summary {
            kind: self.kind,
            title: self.title,
            started: self.started,
            status,
            tool: self.tool,
            trials,
        }
    }
}

/// The only part of a document that every version shares.
#[derive(Deserialize)]
struct Version {
    schema: String,
}

/// Decodes a document after its version was found to be ours. Unknown keys are ignored.
fn parse<'a, T: Deserialize<'a>>(path: &Path, bytes: &'a [u8]) -> Result<T, StoreError> {
    let corrupt = |error: &serde_json::Error| StoreError::Corrupt {
        path: path.to_owned(),
        line: error.line(),
        reason: error.to_string(),
    };
    let version: Version = serde_json::from_slice(bytes).map_err(|error| corrupt(&error))?;
    if version.schema != SCHEMA {
        return Err(StoreError::Version {
            path: path.to_owned(),
            found: version.schema,
        });
    }
    serde_json::from_slice(bytes).map_err(|error| corrupt(&error))
}

fn read_file(path: &Path) -> Result<Vec<u8>, StoreError> {
    let fail = |source| StoreError::io("read", path, source);
    let bytes = std::fs::metadata(path).map_err(fail)?.len();
    if bytes > MAX_FILE_BYTES {
        return Err(StoreError::TooLarge {
            path: path.to_owned(),
            bytes,
            limit: MAX_FILE_BYTES,
        });
    }
    std::fs::read(path).map_err(fail)
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
        let mut bytes = match read_file(path) {
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

    fn values<T: DeserializeOwned>(&self) -> Result<Vec<T>, StoreError> {
        self.lines()
            .enumerate()
            .map(|(index, line)| {
                serde_json::from_slice(line).map_err(|error| StoreError::Corrupt {
                    path: self.path.to_owned(),
                    line: index + 1,
                    reason: error.to_string(),
                })
            })
            .collect()
    }
}

//! Writing a run while it goes on.

use super::files::{LineLog, write_atomically};
use super::{HEADER, PARTS, RUN, StoreError, TRIALS};
use linerate_model::run::{Run, Trial};
use serde::{Serialize, de::DeserializeOwned};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Removes the directory of a run under way, by names: there may be no descriptor to list it with.
fn remove(dir: &Path) -> std::io::Result<()> {
    for name in [HEADER, TRIALS, PARTS] {
        drop(std::fs::remove_file(dir.join(name)));
    }
    std::fs::remove_dir(dir).or_else(|_| std::fs::remove_dir_all(dir))
}

/// Writes one run. Dropped without [`finish`](Self::finish), the run stays readable as incomplete.
#[derive(Debug)]
pub struct RunWriter {
    id: String,
    dir: PathBuf,
    trials: LineLog<File>,
    parts: Option<LineLog<File>>,
}

impl RunWriter {
    pub(super) fn create(store: &Path, header: &Run) -> Result<Self, StoreError> {
        check_id(&header.id)?;
        let bytes = readable(&header.id, &without_trials(header))?;
        std::fs::create_dir_all(store)
            .map_err(|source| StoreError::io("create the store", store, source))?;
        let dir = store.join(&header.id);
        std::fs::create_dir(&dir).map_err(|source| match source.kind() {
            std::io::ErrorKind::AlreadyExists => StoreError::Exists {
                id: header.id.clone(),
                path: dir.clone(),
            },
            _ => StoreError::io("create the run", &dir, source),
        })?;
        Self::begin(&header.id, &dir, &bytes).inspect_err(|_| {
            // Ours and without a readable run in it; the error to report is the first one.
            drop(remove(&dir));
        })
    }

    fn begin(id: &str, dir: &Path, header: &[u8]) -> Result<Self, StoreError> {
        write_atomically(&dir.join(HEADER), header)?;
        Ok(Self {
            id: id.to_owned(),
            dir: dir.to_owned(),
            trials: LineLog::create(&dir.join(TRIALS))?,
            parts: None,
        })
    }

    /// Removes the run, of which nothing is to be kept.
    pub fn discard(self) -> Result<(), StoreError> {
        remove(&self.dir).map_err(|source| StoreError::io("remove the run", &self.dir, source))
    }

    /// Appends one trial, so that it survives this process.
    ///
    /// After an error the trials before it are intact, and the next one may be tried.
    pub fn trial(&mut self, trial: &Trial) -> Result<(), StoreError> {
        let line = readable(&self.id, trial)?;
        self.trials.append(line)
    }

    /// Appends one run that this run is made of, so that it survives this process.
    ///
    /// After an error the parts before it are intact, and the next one may be tried.
    pub fn part(&mut self, part: &Run) -> Result<(), StoreError> {
        let line = readable(&self.id, part)?;
        let parts = match &mut self.parts {
            Some(parts) => parts,
            none => none.insert(LineLog::create(&self.dir.join(PARTS))?),
        };
        parts.append(line)
    }

    /// Writes the finished run document, which holds all trials, and ends the run.
    ///
    /// After an error the run is what it was before: readable and incomplete.
    pub fn finish(self, run: &Run) -> Result<(), StoreError> {
        let bytes = readable(&self.id, run)?;
        write_atomically(&self.dir.join(RUN), &bytes)?;
        // run.json holds every trial and part; a log that cannot be removed is only a waste of space.
        drop(std::fs::remove_file(self.dir.join(TRIALS)));
        drop(std::fs::remove_file(self.dir.join(PARTS)));
        Ok(())
    }

    /// The run's directory.
    pub fn path(&self) -> &Path {
        &self.dir
    }
}

/// Writes a whole run document in the place of another.
pub(super) fn document(path: &Path, run: &Run) -> Result<(), StoreError> {
    write_atomically(path, &readable(&run.id, run)?)
}

/// Trials are in the log, or in the finished document.
fn without_trials(run: &Run) -> Run {
    Run {
        trials: Vec::new(),
        ..run.clone()
    }
}

/// Encodes `value`, and makes sure that it can be read again: JSON has no NaN and no infinity.
pub(super) fn readable<T: Serialize + DeserializeOwned>(
    id: &str,
    value: &T,
) -> Result<Vec<u8>, StoreError> {
    let unreadable = |error: serde_json::Error| StoreError::Unreadable {
        id: id.to_owned(),
        reason: error.to_string(),
    };
    let bytes = serde_json::to_vec(value).map_err(unreadable)?;
    serde_json::from_slice::<T>(&bytes).map_err(unreadable)?;
    Ok(bytes)
}

/// Refuses ids that would leave the store's directory or hide in it.
pub(super) fn check_id(id: &str) -> Result<(), StoreError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let begins_well = id.starts_with(|c: char| c.is_ascii_alphanumeric());
    // 255 bytes is the longest name of the usual Linux file systems.
    if begins_well && id.len() <= 255 && id.chars().all(plain) {
        Ok(())
    } else {
        Err(StoreError::Id { id: id.to_owned() })
    }
}

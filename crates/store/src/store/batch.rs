//! Runs that are stored together, such as those of an import: all of them or, until they are put in place, none.
//!
//! ```text
//! <store>/.imports.lock        held while runs are stored together: shared, and alone to clean up after a crash
//!         .import-N/<id>/run.json   runs that no list shows yet; moved into the store by `finish`
//! ```
//!
//! Invariants: what is moved is on disk; nothing is moved before `finish`; of any number of runs only those of one part are
//! in memory.

use super::write::{check_id, readable};
use super::{RUN, Store, StoreError};
use linerate_model::run::Run;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How the directories of runs that are not in place yet begin.
const PREFIX: &str = ".import-";
const LOCK: &str = ".imports.lock";

/// Runs that are written through one by one; of more the whole file system is, once.
const MAX_SYNCED: usize = 8;

/// Runs that are removed at once if they are not to be stored: within a second or so, as who interrupts waits for it. Who
/// stores something next removes the rest.
const MAX_REMOVED: usize = 20_000;

/// Runs that are to be put into a store together. Dropped before it is [finished](Self::finish), none is.
#[derive(Debug)]
pub struct Batch {
    store: PathBuf,
    dir: PathBuf,
    /// Held until the end.
    _lock: File,
    count: usize,
    /// When the last run was written, by the file system's clock.
    last: Option<SystemTime>,
}

/// What became of the runs of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// Runs that are in the store now.
    pub stored: usize,
    /// Runs that are not, since `finish` was told not to go on.
    pub left: usize,
}

impl Batch {
    pub(super) fn begin(store: &Store) -> Result<Self, StoreError> {
        let store = store.dir.clone();
        let failed = |source| StoreError::io("create the store", &store, source);
        fs::create_dir_all(&store).map_err(failed)?;
        let lock = alone_or_shared(&store)?;
        let dir = (0..=usize::MAX)
            .map(|number| store.join(format!("{PREFIX}{number}")))
            .find_map(|dir| match fs::create_dir(&dir) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => None,
                made => Some(made.map(|()| dir)),
            });
        let dir = dir.unwrap_or_else(|| Err(ErrorKind::AlreadyExists.into()));
        Ok(Self {
            dir: dir.map_err(failed)?,
            store,
            _lock: lock,
            count: 0,
            last: None,
        })
    }

    /// Takes more runs. Returns the places of those that are in the store or the batch already, which stay as they are.
    pub fn add(&mut self, runs: &[Run]) -> Result<Vec<usize>, StoreError> {
        let mut known = Vec::new();
        for (index, run) in runs.iter().enumerate() {
            if !self.take(run)? {
                known.push(index);
            }
        }
        Ok(known)
    }

    /// Whether the run is new.
    fn take(&mut self, run: &Run) -> Result<bool, StoreError> {
        check_id(&run.id)?;
        let place = self.store.join(&run.id);
        if place.join(RUN).is_file() {
            return Ok(false);
        }
        if fs::symlink_metadata(&place).is_ok() {
            return Err(StoreError::Exists {
                id: run.id.clone(),
                path: place,
            });
        }
        let bytes = readable(&run.id, run)?;
        let dir = self.dir.join(&run.id);
        match fs::create_dir(&dir) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
            made => made.map_err(|source| StoreError::io("create the run", &dir, source))?,
        }
        let path = dir.join(RUN);
        self.write(&path, &bytes)
            .map_err(|source| StoreError::io("write", &path, source))?;
        self.count += 1;
        Ok(true)
    }

    fn write(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = File::create_new(path)?;
        file.write_all(bytes)?;
        // Lists are in the order of these times, and a file system may give several files the same one.
        let now = file.metadata()?.modified()?;
        let after = self
            .last
            .and_then(|last| last.checked_add(Duration::from_micros(1)));
        let written = after.map_or(now, |after| after.max(now));
        file.set_modified(written)?;
        self.last = Some(written);
        if self.count < MAX_SYNCED {
            file.sync_all()?;
            sync_directory(path.parent())?;
        }
        Ok(())
    }

    /// Puts all runs into the store, as long as `goes_on` says so: those that are there stay.
    pub fn finish(self, goes_on: &mut dyn FnMut() -> bool) -> Result<Stored, StoreError> {
        let failed = |source| StoreError::io("store the runs", &self.dir, source);
        if self.count > MAX_SYNCED {
            sync_file_system(&self.dir).map_err(failed)?;
        }
        let mut stored = 0;
        for entry in fs::read_dir(&self.dir).map_err(failed)? {
            if !goes_on() {
                break;
            }
            let entry = entry.map_err(failed)?;
            match fs::rename(entry.path(), self.store.join(entry.file_name())) {
                // Another import has stored the same run meanwhile.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty
                    ) => {}
                moved => moved.map_err(failed)?,
            }
            stored += 1;
        }
        sync_directory(Some(&self.store)).map_err(failed)?;
        Ok(Stored {
            stored,
            left: self.count - stored,
        })
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // What is left is shown by no list.
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        for entry in entries.take(MAX_REMOVED) {
            let run = entry.path();
            // Two calls for a run as it was written, in place of a look into its directory.
            drop(fs::remove_file(run.join(RUN)));
            if fs::remove_dir(&run).is_err() {
                drop(fs::remove_dir_all(&run));
            }
        }
        drop(fs::remove_dir(&self.dir));
    }
}

/// Removes what an import has left that was interrupted or killed, if no import is under way.
pub(super) fn clean_up(store: &Path) {
    // An import takes the first number that is free.
    if store.join(format!("{PREFIX}0")).is_dir() {
        drop(alone_or_shared(store));
    }
}

/// The store's lock, which others may hold too. If nobody does, what a crash has left is removed first.
fn alone_or_shared(store: &Path) -> Result<File, StoreError> {
    let path = store.join(LOCK);
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|source| StoreError::io("create", &path, source))?;
    if lock.try_lock().is_ok() {
        let entries = fs::read_dir(store).into_iter().flatten().flatten();
        for entry in entries {
            if entry.file_name().to_string_lossy().starts_with(PREFIX) {
                drop(fs::remove_dir_all(entry.path()));
            }
        }
        drop(lock.unlock());
    }
    // Where a file system has no locks, two imports at once are not told apart; nothing else is lost.
    drop(lock.lock_shared());
    Ok(lock)
}

fn sync_directory(path: Option<&Path>) -> io::Result<()> {
    path.map_or(Ok(()), |path| File::open(path)?.sync_all())
}

/// Makes everything durable that was written to the file system of `dir`.
fn sync_file_system(dir: &Path) -> io::Result<()> {
    let dir = File::open(dir)?;
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(&dir)?;
    dir.sync_all()
}

//! The store: one directory per run, written while the run goes on.
//!
//! ```text
//! <store>/<id>/header.json   the run without trials; written first, atomically
//!              trials.jsonl  one trial per line, appended and flushed; gone once run.json is there
//!              parts.jsonl   one run that this run is made of per line, likewise; only if it has any
//!              run.json      the whole run document; written last, atomically
//!         .index.json        what lists show of finished runs; can be deleted at any time
//!         .import-N/        runs of an import that is under way, see `batch.rs`
//!         calibration.json   what linerate does at most on this host; written by `linerate calibrate`
//! ```
//!
//! Invariant: at every instant a crash leaves either a readable run or a directory without
//! `header.json`, which is listed as broken. A directory without `run.json` reads as
//! [`RunStatus::Incomplete`](linerate_model::run::RunStatus).

mod batch;
mod density;
mod error;
mod files;
mod index;
mod labels;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub use batch::{Batch, Stored};
pub use error::StoreError;
pub(crate) use error::more_files;
pub use read::{is_document, run_from_document};
pub use write::RunWriter;

use crate::regular;
use index::{Index, IndexedRun, Stamp};
use linerate_model::WallTime;
use linerate_model::calibration::{self, Calibration};
pub use linerate_model::listing::{Entry, Figure, StoreEntry, Summary};
use linerate_model::run::{Run, RunKind};
use std::path::{Path, PathBuf};
use std::thread::Builder;
use std::time::SystemTime;

/// File of what linerate does at most on this host.
const CALIBRATION: &str = "calibration.json";
/// Room for one, with much to spare.
const ROOM_BYTES: usize = 16 << 10;
/// Largest such file that is read.
const MAX_CALIBRATION_BYTES: u64 = 16 << 20;
/// File of the run without its trials.
pub(crate) const HEADER: &str = "header.json";
/// File of the trials made so far, one JSON document per line.
pub(crate) const TRIALS: &str = "trials.jsonl";
/// File of the parts made so far, one run document per line.
pub(crate) const PARTS: &str = "parts.jsonl";
/// File of the finished run document.
pub(crate) const RUN: &str = "run.json";

/// A directory of runs.
#[derive(Debug, Clone)]
pub struct Store {
    dir: PathBuf,
}

/// Where a run is.
enum Located {
    /// One file.
    Document(PathBuf),
    /// A directory of its own.
    Directory(PathBuf),
}

/// What became of runs that were to be stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Added {
    /// Directories of those that were written.
    pub written: Vec<PathBuf>,
    /// Places in the list of those that were in the store already, which stay as they are.
    pub known: Vec<usize>,
}

impl Store {
    /// Opens the store in `dir`. The directory need not exist: the first run creates it.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        match std::fs::metadata(dir) {
            Ok(found) if !found.is_dir() => Err(StoreError::NotADirectory {
                path: dir.to_owned(),
            }),
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(StoreError::io("open the store", dir, source))
            }
            _ => Ok(Self {
                dir: dir.to_owned(),
            }),
        }
    }

    /// The store's directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Refuses a store in which nothing can be kept: for work that takes long before it has anything to keep.
    pub fn check_room(&self) -> Result<(), StoreError> {
        self.create_dir()?;
        let probe = self.dir.join(".room");
        files::write_atomically(&probe, &[0; ROOM_BYTES])?;
        std::fs::remove_file(&probe).map_err(|source| StoreError::io("write", &probe, source))
    }

    fn create_dir(&self) -> Result<(), StoreError> {
        std::fs::create_dir_all(&self.dir)
            .map_err(|source| StoreError::io("create the store", &self.dir, source))
    }

    /// Keeps what linerate does at most on this host, in place of what was kept before.
    pub fn keep_calibration(&self, calibration: &Calibration) -> Result<(), StoreError> {
        self.create_dir()?;
        let bytes = serde_json::to_vec_pretty(calibration)
            .map_err(|error| StoreError::io("write", &self.dir.join(CALIBRATION), error.into()))?;
        files::write_atomically(&self.dir.join(CALIBRATION), &bytes)
    }

    /// What was kept last; `None` if the host was never calibrated, or by a build whose file this one cannot read: then it
    /// has to be done anew.
    pub fn calibration(&self) -> Option<Calibration> {
        let text = regular::small(&self.dir.join(CALIBRATION), MAX_CALIBRATION_BYTES)?;
        let found: Calibration = serde_json::from_str(&text).ok()?;
        (found.schema == calibration::SCHEMA).then_some(found)
    }

    /// Begins the run `header.id`: its trials follow through the writer.
    ///
    /// Refuses an id that is already in the store. On failure nothing is left behind.
    pub fn create(&self, header: &Run) -> Result<RunWriter, StoreError> {
        batch::clean_up(&self.dir);
        RunWriter::create(&self.dir, header)
    }

    /// Begins `run` as [`create`](Self::create) does, under the first of `ids` that no run has yet: two runs of one second may
    /// be given the same digits.
    pub fn create_new(
        &self,
        run: &mut Run,
        ids: impl Iterator<Item = String>,
    ) -> Result<RunWriter, StoreError> {
        for id in ids {
            run.id = id;
            match self.create(run) {
                Err(StoreError::Exists { .. }) => {}
                begun => return begun,
            }
        }
        self.create(run)
    }

    /// Stores finished runs, such as those of an import: all that are not there yet or, after an error, none.
    pub fn add_all(&self, runs: &[Run]) -> Result<Added, StoreError> {
        let mut batch = self.batch()?;
        let known = batch.add(runs)?;
        batch.finish(&mut || true)?;
        let is_new = |(index, run): (usize, &Run)| {
            let is_new = known.binary_search(&index).is_err();
            is_new.then(|| self.dir.join(&run.id))
        };
        Ok(Added {
            written: runs.iter().enumerate().filter_map(is_new).collect(),
            known,
        })
    }

    /// Begins to store finished runs that come in parts: all of them together.
    pub fn batch(&self) -> Result<Batch, StoreError> {
        Batch::begin(self)
    }

    /// Every entry, in the order in which they were written, newest last.
    ///
    /// Reads heads only, and of finished runs only those that no earlier list has read: a damaged trial shows when the
    /// run is loaded.
    pub fn list(&self) -> Result<Vec<StoreEntry>, StoreError> {
        let entries = self.entries()?;
        let index = Index::read(&self.dir);
        let index = Index::of(&index);
        let mut found = of_each(&entries, |entry| look_at(entry, &index));
        let fresh = |found: &mut Found| Some((found.listed.id.clone(), found.fresh.take()?));
        let fresh: Vec<_> = found.iter_mut().filter_map(fresh).collect();
        index.renew(&self.dir, &fresh, &entries);
        found.sort_by(|a, b| (a.written, &a.listed.id).cmp(&(b.written, &b.listed.id)));
        Ok(found.into_iter().map(|found| found.listed).collect())
    }

    /// The directory of the run that was written last. Reads no run.
    fn newest(&self) -> Result<PathBuf, StoreError> {
        let newest = self.begun()?.pop();
        newest
            .map(|(_, _, path)| path)
            .ok_or_else(|| StoreError::Empty {
                store: self.dir.clone(),
            })
    }

    /// When each run was written, its id and its directory, newest last; not what was killed before it had anything of a run.
    fn begun(&self) -> Result<Vec<Dated>, StoreError> {
        let entries = self.entries()?.into_iter();
        let is_begun = |path: &Path| [HEADER, RUN].iter().any(|name| path.join(name).exists());
        let mut dated: Vec<_> = entries
            .filter(|(_, path)| is_begun(path))
            .map(|(id, path)| (written(&path), id, path))
            .collect();
        dated.sort();
        Ok(dated)
    }

    /// Loads a run: by a unique beginning of its id, by a tag, by `last` or `last~2` (two before it), or by the path of a run
    /// directory or of a `run.json`.
    pub fn load(&self, id_or_path: &str) -> Result<Run, StoreError> {
        match self.locate(id_or_path)? {
            Located::Document(path) => read::document(&path),
            Located::Directory(path) => read::run(&path),
        }
    }

    /// Whether a run that is called so is one that this store keeps, and no document or directory of another place.
    pub fn keeps(&self, id_or_path: &str) -> Result<bool, StoreError> {
        let place = match self.locate(id_or_path)? {
            Located::Document(path) | Located::Directory(path) => path,
        };
        // A link in the store may lead anywhere.
        let [own, found] = [&self.dir, &place].map(|path| std::fs::canonicalize(path).ok());
        Ok(own.is_some_and(|own| found.is_some_and(|found| found.starts_with(own))))
    }

    /// Puts a new version of a finished run in the place of the old one, which `id_or_path` names as for
    /// [`load`](Self::load). A crash leaves one or the other.
    pub fn replace(&self, id_or_path: &str, run: &Run) -> Result<(), StoreError> {
        let path = match self.locate(id_or_path)? {
            Located::Document(path) => path,
            Located::Directory(path) => path.join(RUN),
        };
        write::document(&path, run)
    }

    fn locate(&self, id_or_path: &str) -> Result<Located, StoreError> {
        let path = Path::new(id_or_path);
        let is_path = path.components().count() > 1
            || path.extension().is_some_and(|ending| ending == "json");
        if is_path && path.is_file() {
            return match is_document(|| regular::open(path, regular::Links::Followed)) {
                Ok(false) => Err(StoreError::File {
                    file: id_or_path.to_owned(),
                }),
                // What cannot be read is named when it is loaded.
                _ => Ok(Located::Document(path.to_owned())),
            };
        }
        if is_path && path.is_dir() {
            return Ok(Located::Directory(path.to_owned()));
        }
        match self.named(id_or_path) {
            // A run directory in the current one.
            Err(StoreError::NotFound { .. }) if path.is_dir() && !id_or_path.is_empty() => {
                Ok(Located::Directory(path.to_owned()))
            }
            found => found.map(Located::Directory),
        }
    }

    /// The directory of the run of this store that is called so: `last`, `last~2`, a tag, an id or the unique beginning of
    /// one.
    fn named(&self, wanted: &str) -> Result<PathBuf, StoreError> {
        if wanted == "last" {
            return self.newest();
        }
        if let Some(back) = wanted
            .strip_prefix("last~")
            .and_then(|back| back.parse().ok())
        {
            return self.before_newest(wanted, back);
        }
        match self.tagged(wanted) {
            Some(id) => self.find(&id),
            None => self.find(wanted),
        }
    }

    /// The directory of the run that was written `back` runs before the last.
    fn before_newest(&self, wanted: &str, back: usize) -> Result<PathBuf, StoreError> {
        let mut dated = self.begun()?;
        let found = dated.len();
        let at = found.checked_sub(back.saturating_add(1));
        at.map(|at| dated.swap_remove(at).2)
            .ok_or_else(|| StoreError::NoneBefore {
                wanted: wanted.to_owned(),
                found,
                store: self.dir.clone(),
            })
    }

    /// The directory of the one run whose id is or begins with `wanted`.
    fn find(&self, wanted: &str) -> Result<PathBuf, StoreError> {
        let mut matches: Vec<_> = self
            .entries()?
            .into_iter()
            .filter(|(id, _)| !wanted.is_empty() && id.starts_with(wanted))
            .collect();
        if let Some(exact) = matches.iter().position(|(id, _)| id == wanted) {
            return Ok(matches.swap_remove(exact).1);
        }
        match matches.len() {
            0 if Path::new(wanted).is_file() => Err(StoreError::File {
                file: wanted.to_owned(),
            }),
            0 => Err(StoreError::NotFound {
                wanted: wanted.to_owned(),
                store: self.dir.clone(),
            }),
            1 => Ok(matches.swap_remove(0).1),
            _ => Err(StoreError::Ambiguous {
                wanted: wanted.to_owned(),
                matches: matches.into_iter().map(|(id, _)| id).collect(),
            }),
        }
    }

    /// Name and path of each run directory, by name; none if the store does not exist yet.
    fn entries(&self) -> Result<Vec<(String, PathBuf)>, StoreError> {
        let fail = |source| StoreError::io("list the store", &self.dir, source);
        let dir = match std::fs::read_dir(&self.dir) {
            Ok(dir) => dir,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(fail(error)),
        };
        let mut entries = Vec::new();
        for entry in dir {
            let entry = entry.map_err(fail)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // A link may lead to a directory; most file systems tell of all else without another look.
            let is_dir = match entry.file_type() {
                Ok(kind) if !kind.is_symlink() => kind.is_dir(),
                _ => entry.path().is_dir(),
            };
            if !name.starts_with('.') && is_dir {
                entries.push((name, entry.path()));
            }
        }
        entries.sort();
        Ok(entries)
    }
}

/// Threads that read heads; more wait for each other on the disks of most hosts.
const LISTING_THREADS: usize = 4;

/// Entries for which another thread is worth its start.
const MIN_LISTED_ENTRIES: usize = 256;

/// What `look` finds at each of many entries, in their order: several threads share them.
fn of_each<T: Sync, R: Send>(entries: &[T], look: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let share = entries.len().div_ceil(LISTING_THREADS);
    let share = share.max(MIN_LISTED_ENTRIES);
    let all = |part: &[T]| -> Vec<R> { part.iter().map(&look).collect() };
    std::thread::scope(|scope| {
        let (first, rest) = entries.split_at(share.min(entries.len()));
        let all = &all;
        let others: Vec<_> = rest
            .chunks(share)
            .map(|part| (part, Builder::new().spawn_scoped(scope, move || all(part))))
            .collect();
        let mut found = all(first);
        for (part, other) in others {
            // Without another thread this one does its part.
            let theirs = other.ok().and_then(|other| other.join().ok());
            found.extend(theirs.unwrap_or_else(|| all(part)));
        }
        found
    })
}

/// What is at one place of the store.
struct Found {
    written: Option<SystemTime>,
    listed: StoreEntry,
    /// What the index does not know yet.
    fresh: Option<IndexedRun>,
}

fn look_at((id, path): &(String, PathBuf), index: &Index<'_>) -> Found {
    let found = |written, entry, fresh| Found {
        written,
        listed: StoreEntry {
            id: id.clone(),
            path: path.clone(),
            entry,
        },
        fresh,
    };
    let stamp = Stamp::of(path);
    if let Some(kept) = stamp.and_then(|stamp| index.get(id, stamp)) {
        return found(kept.written, Entry::Run(kept.summary), None);
    }
    let written = written(path);
    match read::summary(path) {
        Ok(summary) => {
            let fresh = stamp.map(|stamp| stamp.keep(written, summary.clone()));
            found(written, Entry::Run(summary), fresh)
        }
        Err(error) => {
            let reason = error.to_string();
            found(written, Entry::Broken { reason }, None)
        }
    }
}

/// A fresh id: start time, kind, and four digits of `salt` against collisions.
///
/// `20261121-050000-udp-1f3a`. `salt` may be any number that differs between two runs of one second.
pub fn new_id(started: &WallTime, kind: RunKind, salt: u64) -> String {
    // Fibonacci hashing: consecutive salts (a counter, a process id) give different digits.
    let mixed = salt.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48;
    format!("{}-{}-{mixed:04x}", started.compact(), kind.as_str())
}

/// When a run was written, its id and its directory.
type Dated = (Option<SystemTime>, String, PathBuf);

/// When the entry was begun, as far as the file system knows: orders runs that carry no time.
fn written(path: &Path) -> Option<SystemTime> {
    [HEADER, RUN]
        .iter()
        .find_map(|name| std::fs::metadata(path.join(name)).ok())
        .or_else(|| std::fs::metadata(path).ok())
        .and_then(|metadata| metadata.modified().ok())
}

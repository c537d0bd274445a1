//! The archive of run documents, and the spool in it that rounds are measured into.
//!
//! ```text
//! <archive>/.spool/<fence>-<token>/round.json      which round this is, written before it begins
//!                                  <run>/…         what `linerate mesh --store` writes
//! <archive>/<run>/run.json                         a whole document
//!                 round.json                       the round that it is of
//!          .hub-<name>.lock                        locked by the hub of this name
//!          .archive-id                             which archive this is, wherever it is moved to
//! ```
//!
//! A round's folder is taken before anything in it is touched: renamed to a token of the taker, which only one of several
//! hubs can do. What was cut short becomes a whole document there; then one rename brings it into the archive. Who wakes
//! later, after another has taken the folder, finds nothing. Invariant: a run in the archive has a document that was
//! synchronised to disk before it came there.

use anyhow::{Context as _, Result};
use linerate_model::ByteCount;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::hex;
use linerate_model::run::{Run, RunStatus};
use linerate_store::Store;
use linerate_sys::random::random_bytes;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

const SPOOL: &str = ".spool";
const ROUND: &str = "round.json";
const DOCUMENT: &str = "run.json";
const IDENTITY: &str = ".archive-id";
const SCHEMA: &str = "linerate/round/1";
/// Longest such file that is read.
const MAX_ROUND_BYTES: u64 = 64 << 10;

/// The round that a run is of: beside its document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Round {
    pub(crate) schema: String,
    pub(crate) schedule: String,
    pub(crate) number: u64,
    /// The lease that it was measured under.
    pub(crate) fence: i64,
    pub(crate) holder: String,
    /// Whether who measured it came to an end, be it an early one; else the round is to be made again.
    pub(crate) ended: bool,
}

impl Round {
    /// A round that begins.
    pub(crate) fn new(schedule: &str, number: u64, fence: i64, holder: &str) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            schedule: schedule.to_owned(),
            number,
            fence,
            holder: holder.to_owned(),
            ended: false,
        }
    }

    fn read(path: &Path) -> Option<Self> {
        let length = fs::symlink_metadata(path).ok()?;
        if !length.is_file() || length.len() > MAX_ROUND_BYTES {
            return None;
        }
        let round: Self = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        (round.schema == SCHEMA).then_some(round)
    }
}

/// A document of the archive.
#[derive(Debug)]
pub(crate) struct Archived {
    pub(crate) run: Run,
    pub(crate) round: Option<Round>,
}

impl Archived {
    /// Whether its round need not be made again.
    pub(crate) fn ends_round(&self) -> bool {
        self.run.status != RunStatus::Incomplete
            || self.round.as_ref().is_some_and(|round| round.ended)
    }
}

/// The archive.
#[derive(Debug)]
pub(crate) struct Archive {
    folder: PathBuf,
    store: Store,
}

/// A folder of the spool, and what it says of itself.
#[derive(Debug, Clone)]
pub(crate) struct Spooled {
    pub(crate) path: PathBuf,
    pub(crate) fence: i64,
}

/// What became of a folder of the spool.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    /// Runs that are in the archive now.
    pub(crate) runs: Vec<String>,
    /// What could not be moved, and why.
    pub(crate) errors: Vec<String>,
    /// Another hub has taken the folder before.
    pub(crate) is_taken: bool,
}

impl Archive {
    /// The archive in `folder`, which exists or is made.
    ///
    /// # Errors
    ///
    /// A folder that cannot be written, as [`ExitCode::HostLacks`].
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let lacks = |error: &io::Error| {
            let message = format!(
                "cannot write the archive {}: {error}; make it writable for this user, or choose another directory with --archive",
                folder.display()
            );
            Failure::new(ExitCode::HostLacks, message)
        };
        let archive = Self::read_only(folder)?;
        let spool = folder.join(SPOOL);
        fs::create_dir_all(&spool).map_err(|error| lacks(&error))?;
        // Whether it can be written is known when something was.
        let probe = spool.join(format!(".probe-{}", std::process::id()));
        let written = write_synced(&probe, b"linerate\n");
        drop(fs::remove_file(&probe));
        written
            .and_then(|()| archive.identify())
            .map_err(|error| lacks(&error))?;
        Ok(archive)
    }

    /// Gives the archive an identity, if it has none.
    fn identify(&self) -> io::Result<()> {
        let path = self.folder.join(IDENTITY);
        if path.is_file() {
            return Ok(());
        }
        let id = hex(&random_bytes::<16>()?);
        let beside = self.folder.join(SPOOL).join(format!(".id-{id}"));
        write_synced(&beside, id.as_bytes())?;
        // Of two hubs that begin an archive at once, the first one's is it.
        let linked = fs::hard_link(&beside, &path);
        drop(fs::remove_file(&beside));
        match linked {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        }
    }

    /// Which archive this is; none where no hub has ever served it.
    pub(crate) fn id(&self) -> Option<String> {
        let id = fs::read_to_string(self.folder.join(IDENTITY)).ok()?;
        Some(id.trim().to_owned())
    }

    /// The archive in `folder`, of which nothing is written.
    pub(crate) fn read_only(folder: &Path) -> Result<Self> {
        let store = Store::open(folder)
            .map_err(|error| Failure::new(ExitCode::HostLacks, format!("the archive: {error}")))?;
        Ok(Self {
            folder: folder.to_owned(),
            store,
        })
    }

    /// Makes this process the only hub of that name on the archive, for as long as the returned file is open.
    ///
    /// # Errors
    ///
    /// Another process is, as [`ExitCode::HostLacks`].
    pub(crate) fn lock(&self, name: &str) -> Result<File> {
        let path = self.folder.join(format!(".hub-{name}.lock"));
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .with_context(|| format!("opening {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => {
                let message = format!(
                    "a hub called {name} runs on {} already: stop it, or call this one otherwise with --name",
                    self.folder.display()
                );
                Err(Failure::new(ExitCode::HostLacks, message).into())
            }
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(|| format!("locking {}", path.display()))
            }
        }
    }

    /// Free space of its file system for this user.
    pub(crate) fn free(&self) -> io::Result<ByteCount> {
        let found = rustix::fs::statvfs(&self.folder)?;
        Ok(ByteCount::new(
            found.f_bavail.saturating_mul(found.f_frsize),
        ))
    }

    /// Makes a folder in the spool for a round that begins.
    pub(crate) fn spool(&self, round: &Round) -> Result<Spooled> {
        let path = self.spool_path(round.fence)?;
        fs::create_dir(&path).with_context(|| format!("making {}", path.display()))?;
        write_round(&path, round)?;
        Ok(Spooled {
            path,
            fence: round.fence,
        })
    }

    fn spool_path(&self, fence: i64) -> io::Result<PathBuf> {
        let token = hex(&random_bytes::<8>()?);
        Ok(self.folder.join(SPOOL).join(format!("{fence}-{token}")))
    }

    /// The folders of the spool.
    pub(crate) fn spooled(&self) -> Result<Vec<Spooled>> {
        let mut found = Vec::new();
        for (name, path) in folders(&self.folder.join(SPOOL))? {
            let fence = name.split('-').next().and_then(|fence| fence.parse().ok());
            found.extend(fence.map(|fence| Spooled { path, fence }));
        }
        Ok(found)
    }

    /// Takes a folder of the spool and moves its runs into the archive; `ended`: who measured has come to an end. One that
    /// somebody else has taken is nobody's error. After an error what is left stays in the spool.
    pub(crate) fn collect(&self, spooled: &Spooled, ended: bool) -> Result<Moved> {
        let taken = self.spool_path(spooled.fence)?;
        match fs::rename(&spooled.path, &taken) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Moved {
                    is_taken: true,
                    ..Moved::default()
                });
            }
            renamed => renamed.with_context(|| format!("taking {}", spooled.path.display()))?,
        }
        let mut moved = Moved::default();
        let round = Round::read(&taken.join(ROUND));
        let round = round.map(|round| Round {
            ended: round.ended || ended,
            ..round
        });
        let store = Store::open(&taken)?;
        for (id, path) in folders(&taken)? {
            match self.bring(&store, &id, &path, round.as_ref()) {
                Ok(true) => moved.runs.push(id),
                Ok(false) => {}
                Err(error) => moved.errors.push(format!("{}: {error:#}", path.display())),
            }
        }
        if moved.errors.is_empty() {
            // The rest is the round's own file; what cannot be removed now is found again.
            drop(fs::remove_dir_all(&taken));
        }
        Ok(moved)
    }

    /// Moves one run into the archive; false: it has nothing that was measured.
    fn bring(&self, store: &Store, id: &str, path: &Path, round: Option<&Round>) -> Result<bool> {
        if !path.join(DOCUMENT).is_file() {
            if !path.join("header.json").is_file() {
                return Ok(false);
            }
            let run = store.load(id)?;
            if run.trials.is_empty() && run.parts().is_empty() {
                return Ok(false);
            }
            store.replace(id, &run)?;
        }
        // What cannot be read does not get there.
        store.load(id)?;
        for log in ["trials.jsonl", "parts.jsonl"] {
            drop(fs::remove_file(path.join(log)));
        }
        if let Some(round) = round {
            write_round(path, round)?;
        }
        let place = self.folder.join(id);
        fs::rename(path, &place).with_context(|| format!("moving it to {}", place.display()))?;
        File::open(&self.folder)?.sync_all()?;
        Ok(true)
    }

    /// The names of the runs in it.
    pub(crate) fn runs(&self) -> Result<Vec<String>> {
        let found = folders(&self.folder)?.into_iter();
        let whole = found.filter(|(_, path)| path.join(DOCUMENT).is_file());
        Ok(whole.map(|(name, _)| name).collect())
    }

    /// Reads a run of it.
    pub(crate) fn load(&self, id: &str) -> Result<Archived> {
        let path = self.folder.join(id);
        let document = path.join(DOCUMENT);
        let run = self.store.load(&document.display().to_string())?;
        if run.id != id {
            let message = format!(
                "{} is the document of run {}: give its directory that name, or remove it",
                document.display(),
                run.id
            );
            return Err(Failure::new(ExitCode::Invalid, message).into());
        }
        Ok(Archived {
            run,
            round: Round::read(&path.join(ROUND)),
        })
    }
}

fn write_round(folder: &Path, round: &Round) -> Result<()> {
    let path = folder.join(ROUND);
    // Of an attempt before; a whole one is replaced by a whole one.
    let beside = folder.join(format!("{ROUND}.new"));
    drop(fs::remove_file(&beside));
    let text = serde_json::to_vec(round)?;
    write_synced(&beside, &text)
        .and_then(|()| fs::rename(&beside, &path))
        .and_then(|()| File::open(folder)?.sync_all())
        .with_context(|| format!("writing {}", path.display()))
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Name and path of each folder in a folder, by name; none if that does not exist. Hidden ones are others'.
fn folders(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.with_context(|| format!("listing {}", folder.display()))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("listing {}", folder.display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.push((name, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests;

//! The undo file: the value of every changed setting before the change, on disk before it is changed.
//!
//! Append-only JSON lines: a header, then one record for each change. A last line without its line feed was truncated
//! by a crash; its change was not made yet, so it is dropped.

use super::same;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::knob::Knob;
use linerate_sys::host_files::HostFiles;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// Version of the file.
const SCHEMA: &str = "linerate/undo/1";
/// Maximum length of an undo file: some ten thousand records.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Boot and network namespace to which settings belong.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Identity {
    /// The kernel's `boot_id`; `None` if it cannot be read.
    pub boot: Option<String>,
    /// The network namespace, `net:[4026531840]`.
    pub network: Option<String>,
}

impl Identity {
    /// Identity for the calling thread on the host with these files.
    pub fn of_host(files: &HostFiles) -> Self {
        let network = files.link("proc/thread-self/ns/net");
        Self {
            boot: files.boot_id(),
            network: network.ok().map(|path| path.display().to_string()),
        }
    }
}

/// Why changes could not be recorded or undone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UndoError {
    /// Another process has locked the file.
    #[error("{path}: another linerate is making or taking back changes")]
    Busy {
        /// The file.
        path: String,
    },
    /// The file is not a valid undo file.
    #[error(
        "{path}, line {line}: {why}; no setting was touched. If it is damaged, look at it by hand: each line holds a setting's value before and after"
    )]
    Content {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// Cause.
        why: String,
    },
    /// Reading or writing the file failed.
    #[error("{what} {path}: {source}; no setting was touched from there on")]
    File {
        /// Operation.
        what: &'static str,
        /// Path.
        path: String,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// The file ends before its header does: nothing was changed by it, and it may be anybody's.
    #[error(
        "{path}: the file is empty or ends within its first line, so no change of linerate's is in it, and it is left as it is; remove it, or name the file of the changes with --undo"
    )]
    NoHeader {
        /// The file.
        path: String,
    },
    /// The changes were made in another network namespace.
    #[error(
        "{path}: these changes were made in another network namespace ({theirs}, this is {ours}); take them back there, or give --force"
    )]
    OtherNetwork {
        /// The file.
        path: String,
        /// Namespace of the changes.
        theirs: String,
        /// This namespace.
        ours: String,
    },
}

impl From<UndoError> for Failure {
    fn from(error: UndoError) -> Self {
        let code = match error {
            UndoError::Content { .. } | UndoError::NoHeader { .. } => ExitCode::Plan,
            UndoError::File { .. } => ExitCode::HostLacks,
            _ => ExitCode::Other,
        };
        Self::new(code, error.to_string())
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    schema: String,
    #[serde(flatten)]
    identity: Identity,
}

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    knob: Knob,
    before: String,
    after: String,
}

/// A setting that was changed.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) knob: Knob,
    /// Its value before the first change.
    pub(super) before: String,
    /// Every value set afterwards.
    after: Vec<String>,
}

impl Entry {
    /// Whether `value` is the old one or one that was set by linerate.
    pub(super) fn knows(&self, value: &str) -> bool {
        let mut known = std::iter::once(&self.before).chain(&self.after);
        known.any(|known| same(&self.knob, known, value))
    }
}

/// The open and locked undo file.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    identity: Identity,
    entries: Vec<Entry>,
    is_begun: bool,
}

impl Journal {
    /// Whether the file exists.
    pub(super) fn exists(path: &Path) -> Result<bool, UndoError> {
        path.try_exists().map_err(failed("looking for", path))
    }

    /// Opens or creates the file, for changes in `identity`.
    pub(super) fn open(path: &Path, identity: &Identity) -> Result<Self, UndoError> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).map_err(failed("making the directory of", path))?;
        }
        let mut journal = Self::locked(path, OpenOptions::new().create(true))?;
        let is_stale = journal.is_of_earlier_boot(identity);
        if journal.entries.is_empty() || is_stale {
            journal.begin(identity)?;
        }
        journal.check_network(identity)?;
        Ok(journal)
    }

    /// Opens an existing file.
    pub(super) fn reopen(path: &Path) -> Result<Self, UndoError> {
        Self::locked(path, &mut OpenOptions::new())
    }

    fn locked(path: &Path, options: &mut OpenOptions) -> Result<Self, UndoError> {
        use std::os::unix::fs::OpenOptionsExt as _;
        let nofollow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
        let file = options
            .read(true)
            .write(true)
            .mode(0o644)
            .custom_flags(nofollow)
            .open(path)
            .map_err(failed("opening", path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                return Err(UndoError::Busy {
                    path: path.display().to_string(),
                });
            }
            Err(fs::TryLockError::Error(error)) => return Err(failed("locking", path)(error)),
        }
        let mut journal = Self {
            path: path.to_owned(),
            file,
            identity: Identity::default(),
            entries: Vec::new(),
            is_begun: false,
        };
        journal.load()?;
        Ok(journal)
    }

    fn load(&mut self) -> Result<(), UndoError> {
        let kind = self
            .file
            .metadata()
            .map_err(failed("reading", &self.path))?;
        if !kind.is_file() {
            return Err(self.content(1, NOT_AN_UNDO_FILE.to_owned()));
        }
        let mut bytes = Vec::new();
        let read = (&self.file)
            .take(MAX_FILE_BYTES + 1)
            .read_to_end(&mut bytes);
        read.map_err(failed("reading", &self.path))?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(self.content(1, format!("the file is longer than {MAX_FILE_BYTES} bytes")));
        }
        // A crash may have left any part of the beginning: too little tells nothing.
        self.is_begun = bytes.starts_with(START);
        if !self.is_begun && !START.starts_with(&bytes) {
            return Err(self.content(1, NOT_AN_UNDO_FILE.to_owned()));
        }
        let whole = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let text = String::from_utf8_lossy(&bytes[..whole]).into_owned();
        for (index, line) in text.lines().enumerate() {
            if index == 0 {
                self.identity = self.header(line)?;
            } else {
                let record = serde_json::from_str(line)
                    .map_err(|error| self.content(index + 1, error.to_string()))?;
                self.take(record);
            }
        }
        // Truncate a partial record, so that the next one starts on a new line.
        // Without a header nothing tells that the file is linerate's own.
        if self.is_begun {
            self.cut(whole as u64)?;
        }
        Ok(())
    }

    fn header(&self, line: &str) -> Result<Identity, UndoError> {
        let header: Header =
            serde_json::from_str(line).map_err(|error| self.content(1, error.to_string()))?;
        if header.schema == SCHEMA {
            return Ok(header.identity);
        }
        Err(self.content(
            1,
            format!("its schema is {:?}, not {SCHEMA}", header.schema),
        ))
    }

    fn take(&mut self, record: Record) {
        match self
            .entries
            .iter_mut()
            .find(|entry| entry.knob == record.knob)
        {
            Some(entry) => entry.after.push(record.after),
            None => self.entries.push(Entry {
                knob: record.knob,
                before: record.before,
                after: vec![record.after],
            }),
        }
    }

    /// Resets the file to its header.
    fn begin(&mut self, identity: &Identity) -> Result<(), UndoError> {
        self.cut(0)?;
        self.entries.clear();
        self.identity = identity.clone();
        let header = Header {
            schema: SCHEMA.to_owned(),
            identity: identity.clone(),
        };
        self.append(&header)?;
        self.is_begun = true;
        sync_directory(&self.path)
    }

    /// Records the value of `knob` before it becomes `after`; on disk on return.
    pub(super) fn record(
        &mut self,
        knob: &Knob,
        before: &str,
        after: &str,
    ) -> Result<(), UndoError> {
        let record = Record {
            knob: knob.clone(),
            before: before.to_owned(),
            after: after.to_owned(),
        };
        self.append(&record)?;
        self.take(record);
        Ok(())
    }

    fn append(&mut self, line: &impl Serialize) -> Result<(), UndoError> {
        let mut bytes =
            serde_json::to_vec(line).expect("invariant: a record has text for keys and values");
        bytes.push(b'\n');
        let written = self
            .file
            .write_all(&bytes)
            .and_then(|()| self.file.sync_all());
        written.map_err(failed("writing", &self.path))
    }

    fn cut(&mut self, length: u64) -> Result<(), UndoError> {
        let cut = self
            .file
            .set_len(length)
            .and_then(|()| self.file.seek(SeekFrom::Start(length)).map(drop));
        cut.map_err(failed("cutting", &self.path))
    }

    /// Changed settings, in the order of their first change.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Entry of `knob`.
    pub(super) fn entry(&self, knob: &Knob) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.knob == *knob)
    }

    /// Whether the host has rebooted since.
    pub(super) fn is_of_earlier_boot(&self, now: &Identity) -> bool {
        matches!((&self.identity.boot, &now.boot), (Some(then), Some(now)) if then != now)
    }

    /// Checks that the changes belong to the caller's network namespace.
    pub(super) fn check_network(&self, now: &Identity) -> Result<(), UndoError> {
        match (&self.identity.network, &now.network) {
            (Some(theirs), Some(ours)) if theirs != ours => Err(UndoError::OtherNetwork {
                path: self.path.display().to_string(),
                theirs: theirs.clone(),
                ours: ours.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// Removes the file if nothing was changed.
    pub(super) fn remove_if_empty(self) -> Result<(), UndoError> {
        if self.entries.is_empty() {
            return self.remove();
        }
        Ok(())
    }

    /// Whether the file has a header: without one, nothing tells that it was written from here.
    pub(super) const fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Removes the file: everything is restored.
    pub(super) fn remove(self) -> Result<(), UndoError> {
        fs::remove_file(&self.path).map_err(failed("removing", &self.path))?;
        sync_directory(&self.path)
    }

    fn content(&self, line: usize, why: String) -> UndoError {
        UndoError::Content {
            path: self.path.display().to_string(),
            line,
            why,
        }
    }
}

const NOT_AN_UNDO_FILE: &str = "it is not a file that `linerate doctor --apply` wrote";

/// How every undo file begins, whatever its version.
const START: &[u8] = b"{\"schema\":\"linerate/undo/";

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> UndoError {
    let path = path.display().to_string();
    move |source| UndoError::File { what, path, source }
}

/// Syncs the directory, so that a created or removed name is on disk.
fn sync_directory(path: &Path) -> Result<(), UndoError> {
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(failed("writing the directory of", path))
}

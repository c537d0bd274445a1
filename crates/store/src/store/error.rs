//! Why the store could not do what was asked.

use std::io;
use std::path::{Path, PathBuf};

/// Why the store could not do what was asked: what, where, why, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Several runs begin with what was given.
    #[error(
        "\"{wanted}\" is the beginning of {} runs ({}): give more of the id",
        matches.len(),
        matches.join(", ")
    )]
    Ambiguous {
        /// What was given.
        wanted: String,
        /// The ids that begin with it.
        matches: Vec<String>,
    },
    /// A file of the store does not hold what it should.
    #[error("{} is damaged at line {line}: {reason}; move its directory away or restore it from a backup", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// `last` was asked of a store without runs.
    #[error("there is no run in {} yet", store.display())]
    Empty {
        /// The store.
        store: PathBuf,
    },
    /// The id is already in the store.
    #[error("run {id} is already in the store ({}): remove that directory to write it again", path.display())]
    Exists {
        /// The run's id.
        id: String,
        /// Its directory.
        path: PathBuf,
    },
    /// A run was counted back from the last further than there are runs.
    #[error("{wanted}: there are only {found} runs in {}", store.display())]
    NoneBefore {
        /// What was given.
        wanted: String,
        /// How many there are.
        found: usize,
        /// The store.
        store: PathBuf,
    },
    /// Nothing is called so.
    #[error("no run in {} is tagged \"{name}\"; `linerate tag` lists the tags", store.display())]
    NoTag {
        /// What was given.
        name: String,
        /// The store.
        store: PathBuf,
    },
    /// A name that no tag can have.
    #[error(
        "\"{name}\" cannot be a tag: tags begin with a letter and have letters, digits, '-', '_' and '.'; `last` is taken"
    )]
    TagName {
        /// What was given.
        name: String,
    },
    /// A run that is to be removed has a name.
    #[error(
        "{id} is tagged {}; forget that first (`linerate tag --delete {}`), or keep the run",
        tags.join(", "),
        tags.join(" ")
    )]
    Tagged {
        /// The run's id.
        id: String,
        /// What it is called.
        tags: Vec<String>,
    },
    /// The id cannot be the name of a directory.
    #[error(
        "\"{id}\" cannot be a run id: ids have letters, digits, '-', '_' and '.', and begin with a letter or digit"
    )]
    Id {
        /// The id.
        id: String,
    },
    /// The operating system refused.
    #[error("cannot {operation} at {}: {source}; {}", path.display(), remedy(source))]
    Io {
        /// What was tried.
        operation: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The directory holds no run.
    #[error("{} holds no run: it has neither run.json nor header.json ; in a store it is a run that was killed in its first moment, which `linerate rm` removes", path.display())]
    NotARun {
        /// The directory.
        path: PathBuf,
    },
    /// The store's path names something else.
    #[error("{} is not a directory: choose another place for the store", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// A file in place of an id.
    #[error(
        "{file} is a file, not a stored run: `linerate import {file}` makes runs of it, whose ids it prints"
    )]
    File {
        /// The file.
        file: String,
    },
    /// No run has this id.
    #[error("no run in {} begins with \"{wanted}\": `linerate list` shows what is there", store.display())]
    NotFound {
        /// What was given.
        wanted: String,
        /// The store.
        store: PathBuf,
    },
    /// A file is larger than any run document.
    #[error("{} has {bytes} bytes, more than the {limit} that a run document may have: it was not written by linerate", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The largest size.
        limit: u64,
    },
    /// The document would not be readable again: a fault of the program that made it.
    #[error(
        "run {id} cannot be stored, because it could not be read again: {reason}; this is a fault in linerate, please report it"
    )]
    Unreadable {
        /// The run's id.
        id: String,
        /// What reading it again says.
        reason: String,
    },
    /// Written by another version.
    #[error("{} has schema \"{found}\"; this version of linerate reads \"{}\" and \"{}\": use the version that wrote it, or a newer one", path.display(), linerate_model::run::SCHEMA, crate::v1::SCHEMA)]
    Version {
        /// The file.
        path: PathBuf,
        /// The schema id in it.
        found: String,
    },
}

impl StoreError {
    /// An error of the operating system.
    pub(crate) fn io(operation: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            operation,
            path: path.to_owned(),
            source,
        }
    }
}

/// `ENFILE` and `EMFILE`, for which the standard library has no kind.
const OUT_OF_DESCRIPTORS: [i32; 2] = [23, 24];

/// What to do where the process may open no more files; `None` of another error.
pub(crate) fn more_files(error: &io::Error) -> Option<&'static str> {
    let number = error.raw_os_error()?;
    OUT_OF_DESCRIPTORS
        .contains(&number)
        .then_some("raise the limit of open files (`ulimit -n`)")
}

/// What to do about an error of the operating system.
fn remedy(error: &io::Error) -> &'static str {
    if let Some(remedy) = more_files(error) {
        return remedy;
    }
    match error.kind() {
        io::ErrorKind::InvalidInput => "give a run, or a file that holds one",
        io::ErrorKind::InvalidFilename => "a name of the path is too long: choose a shorter one",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free space on that file system, or choose another directory for the store"
        }
        io::ErrorKind::FileTooLarge => {
            "raise the file size limit (`ulimit -f`), or choose a file system for larger files"
        }
        io::ErrorKind::PermissionDenied => {
            "make it accessible to this user, or choose another directory for the store"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "the file system is read-only: choose another directory for the store"
        }
        io::ErrorKind::NotADirectory => "a part of the path is a file: choose another directory",
        io::ErrorKind::NotFound => "check the path",
        _ => "check the disk, or choose another directory for the store",
    }
}

//! What is done with stored runs: logs become runs, runs are listed and found, runs and documents become files.
//!
//! Does not measure. Invariants: an import stores all its runs or none, and one that is interrupted while
//! they are put in place says how many; a file appears whole or not at all; every error that
//! the command line caused says so by its exit code.
#![forbid(unsafe_code)]

mod files;
mod import;
mod listing;

pub use files::{
    check_document, check_place, check_report, stream_file, to_hgrm, write_document, write_file,
    write_hgrm, write_report,
};
pub use import::{
    ImportOutcome, import_logs, import_tables, is_run_document, read_logs, unless_interrupted,
};
pub use linerate_analysis::conclude;
pub use linerate_model::listing::{Entry, Figure, StoreEntry, StoredRun};
pub use linerate_store::Store;
pub use linerate_store::import::{
    Columns, Findings, HgrmHint, Hints, ImportError, QUANTITIES, UnitStep, tools,
};
pub use listing::{Filter, list, listing_json};

use anyhow::Result;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::Run;
use linerate_store::StoreError;
use std::path::{Path, PathBuf};

/// Opens the store in `dir`, which need not exist yet.
pub fn open_store(dir: &Path) -> Result<Store> {
    Store::open(dir).map_err(|error| match error {
        StoreError::NotADirectory { .. } => Failure::new(ExitCode::Usage, error.to_string()).into(),
        other => other.into(),
    })
}

/// Opens the store in `given`, or else where users keep it: what `LINERATE_STORE` names, `XDG_DATA_HOME/linerate`,
/// `~/.local/share/linerate`. `environment` reads a variable.
pub fn open_usual_store(
    given: Option<&Path>,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Store> {
    let read = |name: &str| {
        environment(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let dir = given
        .map(Path::to_owned)
        .or_else(|| read("LINERATE_STORE"))
        .or_else(|| read("XDG_DATA_HOME").map(|dir| dir.join("linerate")))
        .or_else(|| read("HOME").map(|dir| dir.join(".local/share/linerate")));
    let dir = dir.ok_or_else(|| {
        Failure::new(
            ExitCode::Usage,
            "no place to keep runs: give --store DIR, or --no-store to keep nothing",
        )
    })?;
    open_store(&dir)
}

/// What a store cannot do is what the command line asked of it, unless the system refused.
pub fn refused(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::Io { .. } => error.into(),
        asked => Failure::new(ExitCode::Usage, asked.to_string()).into(),
    }
}

/// The run that this store keeps in the directory `id`, and no other: neither a path nor the beginning of an id, a tag
/// or a link that leads elsewhere.
pub fn load_kept(store: &Store, id: &str) -> Result<Run> {
    let is_name = !id.is_empty() && !id.starts_with('.') && !id.contains(['/', '\\', '\0']);
    let is_kept =
        is_name && store.dir().join(id).is_dir() && store.keeps(id).is_ok_and(|is_kept| is_kept);
    if !is_kept {
        let message = format!("there is no run {id:?} in {}", store.dir().display());
        return Err(Failure::new(ExitCode::Usage, message).into());
    }
    load(store, id)
}

/// One stored run, by id, start of an id, tag, `last`, `last~1`, or path.
pub fn load(store: &Store, run: &str) -> Result<Run> {
    store
        .load(run)
        .map_err(|error| Failure::new(ExitCode::Usage, error.to_string()).into())
}

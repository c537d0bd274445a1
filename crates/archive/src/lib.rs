//! What is done with stored runs: logs become runs, runs are listed and found, runs and documents become files.
//!
//! Does not measure. Invariants: an import stores all its runs or none; a file appears whole or not at all; every error that
//! the command line caused says so by its exit code.
#![forbid(unsafe_code)]

mod files;
mod import;
mod listing;

pub use files::{
    check_document, check_place, check_report, to_hgrm, write_document, write_file, write_hgrm,
    write_report,
};
pub use import::{import_logs, import_tables, is_run_document, read_logs, unless_interrupted};
pub use linerate_analysis::conclude;
pub use linerate_store::import::{
    Columns, Findings, HgrmHint, Hints, ImportError, QUANTITIES, UnitStep, tools,
};
pub use linerate_store::{Entry, Figure, Listed, Store};
pub use listing::{Filter, Kept, list, listing_json};

use anyhow::Result;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::Run;
use linerate_store::StoreError;
use std::path::Path;

/// Opens the store in `dir`, which need not exist yet.
pub fn open_store(dir: &Path) -> Result<Store> {
    Store::open(dir).map_err(|error| match error {
        StoreError::NotADirectory { .. } => Failure::new(ExitCode::Usage, error.to_string()).into(),
        other => other.into(),
    })
}

/// What a store cannot do is what the command line asked of it, unless the system refused.
pub fn refused(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::Io { .. } => error.into(),
        asked => Failure::new(ExitCode::Usage, asked.to_string()).into(),
    }
}

/// One stored run, by id, start of an id, tag, `last`, `last~1`, or path.
pub fn load(store: &Store, run: &str) -> Result<Run> {
    store
        .load(run)
        .map_err(|error| Failure::new(ExitCode::Usage, error.to_string()).into())
}

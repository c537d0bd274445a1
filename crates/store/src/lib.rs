//! The run directory, the versions of its format, and import of other tools' logs.
//!
//! Does not measure, compute or render. Invariants: what is listed as readable can be read by this
//! and every later version; a run that was killed is readable and says so; a test of a log is
//! imported whole or not at all.
#![forbid(unsafe_code)]

pub mod import;
mod regular;
pub mod schema;
mod store;
mod v1;

pub use store::{
    Added, Batch, Entry, Figure, RunWriter, Store, StoreEntry, StoreError, Stored, Summary,
    is_document, new_id, run_from_document,
};

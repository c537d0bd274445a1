//! Packet tests in the P4 compiler's STF form: packets in, packets expected, entries and counters.

mod keys;
mod run;
mod statement;
mod words;

pub use run::{Mismatch, Report, control, run};
pub use statement::{Statement, StfError, parse};

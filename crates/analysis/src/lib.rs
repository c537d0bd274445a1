//! Pure: statistics, search controller, loss ledger, diagnosis rules.
#![forbid(unsafe_code)]

pub mod random;
pub mod search;
pub mod statistics;
pub mod assemble;
pub mod ledger;
pub mod rules;

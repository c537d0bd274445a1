//! Pure: statistics, search controller, loss ledger, diagnosis rules.
#![forbid(unsafe_code)]

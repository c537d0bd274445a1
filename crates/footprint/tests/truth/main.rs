//! What the tree says of files that real compilers made, against what `size` says of them.
#![expect(clippy::unwrap_used, reason = "a test")]

mod build;
mod growth;
mod hostile;
mod limits;
mod totals;

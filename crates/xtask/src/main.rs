//! Checks of the workspace itself.
#![forbid(unsafe_code)]

fn main() {}

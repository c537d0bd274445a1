//! The binary `linerate`: arguments, terminal, exit codes.
#![forbid(unsafe_code)]

fn main() {}

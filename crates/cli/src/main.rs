//! The binary `linerate`.
#![forbid(unsafe_code)]

use std::process::Termination;

fn main() -> impl Termination {
    linerate_cli::main()
}

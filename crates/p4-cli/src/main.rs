//! The binary `linerate-p4`.
#![forbid(unsafe_code)]

use std::process::Termination;

fn main() -> impl Termination {
    linerate_p4_cli::main()
}

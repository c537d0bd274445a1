//! The binary `linerate`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    linerate_cli::main()
}

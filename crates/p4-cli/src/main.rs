//! The binary `linerate-p4`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    linerate_p4_cli::main()
}

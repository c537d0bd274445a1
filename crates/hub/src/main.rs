//! The binary `linerate-hub`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    linerate_hub::main()
}

//! The binary `linerate-hub`.
#![forbid(unsafe_code)]

use std::process::Termination;

fn main() -> impl Termination {
    linerate_hub::main()
}

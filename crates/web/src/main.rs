//! The binary `linerate-web`.
#![forbid(unsafe_code)]

use std::process::Termination;

fn main() -> impl Termination {
    linerate_web::main()
}

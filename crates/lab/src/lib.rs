//! The room that knows all the others: runs tests between hosts, and is the agent loop of `serve`.
#![forbid(unsafe_code)]

pub mod access;
pub mod address;
pub mod agent;
pub mod archive;
mod board;
pub mod client;
pub mod compare;
pub mod context;
mod demux;
mod describe;
pub mod doctor;
mod driver;
mod endpoints;
mod flows;
mod line;
pub mod login;
pub mod plan;
mod progress;
mod recorder;
pub mod run;
pub mod watch;

pub use linerate_report::Style;
pub use linerate_store::Store;

use linerate_model::exit::{ExitCode, Failure};

/// Makes this process root of a new user namespace, so that it may build hosts without privileges.
/// Call it while the process has one thread.
pub fn enter_user_namespace() -> Result<(), Failure> {
    linerate_testbed::enter_user_namespace()
        .map_err(|error| Failure::new(ExitCode::HostLacks, error.to_string()))
}

//! What a user asks for: single tests, searches, latency, plans, proofs, the demo, comparisons, each a stored run;
//! footprints of builds, and whether published results hold.
#![forbid(unsafe_code)]

pub mod compare;
pub mod context;
pub mod footprint;
pub mod interleave;
mod live;
pub mod options;
pub mod plan;
pub mod plan_power;
mod progress;
mod recorder;
pub mod reproduce;
pub mod run;
pub mod watch;

use linerate_model::exit::{ExitCode, Failure};

/// Makes this process root of a new user namespace with a network of its own, in which stacks can be started as peers and
/// from which no other host can be reached. Call it while the process has one thread.
pub fn enter_network_of_stacks() -> Result<(), Failure> {
    enter_user_namespace()?;
    linerate_stacks::enter_own_network()
}

/// Makes this process root of a new user namespace, so that it may build hosts without privileges.
/// Call it while the process has one thread.
pub fn enter_user_namespace() -> Result<(), Failure> {
    linerate_testbed::enter_user_namespace()
        .map_err(|error| Failure::new(ExitCode::HostLacks, error.to_string()))
}

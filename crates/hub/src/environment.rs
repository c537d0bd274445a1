//! What the hub takes from its environment, and keeps from programs that it starts.

use std::env;
use std::process::Command;

/// Where a URL with a password can stand, in place of a command line that every user of the host can read.
const DATABASE_VARIABLE: &str = "LINERATE_HUB_DATABASE";

/// The database's URL, if the environment has it.
pub(crate) fn database_url() -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the environment is read by the command line"
    )]
    env::var(DATABASE_VARIABLE).ok()
}

/// Has a program that `command` starts not see the database's URL.
pub(crate) fn keep_from(command: &mut Command) -> &mut Command {
    command.env_remove(DATABASE_VARIABLE)
}

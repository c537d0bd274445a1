//! What every command of the lab gets: a store, a watcher, a way to be interrupted.

use crate::watch::Watcher;
use linerate_model::exit::{ExitCode, Failure};
use linerate_store::Store;
use std::sync::atomic::{AtomicBool, Ordering};

/// The surroundings of a command.
pub struct Context<'a> {
    /// Where runs are kept; `None` keeps nothing.
    pub store: Option<Store>,
    /// Who is told about progress.
    pub watcher: &'a mut dyn Watcher,
    /// The command line that repeats the run.
    pub command: String,
    /// Set when the user wants to stop: the run ends early and is kept as incomplete.
    pub interrupt: &'a AtomicBool,
}

impl Context<'_> {
    /// Whether the user wants to stop.
    pub fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }
}

/// A failure of the far end.
pub(crate) fn peer_failure(message: impl Into<String>) -> Failure {
    Failure::new(ExitCode::Peer, message)
}

/// Something this host lacks.
pub(crate) fn host_lacks(message: impl Into<String>) -> Failure {
    Failure::new(ExitCode::HostLacks, message)
}

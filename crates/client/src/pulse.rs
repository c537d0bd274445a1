//! How a test goes on, for whoever asked for it.

use linerate_model::spec::{Stop, TestSpec};
use linerate_peers::Progress;
use std::time::Duration;

/// How a test goes on.
#[derive(Debug, Clone)]
pub struct Pulse {
    /// Time since traffic began, this end's clock.
    pub elapsed: Duration,
    /// L4 payload bytes so far, this end's view.
    pub bytes: u64,
    /// All that this end sees.
    pub own: Progress,
    /// All that the peer sees, as it last said.
    pub peer: Option<Progress>,
    /// Whether the peer only receives.
    pub peer_receives: bool,
}

impl Pulse {
    /// What the peer has received so far, and in which time, as it last said; nothing if it sends.
    pub fn received(&self) -> Option<&Progress> {
        self.peer.as_ref().filter(|_| self.peer_receives)
    }
}

/// How long the test is meant to take, if it ends by time.
pub fn planned_time(spec: &TestSpec) -> Option<Duration> {
    match spec.stop {
        Stop::After(time) => Some(time + spec.warm_up),
        Stop::Bytes(_) | Stop::Transactions(_) => None,
    }
}

//! Progress of a running test for its caller.

use linerate_model::spec::{Stop, TestSpec};
use linerate_peers::Progress;
use std::time::Duration;

/// Progress of a running test.
#[derive(Debug, Clone)]
pub struct Pulse {
    /// Time since traffic began, this end's clock.
    pub elapsed: Duration,
    /// L4 payload bytes so far, this end's view.
    pub bytes: u64,
    /// All counts of this end.
    pub own: Progress,
    /// All counts of the peer, as last reported.
    pub peer: Option<Progress>,
    /// Whether the peer only receives.
    pub peer_receives: bool,
}

impl Pulse {
    /// What the peer has received so far, as last reported; `None` if it sends.
    pub fn received(&self) -> Option<&Progress> {
        self.peer.as_ref().filter(|_| self.peer_receives)
    }
}

/// Planned duration of the test, if it ends by time.
pub fn planned_time(spec: &TestSpec) -> Option<Duration> {
    match spec.stop {
        Stop::After(time) => Some(time + spec.warm_up),
        Stop::Bytes(_) | Stop::Transactions(_) => None,
    }
}

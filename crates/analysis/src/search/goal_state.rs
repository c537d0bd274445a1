//! How far the search for one goal is, and why it may have ended early.

use super::shortfall::GiveUp;
use linerate_model::BitRate;
use std::time::Duration;

/// How far a goal is.
#[derive(Debug, Clone, Default)]
pub(super) struct GoalState {
    /// Predicted loads tried; after a few, bisection alone is sure to end.
    pub(super) jumps: u32,
    /// The load that the last prediction was made from.
    pub(super) predicted_from: Option<BitRate>,
    /// Predicted loads in a row that lost nearly as much as the load they were predicted from.
    pub(super) misses: u32,
    /// Trials made to learn whether loss depends on load.
    pub(super) probes: u32,
    /// Trial time asked for on behalf of this goal.
    pub(super) spent: Duration,
    pub(super) given_up: Option<GiveUp>,
    /// Trials and time when it was found done.
    pub(super) done: Option<(u32, Duration)>,
}

//! How far the search for one goal is, and why it may have ended early.

use super::floor::Loss;
use linerate_model::BitRate;
use std::fmt;
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

/// Why a goal is out of reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum GiveUp {
    /// So much is lost at every load.
    Floor(Loss),
    /// A trial told no delay, but the goal limits it.
    NoDelay,
    /// No valid trial counted what was sent and what came.
    NoTrial,
}

impl fmt::Display for GiveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Floor(loss) => write!(
                f,
                "out of reach, as {} is lost at every load down to {}",
                loss.ratio, loss.lowest_load
            ),
            Self::NoDelay => f.write_str("not judged: no trial measured a delay to compare"),
            Self::NoTrial => {
                f.write_str("not judged, as no valid trial counted what was sent and what came")
            }
        }
    }
}

//! How far the search for one goal is, and why it may have ended early.

use linerate_model::Ratio;
use std::fmt;
use std::time::Duration;

/// How far a goal is.
#[derive(Debug, Clone, Default)]
pub(super) struct GoalState {
    /// Predicted loads tried; after a few, bisection alone is sure to end.
    pub(super) jumps: u32,
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
    Floor(Ratio),
    /// A trial told no delay, but the goal limits it.
    NoDelay,
    /// No trial was valid.
    NoTrial,
}

impl fmt::Display for GiveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Floor(loss) => write!(
                f,
                "out of reach, as {loss} is lost at every load, also far below saturation"
            ),
            Self::NoDelay => f.write_str("not judged, as trials told no delay to compare"),
            Self::NoTrial => f.write_str("not judged, as no trial was valid"),
        }
    }
}

//! What a search found: bounds for each goal, and the notable points of its curve.

use crate::requests::Knee;
use crate::spec::Direction;
use crate::time::as_seconds;
use crate::units::{BitRate, LossRatio, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

crate::named_enum! {
    /// What bounds a goal's upper bound.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum BoundedBy {
        /// Delay over the goal.
        Delay = "delay",
        /// The load limit asked for.
        Limit = "the limit asked for",
        /// Loss over the goal.
        Loss = "loss",
        /// The sender could not offer more.
        Sender = "the sender",
    }
}

/// The result of one search goal. Rates are L4 payload.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct GoalResult {
    /// Which way.
    pub direction: Direction,
    /// Largest loss ratio that still meets the goal.
    #[serde(rename = "loss_goal_ratio")]
    pub loss_goal: LossRatio,
    /// Delay goal in words (`p99<2ms`), if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_goal: Option<String>,
    /// Highest intended load that meets the goal with no worse one below it.
    #[serde(rename = "lower_bound_bps")]
    pub lower_bound: Option<BitRate>,
    /// Lowest intended load above it that misses the goal.
    #[serde(rename = "upper_bound_bps")]
    pub upper_bound: Option<BitRate>,
    /// Lower bound × (1 − quantile loss ratio) (RFC 9971).
    #[serde(rename = "conditional_throughput_bps")]
    pub conditional_throughput: Option<BitRate>,
    /// Whether the bounds are as close as asked.
    pub reached: bool,
    /// How far the search came and why no further, as a sentence; absent where the goal is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortfall: Option<String>,
    /// What the upper bound is made of; without one, how the lowest load that was missed gave way in shorter trials.
    pub bounded_by: Option<BoundedBy>,
    /// `(upper − lower) / upper`.
    #[serde(rename = "width_ratio")]
    pub width: Option<Ratio>,
    /// Trials used until the goal was done.
    pub trials: u32,
    /// Trial time used until the goal was done.
    #[serde(rename = "time_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub time: Duration,
}

impl GoalResult {
    /// The upper bound, unless the sender or the limit asked for made it: then the path refused nothing, and all that
    /// is known is that it carries the lower bound at least.
    pub fn refused_load(&self) -> Option<BitRate> {
        let by_test = matches!(self.bounded_by, Some(BoundedBy::Limit | BoundedBy::Sender));
        self.upper_bound.filter(|_| !by_test)
    }
}

/// Notable points of a load curve. Rates are L4 payload.
#[derive(Debug, Clone, Copy, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct CurveFacts {
    /// Highest received rate of any trial.
    #[serde(rename = "peak_received_bps")]
    pub peak_received: Option<BitRate>,
    /// Intended load of that trial.
    #[serde(rename = "peak_intended_bps")]
    pub peak_intended: Option<BitRate>,
    /// Highest load the sender ever offered.
    #[serde(rename = "max_offered_bps")]
    pub max_offered: Option<BitRate>,
    /// Lowest intended load at which delay is clearly above its level at low load.
    #[serde(rename = "delay_rise_bps")]
    pub delay_rise: Option<BitRate>,
    /// Received rate at the highest intended load, when it is below the peak: what is left under overload.
    #[serde(rename = "overload_received_bps")]
    pub overload_received: Option<BitRate>,
    /// Where the delay of requests leaves its level at low load (latency against load only; the other
    /// points are then unknown).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<Knee>,
}

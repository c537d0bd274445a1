//! Why a goal was not reached, in a sentence.

use super::config::{LoadUnit, SearchGoal};
use linerate_model::run::GoalResult;
use linerate_model::{BitRate, Ratio};
use std::fmt;
use std::time::Duration;

/// Loss that was seen at every load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Loss {
    /// Lost / sent.
    pub(super) ratio: Ratio,
    /// The lowest load at which a packet was lost.
    pub(super) lowest_load: BitRate,
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

/// What kept a search from reaching a goal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cause {
    /// This much trial time was allowed.
    Budget(Duration),
    /// The goal is out of reach.
    GivenUp(GiveUp),
    /// The lowest load that may be tried misses it.
    LowestLoad,
    /// The sender offers less than intended, and not always the same.
    Sender,
    /// The caller ended the search.
    Unfinished,
    /// No valid trial could be made at this load.
    Wall(BitRate),
}

impl Cause {
    /// Why a goal is not reached that needs no more trials.
    pub(super) const fn of_settled(result: &GoalResult) -> Self {
        if result.lower_bound.is_none() {
            Self::LowestLoad
        } else {
            Self::Sender
        }
    }
}

impl Cause {
    fn words(self, unit: LoadUnit) -> String {
        match self {
            Self::Budget(budget) => format!(
                "the trial time of {} s is used up; allow more with --budget, or wider bounds with --width",
                budget.as_secs_f64()
            ),
            Self::GivenUp(why) => why.to_string(),
            Self::LowestLoad => format!(
                "the lowest load misses it; set a lower one with {}",
                unit.lowest_option()
            ),
            Self::Sender => {
                "the sender's host offers less than intended, now more and now less; give its traffic a core of its own".to_owned()
            }
            Self::Unfinished => "the search was ended before".to_owned(),
            Self::Wall(load) => format!(
                "no trial at {} was valid; see the reasons of those trials",
                unit.words(load)
            ),
        }
    }
}

/// What is said of a goal that is not reached.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shortfall {
    /// What kept the search from it.
    pub(super) cause: Cause,
    /// The lowest load above the lower bound that misses the goal, in trials of any length.
    pub(super) missed: Option<BitRate>,
    /// How loads are named.
    pub(super) unit: LoadUnit,
}

impl Shortfall {
    /// Says how far the search came and why no further, if the goal is not reached.
    pub(super) fn explain(self, result: &mut GoalResult, goal: &SearchGoal) {
        if !result.reached {
            let cause = self.cause.words(self.unit);
            result.shortfall = Some(format!("{}: {cause}", self.came(result, goal)));
        }
    }

    fn came(self, result: &GoalResult, goal: &SearchGoal) -> String {
        let load = |load| self.unit.words(load);
        match (result.lower_bound, result.refused_load(), result.width) {
            (Some(lower), Some(upper), Some(width)) if width > goal.width => format!(
                "the bounds {} and {} are {width} apart, not {}",
                load(lower),
                load(upper),
                goal.width
            ),
            (Some(lower), Some(upper), Some(_)) => format!(
                "the bounds {} and {} rest on too few trials",
                load(lower),
                load(upper)
            ),
            (Some(lower), None, _) if result.upper_bound.is_some() => format!(
                "the bound lies at {} or above, and the sender offered at most {}",
                load(lower),
                result.upper_bound.map_or_else(String::new, load)
            ),
            (lower, None, _) if self.missed.is_some() && result.upper_bound.is_none() => {
                let met = lower.map_or_else(
                    || "no load is known to meet it".to_owned(),
                    |lower| format!("the bound lies at {} or above", load(lower)),
                );
                let missed = self.missed.map_or_else(String::new, load);
                format!(
                    "{met}, and {missed} misses it in trials shorter than {} s, which are too short for a bound",
                    goal.final_trial_duration.as_secs_f64()
                )
            }
            (Some(lower), ..) => format!(
                "the bound lies at {} or above: no load above is known to miss it",
                load(lower)
            ),
            (None, Some(upper), _) => format!("no load below {} is known to meet it", load(upper)),
            (None, None, _) => "no load was judged".to_owned(),
        }
    }
}

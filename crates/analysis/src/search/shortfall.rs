//! Why a goal was not reached, in a sentence.

use super::goal_state::GiveUp;
use linerate_model::run::GoalResult;
use linerate_model::{BitRate, Ratio};
use std::fmt;
use std::time::Duration;

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

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budget(budget) => write!(
                f,
                "the trial time of {} s is used up; allow more with --budget, or wider bounds with --width",
                budget.as_secs_f64()
            ),
            Self::GivenUp(why) => why.fmt(f),
            Self::LowestLoad => f.write_str("the lowest load misses it; set a lower one with --min"),
            Self::Sender => f.write_str(
                "the sender's host offers less than intended, now more and now less; give its traffic a core of its own",
            ),
            Self::Unfinished => f.write_str("the search was ended before"),
            Self::Wall(load) => write!(f, "no trial at {load} was valid; see the reasons of those trials"),
        }
    }
}

/// Says of a goal that is not reached how far the search came, and why no further.
pub(super) fn explain(result: &mut GoalResult, asked: Ratio, cause: Cause) {
    if result.reached {
        return;
    }
    let came = match (result.lower_bound, result.upper_bound, result.width) {
        (Some(lower), Some(upper), Some(width)) => {
            format!("the bounds {lower} and {upper} are {width} apart, not {asked}")
        }
        (Some(lower), ..) => format!("{lower} meets it, and no load above is known to miss it"),
        (None, Some(upper), _) => format!("no load below {upper} is known to meet it"),
        (None, None, _) => "no load was judged".to_owned(),
    };
    result.shortfall = Some(format!("{came}: {cause}"));
}

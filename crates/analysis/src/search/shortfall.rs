//! Why a goal was not reached, in a sentence.

use super::config::LoadUnit;
use super::goal_state::GiveUp;
use linerate_model::run::GoalResult;
use linerate_model::{BitRate, Ratio};
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

/// Says of a goal that is not reached how far the search came, and why no further.
pub(super) fn explain(result: &mut GoalResult, asked: Ratio, cause: Cause, unit: LoadUnit) {
    if result.reached {
        return;
    }
    let load = |load| unit.words(load);
    let came = match (result.lower_bound, result.upper_bound, result.width) {
        (Some(lower), Some(upper), Some(width)) => {
            format!(
                "the bounds {} and {} are {width} apart, not {asked}",
                load(lower),
                load(upper)
            )
        }
        (Some(lower), ..) => format!(
            "{} meets it, and no load above is known to miss it",
            load(lower)
        ),
        (None, Some(upper), _) => format!("no load below {} is known to meet it", load(upper)),
        (None, None, _) => "no load was judged".to_owned(),
    };
    result.shortfall = Some(format!("{came}: {}", cause.words(unit)));
}

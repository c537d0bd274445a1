//! Options of a search, and of what looks for the limit afterwards.

use super::draft::{Draft, duration, read, set};
use super::{
    BULK, Group, HelpLevel, ONE_WAY, SEARCH as ONLY, SEARCHES, Source, flag, list, option,
};
use crate::run::parse_delay_goal;

/// Sets the loss ratios to search for.
pub(super) fn loss_goals(draft: &mut Draft, text: &str) -> Result<(), String> {
    let goals = text.split(',').map(|goal| read(goal.trim()));
    set(&mut draft.search.loss_goals, goals.collect())
}

/// Sets the delay that every goal must also meet.
fn delay_goal(draft: &mut Draft, text: &str) -> Result<(), String> {
    let goal = parse_delay_goal(text).map_err(|error| error.message);
    set(&mut draft.search.delay_goal, goal.map(Some))
}

pub(super) static SEARCH: Group = Group {
    heading: "Search",
    options: &[
        list(
            "loss-goal",
            ONLY,
            "LOSS_GOAL",
            "Loss ratios to search for, each a goal of its own",
        )
        .shown(HelpLevel::Short)
        .usual("0,0.1%,0.5%")
        .sets(loss_goals),
        option(
            "delay-goal",
            SEARCHES,
            "QUANTILE<TIME",
            "Delay that every goal must also meet: `p99<2ms` (delay above the smallest of the trial)",
        )
        .shown(HelpLevel::Short)
        .sets(delay_goal),
        option(
            "min",
            ONLY,
            "MIN",
            "Lowest load to try, in bit/s of L4 payload",
        )
        .usual("1M")
        .sets(|d, v| set(&mut d.search.min_load, read(v))),
        option(
            "max",
            ONLY,
            "MAX",
            "Highest load to try, in bit/s of L4 payload",
        )
        .shown(HelpLevel::Short)
        .usual("10G")
        .sets(|d, v| set(&mut d.search.max_load, read(v))),
        option(
            "width",
            SEARCHES,
            "WIDTH",
            "How close the bounds shall be, relative to the upper one",
        )
        .usual("0.5%")
        .sets(|d, v| set(&mut d.search.width, read(v))),
        option(
            "budget",
            ONLY,
            "BUDGET",
            "Most trial time to use in each direction",
        )
        .usual("45s")
        .sets(|d, v| set(&mut d.search.budget, duration(v))),
    ],
};

pub(super) static LIMITS: Group = Group {
    heading: "What limits",
    options: &[
        option("diagnose", BULK, "TIME", "After the test, probe what limits it for at most this long: short trials with one thing changed each. 0s leaves it out")
            .usual("10s")
            // A study has its runs for what they measure; each would take twice its time.
            .usual_in_plans("0s")
            .page("report.md#what-was-probed")
            .is_beside(true)
            .sets(|d, v| set(&mut d.after.diagnose, duration(v))),
        flag("prove", ONE_WAY, "Then run the experiment that the verdict proposes: only what it agrees with is confirmed")
            .shown(HelpLevel::Short)
            .only(Source::CommandLine)
            .page("report.md#prove-it")
            .sets(|d, _| set(&mut d.after.prove, Ok(true))),
    ],
};

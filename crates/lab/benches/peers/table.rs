//! Rounds to rows: medians, paired ratios with intervals, and whether the goals are met.

use crate::activity::{Activity, Measure, Values};
use crate::goals::Goal;
use linerate_analysis::statistics::{USUAL_CONFIDENCE, median, paired_ratio};
use linerate_model::Estimate;
use linerate_model::comparison::BetterWhen;
use std::collections::BTreeMap;

/// What each contender gave in each round, or why not.
#[derive(Default)]
pub(crate) struct Results {
    trials: BTreeMap<(&'static str, Activity), Vec<Result<Values, String>>>,
    absent: BTreeMap<(&'static str, Activity), String>,
}

impl Results {
    /// Adds what a contender gave in the next round.
    pub(crate) fn push(
        &mut self,
        name: &'static str,
        activity: Activity,
        trial: Result<Values, String>,
    ) {
        self.trials.entry((name, activity)).or_default().push(trial);
    }

    /// Says why a contender takes no part in an activity.
    pub(crate) fn absent(&mut self, name: &'static str, activity: Activity, why: String) {
        self.absent.insert((name, activity), why);
    }

    /// Every failure, once.
    pub(crate) fn failures(&self) -> Vec<String> {
        let failed = self.trials.iter().flat_map(|((name, activity), trials)| {
            trials.iter().enumerate().filter_map(move |(round, trial)| {
                let why = trial.as_ref().err()?;
                Some(format!("round {}, {name}, {activity:?}: {why}", round + 1))
            })
        });
        failed.collect()
    }

    /// Values of the same rounds, the peer's first.
    fn pairs(&self, goal: &Goal) -> Vec<(f64, f64)> {
        let of = |name| self.trials.get(&(name, goal.activity));
        let (Some(own), Some(peer)) = (of(goal.own), of(goal.peer)) else {
            return Vec::new();
        };
        let value = |trial: &Result<Values, String>, measure: Measure| {
            trial.as_ref().ok()?.get(&measure).copied()
        };
        let both = own.iter().zip(peer).filter_map(|(own, peer)| {
            Some((value(peer, goal.measure)?, value(own, goal.measure)?))
        });
        both.collect()
    }

    fn why_nothing(&self, goal: &Goal) -> String {
        match self.absent.get(&(goal.peer, goal.activity)) {
            Some(why) => why.clone(),
            None => "no round gave a value of both; see the failures".to_owned(),
        }
    }

    /// The row of one goal.
    pub(crate) fn row(&self, goal: &Goal) -> String {
        let pairs = self.pairs(goal);
        let (Some([peer, own]), Ok(ratio)) =
            (medians(&pairs), paired_ratio(&pairs, USUAL_CONFIDENCE))
        else {
            return format!(
                "| {} | {} | | {} | | | 0 | {} | not run: {} |",
                goal.measure,
                goal.own,
                goal.peer,
                goal_text(goal),
                self.why_nothing(goal)
            );
        };
        format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            goal.measure,
            goal.own,
            figure(own),
            goal.peer,
            figure(peer),
            estimate_text(&ratio),
            ratio.n,
            goal_text(goal),
            outcome(&ratio, goal.better, goal.ratio)
        )
    }
}

/// The heads of the table.
pub(crate) const HEAD: &str = "| measure | what | value | against | value | ratio [95 %] | n | goal | result |\n\
     |---|---|--:|---|--:|--:|--:|---|---|";

fn medians(pairs: &[(f64, f64)]) -> Option<[f64; 2]> {
    let (peer, own): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let point = |values: &[f64]| median(values, USUAL_CONFIDENCE).ok().map(|it| it.point);
    Some([point(&peer)?, point(&own)?])
}

/// A value with its interval.
pub(crate) fn estimate_text(estimate: &Estimate) -> String {
    match estimate.interval {
        Some(interval) => format!(
            "{:.3} [{:.3}, {:.3}]",
            estimate.point, interval.low, interval.high
        ),
        None => format!("{:.3} (n = 1)", estimate.point),
    }
}

/// Whether the whole interval is on one side of the goal.
pub(crate) fn outcome(ratio: &Estimate, better: BetterWhen, goal: Option<f64>) -> &'static str {
    let Some(goal) = goal else {
        return "(no goal)";
    };
    let Some(interval) = ratio.interval else {
        return "not shown (n = 1)";
    };
    let (good, bad) = match better {
        BetterWhen::Higher => (interval.low >= goal, interval.high < goal),
        BetterWhen::Lower => (interval.high <= goal, interval.low > goal),
    };
    match (good, bad) {
        (true, _) => "met",
        (_, true) => "**missed**",
        _ => "not shown",
    }
}

fn goal_text(goal: &Goal) -> String {
    let sign = match goal.better {
        BetterWhen::Higher => "≥",
        BetterWhen::Lower => "≤",
    };
    goal.ratio
        .map_or_else(String::new, |ratio| format!("{sign} {ratio}×"))
}

/// Four digits.
pub(crate) fn figure(value: f64) -> String {
    match value {
        value if value >= 1000.0 => format!("{value:.0}"),
        value if value >= 100.0 => format!("{value:.1}"),
        value if value >= 1.0 => format!("{value:.2}"),
        value => format!("{value:.4}"),
    }
}

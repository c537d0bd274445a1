//! Rounds to lines: medians, paired ratios with intervals, and whether the goals are met.

use crate::activity::{Activity, Measure, Values};
use crate::goals::{Goal, OWN};
use linerate_analysis::statistics::{USUAL_CONFIDENCE, median, paired_ratio};
use linerate_model::Estimate;
use linerate_model::comparison::BetterWhen;
use std::collections::BTreeMap;
use std::fmt;

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

    /// The line of one goal.
    pub(crate) fn line(&self, goal: &Goal) -> Line {
        let pairs = self.pairs(goal);
        let line = Line {
            measure: goal.measure.to_string(),
            own: goal.own.to_owned(),
            against: goal.peer.to_owned(),
            goal: goal_text(goal),
            ..Line::default()
        };
        let (Some([peer, own]), Ok(ratio)) =
            (medians(&pairs), paired_ratio(&pairs, USUAL_CONFIDENCE))
        else {
            return Line {
                result: format!("not run: {}", self.why_nothing(goal)),
                ..line
            };
        };
        Line {
            value: figure(own),
            against: format!("{} {}", line.against, figure(peer)),
            ratio: estimate_text(&ratio),
            n: ratio.n,
            result: outcome(&ratio, goal.better, goal.ratio).to_owned(),
            ..line
        }
    }
}

/// One measure of linerate against one peer, or against a limit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Line {
    /// What was measured, with its unit.
    pub(crate) measure: String,
    /// Which linerate.
    pub(crate) own: String,
    /// Its value; empty if there is none.
    pub(crate) value: String,
    /// The peer and its value; empty where a limit is the goal.
    pub(crate) against: String,
    /// linerate / peer with its interval.
    pub(crate) ratio: String,
    /// Rounds that gave a value of both.
    pub(crate) n: u64,
    pub(crate) goal: String,
    pub(crate) result: String,
}

impl Line {
    /// What did not run, and why.
    pub(crate) fn not_run(what: &str, why: &str) -> Self {
        Self {
            measure: what.to_owned(),
            own: OWN.to_owned(),
            result: format!("not run: {why}"),
            ..Self::default()
        }
    }

    /// Peer, ratio, goal and result; n where it is not `rounds`.
    fn comparison(&self, rounds: u32) -> String {
        let n = (self.n > 0 && self.n != u64::from(rounds)).then(|| format!("n = {}", self.n));
        let parts = [
            &self.against,
            &self.ratio,
            &n.unwrap_or_default(),
            &self.goal,
            &self.result,
        ];
        let parts: Vec<&str> = parts
            .map(String::as_str)
            .into_iter()
            .filter(|one| !one.is_empty())
            .collect();
        parts.join(", ")
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            measure,
            own,
            value,
            ..
        } = self;
        write!(f, "{measure}: {own} {value}: {}", self.comparison(0))
    }
}

/// The table of the page: a row for each measure of a linerate, with all that it was compared with. A comparison says n
/// where it is not `rounds`.
pub(crate) fn page(lines: &[Line], rounds: u32) -> String {
    let of_measure =
        lines.chunk_by(|line, next| (&line.measure, &line.own) == (&next.measure, &next.own));
    let row = |lines: &[Line]| {
        let all: Vec<String> = lines.iter().map(|line| line.comparison(rounds)).collect();
        let first = lines.first().cloned().unwrap_or_default();
        // A peer that did not run leaves no value beside it.
        let value = lines.iter().find(|line| !line.value.is_empty());
        let value = value.map_or_else(String::new, |line| format!(" {}", line.value));
        let own = format!("{}{value}", first.own);
        format!("| {} | {} | {} |\n", first.measure, own, all.join("; "))
    };
    let head = "| measure | linerate | against: ratio [95 %], goal, result |\n|---|---|---|\n";
    of_measure.fold(head.to_owned(), |text, lines| text + &row(lines))
}

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
        return "";
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

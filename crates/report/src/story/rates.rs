//! What was carried in each direction, and what limits it.

use super::way;
use crate::charts::{bounds, goal_name};
use crate::curve::{LoadCurve, best_known_rate};
use crate::figures::{BigFigure, Unit, Value};
use crate::headline::same_load;
use crate::words;
use linerate_model::run::{Confidence, GoalResult, Limit, Run, RunKind, Trial, Verdict};
use linerate_model::spec::Direction;
use linerate_model::{BitRate, Interval};
use std::collections::BTreeMap;

/// The runs that tell best what one direction carries.
pub(super) struct DirectionRate<'a> {
    pub(super) direction: Direction,
    pub(super) runs: Vec<&'a Run>,
    carried: Carried,
}

impl<'a> DirectionRate<'a> {
    /// The runs with the limit that is said of all; all of them where none is.
    pub(super) fn agreeing(&self) -> Vec<&'a Run> {
        let Some(Agreement { limit, .. }) = Agreement::of(&self.runs, self.direction) else {
            return self.runs.clone();
        };
        let agrees = |run: &&&Run| {
            let verdict = run.verdict.as_ref();
            verdict.is_some_and(|verdict| verdict.limit.id() == limit.id())
        };
        self.runs.iter().filter(agrees).copied().collect()
    }
}

/// What was carried.
struct Carried {
    /// bit/s.
    point: f64,
    /// From where to where, if that is known.
    range: Option<Interval>,
    /// Whether that is the most of several loads.
    is_peak: bool,
    value: String,
    interval: Option<String>,
    /// Transport, layer, condition.
    about: String,
}

impl Carried {
    /// In a sentence.
    fn said(&self) -> String {
        let most = if self.is_peak { "at most " } else { "" };
        format!("{most}{}", self.value)
    }
}

/// A search says most about a path, then single streams of datagrams, then TCP.
const KINDS: [RunKind; 3] = [RunKind::Saturate, RunKind::Udp, RunKind::Tcp];

/// One for each direction in which something was carried.
pub(super) fn by_direction<'a>(leaves: &[&'a Run]) -> Vec<DirectionRate<'a>> {
    let ways = [Direction::Forward, Direction::Reverse];
    ways.into_iter()
        .filter_map(|direction| {
            KINDS.into_iter().find_map(|kind| {
                let went = |run: &&&Run| run.kind() == kind && carries(run, direction);
                let runs: Vec<&Run> = leaves.iter().filter(went).copied().collect();
                let carried = carried(&runs, direction)?;
                Some(DirectionRate {
                    direction,
                    runs,
                    carried,
                })
            })
        })
        .collect()
}

fn carries(run: &Run, direction: Direction) -> bool {
    run.trials
        .iter()
        .any(|trial| trial.valid && trial.direction == direction)
}

fn carried(runs: &[&Run], direction: Direction) -> Option<Carried> {
    let trials = runs.iter().flat_map(|run| &run.trials);
    let trials: Vec<&Trial> = trials
        .filter(|trial| trial.valid && trial.direction == direction)
        .collect();
    let first = trials.first()?;
    let name = first.transport;
    let layer = first.layer;
    let goals: Vec<&GoalResult> = runs
        .iter()
        .filter_map(|run| strictest(run, direction))
        .collect();
    if let Some(goal) = goals.first() {
        let about = format!("{name}, {layer}, {}", condition(goal));
        return Some(searched(&goals, about));
    }
    let curve = LoadCurve::from_trials(trials.iter().copied(), direction);
    // Over several loads there is no mean.
    if curve.points.len() > 1 {
        let peak = curve.peak()?.received?;
        let (value, interval) = split(&peak, unit_of(&peak));
        let full = curve.follows_up_to().map_or_else(String::new, |point| {
            let unit = Unit::for_rate(point.intended * 2.0);
            format!("; in full up to {}", unit.show(point.intended))
        });
        return Some(Carried {
            point: peak.point(),
            range: peak.estimate.interval,
            is_peak: true,
            value,
            interval,
            about: format!("{name}, {layer}{full}"),
        });
    }
    let rates = trials.iter().filter_map(|trial| best_known_rate(trial));
    let mut rates: Vec<_> = rates.collect();
    let is_of_loads = |run: &&Run| {
        let of_way = run
            .trials
            .iter()
            .filter(|trial| trial.valid && trial.direction == direction);
        same_load(run, &of_way.collect::<Vec<_>>()).len() > 1
    };
    let is_peak = runs.iter().any(is_of_loads);
    if is_peak {
        // Tests of a log whose loads are not known.
        rates.sort_by(|a, b| b.0.total_cmp(&a.0));
        rates.truncate(1);
    }
    let mean = Value::from_observations(&rates)?;
    let (value, interval) = split(&mean, unit_of(&mean));
    Some(Carried {
        point: mean.point(),
        range: mean.estimate.interval,
        is_peak,
        value,
        interval,
        about: format!("{name}, {layer}"),
    })
}

/// `without loss`, or what the goal allows.
pub(super) fn condition(goal: &GoalResult) -> String {
    if goal.loss_goal.get() > 0.0 || goal.delay_goal.is_some() {
        goal_name(goal)
    } else {
        "without loss".to_owned()
    }
}

/// The goal of a search that allows the least loss.
fn strictest(run: &Run, direction: Direction) -> Option<&GoalResult> {
    let goals = run
        .goals()
        .iter()
        .filter(|goal| goal.direction == direction);
    let known = goals.filter(|goal| goal.lower_bound.is_some() || goal.refused_load().is_some());
    known.min_by(|a, b| a.loss_goal.get().total_cmp(&b.loss_goal.get()))
}

/// One search has bounds, several have a mean of their lower bounds.
fn searched(goals: &[&GoalResult], about: String) -> Carried {
    let lower = goals.iter().filter_map(|goal| goal.lower_bound);
    let lower: Vec<_> = lower.map(|rate| (rate.as_f64(), None)).collect();
    match (goals, Value::from_observations(&lower)) {
        ([_, _, ..], Some(mean)) => {
            let (value, interval) = split(&mean, unit_of(&mean));
            Carried {
                point: mean.point(),
                range: mean.estimate.interval,
                is_peak: false,
                value,
                interval,
                about: format!("{about}, lower bound"),
            }
        }
        (goals, _) => {
            let bound = |rate: Option<BitRate>| rate.map(BitRate::as_f64);
            let first = goals.first();
            let (low, high) = first.map_or((None, None), |goal| {
                (bound(goal.lower_bound), bound(goal.refused_load()))
            });
            Carried {
                point: low.or(high).unwrap_or_default(),
                range: low.zip(high).map(|(low, high)| Interval { low, high }),
                is_peak: false,
                value: first.map_or_else(String::new, |goal| bounds(goal)),
                interval: None,
                about,
            }
        }
    }
}

fn unit_of(rate: &Value) -> Unit {
    Unit::for_rate(rate.point() * 2.0)
}

/// The number with its unit, and apart from it its interval and n.
pub(super) fn split(value: &Value, unit: Unit) -> (String, Option<String>) {
    let tells = |i: &Interval| unit.number(i.low) != unit.number(i.high);
    let interval = value.estimate.interval.filter(tells).map(|interval| {
        let range = crate::figures::range(interval, unit);
        match value.estimate.n {
            1 => format!("{range} by rounding"),
            n => format!("95 %: {range}, n = {n}"),
        }
    });
    let n = value.estimate.n;
    (
        unit.show(value.point()),
        interval.or_else(|| Some(format!("n = {n}"))),
    )
}

/// What one run carried one way, to be drawn beside others.
pub(crate) struct SideBySide {
    pub(crate) direction: Direction,
    /// bit/s.
    pub(crate) point: f64,
    pub(crate) range: Option<Interval>,
    /// Transport, layer, condition.
    pub(crate) about: String,
}

/// What one run carried, one for each direction.
pub(crate) fn of_run(run: &Run) -> Vec<SideBySide> {
    let rated = by_direction(&[run]).into_iter().map(|rated| SideBySide {
        direction: rated.direction,
        point: rated.carried.point,
        range: rated.carried.range,
        about: rated.carried.about,
    });
    rated.collect()
}

/// The large figure of a direction.
pub(super) fn figure(rated: &DirectionRate<'_>) -> BigFigure {
    let way = rated
        .runs
        .first()
        .map_or_else(String::new, |run| way(run, rated.direction));
    BigFigure {
        value: rated.carried.value.clone(),
        interval: rated.carried.interval.clone(),
        about: format!(
            "{}{way} ({})",
            if rated.carried.is_peak {
                "at most, "
            } else {
                ""
            },
            rated.carried.about
        ),
    }
}

/// `A → B carries 94.3 Mbit/s (UDP, L4 payload); the link's rate limits; 3 of 4 runs agree`.
pub(super) fn clauses(rates: &[DirectionRate<'_>]) -> Vec<String> {
    let each: Vec<Clause<'_>> = rates.iter().map(Clause::from_rated).collect();
    match each.as_slice() {
        [one, other] if one.limit == other.limit => {
            let limit = one.limit.iter().map(|limit| format!("{limit}, both ways"));
            both(one, other).into_iter().chain(limit).collect()
        }
        [one] => [one.carried()]
            .into_iter()
            .chain(one.limit.clone())
            .collect(),
        each => each.iter().map(Clause::with_limit).collect(),
    }
}

/// One direction in words.
struct Clause<'a> {
    way: String,
    carried: &'a Carried,
    limit: Option<String>,
}

impl<'a> Clause<'a> {
    fn from_rated(rated: &'a DirectionRate<'_>) -> Self {
        let first = rated.runs.first();
        Self {
            way: first.map_or_else(String::new, |run| way(run, rated.direction)),
            carried: &rated.carried,
            limit: limit(&rated.runs, rated.direction),
        }
    }

    fn carried(&self) -> String {
        format!(
            "{} carries {} ({})",
            self.way,
            self.carried.said(),
            self.carried.about
        )
    }

    fn with_limit(&self) -> String {
        match &self.limit {
            Some(limit) => format!("{}: {limit}", self.carried()),
            None => self.carried(),
        }
    }
}

/// Two directions, in one clause where the rest is the same.
fn both(one: &Clause<'_>, other: &Clause<'_>) -> Vec<String> {
    if one.carried.about != other.carried.about {
        return vec![one.carried(), other.carried()];
    }
    vec![format!(
        "{} carries {}, {} {} ({})",
        one.way,
        one.carried.said(),
        other.way,
        other.carried.said(),
        one.carried.about
    )]
}

/// The limit that most of some runs agree on, by its id.
struct Agreement<'a> {
    limit: &'a Limit,
    /// How many say so.
    count: usize,
    /// Those that were asked: of a sweep the lower loads are carried whole, which says nothing of what ends it.
    verdicts: Vec<&'a Verdict>,
}

impl<'a> Agreement<'a> {
    fn of(runs: &[&'a Run], direction: Direction) -> Option<Self> {
        let all = runs.iter().filter_map(|run| run.verdict.as_ref());
        let mut verdicts: Vec<&Verdict> = all.filter(|one| one.holds_for(direction)).collect();
        if verdicts.iter().any(|verdict| !verdict.limit.is_none()) {
            verdicts.retain(|verdict| !verdict.limit.is_none());
        }
        let mut tally: BTreeMap<&str, (usize, &Limit)> = BTreeMap::new();
        for verdict in &verdicts {
            tally
                .entry(verdict.limit.id())
                .or_insert((0, &verdict.limit))
                .0 += 1;
        }
        let (count, limit) = tally.into_values().max_by_key(|(count, _)| *count)?;
        Some(Self {
            limit,
            count,
            verdicts,
        })
    }
}

/// What limits most of the runs, and how many agree.
pub(super) fn limit(runs: &[&Run], direction: Direction) -> Option<String> {
    let Agreement {
        limit,
        count,
        verdicts,
    } = Agreement::of(runs, direction)?;
    let said = if limit.is_none() {
        "the path carried the whole intended load".to_owned()
    } else if limit.is_unknown() {
        match verdicts.iter().find_map(|verdict| verdict.side) {
            Some(side) => format!(
                "bottleneck not identified, on the {}’s side",
                words::side(Some(side))
            ),
            None => "bottleneck not identified".to_owned(),
        }
    } else {
        let agreeing = verdicts
            .iter()
            .filter(|verdict| verdict.limit.id() == limit.id());
        let surest = agreeing.map(|verdict| verdict.confidence).max();
        let weak = match surest {
            Some(Confidence::Weak) => " (weak: hints only)",
            _ => "",
        };
        let name = crate::figures::clean(limit.name());
        let limits = if name.starts_with("other ") {
            "limit"
        } else {
            "limits"
        };
        format!("{name} {limits}{weak}")
    };
    Some(match verdicts.len() {
        1 => said,
        all if !limit.is_none() && all < runs.len() => {
            format!("{said} ({count} of {all} runs that saturate agree)")
        }
        all => format!("{said} ({count} of {all} runs agree)"),
    })
}

#[cfg(test)]
mod tests {
    use crate::story::story;
    use linerate_model::run::Run;
    use serde_json::json;

    fn trial(index: u32, direction: &str) -> serde_json::Value {
        json!({
            "index": index, "transport": "tcp", "direction": direction, "valid": true,
            "work": "byte-stream", "origin": "imported", "duration_s": 10.0,
            "received_bps": 90_000_000, "rounding": {}
        })
    }

    /// The sentence on traffic both ways, of which these are limited.
    fn sentence(limited: &[&str]) -> String {
        let run: Run = serde_json::from_value(json!({
            "schema": linerate_model::run::SCHEMA, "id": "run", "kind": "tcp", "status": "complete",
            "tool": {"name": "iperf3"}, "config": {},
            "trials": [trial(0, "forward"), trial(1, "reverse")],
            "verdict": {
                "limit": "link", "limit_name": "the link's rate", "side": null, "share_ratio": null,
                "confidence": "weak", "claim": "Forward: The link probably limits: 90 Mbit/s.", "evidence": [],
                "directions": limited
            }
        }))
        .unwrap();
        story(&[run]).sentence
    }

    #[test]
    fn a_weak_limit_of_one_direction_is_said_of_that_one_and_as_weak() {
        let one = sentence(&["forward"]);
        assert_eq!(
            one.matches("link's rate limits (weak: hints only)").count(),
            1,
            "{one}"
        );
        assert!(!one.contains("both ways"), "{one}");
        let both = sentence(&["forward", "reverse"]);
        assert!(both.contains("(weak: hints only), both ways"), "{both}");
    }
}

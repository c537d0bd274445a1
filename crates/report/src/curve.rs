//! A run's trials as a load curve: one point for each intended load and direction.

use crate::figures::Value;
use linerate_model::run::{GoalResult, Run, RunKind, Trial};
use linerate_model::spec::Direction;
use linerate_model::{Interval, Quantity};
use std::collections::BTreeMap;

/// A received rate this close to the intended load follows it.
///
/// The width to which a search brings its bounds (0.5 %): finer than that, the words would
/// contradict the bounds; coarser, the ends of a trial's time scale would count as a shortfall.
const FOLLOWS: f64 = 0.995;

/// Fewer loads than this are single tests, not a curve.
const MIN_LOADS: usize = 3;

/// What valid trials at one intended load measured. Rates in bit/s at the trials' layer.
#[derive(Debug)]
pub(crate) struct LoadPoint<'a> {
    /// Intended load, L4 payload.
    pub(crate) intended: f64,
    /// Offered load, sender side.
    pub(crate) offered: Option<Value>,
    /// Received rate, receiver side.
    pub(crate) received: Option<Value>,
    /// Lost / sent.
    pub(crate) loss: Option<Value>,
    /// The valid trials at this load.
    pub(crate) trials: Vec<&'a Trial>,
}

impl LoadPoint<'_> {
    /// Whether what was received follows the intended load; `None` if it is not known.
    pub(crate) fn follows(&self) -> Option<bool> {
        let received = self.received.as_ref()?;
        Some(received.high() >= FOLLOWS * self.intended)
    }

    /// The loss ratio, zero if unknown: for comparing, not for showing.
    pub(crate) fn loss_or_zero(&self) -> f64 {
        self.loss.as_ref().map_or(0.0, Value::point)
    }
}

/// The load curve of one direction.
#[derive(Debug)]
pub(crate) struct LoadCurve<'a> {
    /// Which way.
    pub(crate) direction: Direction,
    /// Points in rising order of intended load.
    pub(crate) points: Vec<LoadPoint<'a>>,
    /// Trials that do not count.
    pub(crate) invalid: Vec<&'a Trial>,
    /// The search goals of this direction.
    pub(crate) goals: Vec<&'a GoalResult>,
}

/// The load curves of a run: any search, or at least three intended loads in one direction.
pub(crate) fn load_curves(run: &Run) -> Vec<LoadCurve<'_>> {
    let mut ways: Vec<Direction> = run.trials.iter().map(|trial| trial.direction).collect();
    ways.sort_unstable();
    ways.dedup();
    let curves = ways.into_iter().map(|way| load_curve(run, way));
    curves.filter(|curve| is_curve(run, curve)).collect()
}

fn is_curve(run: &Run, curve: &LoadCurve<'_>) -> bool {
    match run.kind() {
        RunKind::Saturate => !curve.points.is_empty() || !curve.invalid.is_empty(),
        RunKind::Tcp | RunKind::Udp => curve.is_rising(),
        RunKind::Demo | RunKind::Latency | RunKind::Study | RunKind::Switch => false,
    }
}

fn load_curve(run: &Run, direction: Direction) -> LoadCurve<'_> {
    // A sampled trial of a search was made after it, and carries the cost of the sampling.
    let is_point = |trial: &&Trial| run.kind() != RunKind::Saturate || trial.profile().is_none();
    LoadCurve {
        goals: run
            .goals()
            .iter()
            .filter(|goal| goal.direction == direction)
            .collect(),
        ..LoadCurve::from_trials(run.trials.iter().filter(is_point), direction)
    }
}

fn load_point(intended: f64, trials: Vec<&Trial>) -> LoadPoint<'_> {
    let value = |quantity| {
        let all: Vec<_> = trials.iter().filter_map(|of| seen(of, quantity)).collect();
        Value::from_observations(&all)
    };
    LoadPoint {
        intended,
        offered: value(Quantity::OfferedRate),
        received: value(Quantity::ReceivedRate),
        loss: value(Quantity::LossRatio),
        trials,
    }
}

/// A value in the base unit with its rounding.
type RoundedValue = (f64, Option<Interval>);

/// What a trial tells of a quantity, with its rounding.
pub(crate) fn seen(trial: &Trial, quantity: Quantity) -> Option<RoundedValue> {
    let interval = trial.rounding(quantity).copied();
    let is_finite = |interval: &Interval| interval.low.is_finite() && interval.high.is_finite();
    Some((quantity.of(trial)?, interval.filter(is_finite)))
}

/// A trial's received rate; where the receiver does not tell, what its TCP acknowledged, else the offered load.
pub(crate) fn best_known_rate(trial: &Trial) -> Option<RoundedValue> {
    let known = [
        Quantity::ReceivedRate,
        Quantity::AcknowledgedRate,
        Quantity::OfferedRate,
    ];
    known.into_iter().find_map(|quantity| seen(trial, quantity))
}

impl<'a> LoadCurve<'a> {
    /// The curve of the trials of one direction, of however many runs.
    pub(crate) fn from_trials(
        trials: impl IntoIterator<Item = &'a Trial>,
        direction: Direction,
    ) -> Self {
        let mut by_load: BTreeMap<u64, Vec<&Trial>> = BTreeMap::new();
        let mut invalid = Vec::new();
        for trial in trials
            .into_iter()
            .filter(|trial| trial.direction == direction)
        {
            match trial.intended_load {
                Some(load) if trial.valid => by_load.entry(load.bps()).or_default().push(trial),
                Some(_) => invalid.push(trial),
                None => {}
            }
        }
        let points = by_load
            .into_iter()
            .map(|(bps, trials)| load_point(crate::figures::float(bps), trials));
        Self {
            direction,
            points: points.collect(),
            invalid,
            goals: Vec::new(),
        }
    }

    /// Whether it has enough loads to be a curve.
    pub(crate) fn is_rising(&self) -> bool {
        self.points.len() >= MIN_LOADS
    }
}

impl LoadCurve<'_> {
    /// What the title of a chart of this curve ends with: empty if the run has only one direction.
    pub(crate) fn suffix(&self, run: &Run) -> String {
        let only = run.trials.iter().all(|t| t.direction == self.direction);
        if only {
            return String::new();
        }
        format!(", {}", crate::words::direction(self.direction))
    }

    /// The largest rate of the curve in bit/s.
    pub(crate) fn largest_rate(&self) -> f64 {
        let rates = self.points.iter().flat_map(|point| {
            let received = point.received.as_ref().map_or(0.0, Value::point);
            [point.intended, received]
        });
        rates.fold(0.0, f64::max)
    }

    /// The last load up to which the received rate follows the intended load at every load.
    pub(crate) fn follows_up_to(&self) -> Option<&LoadPoint<'_>> {
        let known = self.points.iter().filter(|p| p.follows().is_some());
        known.take_while(|p| p.follows() == Some(true)).last()
    }

    /// The point with the highest received rate.
    pub(crate) fn peak(&self) -> Option<&LoadPoint<'_>> {
        let rate = |p: &&LoadPoint<'_>| p.received.as_ref().map_or(-1.0, Value::point);
        let known = self.points.iter().filter(|p| p.received.is_some());
        known.max_by(|a, b| rate(a).total_cmp(&rate(b)))
    }

    /// The point with the highest intended load whose received rate is known.
    pub(crate) fn last(&self) -> Option<&LoadPoint<'_>> {
        self.points.iter().rev().find(|p| p.received.is_some())
    }
}

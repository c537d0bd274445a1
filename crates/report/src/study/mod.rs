//! A study by its factors: which levels each has, what was measured at each combination, how much each explains.
//!
//! Invariant: factors, levels and cells stand in an order of their own, never in that of measuring.

mod charts;
mod effects;
mod factors;
mod findings;
mod groups;
mod limits;
mod series;

pub(crate) use charts::{Multiples, multiples};
pub(crate) use effects::conclusions;
pub(crate) use factors::Levels;
pub(crate) use findings::{alarm, compared, effects_table, in_series, said};
pub(crate) use groups::groups;
pub(crate) use limits::{CommonLimit, cells_by_limit, limit_name, runs_of};
pub(crate) use series::{Series, series};

use crate::figures::Value;
use factors::{Factor, factors, levels_of};
use linerate_model::run::{GoalResult, Run, Trial, TrialWork};
use linerate_model::spec::Direction;
use linerate_model::{BitRate, Quantity};
use std::collections::BTreeMap;

/// What the runs of a study are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Median delay.
    Delay,
    /// Received rate; where the receiver does not tell, the nearest that is known.
    Rate,
    /// Frames that a device between two ports forwards per second.
    FrameRate,
}

impl Measure {
    /// Of one trial: nanoseconds, bit/s or frames per second.
    pub(crate) fn of(self, trial: &Trial) -> Option<f64> {
        match self {
            Self::Delay => Quantity::MEDIAN_DELAY.of(trial),
            Self::Rate => crate::curve::best_known_rate(trial).map(|(rate, _)| rate),
            Self::FrameRate => Quantity::ReceivedPacketRate.of(trial),
        }
    }

    /// What a search found, from bit/s of L4 payload.
    fn of_bound(self, part: &Run, bound: BitRate) -> Option<f64> {
        match self {
            Self::Delay | Self::Rate => Some(bound.as_f64()),
            Self::FrameRate => Some(part.config.test()?.device_frames(bound)?.pps()),
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Delay => "median delay",
            Self::Rate => "received, L4 payload",
            Self::FrameRate => "forwarded",
        }
    }

    pub(crate) fn unit(self, largest: f64) -> crate::figures::Unit {
        match self {
            Self::Delay => crate::figures::Unit::for_nanos(largest),
            Self::Rate => crate::figures::Unit::for_rate(largest * 2.0),
            Self::FrameRate => crate::figures::Unit::for_frames(largest * 2.0),
        }
    }
}

/// One run of a study: a repetition of a cell, one direction.
#[derive(Debug, Clone)]
pub(crate) struct Observation<'a> {
    /// Its level of each factor, in the factors' order.
    pub(crate) levels: Levels,
    pub(crate) run: &'a Run,
    /// The valid trials of this run and direction.
    pub(crate) trials: Vec<&'a Trial>,
    /// Their mean.
    pub(crate) value: f64,
}

/// A study, taken apart.
#[derive(Debug)]
pub(crate) struct StudyView<'a> {
    pub(crate) measure: Measure,
    pub(crate) factors: Vec<Factor>,
    pub(crate) observations: Vec<Observation<'a>>,
}

impl<'a> StudyView<'a> {
    /// `None` where the parts do not say what they are cells of, or nothing was measured.
    pub(crate) fn from_parts(parts: impl IntoIterator<Item = &'a Run>) -> Option<Self> {
        let placed: Vec<&'a Run> = parts
            .into_iter()
            .filter(|part| {
                part.config
                    .place
                    .as_ref()
                    .is_some_and(|place| !place.is_control())
            })
            .collect();
        let trials = || {
            placed
                .iter()
                .flat_map(|part| &part.trials)
                .filter(|trial| trial.valid)
        };
        let exchanged = trials().filter(|trial| is_exchange(trial)).count();
        let measure = if exchanged * 2 > trials().count() {
            Measure::Delay
        } else if placed.iter().all(|part| part.is_of_device()) {
            Measure::FrameRate
        } else {
            Measure::Rate
        };
        let factors = factors(&placed);
        let observations: Vec<_> = placed
            .iter()
            .flat_map(|part| observed(part, &factors, measure))
            .collect();
        (!factors.is_empty() && !observations.is_empty()).then_some(Self {
            measure,
            factors,
            observations,
        })
    }

    /// The largest value.
    pub(crate) fn largest(&self) -> f64 {
        let values = self.observations.iter().map(|one| one.value);
        values.fold(0.0, f64::max)
    }

    /// The cells in the order of their levels, each with its runs.
    pub(crate) fn cells(&self) -> BTreeMap<&Levels, Vec<&Observation<'a>>> {
        let mut cells: BTreeMap<&Levels, Vec<&Observation<'a>>> = BTreeMap::new();
        for one in &self.observations {
            cells.entry(&one.levels).or_default().push(one);
        }
        cells
    }

    /// The factor that becomes the horizontal axis: of those that are numbers the one with the most levels.
    pub(crate) fn axis(&self) -> Option<usize> {
        const MIN_LEVELS: usize = 3;
        let numbers = self
            .factors
            .iter()
            .enumerate()
            .filter(|(_, factor)| factor.is_number());
        let long = numbers.filter(|(_, factor)| factor.levels.len() >= MIN_LEVELS);
        // Of several with as many levels the first of the plan.
        long.rev()
            .max_by_key(|(_, factor)| factor.levels.len())
            .map(|(at, _)| at)
    }

    /// Levels of the factors that are `wanted`, in words: `forward, 1448`.
    pub(crate) fn words(&self, levels: &[usize], wanted: impl Fn(usize) -> bool) -> String {
        let named = self.factors.iter().zip(levels).enumerate();
        let shown = named.filter(|(at, _)| wanted(*at));
        let words: Vec<String> = shown
            .map(|(_, (factor, level))| factor.said(*level))
            .collect();
        words.join(", ")
    }
}

/// Whether a trial timed messages rather than carried bytes.
fn is_exchange(trial: &Trial) -> bool {
    matches!(
        trial.work,
        TrialWork::ClosedLoop(_) | TrialWork::Connections(_) | TrialWork::OpenLoop(_)
    )
}

/// The mean of some runs, one value for each.
pub(crate) fn mean(observations: &[&Observation<'_>]) -> Option<Value> {
    let values: Vec<_> = observations.iter().map(|one| (one.value, None)).collect();
    Value::from_observations(&values)
}

/// One observation for each direction of a part.
fn observed<'a>(part: &'a Run, factors: &[Factor], measure: Measure) -> Vec<Observation<'a>> {
    let ways = [Direction::Forward, Direction::Reverse, Direction::Duplex];
    let each = ways.into_iter().filter_map(|way| {
        let here = part
            .trials
            .iter()
            .filter(|trial| trial.valid && trial.direction == way);
        let trials: Vec<&Trial> = here.collect();
        let values: Vec<(f64, Option<linerate_model::Interval>)> = trials
            .iter()
            .filter_map(|trial| Some((measure.of(trial)?, None)))
            .collect();
        // The trials of a search were at loads of its own choice: their mean is nobody's result.
        let value = match strictest(part, way) {
            Some(goal) => measure.of_bound(part, goal.lower_bound?)?,
            None => Value::from_observations(&values)?.point(),
        };
        Some(Observation {
            levels: levels_of(part, way, factors)?,
            run: part,
            trials,
            value,
        })
    });
    each.collect()
}

/// The goal of a search that allows the least loss: what it found is the value of the cell.
pub(crate) fn strictest(part: &Run, way: Direction) -> Option<&GoalResult> {
    let goals = part.goals().iter().filter(|goal| goal.direction == way);
    goals.min_by(|a, b| a.loss_goal.get().total_cmp(&b.loss_goal.get()))
}

#[cfg(test)]
mod tests;

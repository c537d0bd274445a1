//! Plain bisection in the manner of RFC 2544 §26.1, for comparison: one goal after the other,
//! one long trial per load, no prediction, no queue rule beyond the shared one.

use super::config::{SearchConfig, SearchError};
use super::history::History;
use super::outcome::{Step, TrialOutcome};
use super::shortfall::{Cause, GiveUp};
use super::{Search, SearchKind, curve};
use linerate_model::run::{CurveFacts, GoalResult};
use linerate_model::{BitRate, Ratio};
use std::time::Duration;

/// RFC 2544 bisection.
#[derive(Debug)]
pub struct Binary;

impl SearchKind for Binary {
    fn id(&self) -> &'static str {
        "binary"
    }

    fn summary(&self) -> &'static str {
        "plain bisection, one trial of the goal's duration sum per load (RFC 2544)"
    }

    fn start(&self, mut config: SearchConfig) -> Result<Box<dyn Search>, SearchError> {
        config.validate()?;
        for goal in &mut config.goals {
            goal.final_trial_duration = goal.duration_sum;
            goal.exceed_ratio = Ratio::ZERO;
        }
        Ok(Box::new(Bisection {
            states: vec![None; config.goals.len()],
            config,
            history: History::default(),
            pending: None,
            invalid: 0,
            ended: false,
        }))
    }
}

struct Bisection {
    config: SearchConfig,
    history: History,
    /// Trials and time when each goal was found done.
    states: Vec<Option<(u32, Duration)>>,
    pending: Option<(BitRate, Duration)>,
    invalid: u32,
    ended: bool,
}

/// Invalid trials in a row before the search ends.
const INVALID_LIMIT: u32 = 3;

impl Bisection {
    fn decide(&mut self) -> Option<(BitRate, Duration)> {
        if self.ended || self.invalid >= INVALID_LIMIT {
            return None;
        }
        for index in 0..self.states.len() {
            if let Some(load) = self.load_for(index) {
                let trial = (load, self.config.goals[index].duration_sum);
                let fits = self.history.time() + trial.1 <= self.config.time_budget;
                return fits.then_some(trial);
            }
            let now = (self.history.trials(), self.history.time());
            self.states[index].get_or_insert(now);
        }
        None
    }

    fn load_for(&self, index: usize) -> Option<BitRate> {
        let goal = &self.config.goals[index];
        if !self.history.can_judge(goal) {
            return None;
        }
        let bounds = self.history.relevant(goal);
        let (min, max) = (self.config.min_load, self.config.max_load);
        match (bounds.lower, bounds.upper) {
            (lower, None) => (lower != Some(max)).then_some(max),
            (None, Some(upper)) => (upper > min).then_some(min),
            (Some(lower), Some(upper)) => {
                let wide = bounds.width().is_some_and(|width| width > goal.width.get());
                let middle = BitRate::from_bps(lower.bps().midpoint(upper.bps()));
                (wide && middle > lower).then_some(middle)
            }
        }
    }
}

impl Bisection {
    /// Why a goal is not reached, if it is not.
    fn shortfall(&self, index: usize, result: &GoalResult) -> Cause {
        if !self.history.can_judge(&self.config.goals[index]) {
            Cause::GivenUp(GiveUp::NoDelay)
        } else if !self.ended {
            Cause::Unfinished
        } else if self.invalid >= INVALID_LIMIT {
            Cause::GivenUp(GiveUp::NoTrial)
        } else if self.states[index].is_some() {
            Cause::of_settled(result)
        } else {
            Cause::Budget(self.config.time_budget)
        }
    }
}

impl Search for Bisection {
    fn next_step(&mut self) -> Step {
        if self.pending.is_none() {
            self.pending = self.decide();
            self.ended = self.pending.is_none();
        }
        self.pending
            .map_or(Step::Done, |(intended_load, duration)| Step::Measure {
                intended_load,
                duration,
            })
    }

    fn record(&mut self, mut outcome: TrialOutcome) {
        outcome.valid &= !outcome.duration.is_zero();
        self.invalid = if outcome.valid { 0 } else { self.invalid + 1 };
        let asked = match self.pending.take() {
            Some((load, duration)) => {
                outcome.intended_load = load;
                duration
            }
            None => outcome.duration,
        };
        self.history.add(outcome, asked);
    }

    fn goals(&self) -> Vec<GoalResult> {
        let done = |index: usize| self.states[index];
        let cause = |index, result: &_| self.shortfall(index, result);
        self.history.results(&self.config, done, cause)
    }

    fn curve(&self) -> CurveFacts {
        curve::facts(&self.history)
    }

    fn progress(&self) -> (Ratio, String) {
        let used = self.history.time().as_secs_f64();
        let share = if self.ended {
            1.0
        } else {
            used / self.config.time_budget.as_secs_f64().max(used)
        };
        (Ratio::clamped(share), "bisecting".to_owned())
    }
}

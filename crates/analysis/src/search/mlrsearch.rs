//! Multiple loss ratio search: several goals at once, each trial used for all of them.
//!
//! ```text
//!  ramp ──► per goal, strictest first: ──► confirm lower, then upper ──► next goal
//!           predicted load, else bisection  (until both are classified)
//! ```
//!
//! Loads are guided by what they tend to be after one trial; results rest only on loads that
//! are classified by the draft's rule. A later trial can undo an earlier bound; the search then
//! goes on.

use super::classify::Class;
use super::config::{SearchConfig, SearchError, SearchGoal};
use super::floor::{self, Advice};
use super::goal_state::GoalState;
use super::history::{Bounds, History};
use super::outcome::{Step, TrialOutcome};
use super::shortfall::{Cause, GiveUp};
use super::{Search, SearchKind, burst, curve, ramp};
use linerate_model::run::{BoundedBy, CurveFacts, GoalResult};
use linerate_model::{BitRate, Ratio};
use std::time::Duration;

/// The default algorithm.
#[derive(Debug)]
pub struct MlrSearch;

impl SearchKind for MlrSearch {
    fn id(&self) -> &'static str {
        "mlrsearch"
    }

    fn summary(&self) -> &'static str {
        "several goals at once after a fast ramp (RFC 9971, RFC 9097)"
    }

    fn start(&self, config: SearchConfig) -> Result<Box<dyn Search>, SearchError> {
        Ok(Box::new(Controller::new(config)?))
    }
}

/// The controller of RFC 9971: decides trial inputs, classifies loads.
#[derive(Debug, Clone)]
pub struct Controller {
    config: SearchConfig,
    history: History,
    /// Loads of the ramp still to make, the next one last.
    ramp: Vec<BitRate>,
    pending: Option<Trial>,
    /// Invalid trials in a row at the pending load.
    invalid: u32,
    /// Trials in a row at the pending load in which the sender was disturbed.
    disturbed: u32,
    /// Loads from here on cannot be measured.
    wall: Option<BitRate>,
    states: Vec<GoalState>,
    /// Whether a share of loss that is the same over much of the range below saturation is gone far below it.
    is_cured_far_below: bool,
    ended: bool,
    share: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Trial {
    load: BitRate,
    duration: Duration,
}

/// What a goal needs next.
enum Need {
    Trial(Trial),
    /// Both bounds are classified and near enough, or there is nothing more to find.
    Nothing,
    /// Out of reach; the result says how far it got.
    GiveUp(GiveUp),
}

/// Invalid trials at one load before that load counts as not measurable.
/// With one trial in ten invalid by chance, one load in ten thousand is wrongly taken for such.
const INVALID_LIMIT: u32 = 4;

/// Trials in a row that are set aside because the sender fell short of what it has offered before.
/// Two: with one second in ten disturbed, one search in a hundred takes a disturbance for a limit.
const DISTURBED_LIMIT: u32 = 2;
/// Trials in a row that are set aside where the sender has offered as much for the whole of a full-length trial: it can, when it is left
/// alone. Six: with two seconds in three disturbed, one load in seventeen is judged by what was sent between
/// interruptions.
const DISTURBED_LIMIT_PROVEN: u32 = 6;
/// The end of a budget, in times of what a lower bound takes: a load may turn out to be too high.
const LAST_CHANCES: f64 = 2.0;
/// The end is at most this part of the budget, unless a lower bound needs more.
const LARGEST_END: u32 = 2;
/// Predictions per goal: the first hits on a steady device, the others follow a device whose
/// forwarding depends on the overload.
const JUMP_LIMIT: u32 = 8;
/// A predicted load that loses more than this part of what the load before it lost was predicted in vain, if that was
/// more than the goal's width.
const SAME_LOSS: f64 = 0.8;
/// So many such in a row: no more predictions for the goal. One may be a device that forwards less at times.
const MISS_LIMIT: u32 = 2;
/// Where to put the bounds about a predicted load, as shares of the goal width: together a
/// little less than the width, as what is offered differs a little from what is intended.
const BELOW: f64 = 0.45;
const SPAN: f64 = 0.9;
/// A miss this many goal widths below what was seen to work is settled before the search goes
/// down: noise of some percent is no surprise, and settling each miss would cost too many trials.
const SURPRISE: f64 = 5.0;
/// An interval wider than this many goal widths is halved by short trials.
const COARSE: f64 = 8.0;

impl Controller {
    /// Checks the configuration; nothing is measured yet.
    pub fn new(config: SearchConfig) -> Result<Self, SearchError> {
        config.validate()?;
        let mut ramp = ramp::loads(&config);
        ramp.reverse();
        Ok(Self {
            states: vec![GoalState::default(); config.goals.len()],
            config,
            history: History::default(),
            ramp,
            pending: None,
            invalid: 0,
            disturbed: 0,
            wall: None,
            is_cured_far_below: false,
            ended: false,
            share: 0.0,
        })
    }

    /// Whether the sender fell short of a load that it has offered before: its host had no time for it
    /// in this trial, which says nothing of the path and nothing of the sender's limit. A sender that
    /// keeps falling short is limited, or interrupted all the time, so only so many trials in a row are set aside.
    fn is_disturbed(&self, outcome: &TrialOutcome) -> bool {
        self.history.has_been_offered(outcome.intended_load)
            && outcome.is_sender_limited()
            && self.disturbed < self.patience(outcome.intended_load)
    }

    /// How many disturbed trials in a row are set aside at `load`; none when there is no time for it.
    fn patience(&self, load: BitRate) -> u32 {
        if self.without_lower_bound().is_some() {
            return 0;
        }
        let goals = self.config.goals.iter();
        let full = goals.map(|goal| goal.final_trial_duration).min();
        if self.history.has_been_steady(load, full.unwrap_or_default()) {
            DISTURBED_LIMIT_PROVEN
        } else {
            DISTURBED_LIMIT
        }
    }

    fn repeat_or_wall(&mut self) {
        let Some(trial) = self.pending else { return };
        let spent = self.history.time() + trial.duration > self.config.time_budget;
        if spent {
            self.end();
        } else if self.invalid >= INVALID_LIMIT {
            (self.invalid, self.disturbed) = (0, 0);
            self.pending = None;
            self.wall = Some(self.wall.map_or(trial.load, |wall| wall.min(trial.load)));
            self.ramp.clear();
        }
    }

    /// Why the goal of this state is not reached, if it is not.
    fn shortfall(&self, state: &GoalState, result: &GoalResult) -> Cause {
        match (state.given_up, self.wall, state.done) {
            (Some(why), ..) => Cause::GivenUp(why),
            _ if !self.ended => Cause::Unfinished,
            (_, Some(wall), _) => Cause::Wall(wall),
            (.., Some(_)) => Cause::of_settled(result),
            (.., None) => Cause::Budget(self.config.time_budget),
        }
    }

    fn describe(&self, index: usize) -> String {
        let goal = &self.config.goals[index];
        let what = format!("loss ≤ {}", goal.loss_goal);
        match self.history.tentative(goal) {
            Bounds {
                lower: Some(lower),
                upper: Some(upper),
            } => format!("{what}: between {lower} and {upper}"),
            Bounds {
                lower: Some(lower), ..
            } => format!("{what}: above {lower}"),
            Bounds {
                upper: Some(upper), ..
            } => format!("{what}: below {upper}"),
            Bounds { .. } => what,
        }
    }

    /// The first goal that is neither done nor given up.
    fn focus(&self) -> Option<usize> {
        self.states
            .iter()
            .position(|state| state.done.is_none() && state.given_up.is_none())
    }

    fn end(&mut self) {
        self.ended = true;
        self.share = 1.0;
        self.pending = None;
    }

    fn decide(&mut self) -> Option<Trial> {
        let trial = self.next_trial();
        let fits = |trial: &Trial| self.history.time() + trial.duration <= self.config.time_budget;
        let trial = trial.filter(fits);
        if trial.is_none() {
            self.end();
        } else {
            self.share = self.share.max(self.estimate_share());
        }
        trial
    }

    fn next_trial(&mut self) -> Option<Trial> {
        if self.ended {
            return None;
        }
        if let Some(load) = self.next_on_ramp() {
            return Some(Trial {
                load,
                duration: self.config.initial_trial_duration,
            });
        }
        if let Some(trial) = self.last_chance() {
            return Some(trial);
        }
        // A goal that is hard to settle leaves the others their part of the budget.
        let goals = u32::try_from(self.states.len()).unwrap_or(u32::MAX);
        let fair = self.config.time_budget / goals;
        self.trial_for_goal(fair)
            .or_else(|| self.trial_for_goal(Duration::MAX))
    }

    /// Near the end of the budget, for the first goal without a lower bound: a trial at the highest load that tends
    /// to be one, instead of one that would make the interval narrower. "Below 94 Mbit/s" alone is no answer.
    fn last_chance(&self) -> Option<Trial> {
        let goal = self.without_lower_bound()?;
        let load = self.history.tentative(goal).lower?;
        Some(self.full(goal, load))
    }

    /// The first open goal without a lower bound for which time is running out.
    fn without_lower_bound(&self) -> Option<&SearchGoal> {
        let goals = self.config.goals.iter().zip(&self.states);
        let mut open = goals.filter(|(_, state)| state.given_up.is_none() && state.done.is_none());
        let late = open.find(|(goal, _)| {
            self.history.relevant(goal).lower.is_none() && self.is_time_for_lower_bound(goal)
        });
        late.map(|(goal, _)| goal)
    }

    /// Whether a lower bound of the goal can be made in the time left, and none after one more trial elsewhere, or no
    /// second one where it fails.
    fn is_time_for_lower_bound(&self, goal: &SearchGoal) -> bool {
        let left = self.config.time_budget.saturating_sub(self.history.time());
        let (full, least) = (self.config.full_length(goal), goal.lower_bound_time());
        let lower = self.history.tentative(goal).lower;
        let made = lower.map_or(Duration::ZERO, |load| self.history.full_time_at(load, full));
        let missing = least.saturating_sub(made);
        let end = least.mul_f64(LAST_CHANCES);
        let end = end.min(self.config.time_budget / LARGEST_END);
        missing <= left && (left <= end || left < missing + full)
    }

    /// The next trial of the first goal that needs one and has not spent `limit` yet. A trial for
    /// one goal can undo another's bound, so every goal is looked at each time.
    fn trial_for_goal(&mut self, limit: Duration) -> Option<Trial> {
        for index in 0..self.states.len() {
            let state = &self.states[index];
            if state.given_up.is_some() || state.spent >= limit {
                continue;
            }
            match self.need(index) {
                Need::Trial(trial) => {
                    self.states[index].done = None;
                    self.states[index].spent += trial.duration;
                    return Some(trial);
                }
                Need::GiveUp(why) => self.finish(index, Some(why)),
                Need::Nothing => self.finish(index, None),
            }
        }
        None
    }

    fn finish(&mut self, index: usize, given_up: Option<GiveUp>) {
        let now = (self.history.trials(), self.history.time());
        let state = &mut self.states[index];
        state.given_up = given_up;
        state.done.get_or_insert(now);
    }

    fn next_on_ramp(&mut self) -> Option<BitRate> {
        let missed = |load: BitRate| {
            let mut goals = self.config.goals.iter();
            goals.all(|goal| self.history.class(goal, load).is_upperish())
        };
        let last = self.history.last();
        let saturated = last.is_some_and(|outcome| {
            ramp::is_saturated(outcome, self.history.resolution()) && missed(outcome.intended_load)
        });
        if saturated {
            self.ramp.clear();
        }
        self.ramp.pop()
    }

    fn need(&mut self, index: usize) -> Need {
        let goal = &self.config.goals[index];
        if !self.history.can_judge(goal) {
            return Need::GiveUp(GiveUp::NoDelay);
        }
        let Bounds { lower, upper } = self.history.tentative(goal);
        // From the wall on nothing can be measured, so nothing above it is looked for.
        let walled = self
            .wall
            .is_some_and(|wall| upper.is_none_or(|upper| wall < upper));
        match (lower, upper) {
            (None, None) => Need::GiveUp(GiveUp::NoTrial),
            (Some(lower), _) if walled => self.confirm(index, lower),
            (Some(lower), None) => self.rise(index, lower),
            (None, Some(upper)) => self.confirm(index, upper),
            (Some(lower), Some(upper)) => self.close_in(index, lower, upper),
        }
    }

    /// No load misses the goal yet.
    fn rise(&self, index: usize, lower: BitRate) -> Need {
        let max = self.config.max_load;
        if lower < max {
            return Need::Trial(Trial {
                load: max,
                duration: self.config.initial_trial_duration,
            });
        }
        self.confirm(index, max)
    }

    /// A full-length trial at `load` if its class is still open.
    fn confirm(&self, index: usize, load: BitRate) -> Need {
        let goal = &self.config.goals[index];
        match self.history.class(goal, load) {
            Class::Lower | Class::Upper => Need::Nothing,
            Class::Undecided(_) => Need::Trial(self.full(goal, load)),
        }
    }

    fn full(&self, goal: &SearchGoal, load: BitRate) -> Trial {
        let duration = self.config.full_length(goal);
        Trial { load, duration }
    }

    fn close_in(&mut self, index: usize, lower: BitRate, upper: BitRate) -> Need {
        let goal = self.config.goals[index].clone();
        let bounds = Bounds {
            lower: Some(lower),
            upper: Some(upper),
        };
        let width = bounds.width().unwrap_or(1.0);
        if width <= goal.width.get() || upper.bps() - lower.bps() <= 1 {
            return match self.confirm(index, lower) {
                Need::Nothing => self.confirm(index, upper),
                need => need,
            };
        }
        if let Some(need) = self.doubt(index, &goal, upper) {
            return need;
        }
        if let Some(load) = self.jump(index, &goal, lower, upper) {
            return Need::Trial(self.full(&goal, load));
        }
        let load = BitRate::from_f64((lower.as_f64() * upper.as_f64()).sqrt());
        if self.is_unpredictable(index) {
            // What comes in moments is missed by short trials, and they are what `lower` rests on.
            let is_seen = self.history.time_at(lower) >= goal.final_trial_duration;
            return Need::Trial(self.full(&goal, if is_seen { load } else { lower }));
        }
        if width > COARSE * goal.width.get() {
            return Need::Trial(Trial {
                load,
                duration: self.config.initial_trial_duration,
            });
        }
        Need::Trial(self.full(&goal, load))
    }

    /// A miss at a load that the path has been seen to forward, or the sender to offer, is either
    /// chance or has nothing to do with load. Looks closer before the search goes down.
    fn doubt(&mut self, index: usize, goal: &SearchGoal, upper: BitRate) -> Option<Need> {
        let reason = self.history.reason(goal, upper)?;
        let seen = match reason {
            BoundedBy::Loss => self.history.peak_forwarding(),
            BoundedBy::Sender => self.history.max_offered()?.as_f64(),
            BoundedBy::Delay | BoundedBy::Limit => return None,
        };
        if upper.as_f64() > seen {
            return None;
        }
        if self.history.time_at(upper) < goal.final_trial_duration {
            return Some(Need::Trial(self.full(goal, upper)));
        }
        if reason == BoundedBy::Loss && !self.is_cured_far_below {
            let probes = self.states[index].probes;
            match floor::advise(&self.history, &self.config, goal, upper, probes) {
                Advice::GiveUp(loss) => return Some(Need::GiveUp(GiveUp::Floor(loss))),
                Advice::Probe { load, duration } => {
                    self.states[index].probes += 1;
                    return Some(Need::Trial(Trial { load, duration }));
                }
                Advice::Bisect => self.is_cured_far_below = true,
                Advice::SearchOn => {}
            }
        }
        let surprising = upper.as_f64() < seen * (1.0 - SURPRISE * goal.width.get());
        match self.confirm(index, upper) {
            Need::Trial(trial) if surprising => Some(Need::Trial(trial)),
            _ => None,
        }
    }

    /// A load beside the predicted critical load, if the prediction lies inside the interval.
    fn jump(
        &mut self,
        index: usize,
        goal: &SearchGoal,
        lower: BitRate,
        upper: BitRate,
    ) -> Option<BitRate> {
        let width = goal.width.get();
        self.count_misses(index, upper, width);
        if self.states[index].jumps >= JUMP_LIMIT || self.is_unpredictable(index) {
            return None;
        }
        let (low, high) = (lower.as_f64(), upper.as_f64());
        let critical = self.history.prediction(goal, upper)?;
        if critical < low || critical > high {
            return None;
        }
        let above = low / (1.0 - SPAN * width);
        let load = if critical < above {
            above
        } else {
            critical * (1.0 - BELOW * width)
        };
        // Too near to a known load to be worth a trial.
        let slack = 0.25 * width;
        if load < low * (1.0 + slack) || load > high * (1.0 - slack) {
            return None;
        }
        self.states[index].jumps += 1;
        self.states[index].predicted_from = Some(upper);
        Some(BitRate::from_f64(load))
    }

    /// Counts predictions for the goal in vain: loss stays what it was as the load falls to what was forwarded.
    fn count_misses(&mut self, index: usize, upper: BitRate, width: f64) {
        let state = &mut self.states[index];
        if let Some(from) = state.predicted_from.take_if(|from| upper < *from) {
            let (before, now) = (self.history.loss_at(from), self.history.loss_at(upper));
            let is_same = before > width && now > before * SAME_LOSS;
            state.misses = if is_same { state.misses + 1 } else { 0 };
        }
    }

    /// Whether what is lost says nothing of the load at which the goal is met: it is not what is beyond a capacity.
    fn is_unpredictable(&self, index: usize) -> bool {
        self.is_cured_far_below || self.states[index].misses >= MISS_LIMIT
    }

    /// Rough: the ramp is a tenth, the rest is shared by the goals.
    fn estimate_share(&self) -> f64 {
        if !self.ramp.is_empty() {
            return 0.0;
        }
        let goals: Vec<f64> = self
            .config
            .goals
            .iter()
            .zip(&self.states)
            .map(|(goal, state)| self.goal_share(goal, state))
            .collect();
        let count = u32::try_from(goals.len()).map_or(f64::MAX, f64::from);
        0.1 + 0.85 * goals.iter().sum::<f64>() / count
    }

    fn goal_share(&self, goal: &SearchGoal, state: &GoalState) -> f64 {
        if state.done.is_some() || state.given_up.is_some() {
            return 1.0;
        }
        let bounds = self.history.tentative(goal);
        let width = bounds.width().unwrap_or(1.0).clamp(goal.width.get(), 1.0);
        let narrow = width.ln() / goal.width.get().ln();
        let known = |load: Option<BitRate>| {
            let class = load.map(|load| self.history.class(goal, load));
            f64::from(matches!(class, Some(Class::Lower | Class::Upper)))
        };
        0.4 * narrow + 0.25 * (known(bounds.lower) + known(bounds.upper))
    }
}

impl Search for Controller {
    fn next_step(&mut self) -> Step {
        if self.pending.is_none() {
            self.pending = self.decide();
        }
        match self.pending {
            Some(trial) if !self.ended => Step::Measure {
                intended_load: trial.load,
                duration: trial.duration,
            },
            _ => Step::Done,
        }
    }

    fn record(&mut self, mut outcome: TrialOutcome) {
        let asked = match self.pending {
            Some(trial) => {
                // A measurer may round the load to whole packet gaps; the load asked for names it.
                outcome.intended_load = trial.load;
                trial.duration
            }
            None => outcome.duration,
        };
        // A trial without a duration has no rate, whatever it says of itself.
        outcome.valid &= !outcome.duration.is_zero();
        let disturbed = outcome.valid && self.is_disturbed(&outcome);
        outcome.valid &= !disturbed;
        let valid = outcome.valid;
        self.history.add(outcome, asked);
        if valid {
            (self.invalid, self.disturbed) = (0, 0);
            self.pending = None;
            return;
        }
        if disturbed {
            self.disturbed += 1;
        } else {
            self.invalid += 1;
        }
        self.repeat_or_wall();
    }

    fn goals(&self) -> Vec<GoalResult> {
        let done = |index: usize| self.states[index].done;
        let cause = |index, result: &_| self.shortfall(&self.states[index], result);
        self.history.results(&self.config, done, cause)
    }

    fn curve(&self) -> CurveFacts {
        curve::facts(&self.history)
    }

    fn progress(&self) -> (Ratio, String) {
        if self.ended {
            return (Ratio::clamped(1.0), "done".to_owned());
        }
        let text = match (self.ramp.is_empty(), self.focus()) {
            (false, _) => "ramp: raising the load until the path shows congestion".to_owned(),
            (true, Some(index)) => self.describe(index),
            (true, None) => "done".to_owned(),
        };
        (Ratio::clamped(self.share), text)
    }

    fn notes(&self) -> Vec<String> {
        let goals = self.config.goals.iter().zip(&self.states);
        let mut notes: Vec<String> = goals
            .filter_map(|(goal, state)| {
                let why = state.given_up?;
                Some(format!("loss goal {}: {why}", goal.loss_goal))
            })
            .collect();
        notes.extend(burst::note(&self.history, &self.config));
        if let Some(wall) = self.wall {
            notes.push(format!(
                "no valid trial at {wall} in {INVALID_LIMIT} attempts; no higher load was tried after that"
            ));
        }
        notes
    }
}

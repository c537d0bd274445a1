//! Every trial of a search by load, and what follows from them for one goal.

use super::classify::{Class, ClassifiedTrial, classify, conditional_throughput};
use super::config::{SearchConfig, SearchGoal};
use super::order;
use super::outcome::{Judgement, Resolution, SENDER_TOLERANCE, TrialOutcome};
use super::shortfall::{Cause, Shortfall};
use linerate_model::run::{BoundedBy, GoalResult};
use linerate_model::spec::Direction;
use linerate_model::{BitRate, Ratio};
use std::collections::BTreeMap;
use std::time::Duration;

/// A trial and the length it was asked to have.
#[derive(Debug, Clone)]
struct Entry {
    outcome: TrialOutcome,
    /// Trial effective duration: as asked if the real one is near it, else the real one.
    effective: Duration,
}

/// All valid trials of a search.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    loads: BTreeMap<BitRate, Vec<Entry>>,
    trials: u32,
    time: Duration,
    max_offered: Option<BitRate>,
    last: Option<TrialOutcome>,
}

/// The bounds of a goal as they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Bounds {
    pub(super) lower: Option<BitRate>,
    pub(super) upper: Option<BitRate>,
}

impl Bounds {
    /// `(upper − lower) / upper`, if both are there.
    pub(super) fn width(self) -> Option<f64> {
        let (lower, upper) = (self.lower?.as_f64(), self.upper?.as_f64());
        (upper > 0.0).then(|| (upper - lower) / upper)
    }
}

/// A sender stops at its deadline, so a trial may end a packet gap early; this much less than
/// asked is still the trial that was asked for.
const NEARLY: f64 = 0.98;

/// A sender that offers up to this share less than a load that it has offered before was interrupted; one
/// that offers still less is limited.
const INTERRUPTED_MOST: f64 = 0.1;

impl History {
    /// Adds a trial that was asked to last `asked`.
    pub(super) fn add(&mut self, outcome: TrialOutcome, asked: Duration) {
        self.trials += 1;
        // What was asked is spent even if the device says no time passed.
        self.time += outcome.duration.max(asked);
        if !outcome.valid {
            return;
        }
        let effective = if outcome.duration >= asked.mul_f64(NEARLY) {
            asked
        } else {
            outcome.duration
        };
        self.last = Some(outcome.clone());
        self.max_offered = self.max_offered.max(Some(outcome.offered_load));
        self.loads
            .entry(outcome.intended_load)
            .or_default()
            .push(Entry { outcome, effective });
    }

    /// Trials made, invalid ones included.
    pub(super) fn trials(&self) -> u32 {
        self.trials
    }

    /// Trial time used, invalid trials included.
    pub(super) fn time(&self) -> Duration {
        self.time
    }

    /// The latest valid trial.
    pub(super) fn last(&self) -> Option<&TrialOutcome> {
        self.last.as_ref()
    }

    /// Highest load the sender ever offered.
    pub(super) fn max_offered(&self) -> Option<BitRate> {
        self.max_offered
    }

    /// Whether the sender offered `load` or more, as it was asked to, for at least `length`.
    pub(super) fn has_been_steady(&self, load: BitRate, length: Duration) -> bool {
        let mut above = self.loads.range(load..).flat_map(|(_, entries)| entries);
        above.any(|entry| entry.effective >= length && !entry.outcome.is_sender_limited())
    }

    /// Every valid trial by ascending load.
    pub(super) fn outcomes(&self) -> impl Iterator<Item = &TrialOutcome> {
        self.loads.values().flatten().map(|entry| &entry.outcome)
    }

    /// Trial time spent at a load.
    pub(super) fn time_at(&self, load: BitRate) -> Duration {
        self.loads
            .get(&load)
            .map(|entries| entries.iter().map(|entry| entry.effective).sum())
            .unwrap_or_default()
    }

    /// Time at a load of trials of at least `length`.
    pub(super) fn full_time_at(&self, load: BitRate, length: Duration) -> Duration {
        let entries = self.loads.get(&load).into_iter().flatten();
        let times = entries.map(|entry| entry.effective);
        times.filter(|time| *time >= length).sum()
    }

    /// Lost / sent of all trials at a load.
    pub(super) fn loss_at(&self, load: BitRate) -> f64 {
        let entries = self.loads.get(&load).into_iter().flatten();
        let (lost, sent) = entries.fold((0.0, 0.0), |(lost, sent), Entry { outcome, .. }| {
            (lost + outcome.lost(), sent + outcome.sent.as_f64())
        });
        if sent > 0.0 { lost / sent } else { 0.0 }
    }

    /// The smallest rise of delay that can be told from the path's own jitter: twice the median
    /// PDV of the calmest trial, as two packets are compared.
    pub(super) fn resolution(&self) -> Resolution {
        let calmest = self
            .outcomes()
            .filter_map(|outcome| outcome.delay.as_ref()?.median())
            .min();
        let jitter = calmest.map_or(Duration::ZERO, |median| median * 2);
        Resolution::new(jitter)
    }

    /// Highest forwarding rate of any trial, bits per second.
    pub(super) fn peak_forwarding(&self) -> f64 {
        let resolution = self.resolution();
        self.outcomes()
            .map(|outcome| outcome.forwarding_rate(resolution))
            .fold(0.0, f64::max)
    }

    /// Judges a trial by one goal, knowing what the sender can offer; `None` if it cannot be judged.
    ///
    /// A sender that was interrupted at a load that it has offered before missed nothing by itself: but for
    /// the interruptions the path carried the load, or did not.
    fn judge(
        &self,
        outcome: &TrialOutcome,
        goal: &SearchGoal,
        resolution: Resolution,
    ) -> Option<Judgement> {
        let mut judgement = outcome.judge(goal, resolution)?;
        if judgement.miss == Some(BoundedBy::Sender) && self.is_interrupted(outcome) {
            judgement.miss = None;
        }
        Some(judgement)
    }

    /// Whether the sender fell a little short of a load that it can offer: it was kept from sending for moments.
    fn is_interrupted(&self, outcome: &TrialOutcome) -> bool {
        let least = outcome.intended_load.as_f64() * (1.0 - INTERRUPTED_MOST);
        self.has_been_offered(outcome.intended_load)
            && outcome.is_sender_limited()
            && outcome.offered_load.as_f64() >= least
    }

    /// Whether the sender ever offered `load`.
    pub(super) fn has_been_offered(&self, load: BitRate) -> bool {
        self.max_offered.is_some_and(|most| most >= load)
    }

    fn judged(&self, goal: &SearchGoal, load: BitRate) -> Vec<ClassifiedTrial> {
        let resolution = self.resolution();
        let judge = |entry: &Entry| {
            let judgement = self.judge(&entry.outcome, goal, resolution)?;
            Some(ClassifiedTrial {
                duration: entry.effective,
                loss: judgement.loss,
                high: judgement.miss.is_some(),
            })
        };
        let entries = self.loads.get(&load).map_or(&[][..], Vec::as_slice);
        entries.iter().filter_map(judge).collect()
    }

    /// What a load is for a goal.
    pub(super) fn class(&self, goal: &SearchGoal, load: BitRate) -> Class {
        classify(goal, &self.judged(goal, load))
    }

    fn classes(&self, goal: &SearchGoal) -> impl DoubleEndedIterator<Item = (BitRate, Class)> {
        self.loads
            .keys()
            .map(|load| (*load, self.class(goal, *load)))
    }

    /// Whether any trial could be judged by this goal.
    pub(super) fn can_judge(&self, goal: &SearchGoal) -> bool {
        let resolution = self.resolution();
        self.outcomes()
            .all(|outcome| outcome.judge(goal, resolution).is_some())
    }

    /// Bounds that count what a load tends to be.
    pub(super) fn tentative(&self, goal: &SearchGoal) -> Bounds {
        let classes: Vec<_> = self.classes(goal).collect();
        let upper = classes.iter().find(|(_, class)| class.is_upperish());
        let upper = upper.map(|(load, _)| *load);
        let below = |load: BitRate| upper.is_none_or(|upper| load < upper);
        let lower = classes.iter().rev();
        let lower = lower.filter(|(load, class)| below(*load) && class.is_lowerish());
        Bounds {
            lower: lower.map(|(load, _)| *load).next(),
            upper,
        }
    }

    /// Relevant bounds (draft §5.3.3): only loads that are classified. Where no load is an upper
    /// bound yet, the lowest one above the lower bound that tends to be by a trial of full length; where
    /// none is a lower bound, the lowest one that misses the goal at all in such a trial.
    ///
    /// A miss in shorter trials alone bounds nothing unless it classifies the load: a moment's loss would be a bound.
    pub(super) fn relevant(&self, goal: &SearchGoal) -> Bounds {
        let classes: Vec<_> = self.classes(goal).collect();
        let upper = classes.iter().find(|(_, class)| *class == Class::Upper);
        let upper = upper.map(|(load, _)| *load);
        let lower = classes
            .iter()
            .rev()
            .filter(|(load, _)| upper.is_none_or(|upper| *load < upper))
            .find(|(_, class)| *class == Class::Lower)
            .map(|(load, _)| *load);
        let upper = upper.filter(|_| lower.is_some());
        let missed = || {
            let mut above = classes.iter().filter(|(load, _)| Some(*load) > lower);
            above.find(|(load, class)| {
                *class == Class::Upper || class.is_upperish() && self.has_full_trial(goal, *load)
            })
        };
        Bounds {
            lower,
            upper: upper.or_else(|| missed().map(|(load, _)| *load)),
        }
    }

    /// Whether a trial at `load` was as long as the goal's final trials.
    fn has_full_trial(&self, goal: &SearchGoal, load: BitRate) -> bool {
        let mut entries = self.loads.get(&load).into_iter().flatten();
        entries.any(|entry| entry.effective >= goal.final_trial_duration)
    }

    /// The lowest load above `lower` that misses the goal as it stands, in trials of any length.
    pub(super) fn missed_above(
        &self,
        goal: &SearchGoal,
        lower: Option<BitRate>,
    ) -> Option<BitRate> {
        let mut above = self.classes(goal).filter(|(load, _)| Some(*load) > lower);
        above
            .find(|(_, class)| class.is_upperish())
            .map(|(load, _)| load)
    }

    /// Why a load misses a goal: the most frequent reason of its high-loss trials.
    pub(super) fn reason(&self, goal: &SearchGoal, load: BitRate) -> Option<BoundedBy> {
        let resolution = self.resolution();
        let mut counts: BTreeMap<BoundedBy, usize> = BTreeMap::new();
        for entry in self.loads.get(&load)? {
            let miss = self.judge(&entry.outcome, goal, resolution);
            if let Some(reason) = miss.and_then(|judgement| judgement.miss) {
                *counts.entry(reason).or_default() += 1;
            }
        }
        counts
            .into_iter()
            .max_by_key(|(_, count)| *count)
            .map(|(reason, _)| reason)
    }

    /// The critical load that the misses at `upper` point to: what was forwarded (or offered, if
    /// the sender was the limit), scaled to the goal's loss. Median over its trials.
    pub(super) fn prediction(&self, goal: &SearchGoal, upper: BitRate) -> Option<f64> {
        let resolution = self.resolution();
        let predict = |outcome: &TrialOutcome| match self.judge(outcome, goal, resolution)?.miss? {
            BoundedBy::Loss => {
                let rate = outcome.forwarding_rate(resolution.for_width(goal.width));
                // A sender that offers a little less than intended will do so next time, too; between
                // interruptions it offers what is intended.
                let limited = outcome.is_sender_limited() && !self.is_interrupted(outcome);
                let shortfall = if limited {
                    1.0
                } else {
                    outcome.intended_load.as_f64() / outcome.offered_load.as_f64()
                };
                Some(rate * shortfall / (1.0 - goal.loss_goal.get()))
            }
            BoundedBy::Sender => Some(outcome.offered_load.as_f64()),
            // Delay rises at or before the capacity that the peak shows.
            BoundedBy::Delay | BoundedBy::Limit => Some(self.peak_forwarding()),
        };
        let entries = self.loads.get(&upper)?;
        let longest = entries.iter().map(|entry| entry.effective).max()?;
        let mut rates: Vec<f64> = entries
            .iter()
            .filter(|entry| entry.effective == longest)
            .filter_map(|entry| predict(&entry.outcome))
            .collect();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied()
    }

    /// The results of all goals as they stand, in the form of the run document. `done` says after how many trials and how
    /// much of their time a goal was found done, `cause` why it is not reached.
    ///
    /// All rest on the same trials, so they are in order: a goal that allows more is met wherever a stricter one is,
    /// and misses nowhere that a stricter one is met.
    pub(super) fn results(
        &self,
        config: &SearchConfig,
        done: impl Fn(usize) -> Option<(u32, Duration)>,
        cause: impl Fn(usize, &GoalResult) -> Cause,
    ) -> Vec<GoalResult> {
        let goals = &config.goals;
        let (direction, max) = (config.direction, config.max_load);
        let alone = goals.iter().map(|goal| self.result(goal, direction, max));
        let mut results: Vec<_> = alone.collect();
        order::cap(goals, &mut results);
        for (goal, result) in goals.iter().zip(&mut results) {
            if result.lower_bound.is_none() && result.bounded_by == Some(BoundedBy::Sender) {
                let carried = self.carried(goal);
                result.lower_bound = carried;
                result.conditional_throughput = carried;
            }
        }
        order::raise(goals, &mut results);
        for (index, (goal, result)) in goals.iter().zip(&mut results).enumerate() {
            let shown = Bounds {
                lower: result.lower_bound,
                upper: result.upper_bound,
            };
            result.width = shown.width().map(Ratio::clamped);
            // What was offered differs from what was intended by up to the sender's tolerance; more is a
            // sender that varies, whose limit is not known as closely as asked.
            let close = goal.width.get() + SENDER_TOLERANCE;
            result.reached &= result.width.is_some_and(|width| width.get() <= close);
            if let Some((trials, time)) = done(index) {
                (result.trials, result.time) = (trials, time);
            }
            let shortfall = Shortfall {
                cause: cause(index, result),
                missed: self.missed_above(goal, result.lower_bound),
                unit: config.load_unit,
            };
            shortfall.explain(result, goal);
        }
        results
    }

    /// The result of a goal by itself, without its width.
    fn result(&self, goal: &SearchGoal, direction: Direction, max: BitRate) -> GoalResult {
        let bounds = self.relevant(goal);
        let missed = bounds
            .upper
            .or_else(|| self.missed_above(goal, bounds.lower));
        let mut result = GoalResult {
            direction,
            loss_goal: goal.loss_goal,
            delay_goal: goal.delay_goal.map(|delay| delay.to_string()),
            lower_bound: bounds.lower,
            upper_bound: bounds.upper,
            conditional_throughput: None,
            reached: false,
            shortfall: None,
            bounded_by: missed.and_then(|load| self.reason(goal, load)),
            width: None,
            trials: self.trials,
            time: self.time,
        };
        if let Some(lower) = bounds.lower {
            let offered = self.offered_at(lower);
            result.conditional_throughput =
                conditional_throughput(goal, offered, &self.judged(goal, lower));
        }
        if bounds.lower == Some(max) {
            result.upper_bound = Some(max);
            result.bounded_by = Some(BoundedBy::Limit);
        }
        result.reached = self.is_settled(goal, &result);
        self.as_offered(&mut result);
        result
    }

    /// What a sender that varies is known to have offered while the goal's other conditions were met:
    /// the median over the trials of full length. No load of which was offered in full, so none is
    /// classified; still this much was carried.
    fn carried(&self, goal: &SearchGoal) -> Option<BitRate> {
        let resolution = self.resolution();
        let met = |entry: &&Entry| {
            let miss = entry
                .outcome
                .judge(goal, resolution)
                .map(|judged| judged.miss);
            entry.effective >= goal.final_trial_duration
                && matches!(miss, Some(None | Some(BoundedBy::Sender)))
        };
        let full = self.loads.values().flatten().filter(met);
        let mut offered: Vec<_> = full.map(|entry| entry.outcome.offered_load).collect();
        offered.retain(|load| *load > BitRate::default());
        offered.sort_unstable();
        offered.get(offered.len().saturating_sub(1) / 2).copied()
    }

    fn is_settled(&self, goal: &SearchGoal, result: &GoalResult) -> bool {
        let (Some(lower), Some(upper)) = (result.lower_bound, result.upper_bound) else {
            return false;
        };
        let bounds = Bounds {
            lower: Some(lower),
            upper: Some(upper),
        };
        let confirmed = lower == upper || self.class(goal, upper) == Class::Upper;
        confirmed
            && bounds
                .width()
                .is_some_and(|width| width <= goal.width.get())
    }

    /// Turns the loads asked for into the loads that were there: a bound is never higher than what
    /// was offered at it, and at the sender's limit it is the most that was ever offered.
    fn as_offered(&self, result: &mut GoalResult) {
        result.lower_bound = result.lower_bound.map(|load| self.offered_at(load));
        result.upper_bound = if result.bounded_by == Some(BoundedBy::Sender) {
            self.max_offered
        } else {
            result.upper_bound.map(|load| self.missed_at(load))
        };
        if result.upper_bound.is_some() {
            result.upper_bound = result.upper_bound.max(result.lower_bound);
        }
    }

    /// Median offered load of the trials at `load`, at most `load` itself.
    fn offered_at(&self, load: BitRate) -> BitRate {
        let entries = self.loads.get(&load).map_or(&[][..], Vec::as_slice);
        let mut offered: Vec<_> = entries
            .iter()
            .map(|entry| entry.outcome.offered_load)
            .collect();
        offered.sort_unstable();
        offered
            .get(offered.len() / 2)
            .map_or(load, |offered| load.min(*offered))
    }

    /// The load that was too much at `load`: what was offered, unless the sender was interrupted; then it is
    /// what was offered between interruptions.
    fn missed_at(&self, load: BitRate) -> BitRate {
        let entries = self.loads.get(&load).map_or(&[][..], Vec::as_slice);
        let interrupted = entries
            .iter()
            .any(|entry| self.is_interrupted(&entry.outcome));
        if interrupted {
            load
        } else {
            self.offered_at(load)
        }
    }

    /// Forwarding rates of the trials that overloaded the path, by trial length: each with the
    /// time the sender sent. Loss above `least` is overload.
    pub(super) fn overloads(&self, least: f64) -> Vec<(Duration, f64)> {
        let resolution = self.resolution();
        self.outcomes()
            .filter(|outcome| outcome.sustained_loss(resolution).get() > least)
            .map(|outcome| (outcome.duration, outcome.forwarding_rate(resolution)))
            .collect()
    }
}

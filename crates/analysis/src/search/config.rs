//! What a search is asked: goals, load range, durations, and whether they make sense together.

use linerate_model::run::frame_rate;
use linerate_model::spec::Direction;
use linerate_model::{BitRate, ByteCount, LossRatio, Quantile, Ratio};
use std::fmt;
use std::time::Duration;

/// The largest delay a goal tolerates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DelayGoal {
    /// Which quantile of the trial's delay is compared.
    pub quantile: Quantile,
    /// The largest value of that quantile that still meets the goal.
    pub limit: Duration,
}

impl fmt::Display for DelayGoal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}<{:?}", self.quantile, self.limit)
    }
}

/// One search goal (RFC 9971, search goal).
#[derive(Debug, Clone, PartialEq)]
pub struct SearchGoal {
    /// Goal loss ratio: a trial above it is a high-loss trial.
    pub loss_goal: LossRatio,
    /// Largest delay, if there is one; a trial above it counts like a high-loss trial.
    pub delay_goal: Option<DelayGoal>,
    /// Goal width: `(upper − lower) / upper` at which the search for this goal stops.
    pub width: Ratio,
    /// Trials at least this long are full-length trials.
    pub final_trial_duration: Duration,
    /// Trial time at one load that is always enough to classify it.
    pub duration_sum: Duration,
    /// Share of the trial time at a lower bound that may be above the goal.
    pub exceed_ratio: Ratio,
}

impl SearchGoal {
    /// A goal for `loss_goal` with the default durations: see the module documentation for why.
    pub fn for_loss(loss_goal: LossRatio) -> Self {
        Self {
            loss_goal,
            delay_goal: None,
            width: Ratio::clamped(0.005),
            final_trial_duration: Duration::from_secs(1),
            duration_sum: Duration::from_secs(5),
            exceed_ratio: Ratio::clamped(0.5),
        }
    }

    /// Trial time at a load that makes it a lower bound, if all trials agree: whole trials.
    pub(super) fn lower_bound_time(&self) -> Duration {
        let least = self.duration_sum.mul_f64(1.0 - self.exceed_ratio.get());
        let trials = least.div_duration_f64(self.final_trial_duration).ceil();
        self.final_trial_duration.mul_f64(trials.max(1.0))
    }
}

/// The unit in which sentences name loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoadUnit {
    /// bit/s of L4 payload.
    #[default]
    PayloadBits,
    /// Frames per second, each with this payload.
    Frames(ByteCount),
}

impl LoadUnit {
    /// `load` in this unit: `94.1 Mbit/s`, `1.55 Mpps`.
    pub(super) fn words(self, load: BitRate) -> String {
        let frames = match self {
            Self::PayloadBits => None,
            Self::Frames(payload) => frame_rate(load, payload),
        };
        frames.map_or_else(|| load.to_string(), |frames| frames.to_string())
    }

    /// The option that sets the lowest load.
    pub(super) const fn lowest_option(self) -> &'static str {
        match self {
            Self::PayloadBits => "--min",
            Self::Frames(_) => "--min-frame-rate",
        }
    }
}

/// Everything a search is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchConfig {
    /// Lowest intended load to try, L4 payload.
    pub min_load: BitRate,
    /// Highest intended load to try, L4 payload.
    pub max_load: BitRate,
    /// The goals, searched for at once.
    pub goals: Vec<SearchGoal>,
    /// Length of the short trials that find the neighbourhood.
    pub initial_trial_duration: Duration,
    /// Trial time after which the search ends with what it has.
    pub time_budget: Duration,
    /// Which way the traffic flows; copied into the results.
    pub direction: Direction,
    /// How its sentences name loads.
    pub load_unit: LoadUnit,
    /// Moves the ramp's loads a little, so that repeated searches do not share one load grid.
    pub seed: u64,
}

impl SearchConfig {
    /// The default search between two loads: loss goals 0, 0.1 % and 0.5 %.
    pub fn between(min_load: BitRate, max_load: BitRate) -> Self {
        let goals = [0.0, 0.001, 0.005]
            .map(|loss| SearchGoal::for_loss(Ratio::clamped(loss)))
            .to_vec();
        Self {
            min_load,
            max_load,
            goals,
            initial_trial_duration: Duration::from_millis(200),
            time_budget: Duration::from_secs(30),
            direction: Direction::Forward,
            load_unit: LoadUnit::default(),
            seed: 1,
        }
    }

    /// How long a trial lasts that counts in full for `goal`.
    pub(super) fn full_length(&self, goal: &SearchGoal) -> Duration {
        goal.final_trial_duration.max(self.initial_trial_duration)
    }

    /// Checks that a search with these values can be made and can end.
    pub fn validate(&self) -> Result<(), SearchError> {
        if self.min_load == BitRate::default() || self.min_load >= self.max_load {
            return Err(SearchError::LoadRange {
                min: self.min_load,
                max: self.max_load,
            });
        }
        if self.goals.is_empty() {
            return Err(SearchError::NoGoal);
        }
        if self.initial_trial_duration < MIN_TRIAL {
            return Err(SearchError::ShortTrial {
                found: self.initial_trial_duration,
            });
        }
        if self.time_budget < self.initial_trial_duration {
            return Err(SearchError::Budget {
                trial: self.initial_trial_duration,
                found: self.time_budget,
            });
        }
        self.goals.iter().try_for_each(|goal| self.check(goal))
    }

    fn check(&self, goal: &SearchGoal) -> Result<(), SearchError> {
        if goal.loss_goal.get() >= 1.0 {
            return Err(SearchError::LossGoal);
        }
        if !(0.000_01..0.5).contains(&goal.width.get()) {
            return Err(SearchError::Width { found: goal.width });
        }
        if goal.exceed_ratio.get() >= 1.0 {
            return Err(SearchError::ExceedRatio);
        }
        if goal.final_trial_duration < self.initial_trial_duration {
            return Err(SearchError::FinalTrial {
                initial: self.initial_trial_duration,
                found: goal.final_trial_duration,
            });
        }
        if goal.duration_sum < goal.final_trial_duration {
            return Err(SearchError::DurationSum {
                trial: goal.final_trial_duration,
                found: goal.duration_sum,
            });
        }
        Ok(())
    }
}

/// Below this a trial of an ordinary rate has too few packets to say anything, and the number of
/// trials in a time budget would not be bounded sensibly.
const MIN_TRIAL: Duration = Duration::from_millis(10);

/// Why a search cannot be made as asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The load range is empty.
    #[error("the lowest load ({min}) must be above zero and below the highest load ({max})")]
    LoadRange {
        /// Lowest load asked for.
        min: BitRate,
        /// Highest load asked for.
        max: BitRate,
    },
    /// No goals.
    #[error("a search needs at least one goal, such as a loss goal of 0")]
    NoGoal,
    /// Initial trials too short.
    #[error("initial trials of {found:?} are too short; use at least 10 ms")]
    ShortTrial {
        /// Duration asked for.
        found: Duration,
    },
    /// No time for a single trial.
    #[error(
        "a budget of {found:?} is shorter than the first trial of {trial:?}; allow at least that, usually 30 s"
    )]
    Budget {
        /// Duration of the first trial.
        trial: Duration,
        /// Trial time asked for.
        found: Duration,
    },
    /// Loss goal of 100 %.
    #[error("a loss goal must be below 100 %")]
    LossGoal,
    /// Width out of range.
    #[error("a goal width of {found} is not possible; use 0.001 % to 50 %, usually 0.5 %")]
    Width {
        /// Width asked for.
        found: Ratio,
    },
    /// Exceed ratio of 100 %.
    #[error("an exceed ratio must be below 100 %")]
    ExceedRatio,
    /// Final trials shorter than initial ones.
    #[error("final trials of {found:?} must not be shorter than initial trials of {initial:?}")]
    FinalTrial {
        /// Initial trial duration.
        initial: Duration,
        /// Final trial duration asked for.
        found: Duration,
    },
    /// Duration sum below one trial.
    #[error("a duration sum of {found:?} must not be shorter than one final trial of {trial:?}")]
    DurationSum {
        /// Final trial duration.
        trial: Duration,
        /// Duration sum asked for.
        found: Duration,
    },
}

//! PLRsearch (probabilistic loss ratio search): the load at which a device loses a given share on average.
//!
//! Not bounds but an estimate, with its standard deviation, of the *critical load*: the load at which the average loss ratio is
//! the target, here 10⁻⁷, which no trial of bearable length could show by itself. Every trial's loss counts, and
//! two fitting functions carry what is seen at some loads over to the others. FD.io CSIT makes its soak tests so.
//!
//! A search is a pure value: [`next_trial`](PlrSearch::next_trial) says which trial to make, [`record`](PlrSearch::record)
//! takes what came of it, [`estimate`](PlrSearch::estimate) tells what is known. The same seed and trials give the same numbers.
//!
//! # Assumptions
//!
//! The average loss ratio depends on the load alone: neither on the order of trials nor on their length. A device that
//! loses more than the target at all loads has no critical load; the estimate then goes down to the lowest load.
//!
//! Loss begins as one of the two functions has it. Where it does, the truth is within three standard deviations in at least nine of ten
//! searches (simulated: a hard capacity, onsets as steep as a logistic function and a power). Loss of the same share at
//! all loads, below the target, is not as they have it: the estimate is then too low, by some percent, and the deviation too small.
//!
//! # References
//! - draft-vpolak-bmwg-plrsearch-03, and FD.io CSIT where it went on from there: the geometric likelihood, and the lengths of
//!   trials.

mod fit;
mod posterior;

use crate::statistics::count;
use fit::Shape;
use linerate_model::random::{Random, mix};
use linerate_model::run::LoadPlace;
use linerate_model::{LossRatio, PacketCount, PacketRate};
use posterior::{Evidence, Gaussian, Inferred, Seen};
use std::time::Duration;

/// What a search is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlrConfig {
    /// No trial is below this load.
    pub lowest: PacketRate,
    /// No trial is above this load.
    pub highest: PacketRate,
    /// Loss ratio of the critical load.
    pub target: LossRatio,
    /// Length of all trials together.
    pub budget: Duration,
    /// Of the integration's random points.
    pub seed: u64,
}

/// What came of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlrTrial {
    /// Load that was offered.
    pub load: PacketRate,
    /// Frames that were sent.
    pub sent: PacketCount,
    /// Frames of them that did not come.
    pub lost: PacketCount,
}

/// The critical load as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CriticalLoadEstimate {
    /// Mean, over both fitting functions and all their parameters.
    pub mean: PacketRate,
    /// Standard deviation.
    pub deviation: PacketRate,
    /// Mean by the stretch function alone.
    pub stretch: PacketRate,
    /// Mean by the erf function alone.
    pub erf: PacketRate,
    /// Whether it is within the loads of the search at all; if not, the mean is one of their ends.
    pub place: LoadPlace,
}

/// A search under way.
#[derive(Debug, Clone)]
pub struct PlrSearch {
    config: PlrConfig,
    trials: Vec<PlrTrial>,
    spent: Duration,
    next_load: f64,
    estimate: Option<CriticalLoadEstimate>,
    /// Loads that lost at least the target, the lowest last.
    lossy: Vec<f64>,
    /// Trials in a row, up to the last one, that lost less.
    lossless: u32,
    /// Where the parameters of each function are, stretch first.
    focus: [Gaussian; 2],
}

/// Length of the first trial of a budget of [`USUAL_BUDGET`], and how much longer each further one is. As FD.io CSIT has them; of a
/// shorter budget they are as many, down to [`LEAST_FIRST`].
const FIRST: Duration = Duration::from_millis(5100);
const LEAST_FIRST: Duration = Duration::from_secs(1);
const GROWTH: f64 = 0.1 / 5.1;
/// That of FD.io CSIT.
const USUAL_BUDGET: Duration = Duration::from_mins(30);

/// How often a load that lost frames is kept for each trial since the one before it, and how many are taken out after each trial without:
/// the draft's "Offered Load Selection".
const KEPT: u32 = 4;
const TAKEN: usize = 3;

/// Why a search cannot be made as asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlrError {
    /// The load range is empty.
    #[error(
        "the lowest load ({lowest}) must be at least 1pps and below the highest load ({highest})"
    )]
    LoadRange {
        /// Of the configuration.
        lowest: PacketRate,
        /// Of the configuration.
        highest: PacketRate,
    },
    /// No load loses so much or so little on average.
    #[error("a target loss ratio of {found} has no critical load: give one above 0 and below 1")]
    Target {
        /// Of the configuration.
        found: LossRatio,
    },
}

impl PlrSearch {
    /// Checks the configuration; nothing is measured yet.
    pub fn new(config: PlrConfig) -> Result<Self, PlrError> {
        let (lowest, highest) = (config.lowest, config.highest);
        if !(lowest.pps() >= 1.0 && highest > lowest && highest.pps().is_finite()) {
            return Err(PlrError::LoadRange { lowest, highest });
        }
        let found = config.target;
        if !(found > LossRatio::ZERO && found.get() < 1.0) {
            return Err(PlrError::Target { found });
        }
        Ok(Self {
            config,
            trials: Vec::new(),
            spent: Duration::ZERO,
            next_load: lowest.pps().midpoint(highest.pps()),
            estimate: None,
            lossy: vec![highest.pps()],
            lossless: 0,
            focus: [Gaussian::WIDE_AS_ALL; 2],
        })
    }

    /// Load and length of the next trial; `None` once there is no time for it.
    pub fn next_trial(&self) -> Option<(PacketRate, Duration)> {
        let budget = self.config.budget;
        let share = budget.div_duration_f64(USUAL_BUDGET).min(1.0);
        let first = FIRST.mul_f64(share).max(LEAST_FIRST).min(budget);
        let time = first.mul_f64(1.0 + GROWTH * count(self.trials.len()));
        (!time.is_zero() && self.spent + time <= budget)
            .then_some((PacketRate::from_pps(self.next_load), time))
    }

    /// Takes what came of the trial that [`next_trial`](Self::next_trial) asked for, and the time of the budget that it took;
    /// `None` of a trial that says nothing: it is repeated.
    pub fn record(&mut self, time: Duration, trial: Option<PlrTrial>) {
        self.spent += time;
        let is_whole = |trial: &PlrTrial| trial.load.pps() > 0.0 && trial.sent.get() > 0;
        let Some(trial) = trial.filter(is_whole) else {
            return;
        };
        let ratio = LossRatio::from_parts(trial.lost.get(), trial.sent.get());
        if ratio < self.config.target {
            self.lossless += 1;
        } else {
            let count = KEPT * (self.lossless + 1);
            self.lossy.extend((0..count).map(|_| trial.load.pps()));
            self.lossy.sort_by(|a, b| b.total_cmp(a));
            self.lossless = 0;
        }
        self.trials.push(trial);
        let estimate = self.inferred();
        self.estimate = Some(estimate);
        let (lowest, highest) = (self.config.lowest.pps(), self.config.highest.pps());
        let next = match self.trials.len() {
            1 => highest,
            2 | 3 => trial.load.pps() * (1.0 - ratio.get()) / (1.0 - self.config.target.get()),
            _ => self.near(estimate.stretch.pps().midpoint(estimate.erf.pps())),
        };
        self.next_load = next.clamp(lowest, highest);
    }

    /// The critical load as far as it is known; `None` before the first trial.
    pub fn estimate(&self) -> Option<CriticalLoadEstimate> {
        self.estimate
    }

    /// Where to measure next, with the critical load about `middle`: after trials without loss the nearer to the lowest load
    /// that was seen to lose the more there were.
    fn near(&mut self, middle: f64) -> f64 {
        if self.lossless == 0 {
            return middle;
        }
        let lossy = self.lossy.last().copied().unwrap_or(middle);
        let rest = self.lossy.len().saturating_sub(TAKEN);
        if rest > 0 {
            self.lossy.truncate(rest);
        }
        let weight = 0.5_f64.powf(f64::from(self.lossless - 1));
        middle.max((lossy + weight * middle) / (1.0 + weight))
    }

    fn inferred(&mut self) -> CriticalLoadEstimate {
        let evidence = Evidence {
            trials: self.trials.iter().map(Seen::from).collect(),
            range: [self.config.lowest.pps(), self.config.highest.pps()],
            log_target: self.config.target.get().ln(),
        };
        let made = u64::try_from(self.trials.len()).unwrap_or(u64::MAX);
        let mut random = Random::new(mix(self.config.seed ^ mix(made)));
        let [stretch, erf] = &mut self.focus;
        let stretch = evidence.infer(Shape::Stretch, stretch, &mut random);
        let erf = evidence.infer(Shape::Erf, erf, &mut random);
        CriticalLoadEstimate::of(stretch, erf)
    }
}

impl CriticalLoadEstimate {
    /// Of both functions with equal parts: the variance is that of their mixture.
    fn of(stretch: Inferred, erf: Inferred) -> Self {
        let load = |log: f64| PacketRate::from_pps(log.exp());
        let mean = stretch.mean.midpoint(erf.mean);
        let between = (stretch.mean - erf.mean) / 2.0;
        let deviation = (stretch.variance.midpoint(erf.variance) + between * between).sqrt();
        let (low, high) = ((mean - deviation).exp(), (mean + deviation).exp());
        let is_probable = |end: usize| stretch.outside[end].midpoint(erf.outside[end]) > 0.5;
        Self {
            mean: PacketRate::from_pps(low.midpoint(high)),
            deviation: PacketRate::from_pps((high - low) / 2.0),
            stretch: load(stretch.mean),
            erf: load(erf.mean),
            place: match [is_probable(0), is_probable(1)] {
                [true, _] => LoadPlace::Below,
                [_, true] => LoadPlace::Above,
                _ => LoadPlace::Within,
            },
        }
    }
}

#[cfg(test)]
mod tests;

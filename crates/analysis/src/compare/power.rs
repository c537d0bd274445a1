//! What a comparison can tell of a regression: that there is one, that there is none of the size asked for, or neither.
//!
//! A metric excludes a regression if its interval does, or if one of the size asked for would have been shown in four of
//! five such comparisons. With one trial on a side the scatter is taken from the other side; with one on both, from the
//! intervals within the trials, which is a guess that is said to be one.

use super::metrics::{Both, Observation};
use super::on::On;
use crate::statistics::{AgainstMargin, TestDesign, to_f64};
use linerate_model::Quantity;
use linerate_model::comparison::{BetterWhen, CompareAnswer, CompareVerdict, Power, ScatterFrom};

/// The scatter of one trial, on the scale of the comparison.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scatter {
    /// Standard deviation from trial to trial.
    deviation: f64,
    /// Standard error of the difference of both sides.
    error: f64,
    freedom: f64,
    from: ScatterFrom,
}

impl Scatter {
    /// Of several values on both sides.
    pub(super) fn tested(both: &Both, tested: &AgainstMargin) -> Self {
        let (a, b) = (to_f64(both.a.len() as u64), to_f64(both.b.len() as u64));
        Self {
            deviation: tested.error / (1.0 / a + 1.0 / b).sqrt(),
            error: tested.error,
            freedom: tested.freedom,
            from: ScatterFrom::BothSides,
        }
    }

    /// Where a side has one value.
    pub(super) fn guessed(both: &Both, on: On) -> Option<Self> {
        let several = [&both.a, &both.b].into_iter().find(|seen| seen.len() > 1);
        let (variance, freedom, from) = match several {
            Some(seen) => {
                let (variance, freedom) = variance(seen, on)?;
                (variance, freedom, ScatterFrom::OneSide)
            }
            None if on == On::Logarithms => {
                let (a, b) = (both.a.first()?.steadiness?, both.b.first()?.steadiness?);
                let freedom = a.freedom + b.freedom;
                let sum = a.log_variance * a.freedom + b.log_variance * b.freedom;
                (sum / freedom, freedom, ScatterFrom::WithinTrials)
            }
            None => return None,
        };
        let (a, b) = (to_f64(both.a.len() as u64), to_f64(both.b.len() as u64));
        Some(Self {
            deviation: variance.sqrt(),
            error: (variance * (1.0 / a + 1.0 / b)).sqrt(),
            freedom,
            from,
        })
    }
}

fn variance(seen: &[Observation], on: On) -> Option<(f64, f64)> {
    let values = seen.iter().map(|one| match on {
        On::Logarithms => one.value.ln(),
        On::Differences => one.value,
    });
    let values: Vec<f64> = values.collect();
    let freedom = to_f64((values.len() as u64).checked_sub(1)?);
    let mean = values.iter().sum::<f64>() / to_f64(values.len() as u64);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (freedom > 0.0).then(|| (squares / freedom, freedom))
}

/// What must be shown of a metric, on the scale of its comparison.
#[derive(Debug, Clone, Copy)]
pub(super) struct Requirement {
    pub(super) on: On,
    pub(super) better: BetterWhen,
    pub(super) design: TestDesign,
    /// The regression that must be shown, as the user says it.
    pub(super) sensitivity: f64,
    /// What is said of a relative difference where the scale is absolute: the larger of both values, else 1.
    pub(super) whole: f64,
}

impl Requirement {
    /// What repetitions that scatter so can show.
    pub(super) fn power(&self, scatter: &Scatter) -> Power {
        let shift = self.design.detectable(scatter.error, scatter.freedom);
        let goal = self.scaled(self.sensitivity);
        Power {
            detectable_ratio: self.share_of_value(shift),
            repetitions: goal
                .and_then(|goal| self.design.observations_for(goal, scatter.deviation)),
            scatter: scatter.from,
        }
    }

    /// A shift on the scale of the comparison as a share of A's value.
    fn share_of_value(&self, shift: f64) -> f64 {
        match (self.on, self.better) {
            (On::Differences, _) => shift / self.whole,
            (On::Logarithms, BetterWhen::Higher) => -(-shift).exp_m1(),
            (On::Logarithms, BetterWhen::Lower) => shift.exp_m1(),
        }
    }

    /// The opposite; `None` where nothing falls by so much.
    fn scaled(&self, share: f64) -> Option<f64> {
        match (self.on, self.better) {
            (On::Differences, _) => Some(share * self.whole),
            (On::Logarithms, BetterWhen::Higher) => (share < 1.0).then(|| -(-share).ln_1p()),
            (On::Logarithms, BetterWhen::Lower) => Some(share.ln_1p()),
        }
    }

    /// Whether the interval of B against A ends before a regression that matters.
    pub(super) fn is_excluded(&self, tested: &AgainstMargin) -> bool {
        tested
            .difference
            .interval
            .is_some_and(|interval| match self.better {
                BetterWhen::Higher => interval.low > -self.design.margin,
                BetterWhen::Lower => interval.high < self.design.margin,
            })
    }
}

/// The answer of one metric.
pub(super) fn answer(
    verdict: CompareVerdict,
    is_excluded: bool,
    power: Option<&Power>,
    sensitivity: f64,
) -> CompareAnswer {
    // A guess tells what would decide, and decides nothing.
    let is_known = |power: &&Power| power.scatter == ScatterFrom::BothSides;
    let is_strong = |power: &Power| power.detectable_ratio <= sensitivity;
    match verdict {
        CompareVerdict::Slower => CompareAnswer::Regression,
        CompareVerdict::Faster => CompareAnswer::NoRegression,
        CompareVerdict::NoDifferenceShown if is_excluded => CompareAnswer::NoRegression,
        CompareVerdict::NoDifferenceShown if power.filter(is_known).is_some_and(is_strong) => {
            CompareAnswer::NoRegression
        }
        CompareVerdict::NoDifferenceShown => CompareAnswer::CannotTell,
    }
}

/// Whether a metric decides the answer of a comparison: the rate or the median that the cell was measured for, and
/// loss. What else is compared can show a regression, and leaves nothing open.
pub(super) fn decides(metric: Quantity, is_first: bool) -> bool {
    is_first || metric.is_share() || metric == Quantity::ReceivedRate
}

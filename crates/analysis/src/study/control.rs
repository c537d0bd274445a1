//! The A/A control: one cell twice, in turns with all others. A difference between both is none of a factor.

use super::{Runs, alpha, effect, on_scale, scale};
use crate::estimates::{Measured, values_of_runs};
use crate::repetition::units;
use crate::statistics::{Unit, Weighted, contrast, holm};
use linerate_model::Quantity;
use linerate_model::run::{
    ControlDifference, Effect, EffectScale, EffectVerdict, StudyControl, StudyPlace,
};
use std::collections::BTreeMap;

/// A control that was measured.
#[derive(Debug)]
pub(super) struct Controlled {
    control: StudyControl,
    /// How large a difference it shows, on the scale of effects, by quantity.
    largest: BTreeMap<Quantity, f64>,
}

type Values = BTreeMap<Measured, Vec<Unit>>;

impl Controlled {
    /// `None` where one of both was not measured twice.
    pub(super) fn examine(cell: &str, runs: &Runs<'_>) -> Option<Self> {
        let (first, second) = (values(cell, runs), values(StudyPlace::CONTROL, runs));
        let both: Vec<_> = first
            .iter()
            .filter_map(|(key, first)| {
                let both = [(-1.0, first), (1.0, second.get(key)?)];
                let both = both.map(|(weight, of)| Weighted { weight, of });
                Some((*key, contrast(&both)?))
            })
            .collect();
        let mut largest = BTreeMap::new();
        let mut differences: Vec<ControlDifference> = both
            .iter()
            .map(|((direction, quantity), found)| ControlDifference {
                quantity: *quantity,
                direction: *direction,
                effect: effect(found, scale(*quantity), both.len()),
            })
            .collect();
        let raw: Vec<f64> = differences.iter().map(|one| one.effect.p).collect();
        for ((one, p), ((_, quantity), _)) in differences.iter_mut().zip(holm(&raw)).zip(&both) {
            one.effect.p_adjusted = p;
            if p < alpha() {
                one.effect.verdict = EffectVerdict::Shown;
                let size = farthest(&one.effect);
                let known = largest.entry(*quantity).or_insert(size);
                *known = known.max(size);
            }
        }
        (!differences.is_empty()).then(|| Self {
            control: StudyControl {
                cell: cell.to_owned(),
                differences,
            },
            largest,
        })
    }

    /// Whether an effect may be no larger than what the control shows of the same quantity.
    pub(super) fn explains(&self, quantity: Quantity, effect: &Effect) -> bool {
        let largest = self.largest.get(&quantity);
        largest.is_some_and(|largest| nearest(effect) <= *largest)
    }

    pub(super) fn into_control(self) -> StudyControl {
        self.control
    }
}

/// What the independent units of a cell say, on the scale of effects.
fn values(cell: &str, runs: &Runs<'_>) -> Values {
    let seen = values_of_runs(runs.of_cell(cell).iter().copied());
    let units = |(key, values): (Measured, _)| {
        let values = on_scale(values, scale(key.1));
        (key, units(&values).units)
    };
    seen.into_iter().map(units).collect()
}

/// Both ends of an effect's interval, without their sign; the smaller first, 0 where the interval has no effect inside.
fn ends(effect: &Effect) -> (f64, f64) {
    let size = |value: f64| match effect.scale {
        EffectScale::Difference => value,
        EffectScale::Ratio => value.ln(),
    };
    let Some(interval) = effect.estimate.interval else {
        return (0.0, f64::INFINITY);
    };
    let (low, high) = (size(interval.low), size(interval.high));
    let near = if low.signum() == high.signum() {
        low.abs().min(high.abs())
    } else {
        0.0
    };
    (near, low.abs().max(high.abs()))
}

fn nearest(effect: &Effect) -> f64 {
    ends(effect).0
}

fn farthest(effect: &Effect) -> f64 {
    ends(effect).1
}

//! What the repetitions of a study show: effects of factors, interactions, the A/A control, scatter, outliers, transients.
//!
//! Every run of a cell is one observation of each quantity, whatever it is made of: what one run repeats within itself
//! shares that run and gives no n. Where a cell was measured in several starts, or builds, of the peer's program, these
//! are its observations ([`crate::repetition`]). Rates and delays are compared as logarithms, losses as they are.
//!
//! Invariants: no run is left out that is valid; all effects of a study are corrected together, those of the control
//! together; what is shown depends on no order of measuring.
//!
//! # References
//! - Contrasts of cell means, unequal variances: Satterthwaite 1946; see [`contrast`](crate::statistics::contrast)
//! - Correction for many tests: Holm, 1979

mod control;
mod effects;
mod grid;
mod outliers;
pub mod plan_power;
mod repetition;
pub mod rounds;
mod scatter;
mod transients;

use crate::estimates::AVERAGED;
use crate::repetition::OfRun;
use crate::statistics::{TestDesign, USUAL_CONFIDENCE, Welch, exponential};
use control::Controlled;
use grid::Grid;
use linerate_model::Quantity;
use linerate_model::run::{Effect, EffectScale, EffectVerdict, Run, StudyFindings, StudyPlace};
use std::collections::BTreeMap;

/// What a study shows. `cells` are its cells in the order of the plan, `control` the one that was measured twice. Cells are
/// compared within their series.
pub fn findings<'a>(
    cells: impl IntoIterator<Item = &'a str>,
    control: Option<&str>,
    parts: &[Run],
) -> StudyFindings {
    let runs = Runs::from_parts(parts);
    let cells: Vec<&str> = cells.into_iter().collect();
    let control = control.and_then(|cell| Controlled::examine(cell, &runs));
    let mut grids: Vec<Grid> = Vec::new();
    for (series, cells) in by_series(&cells) {
        let of_series = |quantity| Grid::new(quantity, series.as_deref(), &cells, &runs);
        grids.extend(AVERAGED.into_iter().filter_map(of_series));
    }
    let effects::Effects {
        tests,
        main: main_effects,
        interactions,
    } = effects::effects(&grids, control.as_ref());
    StudyFindings {
        tests,
        control: control.map(Controlled::into_control),
        main_effects,
        interactions,
        repetition: repetition::repetition(&cells, &runs),
        scatter: scatter::scatter(&cells, &runs),
        outliers: outliers::outliers(&cells, &runs),
        transients: transients::transients(&cells, &runs),
    }
}

/// The cells of each series by its name, in their order; all together where there are none.
fn by_series<'a>(cells: &[&'a str]) -> Vec<(Option<String>, Vec<&'a str>)> {
    let mut all: Vec<(Option<String>, Vec<&str>)> = Vec::new();
    for cell in cells {
        let place = StudyPlace {
            cell: (*cell).to_owned(),
            repetition: 0,
        };
        let series = place.series();
        match all.iter_mut().find(|(known, _)| *known == series) {
            Some((_, cells)) => cells.push(cell),
            None => all.push((series, vec![cell])),
        }
    }
    all
}

/// The parts of a study by their cell.
struct Runs<'a>(BTreeMap<&'a str, Vec<&'a Run>>);

impl<'a> Runs<'a> {
    fn from_parts(parts: &'a [Run]) -> Self {
        let mut runs: BTreeMap<&str, Vec<&Run>> = BTreeMap::new();
        for part in parts {
            if let Some(place) = &part.config.place {
                runs.entry(&place.cell).or_default().push(part);
            }
        }
        // Sums of floating point must not depend on the order of measuring.
        for of_cell in runs.values_mut() {
            of_cell.sort_by_key(|run| run.config.place.as_ref().map(|place| place.repetition));
        }
        Self(runs)
    }

    fn of_cell(&self, cell: &str) -> &[&'a Run] {
        self.0.get(cell).map_or(&[], Vec::as_slice)
    }
}

/// Relative change, or difference of two loss ratios, below which no effect is named: it would be of no use, and
/// figures that never scatter differ by less for the rounding of a byte.
const MIN_EFFECT: f64 = 0.001;

/// How effects of a quantity are measured.
fn scale(quantity: Quantity) -> EffectScale {
    if quantity.is_share() {
        EffectScale::Difference
    } else {
        EffectScale::Ratio
    }
}

/// A value on the scale of its effects; `None` where it has no logarithm.
fn scaled(value: f64, scale: EffectScale) -> Option<f64> {
    match scale {
        EffectScale::Difference => Some(value),
        EffectScale::Ratio => (value > 0.0).then(|| value.ln()),
    }
}

/// Those values that the scale has.
fn on_scale(values: Vec<OfRun<'_>>, scale: EffectScale) -> Vec<OfRun<'_>> {
    let scaled = |(instance, value)| Some((instance, scaled(value, scale)?));
    values.into_iter().filter_map(scaled).collect()
}

fn margin(scale: EffectScale) -> f64 {
    match scale {
        EffectScale::Difference => MIN_EFFECT,
        EffectScale::Ratio => MIN_EFFECT.ln_1p(),
    }
}

const fn alpha() -> f64 {
    1.0 - USUAL_CONFIDENCE.get()
}

/// An effect, of `tests` that are corrected together; before the correction its verdict is open.
fn effect(of: &Welch, scale: EffectScale, tests: usize) -> Effect {
    let design = TestDesign {
        margin: margin(scale),
        alpha: alpha(),
        tests,
    };
    let detectable = design.detectable(of.error, of.freedom);
    let estimate = of.estimate(USUAL_CONFIDENCE);
    let p = of.p(design.margin);
    Effect {
        scale,
        estimate: match scale {
            EffectScale::Difference => estimate,
            EffectScale::Ratio => exponential(estimate),
        },
        p,
        p_adjusted: p,
        verdict: EffectVerdict::NotShown,
        detectable_ratio: match scale {
            EffectScale::Difference => detectable,
            EffectScale::Ratio => detectable.exp_m1(),
        },
    }
}

#[cfg(test)]
mod tests;

//! How much of what varies each factor explains.

use super::factors::Factor;
use super::{Observation, StudyView, mean};
use crate::figures::percent;
use linerate_model::Ratio;
use std::collections::BTreeMap;

/// What one factor does.
struct Effect<'v> {
    factor: usize,
    /// Share of the sum of squares that lies between its levels.
    share: f64,
    /// The level with the lowest and that with the highest mean.
    ends: [(usize, Vec<&'v Observation<'v>>); 2],
}

/// A sentence for each factor, the one that explains most first; then what the repetitions leave.
pub(crate) fn conclusions(view: &StudyView<'_>) -> Vec<String> {
    let grand = average(view.observations.iter().map(|one| one.value));
    let all: f64 = squares(view.observations.iter().map(|one| one.value), grand);
    // That more arrives where more is sent is no news: the other factors share what the load leaves.
    let load = view.factors.iter().position(Factor::is_load);
    let of_load = load.and_then(|factor| effect(view, factor, grand, all));
    let total = all * (1.0 - of_load.as_ref().map_or(0.0, |effect| effect.share));
    if total <= all * 1e-12 {
        return vec!["No factor but the load changes the value.".to_owned()];
    }
    let others = (0..view.factors.len()).filter(|factor| Some(*factor) != load);
    let mut effects: Vec<Effect<'_>> = others
        .filter_map(|factor| effect(view, factor, grand, total))
        .collect();
    effects.sort_by(|a, b| b.share.total_cmp(&a.share));
    let apart = if load.is_some() {
        ", without the load’s"
    } else {
        ""
    };
    let mut said: Vec<String> = effects
        .iter()
        .map(|effect| sentence(view, effect, apart))
        .collect();
    let within: f64 = view
        .cells()
        .values()
        .map(|runs| {
            let middle = average(runs.iter().map(|one| one.value));
            squares(runs.iter().map(|one| one.value), middle)
        })
        .sum();
    let repeated = view.cells().values().any(|runs| runs.len() > 1);
    if repeated {
        said.push(format!(
            "Repetitions of the same cell account for {} of it{apart}.",
            shown(within / total)
        ));
    }
    said
}

fn average(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    if n > 0.0 { sum / n } else { 0.0 }
}

fn squares(values: impl Iterator<Item = f64>, middle: f64) -> f64 {
    values.map(|value| (value - middle).powi(2)).sum()
}

fn effect<'v>(
    view: &'v StudyView<'v>,
    factor: usize,
    grand: f64,
    total: f64,
) -> Option<Effect<'v>> {
    let mut levels: BTreeMap<usize, Vec<&Observation<'v>>> = BTreeMap::new();
    for one in &view.observations {
        levels.entry(one.levels[factor]).or_default().push(one);
    }
    let middle = |runs: &[&Observation<'v>]| average(runs.iter().map(|one| one.value));
    let between: f64 = levels
        .values()
        .map(|runs| crate::figures::float(runs.len() as u64) * (middle(runs) - grand).powi(2))
        .sum();
    let mut ranked: Vec<_> = levels.into_iter().collect();
    ranked.sort_by(|a, b| middle(&a.1).total_cmp(&middle(&b.1)));
    let (low, high) = (ranked.first()?.clone(), ranked.last()?.clone());
    Some(Effect {
        factor,
        share: between / total,
        ends: [low, high],
    })
}

fn shown(share: f64) -> String {
    percent(Ratio::clamped((share * 1000.0).round() / 1000.0))
}

/// `direction explains 82 % of the variation: received 54 Mbit/s with … to 93 Mbit/s with …`.
fn sentence(view: &StudyView<'_>, effect: &Effect<'_>, apart: &str) -> String {
    let factor = &view.factors[effect.factor];
    let said = |(level, runs): &(usize, Vec<&Observation<'_>>)| {
        let mean = mean(runs)?;
        let unit = view.measure.unit(mean.point());
        Some(format!(
            "{} with {}",
            unit.show(mean.point()),
            factor.said(*level)
        ))
    };
    let ends: Vec<String> = effect.ends.iter().filter_map(said).collect();
    let how_much = match effect.share {
        share if share > 0.5 => "most of",
        share if share < 0.01 => "next to nothing of",
        _ => "part of",
    };
    format!(
        "{} explains {how_much} the variation ({}{apart}): on average {}.",
        crate::charts::capital(&factor.name),
        shown(effect.share),
        ends.join(", ")
    )
}

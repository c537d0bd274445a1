//! What a study of things that have names says first: each of them against the first.

use super::{level, listed, named};
use crate::charts::capital;
use crate::figures::BigFigure;
use linerate_model::Estimate;
use linerate_model::run::{Effect, EffectScale, EffectVerdict, MainEffect, StudyFindings};

/// Factors that are compared wherever they are ones, before those that say which test it is.
pub(crate) const THINGS: [&str; 2] = ["stack", "host"];

/// The comparison that a study was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MainComparison {
    pub(crate) sentence: String,
    /// Ratios to the first, the largest first.
    pub(crate) figures: Vec<BigFigure>,
}

/// Whether an effect is of what is compared.
pub(super) fn is_of_things(main: &MainEffect) -> bool {
    THINGS.contains(&main.of.factor.as_str())
}

/// `None` where the study compares no such things, or several series of them.
pub(crate) fn compared(findings: &StudyFindings) -> Option<MainComparison> {
    let of_things = |one: &&MainEffect| {
        is_of_things(one) && one.series.is_none() && one.effect.scale == EffectScale::Ratio
    };
    let first = findings.main_effects.iter().find(of_things)?;
    let mut all: Vec<&MainEffect> = findings
        .main_effects
        .iter()
        .filter(|one| one.quantity == first.quantity && one.of.factor == first.of.factor)
        .collect();
    all.sort_by(|a, b| b.effect.estimate.point.total_cmp(&a.effect.estimate.point));
    let against = named(&first.of.factor, &first.against);
    let quantity = first.quantity.name();
    let each = all.iter().map(|one| match one.effect.verdict {
        EffectVerdict::Shown => format!("{} with {}", times(&one.effect), level(&one.of)),
        _ => format!("no difference is shown with {}", level(&one.of)),
    });
    let depends = findings.interactions.iter().any(|one| {
        one.quantity == first.quantity
            && one.of.iter().any(|of| of.factor == first.of.factor)
            && one.effect.verdict == EffectVerdict::Shown
    });
    let over = if depends {
        ", on average over all tests; how much depends on the test"
    } else {
        ", on average over all tests"
    };
    Some(MainComparison {
        sentence: format!(
            "{}, against {against}: {}{over}.",
            capital(&quantity),
            listed(&each.collect::<Vec<_>>())
        ),
        figures: all
            .iter()
            .map(|one| figure(one, &quantity, &against))
            .collect(),
    })
}

/// `1.62 times [1.58, 1.66]`.
fn times(effect: &Effect) -> String {
    let Estimate {
        point, interval, ..
    } = effect.estimate;
    let interval = interval.map(|of| format!(" [{:.2}, {:.2}]", of.low, of.high));
    format!("{point:.2} times{}", interval.unwrap_or_default())
}

/// `1.62 ×`, with its interval.
fn figure(main: &MainEffect, quantity: &str, against: &str) -> BigFigure {
    let estimate = &main.effect.estimate;
    BigFigure {
        value: format!("{:.2} ×", estimate.point),
        interval: estimate.interval.map(|interval| {
            let [low, high] = [interval.low, interval.high].map(|end| format!("{end:.2}"));
            format!(
                "95 %: {}, n = {}",
                crate::figures::between(&low, &high),
                estimate.n
            )
        }),
        about: format!("{} against {against} ({quantity})", level(&main.of)),
    }
}

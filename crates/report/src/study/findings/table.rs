//! Every effect of a study in a table.

use super::change::least;
use super::{change, level, named};
use crate::table::{Cell, Table};
use linerate_model::Quantity;
use linerate_model::run::{Effect, EffectVerdict, FactorLevel, Interaction, StudyFindings};

/// Interactions that a page lists; the document has all.
const MAX_INTERACTIONS: usize = 200;

/// Main effects, then interactions, each with interval, corrected p and what could have been shown.
pub(crate) fn effects_table(findings: &StudyFindings) -> Table {
    let mut table = Table::new([
        "Quantity",
        "Effect of",
        "Against",
        "Change [95 %]",
        "p (Holm)",
        "Shown",
        "Could show",
    ]);
    for main in &findings.main_effects {
        let against = named(&main.of.factor, &main.against);
        table.push(row(main.quantity, level(&main.of), against, &main.effect));
    }
    let mut interactions: Vec<&Interaction> = findings.interactions.iter().collect();
    interactions.sort_by(|a, b| a.effect.p.total_cmp(&b.effect.p));
    for one in interactions.into_iter().take(MAX_INTERACTIONS) {
        let against = one.of.iter().zip(&one.against);
        let against = against.map(|(of, against)| named(&of.factor, against));
        let against = against.collect::<Vec<_>>().join(" × ");
        table.push(row(one.quantity, both(&one.of), against, &one.effect));
    }
    table
}

fn both([a, b]: &[FactorLevel; 2]) -> String {
    format!("{} × {}", level(a), level(b))
}

fn row(quantity: Quantity, of: String, against: String, effect: &Effect) -> Vec<Cell> {
    vec![
        Cell::text(quantity.name()),
        Cell::text(of),
        Cell::text(against),
        Cell::text(change(effect).signed()),
        Cell::text(p(effect.p_adjusted)),
        Cell::text(match effect.verdict {
            EffectVerdict::NotShown => "no",
            EffectVerdict::Shown => "yes",
            EffectVerdict::WithinControl => "within the A/A control",
        }),
        Cell::text(least(effect.detectable_ratio, effect.scale)),
    ]
}

fn p(value: f64) -> String {
    if value < 0.001 {
        "< 0.001".to_owned()
    } else {
        format!("{value:.3}")
    }
}

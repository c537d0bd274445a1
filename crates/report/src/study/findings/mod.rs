//! What a study shows, in sentences and as a table: effects, interactions, the control, what could have been shown,
//! scatter, outliers, transients.
//!
//! Draws no conclusion: verdicts come with the findings.

mod change;
mod compared;
mod runs;
mod table;

pub(crate) use compared::{THINGS, compared};
pub(crate) use table::effects_table;

use crate::figures::clean;
use crate::words;
use change::{Change, least};
use linerate_model::Quantity;
use linerate_model::run::{
    Effect, EffectVerdict, FactorLevel, Interaction, MainEffect, StudyControl, StudyFindings,
};
use linerate_model::spec::Direction;

/// Effects that are said in sentences; the table has all.
const MAX_SENTENCES: usize = 12;

/// What a study shows, what matters most first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StudySentences {
    /// That a cell differs from itself, so that the rest may not be the factors'.
    pub(crate) alarm: Option<String>,
    /// Effects that are shown, then what could have been shown of the rest.
    pub(crate) effects: Vec<String>,
    /// The control, where it shows nothing, scatter, outliers, transients.
    pub(crate) runs: Vec<String>,
}

/// The sentences of a study.
pub(crate) fn said(findings: &StudyFindings) -> StudySentences {
    let mut runs: Vec<String> = findings.control.iter().filter_map(quiet).collect();
    runs.extend(runs::sentences(findings));
    StudySentences {
        alarm: alarm(findings),
        effects: effects(findings),
        runs,
    }
}

/// `payload 64`, `client → server`.
fn level(of: &FactorLevel) -> String {
    named(&of.factor, &of.level)
}

fn named(factor: &str, level: &str) -> String {
    if factor == super::factors::DIRECTION {
        match level {
            "forward" => return words::direction(Direction::Forward).to_owned(),
            "reverse" => return words::direction(Direction::Reverse).to_owned(),
            _ => {}
        }
    }
    clean(&format!("{factor} {level}"))
}

/// Effects of the whole study, or of each of its series by its name.
fn effects(findings: &StudyFindings) -> Vec<String> {
    let mut series: Vec<&String> = Vec::new();
    for name in findings
        .main_effects
        .iter()
        .filter_map(|one| one.series.as_ref())
    {
        if !series.contains(&name) {
            series.push(name);
        }
    }
    if series.is_empty() {
        return effects_of_one(findings);
    }
    let of_series = |name: &String| {
        let said = effects_of_one(&in_series(findings, Some(name))).into_iter();
        let name = clean(name);
        said.map(move |said| format!("{name}: {said}"))
            .collect::<Vec<_>>()
    };
    series.into_iter().flat_map(of_series).collect()
}

/// What the study shows of one series, as of a study of its cells alone; without a name, of what is in none.
pub(crate) fn in_series(all: &StudyFindings, name: Option<&str>) -> StudyFindings {
    let mut own = all.clone();
    own.main_effects.retain(|one| one.series.as_deref() == name);
    own.interactions.retain(|one| one.series.as_deref() == name);
    let main = own.main_effects.iter_mut().map(|one| &mut one.series);
    let interactions = own.interactions.iter_mut().map(|one| &mut one.series);
    main.chain(interactions).for_each(|series| *series = None);
    own
}

/// A main effect, or the same effect at several levels of another factor.
fn effects_of_one(findings: &StudyFindings) -> Vec<String> {
    let shown = |effect: &Effect| effect.verdict == EffectVerdict::Shown;
    let mut said: Vec<((bool, f64), String)> = Vec::new();
    for main in &findings.main_effects {
        let differing: Vec<&Interaction> = findings
            .interactions
            .iter()
            .filter(|one| one.quantity == main.quantity && shown(&one.effect))
            .filter(|one| one.of.contains(&main.of))
            .collect();
        let first = differing.iter().filter(|one| one.of[0] == main.of);
        let first: Vec<&Interaction> = first.copied().collect();
        let sentence = if let Some(by) = first.first() {
            let same = first
                .iter()
                .filter(|one| one.of[1].factor == by.of[1].factor);
            at_levels(main, &same.copied().collect::<Vec<_>>())
        } else if shown(&main.effect) {
            averaged(main, &differing)
        } else {
            continue;
        };
        said.push(((compared::is_of_things(main), size(&main.effect)), sentence));
    }
    // Of what is compared before others, then the largest first; one that is averaged to nothing by an interaction is
    // still before what is not shown.
    said.sort_by(|(a, _), (b, _)| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)));
    let more = said.len().saturating_sub(MAX_SENTENCES);
    said.truncate(MAX_SENTENCES);
    let mut said: Vec<String> = said.into_iter().map(|(_, sentence)| sentence).collect();
    if more > 0 {
        said.push(format!("The table has {more} more effects that are shown."));
    }
    said.extend(within_control(findings));
    said.extend(not_shown(findings));
    said
}

fn size(effect: &Effect) -> f64 {
    match effect.scale {
        linerate_model::run::EffectScale::Difference => effect.estimate.point.abs(),
        linerate_model::run::EffectScale::Ratio => effect.estimate.point.ln().abs(),
    }
}

const fn change(effect: &Effect) -> Change {
    Change {
        estimate: effect.estimate,
        scale: effect.scale,
    }
}

/// `Payload 64 lowers the received rate (L4 payload) by 4 % [3, 5] (against payload 1448).`
fn averaged(main: &MainEffect, differing: &[&Interaction]) -> String {
    let change = change(&main.effect);
    let others = differing.iter().flat_map(|one| &one.of);
    let mut others: Vec<String> = others
        .filter(|other| other.factor != main.of.factor)
        .map(|other| clean(&other.factor))
        .collect();
    others.dedup();
    let average = if others.is_empty() {
        String::new()
    } else {
        format!(", on average over {}", others.join(" and "))
    };
    format!(
        "{} {} the {} by {}{average} (against {}).",
        subject(main),
        if change.is_rise() { "raises" } else { "lowers" },
        main.quantity.noun(),
        change.size(),
        named(&main.of.factor, &main.against),
    )
}

/// `Ip v6 lowers the received rate (L4 payload) by 4 % [3, 5] with stack lwip and by 9 % [7, 11] with stack kernel (…).`
fn at_levels(main: &MainEffect, by: &[&Interaction]) -> String {
    let scale = main.effect.scale;
    let mut at: Vec<(String, Change)> = Vec::new();
    for simple in by.iter().flat_map(|one| &one.simple) {
        let name = level(&simple.at);
        if simple.of == main.of && !at.iter().any(|(known, _)| *known == name) {
            let estimate = simple.estimate;
            at.push((name, Change { estimate, scale }));
        }
    }
    let rises = at.iter().filter(|(_, change)| change.is_rise()).count();
    let verb = match rises {
        0 => "lowers",
        all if all == at.len() => "raises",
        _ => "changes",
    };
    let each = at.iter().map(|(name, change)| {
        let by = if verb == "changes" {
            change.signed()
        } else {
            change.size()
        };
        format!("by {by} with {name}")
    });
    format!(
        "{} {verb} the {} {} (against {}).",
        subject(main),
        main.quantity.noun(),
        listed(&each.collect::<Vec<_>>()),
        named(&main.of.factor, &main.against),
    )
}

fn subject(main: &MainEffect) -> String {
    crate::charts::capital(&level(&main.of))
}

/// `a, b and c`.
fn listed(all: &[String]) -> String {
    match all.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// What would be shown without the control.
fn within_control(findings: &StudyFindings) -> Option<String> {
    let hidden = findings
        .main_effects
        .iter()
        .filter(|one| one.effect.verdict == EffectVerdict::WithinControl);
    let names: Vec<String> = hidden
        .map(|one| {
            let quantity = one.quantity.name();
            format!(
                "{} ({quantity} {})",
                level(&one.of),
                change(&one.effect).signed()
            )
        })
        .collect();
    (!names.is_empty()).then(|| format!("Within what the A/A control shows: {}.", names.join("; ")))
}

/// For each factor and quantity of which no level shows anything, what would have been.
fn not_shown(findings: &StudyFindings) -> Vec<String> {
    let mut open: Vec<(Quantity, &str, &Effect, bool)> = Vec::new();
    for one in &findings.main_effects {
        let key = (one.quantity, &*one.of.factor);
        let is_open = one.effect.verdict == EffectVerdict::NotShown && !is_named(findings, one);
        match open.iter_mut().find(|known| (known.0, known.1) == key) {
            Some(known) => {
                known.3 &= is_open;
                if one.effect.detectable_ratio > known.2.detectable_ratio {
                    known.2 = &one.effect;
                }
            }
            None => open.push((key.0, key.1, &one.effect, is_open)),
        }
    }
    let open = open.into_iter().filter(|known| known.3);
    open.map(|(quantity, factor, effect, _)| {
        format!(
            "No effect of {} on the {} is shown; one of {} would have been in four of five such studies.",
            clean(factor),
            quantity.noun(),
            least(effect.detectable_ratio, effect.scale),
        )
    })
    .collect()
}

/// Whether an effect is said by an interaction, though not on average.
fn is_named(findings: &StudyFindings, main: &MainEffect) -> bool {
    let mut all = findings.interactions.iter();
    all.any(|one| {
        one.quantity == main.quantity
            && one.of.contains(&main.of)
            && one.effect.verdict != EffectVerdict::NotShown
    })
}

/// Fewer units than this make intervals wide by their number alone.
const FEW_UNITS: u64 = 10;

/// What a control says that shows no difference.
fn quiet(control: &StudyControl) -> Option<String> {
    if control.shows_difference() {
        return None;
    }
    let each = control.differences.iter().map(|one| {
        let n = one.effect.estimate.n;
        let few = if n < FEW_UNITS {
            ", few, so the interval is wide however little they scatter"
        } else {
            ""
        };
        format!(
            "{} {} (n = {n}{few}; one of {} would have been shown)",
            one.quantity.name(),
            change(&one.effect).signed(),
            least(one.effect.detectable_ratio, one.effect.scale)
        )
    });
    Some(format!(
        "A/A control, {} measured twice: no difference is shown; {}.",
        cell(&control.cell),
        each.collect::<Vec<_>>().join(", ")
    ))
}

/// That the control's cell differs from itself, if it does.
pub(crate) fn alarm(findings: &StudyFindings) -> Option<String> {
    let control = findings.control.as_ref()?;
    let shown = control
        .differences
        .iter()
        .filter(|one| one.effect.verdict == EffectVerdict::Shown);
    let each: Vec<String> = shown
        .map(|one| {
            let quantity = one.quantity.name();
            format!("{quantity} {}", change(&one.effect).signed())
        })
        .collect();
    (!each.is_empty()).then(|| {
        format!(
            "A/A control: {} differs from itself ({}): the machines or the path did not stay the same. Effects that may be \
             no larger are not named. Measure again on a quiet machine (`linerate doctor`), or longer",
            cell(&control.cell),
            each.join("; ")
        )
    })
}

fn cell(name: &str) -> String {
    format!("the cell “{}”", clean(name))
}

#[cfg(test)]
mod tests;

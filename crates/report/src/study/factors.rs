//! The factors of a study and their levels, from the names of its cells.

use crate::figures::clean;
use crate::words;
use linerate_model::run::Run;
use linerate_model::spec::Direction;

/// A combination of levels: for each factor the place of its level.
pub(crate) type Levels = Vec<usize>;

/// What was varied.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Factor {
    pub(crate) name: String,
    /// Distinct, numbers in rising order, words in that of the plan.
    pub(crate) levels: Vec<Level>,
}

/// One value of a factor.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Level {
    /// As in the plan.
    pub(crate) text: String,
    /// As a number in the base unit, if it is one.
    pub(crate) number: Option<f64>,
}

/// The level of that factor where both ends send at once.
const DUPLEX: &str = "duplex";

/// The factor that a test both ways has, and every study by the names of its trials.
pub(super) const DIRECTION: &str = "direction";

impl Factor {
    /// Whether every level is a number.
    pub(crate) fn is_number(&self) -> bool {
        self.levels.iter().all(|level| level.number.is_some())
    }

    /// Whether it is the intended load.
    pub(crate) fn is_load(&self) -> bool {
        self.name == "rate"
    }

    /// A level as people read it.
    pub(crate) fn said(&self, level: usize) -> String {
        let text = self
            .levels
            .get(level)
            .map_or("", |level| level.text.as_str());
        if self.name == DIRECTION {
            let way = text.strip_prefix(DUPLEX).unwrap_or(text);
            let said = match way.trim_start_matches([',', ' ']) {
                "forward" => words::direction(Direction::Forward),
                "reverse" => words::direction(Direction::Reverse),
                other => other,
            };
            let beside = if way.len() < text.len() {
                ", both ways at once"
            } else {
                ""
            };
            return format!("{said}{beside}");
        }
        format!("{} {text}", self.name)
    }
}

/// Name and value of each setting of a part, its direction among them.
fn settings(part: &Run, way: Direction) -> Option<Vec<(String, String)>> {
    let place = part.config.place.as_ref()?;
    let pairs = place.levels().into_iter();
    let mut settings: Vec<_> = pairs
        .map(|(name, value)| (clean(name), clean(&value)))
        .collect();
    let text = way.as_str();
    match settings.iter_mut().find(|(name, _)| name == DIRECTION) {
        // Each way of a duplex test is not the one way of another cell.
        Some((_, value)) if *value == DUPLEX => *value = format!("{DUPLEX}, {text}"),
        Some((_, value)) => text.clone_into(value),
        None => settings.push((DIRECTION.to_owned(), text.to_owned())),
    }
    Some(settings)
}

/// What was varied over the parts; a setting with one level is none.
pub(super) fn factors(parts: &[&Run]) -> Vec<Factor> {
    let mut all: Vec<Factor> = Vec::new();
    let cells = parts.iter().flat_map(|part| {
        let ways = [Direction::Forward, Direction::Reverse, Direction::Duplex];
        let went = ways
            .into_iter()
            .filter(|way| part.trials.iter().any(|trial| trial.direction == *way));
        went.filter_map(|way| settings(part, way))
    });
    for (name, text) in cells.flatten() {
        let place = all
            .iter()
            .position(|factor| factor.name == name)
            .unwrap_or_else(|| {
                all.push(Factor {
                    name: name.clone(),
                    levels: Vec::new(),
                });
                all.len() - 1
            });
        let factor = &mut all[place];
        if !factor.levels.iter().any(|level| level.text == text) {
            factor.levels.push(Level {
                number: number(&text),
                text,
            });
        }
    }
    for factor in &mut all {
        if factor.is_number() {
            factor
                .levels
                .sort_by(|a, b| a.number.unwrap_or(0.0).total_cmp(&b.number.unwrap_or(0.0)));
        } else {
            // What goes one way comes before what goes both.
            let is_duplex =
                |level: &Level| factor.name == DIRECTION && level.text.starts_with(DUPLEX);
            factor
                .levels
                .sort_by(|a, b| (is_duplex(a), &a.text).cmp(&(is_duplex(b), &b.text)));
        }
    }
    all.retain(|factor| factor.levels.len() > 1);
    if all.is_empty()
        && let Some(part) = parts.first()
        && let Some(settings) = settings(part, Direction::Forward)
    {
        // One cell, repeated: its first setting stands for it.
        let (name, text) = settings.into_iter().next().unwrap_or_default();
        all.push(Factor {
            name,
            levels: vec![Level { number: None, text }],
        });
    }
    all
}

/// `10M`, `1448`, `64K`, `2s`, `500ms` as a number. Only their order and ratio matter.
fn number(text: &str) -> Option<f64> {
    const SUFFIXES: [(&str, f64); 9] = [
        ("ms", 1e-3),
        ("us", 1e-6),
        ("KiB", 1024.0),
        ("s", 1.0),
        ("%", 0.01),
        ("K", 1e3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
    ];
    let found = SUFFIXES
        .iter()
        .find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, *factor)));
    let (digits, factor) = found.unwrap_or((text, 1.0));
    let number: f64 = digits.trim().parse().ok()?;
    number.is_finite().then_some(number * factor)
}

/// Where a part's direction stands; `None` if it is no cell of these factors.
pub(super) fn levels_of(part: &Run, way: Direction, factors: &[Factor]) -> Option<Levels> {
    let settings = settings(part, way)?;
    let place = |factor: &Factor| {
        let (_, text) = settings.iter().find(|(name, _)| *name == factor.name)?;
        factor.levels.iter().position(|level| level.text == *text)
    };
    factors.iter().map(place).collect()
}

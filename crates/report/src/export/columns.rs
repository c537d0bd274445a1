//! The columns of a table of trials, and the type of each: CSV and Parquet have the same.

use crate::csv::{kebab, text};
use crate::words;
use linerate_model::run::{Run, Trial};
use linerate_model::{Quantile, Quantity};
use std::borrow::Cow;

/// A column of a table of trials.
pub(super) struct Column {
    /// Its heading.
    pub(super) name: Cow<'static, str>,
    /// What is in it.
    pub(super) cell: Cell,
}

/// How a cell is made of a trial; `None` where the source cannot tell.
#[derive(Clone, Copy)]
pub(super) enum Cell {
    /// Yes or no.
    Flag(fn(&Trial) -> Option<bool>),
    /// A whole number.
    Integer(fn(&Trial) -> Option<u64>),
    /// Any number.
    Number(fn(&Trial) -> Option<f64>),
    /// What a trial tells of a quantity, whole or not as its values are.
    Quantity(Quantity),
    /// Words.
    Text(fn(&Run, &Trial) -> Option<String>),
}

impl Cell {
    /// As people and spreadsheets read it.
    pub(super) fn text(self, run: &Run, trial: &Trial) -> Option<String> {
        match self {
            Self::Flag(of) => text(of(trial)),
            Self::Integer(of) => text(of(trial)),
            Self::Number(of) => text(of(trial)),
            Self::Quantity(quantity) => text(quantity.of(trial)),
            Self::Text(of) => of(run, trial),
        }
    }
}

/// What a trial is, every quantity that a trial can tell, what to know of these.
pub(super) fn columns() -> Vec<Column> {
    let named = |(name, cell): &(&'static str, Cell)| Column {
        name: Cow::Borrowed(*name),
        cell: *cell,
    };
    let quantities = Quantity::of_trials().map(|quantity| Column {
        name: quantity.column(),
        cell: Cell::Quantity(quantity),
    });
    let first = FIRST.iter().map(named);
    first
        .chain(quantities)
        .chain(LAST.iter().map(named))
        .collect()
}

/// What a trial is.
static FIRST: &[(&str, Cell)] = &[
    ("run", Cell::Text(|run, _| Some(run.id.clone()))),
    ("kind", Cell::Text(|run, _| kebab(&run.kind()))),
    ("title", Cell::Text(|run, _| Some(words::title(run)))),
    ("trial", Cell::Integer(|trial| Some(trial.index.into()))),
    ("label", Cell::Text(|_, trial| trial.label.clone())),
    ("transport", Cell::Text(|_, trial| kebab(&trial.transport))),
    ("direction", Cell::Text(|_, trial| kebab(&trial.direction))),
    ("layer", Cell::Text(|_, trial| kebab(&trial.layer))),
];

/// What to know of its figures.
static LAST: &[(&str, Cell)] = &[
    ("delay_of", Cell::Text(|_, trial| kebab(&trial.delay()?.of))),
    (
        "delay_quantiles_ns",
        Cell::Text(|_, trial| quantiles(trial)),
    ),
    (
        "received_bps_low",
        Cell::Number(|trial| Some(trial.rounding(Quantity::ReceivedRate)?.low)),
    ),
    (
        "received_bps_high",
        Cell::Number(|trial| Some(trial.rounding(Quantity::ReceivedRate)?.high)),
    ),
    ("valid", Cell::Flag(|trial| Some(trial.valid))),
    (
        "reasons",
        Cell::Text(|_, trial| Some(trial.reasons.join("; "))),
    ),
];

/// Quantiles that were asked for: `p99=12345 p99.99=23456`.
fn quantiles(trial: &Trial) -> Option<String> {
    let listed = trial.delay()?.quantiles.iter();
    let each = listed.map(|one| format!("{}={}", Quantile(one.quantile_ratio), one.value_ns));
    Some(each.collect::<Vec<_>>().join(" "))
}

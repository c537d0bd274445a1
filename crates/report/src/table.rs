//! A table as data: what is behind a chart, for the page and for CSV.

use crate::figures::{UNKNOWN, Unit, Value};
use serde::Serialize;

/// A cell: what people read and, for numbers, the value for machines.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// What is shown.
    pub text: String,
    /// The number in the column's unit; absent for words and for what is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
}

impl Cell {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            value: None,
        }
    }

    /// What the source could not tell.
    pub fn unknown() -> Self {
        Self::text(UNKNOWN)
    }

    /// A number given in the base unit, shown in `unit`; unknown if absent or not finite.
    pub fn number(base: Option<f64>, unit: Unit) -> Self {
        let Some(base) = base.filter(|value| value.is_finite()) else {
            return Self::unknown();
        };
        Self {
            text: unit.number(base),
            value: Some(unit.of(base)),
        }
    }

    /// A count.
    pub fn count(count: Option<u64>) -> Self {
        count.map_or_else(Self::unknown, |count| Self {
            text: count.to_string(),
            value: Some(crate::figures::float(count)),
        })
    }

    /// A value with its interval, in `unit`.
    pub(crate) fn value(value: Option<&Value>, unit: Unit) -> Self {
        value.map_or_else(Self::unknown, |value| Self {
            text: value.number(unit),
            value: Some(unit.of(value.point())),
        })
    }
}

/// A table: headers carry unit, layer and side.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Table {
    /// One header for each column.
    pub columns: Vec<String>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table with these headers.
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        Self {
            columns: columns.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.columns.len(), "a cell for each column");
        self.rows.push(row);
    }
}

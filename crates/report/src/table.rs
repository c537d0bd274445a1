//! A table as data: what is behind a chart, for the page and for CSV.

use crate::figures::{UNKNOWN, Unit, Value, float};
use linerate_model::{BitRate, ByteCount, Ratio};
use serde::Serialize;

/// What a document is read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// A pull request.
    Markdown,
    /// A page.
    Page,
    /// A terminal.
    Terminal,
}

/// A column of a table: its header, and what a row has in it.
pub(crate) struct Column<'a, R> {
    pub(crate) head: String,
    /// The one medium that has it, if not all have.
    pub(crate) on: Option<Medium>,
    cell: Box<dyn Fn(&R) -> Cell + 'a>,
}

impl<R> Column<'_, R> {
    /// What `row` has in it.
    pub(crate) fn cell(&self, row: &R) -> Cell {
        (self.cell)(row)
    }

    pub(crate) fn on(self, medium: Medium) -> Self {
        Self {
            on: Some(medium),
            ..self
        }
    }
}

/// A column of every medium.
pub(crate) fn column<'a, R>(
    head: impl Into<String>,
    cell: impl Fn(&R) -> Cell + 'a,
) -> Column<'a, R> {
    Column {
        head: head.into(),
        on: None,
        cell: Box::new(cell),
    }
}

/// A column of words.
pub(crate) fn words<'a, R, W: Into<String>>(
    head: impl Into<String>,
    text: impl Fn(&R) -> W + 'a,
) -> Column<'a, R> {
    column(head, move |row| Cell::text(text(row)))
}

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
            value: Some(float(count)),
        })
    }

    /// A share in percent.
    pub(crate) fn percent(share: Option<Ratio>) -> Self {
        Self::number(share.map(Ratio::get), Unit::PERCENT)
    }

    /// A rate.
    pub(crate) fn rate(rate: Option<BitRate>, unit: Unit) -> Self {
        Self::number(rate.map(BitRate::as_f64), unit)
    }

    /// A time in nanoseconds.
    pub(crate) fn time(nanos: Option<u64>, unit: Unit) -> Self {
        Self::number(nanos.map(float), unit)
    }

    /// A size in KiB.
    pub(crate) fn kib(size: Option<ByteCount>) -> Self {
        Self::number(size.map(|size| float(size.get())), Unit::KIB)
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
    /// Places of the rows that do not count.
    #[serde(skip)]
    pub(crate) invalid: Vec<usize>,
}

impl Table {
    /// An empty table with these headers.
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        Self {
            columns: columns.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// A row for each of `rows`, in these columns.
    pub(crate) fn from_rows<R, const N: usize>(rows: &[R], columns: [Column<'_, R>; N]) -> Self {
        Self::from_columns(rows, columns.into())
    }

    /// A row for each of `rows`, in any number of columns.
    pub(crate) fn from_columns<R>(rows: &[R], columns: Vec<Column<'_, R>>) -> Self {
        let line = |row| columns.iter().map(|column| column.cell(row)).collect();
        let rows = rows.iter().map(line).collect();
        Self {
            columns: columns.into_iter().map(|column| column.head).collect(),
            rows,
            invalid: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.columns.len(), "a cell for each column");
        self.rows.push(row);
    }
}

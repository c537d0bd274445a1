//! Published tables: how they are read, what their figures contradict, and whether a measurement holds against them.
//!
//! Pure: text in, values out. A table is a CSV file of cells (`table`), its head may state rules and claims over the
//! cells (`statement`). [`audit()`] examines the figures alone, [`judge()`] compares them with what was measured.

mod audit;
mod figure;
mod levels;
mod measured;
mod statement;
mod table;
mod unit;
mod verdict;

pub use audit::{ALL as CHECKS, Check, audit};
pub use figure::Figure;
pub use levels::{Levels, label};
pub use measured::as_published;
pub use statement::{Statement, StatementCase};
pub use table::{PublishedCell, PublishedTable, Statistic, TableError};
pub use unit::TableUnit;
pub use verdict::{JudgeOptions, Judgement, Measured, judge};

#[cfg(test)]
mod tests;

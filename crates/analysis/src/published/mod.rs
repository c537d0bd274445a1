//! Published tables: how they are read, what their figures contradict, and whether a measurement holds against them.
//!
//! Pure: text in, values out. A table is a CSV file of cells (`table`), its head may state rules and claims over the
//! cells (`statement`). [`audit()`] examines the figures alone.

mod audit;
mod figure;
mod levels;
mod statement;
mod table;
mod unit;

pub use audit::{ALL as CHECKS, Check, audit};
pub use figure::Figure;
pub use levels::{Levels, label};
pub use statement::{Held, Statement};
pub use table::{PublishedCell, PublishedTable, Statistic, TableError};
pub use unit::{Quantity, TableUnit};

#[cfg(test)]
mod tests;

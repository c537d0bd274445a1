//! `linerate reproduce`: whether a published result holds. First its table is audited.

mod document;
mod judge;
mod mapping;
mod package;
mod table;

pub use document::{Answer, check_output, json, json_line, text, write};
pub use judge::{Measurements, ReproducePlan, reproduce};
pub use linerate_analysis::published::{JudgeOptions, PublishedTable};
pub use package::{Package, Texts, check_package, write_package};
pub use table::{audit_table, read_table};

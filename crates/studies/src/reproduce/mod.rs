//! `linerate reproduce`: whether a published result holds. First its table is audited.

mod exit;
mod judge;
mod mapping;
mod package;
mod table;

pub use exit::exit_code;
pub use judge::{Measurements, ReproducePlan, reproduce};
pub use linerate_analysis::published::{JudgeOptions, PublishedTable};
pub use linerate_report::{Answer, JudgedReproduction};
pub use package::{Package, Texts, check_package, write_package};
pub use table::{audit_table, read_table};

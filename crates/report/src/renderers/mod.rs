//! The report formats this build knows, in the order help lists them.

use crate::{Report, ReportError};

mod csv;
mod html;
mod json;
mod sfnt;
mod text;

/// Every format. A new one: its file, its `mod` line above, its entry here.
pub static ALL: &[&dyn Renderer] = &[
    &html::Html,
    &text::Text,
    &csv::Csv,
    &json::Json,
    &sfnt::Sfnt,
];

/// One way to write a report down.
pub trait Renderer: Sync {
    /// The name on the command line.
    fn id(&self) -> &'static str;
    /// One sentence for help and the reference table.
    fn summary(&self) -> &'static str;
    /// Ending of file names, without the dot.
    fn extension(&self) -> &'static str;
    /// The whole document.
    fn render(&self, report: &Report<'_>) -> Result<String, ReportError>;
}

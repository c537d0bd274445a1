//! The report formats this build knows, in the order help lists them.

use crate::report::{Report, ReportError};

mod csv;
mod hgrm;
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
    &hgrm::Hgrm,
];

/// One way to write a report down.
pub trait Renderer: Sync {
    /// The name on the command line.
    fn id(&self) -> &'static str;
    /// One sentence for help and the reference table.
    fn summary(&self) -> &'static str;
    /// Ending of file names, without the dot.
    fn ending(&self) -> &'static str;
    /// The whole document.
    fn render(&self, report: &Report<'_>) -> Result<String, ReportError>;
    /// The files that it is written to; most formats have one.
    fn documents(&self, report: &Report<'_>) -> Result<Vec<ReportFile>, ReportError> {
        let text = self.render(report)?;
        Ok(vec![ReportFile { name: None, text }])
    }
}

/// A file of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFile {
    /// What tells it from the others; `None` if it is the only one. Letters, digits and `-`.
    pub name: Option<String>,
    /// Its content.
    pub text: String,
}

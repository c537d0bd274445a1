//! The report formats this build knows, in the order help lists them.

use crate::report::{Report, ReportError};

mod csv;
mod hgrm;
mod html;
mod json;
mod junit;
mod sfnt;
mod text;

/// Every format. A new one: its file, its `mod` line above, its entry here.
pub static ALL: &[&Renderer] = &[
    &html::RENDERER,
    &text::RENDERER,
    &csv::RENDERER,
    &json::RENDERER,
    &junit::RENDERER,
    &sfnt::RENDERER,
    &hgrm::RENDERER,
];

/// One way to write a report down.
#[derive(Debug)]
pub struct Renderer {
    /// The name on the command line.
    pub id: &'static str,
    /// One sentence for help and the reference table.
    pub summary: &'static str,
    /// Ending of file names, without the dot.
    pub ending: &'static str,
    /// The files that it is written to; most formats have one.
    pub documents: fn(&Report<'_>) -> Result<Vec<ReportFile>, ReportError>,
}

impl Renderer {
    /// The whole document.
    pub fn render(&self, report: &Report<'_>) -> Result<String, ReportError> {
        let files = (self.documents)(report)?;
        let texts: Vec<String> = files.into_iter().map(|file| file.text).collect();
        Ok(texts.join("\n"))
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

/// The only file of a report.
fn one(text: String) -> Vec<ReportFile> {
    vec![ReportFile { name: None, text }]
}

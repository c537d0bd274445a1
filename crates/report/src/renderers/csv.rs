//! One row for each trial, for spreadsheets and scripts.

use super::Renderer;
use crate::document::DocumentFormat;
use crate::report::{Report, ReportError};

pub(super) struct Csv;

impl Renderer for Csv {
    fn id(&self) -> &'static str {
        "csv"
    }

    fn summary(&self) -> &'static str {
        "One row for each trial; empty where a value is not recorded."
    }

    fn ending(&self) -> &'static str {
        DocumentFormat::Csv.ending()
    }

    fn render(&self, report: &Report<'_>) -> Result<String, ReportError> {
        Ok(crate::export::csv(report.runs))
    }
}

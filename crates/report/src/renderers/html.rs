//! One HTML file that opens offline.

use super::Renderer;
use crate::document::DocumentFormat;
use crate::report::{Report, ReportError};

pub(super) struct Html;

impl Renderer for Html {
    fn id(&self) -> &'static str {
        "html"
    }

    fn summary(&self) -> &'static str {
        "One HTML file with verdicts, charts and facts; opens offline in any browser."
    }

    fn ending(&self) -> &'static str {
        DocumentFormat::Html.ending()
    }

    fn render(&self, report: &Report<'_>) -> Result<String, ReportError> {
        crate::html::page(report)
    }
}

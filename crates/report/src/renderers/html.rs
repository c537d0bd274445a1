//! One HTML file that opens offline.

use super::Renderer;
use crate::{Report, ReportError};

pub(super) struct Html;

impl Renderer for Html {
    fn id(&self) -> &'static str {
        "html"
    }

    fn summary(&self) -> &'static str {
        "One HTML file with verdicts, charts and facts; opens offline in any browser."
    }

    fn extension(&self) -> &'static str {
        "html"
    }

    fn render(&self, report: &Report<'_>) -> Result<String, ReportError> {
        crate::html::page(report)
    }
}

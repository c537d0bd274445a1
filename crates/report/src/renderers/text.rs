//! Plain text.

use super::Renderer;
use crate::document::DocumentFormat;
use crate::figures::clean;
use crate::paper::Style;
use crate::report::{Report, ReportError};
use crate::text::{details_text, overview_text};

pub(super) struct Text;

/// Columns of a text report: fits a terminal, a mail and a commit message's quote.
const WIDTH: usize = 96;

impl Renderer for Text {
    fn id(&self) -> &'static str {
        "text"
    }

    fn summary(&self) -> &'static str {
        "Plain text in aligned columns, all that `show --verbose` prints."
    }

    fn ending(&self) -> &'static str {
        DocumentFormat::Text.ending()
    }

    fn render(&self, report: &Report<'_>) -> Result<String, ReportError> {
        let mut text = format!("{}\nmade {}\n", clean(&report.title), report.made);
        if report.runs.is_empty() {
            text.push_str("\nno runs\n");
        }
        if report.runs.len() > 1 {
            text.push('\n');
            text.push_str(&overview_text(report.runs, WIDTH, Style::Plain));
        }
        for run in report.runs {
            text.push('\n');
            text.push_str(&details_text(run, WIDTH, Style::Plain));
        }
        Ok(text)
    }
}

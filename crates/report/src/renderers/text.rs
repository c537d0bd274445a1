//! Plain text.

use super::{Renderer, one};
use crate::document::DocumentFormat;
use crate::figures::clean;
use crate::paper::Style;
use crate::report::Report;
use crate::text::{details_text, overview_text};

/// Columns of a text report: fits a terminal, a mail and a commit message's quote.
const WIDTH: usize = 96;

pub(super) const RENDERER: Renderer = Renderer {
    id: "text",
    summary: "Plain text in aligned columns, all that `show --verbose` prints.",
    ending: DocumentFormat::Text.as_str(),
    documents: |report| Ok(one(text(report))),
};

fn text(report: &Report<'_>) -> String {
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
    text
}

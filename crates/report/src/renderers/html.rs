//! One HTML file that opens offline.

use super::{Renderer, one};
use crate::document::DocumentFormat;

pub(super) const RENDERER: Renderer = Renderer {
    id: "html",
    summary: "One HTML file with verdicts, charts and facts; opens offline in any browser.",
    ending: DocumentFormat::Html.as_str(),
    documents: |report| crate::html::page(report).map(one),
};

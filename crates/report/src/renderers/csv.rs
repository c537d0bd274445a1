//! One row for each trial, for spreadsheets and scripts.

use super::{Renderer, one};
use crate::document::DocumentFormat;

pub(super) const RENDERER: Renderer = Renderer {
    id: "csv",
    summary: "One row for each trial; empty where a value is not recorded.",
    ending: DocumentFormat::Csv.as_str(),
    documents: |report| Ok(one(crate::export::csv(report.runs))),
};

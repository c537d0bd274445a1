//! Test cases for CI systems.

use super::{Renderer, one};
use crate::document::DocumentFormat;

pub(super) const RENDERER: Renderer = Renderer {
    id: "junit",
    summary: "A test case for each trial and goal, for CI systems.",
    ending: DocumentFormat::Junit.as_str(),
    documents: |report| Ok(one(crate::junit(report.runs))),
};

//! The run document itself: one run as it is, several in a list.

use super::{Renderer, ReportFile, one};
use crate::document::DocumentFormat;
use crate::report::{Report, ReportError};
use linerate_model::run::Run;
use serde::Serialize;

/// Schema id of a document of several runs.
const SCHEMA: &str = "linerate/runs/1";

#[derive(Serialize)]
struct Runs<'a> {
    schema: &'static str,
    runs: &'a [Run],
}

pub(super) const RENDERER: Renderer = Renderer {
    id: "json",
    summary: "The run document (`linerate/run/2`); several runs in one `linerate/runs/1` document.",
    ending: DocumentFormat::Json.as_str(),
    documents,
};

fn documents(report: &Report<'_>) -> Result<Vec<ReportFile>, ReportError> {
    let written = match report.runs {
        [one] => serde_json::to_string_pretty(one),
        runs => serde_json::to_string_pretty(&Runs {
            schema: SCHEMA,
            runs,
        }),
    };
    written
        .map(|json| one(json + "\n"))
        .map_err(|source| ReportError::Json {
            what: "the runs",
            source,
        })
}

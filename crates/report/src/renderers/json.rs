//! The run document itself: one run as it is, several in a list.

use super::Renderer;
use crate::document::DocumentFormat;
use crate::report::{Report, ReportError};
use linerate_model::run::Run;
use serde::Serialize;

pub(super) struct Json;

/// Schema id of a document of several runs.
const SCHEMA: &str = "linerate/runs/1";

#[derive(Serialize)]
struct Runs<'a> {
    schema: &'static str,
    runs: &'a [Run],
}

impl Renderer for Json {
    fn id(&self) -> &'static str {
        "json"
    }

    fn summary(&self) -> &'static str {
        "The run document (`linerate/run/2`); several runs in one `linerate/runs/1` document."
    }

    fn ending(&self) -> &'static str {
        DocumentFormat::Json.ending()
    }

    fn render(&self, report: &Report<'_>) -> Result<String, ReportError> {
        let written = match report.runs {
            [one] => serde_json::to_string_pretty(one),
            runs => serde_json::to_string_pretty(&Runs {
                schema: SCHEMA,
                runs,
            }),
        };
        written
            .map(|json| json + "\n")
            .map_err(|source| ReportError::Json {
                what: "the runs",
                source,
            })
    }
}

//! `linerate report`.

use crate::args::output::OutputArgs;
use crate::args::values::title;
use crate::context::open_store;
use crate::outcome::{show_runs, write_report};
use anyhow::Result;
use clap::Args;
use linerate_archive as archive;
use linerate_model::exit::ExitCode;

/// Arguments of `report`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReportArgs {
    /// Ids, unique starts of ids, `last`, or paths.
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,
    /// Title of the report.
    ///
    /// The one of every command, which the short help of others leaves out.
    #[arg(long, short_alias = 'T', value_name = "TEXT", value_parser = title)]
    title: Option<String>,
}

impl ReportArgs {
    /// Reports the runs.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        let store = open_store(output)?;
        let runs = self
            .runs
            .iter()
            .map(|name| archive::load(&store, name))
            .collect::<Result<Vec<_>>>()?;
        if output.output.is_some() {
            write_report(output, &runs)?;
        } else {
            show_runs(output, &runs)?;
        }
        Ok(ExitCode::Done)
    }
}

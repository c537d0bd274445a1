//! `linerate export`.

use crate::args::output::OutputArgs;
use crate::args::stored::OneRun;
use crate::context::open_store;
use crate::terminal;
use anyhow::Result;
use clap::{Args, ValueEnum};
use linerate_archive as archive;
use linerate_model::exit::ExitCode;
use linerate_report::export;
use std::path::Path;

/// Arguments of `export`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    run: OneRun,
    /// Format [default: what the file's name ends in: csv, hgrm, prom, xml, else json].
    #[arg(long)]
    format: Option<ExportFormat>,
    /// With hgrm: the trial of this index only; else each trial goes to a file of its own.
    #[arg(long, value_name = "INDEX")]
    trial: Option<u32>,
}

/// Formats of `export`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ExportFormat {
    /// The run document.
    Json,
    /// One row per trial.
    Csv,
    /// One row per reporting interval.
    CsvIntervals,
    /// Whole delay distributions as HdrHistogram's percentile text.
    Hgrm,
    /// A test case per trial and goal, for CI systems (`JUnit`'s XML).
    Junit,
    /// Mean, smallest and largest of each quantity, for Prometheus.
    Openmetrics,
}

impl ExportFormat {
    /// What the name of the file asks for.
    pub(crate) fn from_file(file: Option<&Path>) -> Self {
        match file.and_then(Path::extension) {
            Some(ending) if ending == "csv" => Self::Csv,
            Some(ending) if ending == "hgrm" => Self::Hgrm,
            Some(ending) if ending == "prom" => Self::Openmetrics,
            Some(ending) if ending == "xml" => Self::Junit,
            _ => Self::Json,
        }
    }
}

impl ExportArgs {
    /// Writes the run in the format.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        let run = archive::load(&open_store(output)?, &self.run.run)?;
        let file = output.output.as_deref();
        let format = self.format.unwrap_or_else(|| ExportFormat::from_file(file));
        let text = match (format, file) {
            (ExportFormat::Json, _) => export::json(&run),
            (ExportFormat::Csv, _) => export::csv([&run]),
            (ExportFormat::CsvIntervals, _) => export::intervals_csv(&run),
            (ExportFormat::Junit, _) => linerate_report::junit(std::slice::from_ref(&run)),
            (ExportFormat::Openmetrics, _) => linerate_report::run_metrics(&run),
            (ExportFormat::Hgrm, Some(path)) if self.trial.is_none() => {
                archive::write_hgrm(path, &run)?;
                return Ok(ExitCode::Done);
            }
            (ExportFormat::Hgrm, _) => archive::to_hgrm(&run, self.trial)?,
        };
        match file {
            Some(path) => archive::write_file(path, &text)?,
            None => terminal::print_line(text.trim_end())?,
        }
        Ok(ExitCode::Done)
    }
}

//! `linerate export`.

use crate::args::output::OutputArgs;
use crate::args::stored::OneRun;
use crate::context::open_store;
use crate::terminal;
use anyhow::Result;
use clap::{Args, ValueEnum};
use linerate_archive as archive;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::Run;
use linerate_report::export;
use std::path::Path;

/// Arguments of `export`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    run: OneRun,
    /// Format [default: what the file's name ends in: csv, hgrm, parquet, prom, xml, else json].
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
    /// One row per trial, typed, for data frames; of builds with the feature `parquet`.
    Parquet,
}

impl ExportFormat {
    /// What the name of the file asks for.
    pub(crate) fn from_file(file: Option<&Path>) -> Self {
        match file.and_then(Path::extension) {
            Some(ending) if ending == "csv" => Self::Csv,
            Some(ending) if ending == "hgrm" => Self::Hgrm,
            Some(ending) if ending == "parquet" => Self::Parquet,
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
            (ExportFormat::Parquet, _) => {
                parquet(&run, file)?;
                return Ok(ExitCode::Done);
            }
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

/// Writes the run as a Parquet file, which no terminal shows.
#[cfg(feature = "parquet")]
fn parquet(run: &Run, file: Option<&Path>) -> Result<(), anyhow::Error> {
    let path = file.ok_or_else(|| {
        let message = "parquet is no text: name a file with -o FILE.parquet";
        Failure::new(ExitCode::Usage, message)
    })?;
    archive::stream_file(path, |file| export::parquet([run], file))
}

/// Says that this build cannot, and what can be done.
#[cfg(not(feature = "parquet"))]
fn parquet(_: &Run, _: Option<&Path>) -> Result<(), Failure> {
    let message = "cannot write Parquet: this linerate was built without it; build one with \
        `cargo build --release --locked -p linerate-cli --features parquet`, or export csv, which has the same columns";
    Err(Failure::new(ExitCode::HostLacks, message))
}

//! `linerate import`.

use crate::args::output::OutputArgs;
use crate::args::stored::HintArgs;
use crate::args::values::rate;
use crate::context::in_context;
use crate::outcome::RunsInParts;
use crate::terminal;
use anyhow::Result;
use clap::Args;
use linerate_archive::{
    Columns, Hints, ImportOutcome, QUANTITIES, import_logs, import_tables, tools,
    unless_interrupted,
};
use linerate_model::BitRate;
use linerate_model::exit::ExitCode;
use linerate_studies::watch::Event;
use std::path::PathBuf;

/// Arguments of `import`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = quantities())]
pub(crate) struct ImportArgs {
    /// Logs of other tools.
    #[arg(value_name = "FILE", required_unless_present = "csv", help = files())]
    files: Vec<PathBuf>,
    /// Read a table of old results in place of logs: lines separated by commas, semicolons or tabs, with a heading for
    /// each column. May be given several times.
    #[arg(
        long,
        value_name = "FILE",
        requires = "columns",
        conflicts_with_all = ["files", "link_speed"]
    )]
    csv: Vec<PathBuf>,
    /// Which column of the table is what: QUANTITY=COLUMN, with a unit after a colon where cells have none, or
    /// QUANTITY==VALUE where all lines have the same: `rate=mbit_per_s:Mbit/s,transport==tcp,factors=stack+ip`.
    #[arg(long, value_name = "MAPPING", requires = "csv")]
    columns: Option<Columns>,
    /// Speed of the link that the tests crossed, at L2 (`1G`): logs do not tell, and verdicts need it.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    link_speed: Option<BitRate>,
    #[command(flatten)]
    hints: HintArgs,
}

impl ImportArgs {
    /// Reads the logs and stores the runs they make.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        let hints = Hints {
            link_speed: self.link_speed,
            ..self.hints.hints()
        };
        let mut shown = RunsInParts::new(output);
        let refused = in_context(output, |context| {
            let interrupt = context.interrupt;
            let show = &mut |runs| {
                unless_interrupted(interrupt)?;
                shown.add(runs)
            };
            let store = context.store.as_ref();
            let ImportOutcome { findings, known } = match &self.columns {
                Some(columns) => import_tables(store, &self.csv, columns, interrupt, show),
                None => import_logs(store, &self.files, &hints, interrupt, show),
            }?;
            for warning in &findings.warnings {
                context.watcher.event(Event::Warning(warning));
            }
            for note in &known {
                context.watcher.event(Event::Note(note));
            }
            Ok(findings.refused)
        })?;
        shown.finish()?;
        for error in &refused {
            terminal::error(&format!("left out: {error}"));
        }
        Ok(if refused.is_empty() {
            ExitCode::Done
        } else {
            ExitCode::Plan
        })
    }
}

fn files() -> String {
    format!(
        "Logs of {}; views of both ends of one test become one trial. A folder stands for all files below it",
        tools()
    )
}

/// What a column of a table can be, for `--help`.
fn quantities() -> String {
    let lines = QUANTITIES
        .iter()
        .map(|kind| format!("  {:<10}  {}\n", kind.id, kind.holds.replace('`', "")));
    std::iter::once("Quantities of --columns:\n".to_owned())
        .chain(lines)
        .collect()
}

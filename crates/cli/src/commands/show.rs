//! `linerate show`.

use crate::args::output::OutputArgs;
use crate::args::stored::OneRun;
use crate::context::open_store;
use crate::outcome::show_runs;
use anyhow::Result;
use linerate_model::exit::ExitCode;
use linerate_studies::archive;

/// Shows a stored run.
pub(crate) fn show(which: &OneRun, output: &OutputArgs) -> Result<ExitCode> {
    let run = archive::load(&open_store(output)?, &which.run)?;
    show_runs(output, std::slice::from_ref(&run))?;
    Ok(ExitCode::Done)
}

//! `linerate show`.

use crate::args::output::OutputArgs;
use crate::args::stored::OneRun;
use crate::context::open_store;
use crate::outcome::show_run;
use anyhow::Result;
use linerate_archive as archive;
use linerate_model::exit::ExitCode;
use std::path::Path;

/// Shows a stored run.
pub(crate) fn show(which: &OneRun, output: &OutputArgs) -> Result<ExitCode> {
    let run = archive::load(&open_store(output)?, &which.run)?;
    // A run that was given by its path may be in no store.
    let is_path = Path::new(&which.run).exists();
    show_run(
        output,
        &run,
        Some(if is_path { &which.run } else { &run.id }),
    )?;
    Ok(ExitCode::Done)
}

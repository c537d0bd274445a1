//! `linerate list`.

use crate::args::output::OutputArgs;
use crate::context::open_store;
use crate::outcome::no_report;
use crate::terminal;
use anyhow::Result;
use linerate_model::exit::ExitCode;
use linerate_studies::archive;

/// Lists the stored runs.
pub(crate) fn list(output: &OutputArgs) -> Result<ExitCode> {
    no_report(output, "list")?;
    let listed = archive::list(&open_store(output)?)?;
    if output.json {
        terminal::print_line(&archive::listing_json(&listed)?)?;
    } else {
        terminal::print_line(&archive::listing_text(&listed))?;
    }
    Ok(ExitCode::Done)
}

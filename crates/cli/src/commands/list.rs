//! `linerate list`.

use crate::args::output::OutputArgs;
use crate::context::open_store;
use crate::outcome::no_report;
use crate::terminal;
use anyhow::Result;
use linerate_model::exit::ExitCode;
use linerate_report::{ListedRun, listing_text};
use linerate_studies::archive::{self, Entry, Listed};

/// Lists the stored runs.
pub(crate) fn list(output: &OutputArgs) -> Result<ExitCode> {
    no_report(output, "list")?;
    let listed = archive::list(&open_store(output)?)?;
    if output.json {
        terminal::print_line(&archive::listing_json(&listed)?)?;
    } else {
        terminal::print_line(&listing_text(listed.iter().map(named)))?;
    }
    Ok(ExitCode::Done)
}

/// One of them, by its id.
fn named(listed: &Listed) -> (&str, ListedRun<'_>) {
    let run = match &listed.entry {
        Entry::Broken { reason } => ListedRun::Broken { reason },
        Entry::Run(run) => ListedRun::Run {
            kind: run.kind,
            status: run.status,
            title: run.title.as_deref(),
        },
    };
    (&listed.id, run)
}

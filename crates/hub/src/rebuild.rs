//! `archive rebuild`: all rows of runs and trials again, from the documents.

use crate::archive::Archive;
use crate::configuration::DatabaseAddress;
use crate::database::Database;
use crate::log::say;
use anyhow::Result;
use linerate_model::exit::{ExitCode, Failure};
use std::path::Path;
use std::time::Duration;

/// Makes all rows again from the documents in `folder`: all, or after an error none.
pub(crate) async fn rebuild(
    address: &DatabaseAddress,
    folder: &Path,
    keep: Option<Duration>,
) -> Result<ExitCode> {
    let archive = Archive::read_only(folder)?;
    if archive.runs()?.is_empty() {
        let message = format!(
            "there is no document in {}: the database stays as it is",
            folder.display()
        );
        return Err(Failure::new(ExitCode::HostLacks, message).into());
    }
    let mut database = Database::connect(address).await?;
    database.belongs_to(archive.id().as_deref()).await?;
    let emptied = database.begin_rebuild().await?;
    // What a hub has acknowledged before it was locked out is in the archive by now.
    let runs = archive.runs()?;
    let mut trials = 0;
    for run in &runs {
        trials += emptied.insert(&archive.load(run)?, keep).await?;
    }
    emptied.commit().await?;
    say(&format!(
        "made {trials} rows of {} documents in {}",
        runs.len(),
        folder.display()
    ));
    Ok(ExitCode::Done)
}

//! Published tables, read from files.

use linerate_analysis::published::{PublishedTable, audit};
use linerate_model::audit::Audit;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::Tool;
use linerate_sys::bounded;
use std::path::Path;

/// Largest file that is read; the table itself may have less.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Reads the published table at `path`.
pub fn read_table(path: &Path) -> Result<PublishedTable, Failure> {
    let failed = |why: String| {
        let message = format!("cannot read the published table {}: {why}", path.display());
        Failure::new(ExitCode::Plan, message)
    };
    let text = bounded::read_text_file(path, MAX_BYTES);
    let text = text.map_err(|error| failed(error.to_string()))?;
    PublishedTable::parse(&text).map_err(|error| failed(error.to_string()))
}

/// What the figures of the table at `path` contradict.
pub fn audit_table(path: &Path) -> Result<Audit, Failure> {
    let table = read_table(path)?;
    let tool = Tool::linerate(env!("CARGO_PKG_VERSION"));
    Ok(audit(&table, &path.display().to_string(), tool))
}

//! Input files: read with a bound on their size, and errors that say which file.

use linerate_model::exit::{ExitCode, Failure};
use linerate_p4::{Program, Switch, stf};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

/// The largest published program has 0.8 MB.
const MAX_FILE: u64 = 64 << 20;

/// The bytes of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let cannot = |error| {
        Failure::new(
            ExitCode::Plan,
            format!("cannot read {}: {error}", path.display()),
        )
    };
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes))
        .map_err(cannot)?;
    if bytes.len() as u64 > MAX_FILE {
        let message = format!("{} has more than {} MiB", path.display(), MAX_FILE >> 20);
        return Err(Failure::new(ExitCode::Plan, message));
    }
    Ok(bytes)
}

/// The text of a file.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    let text = String::from_utf8(read(path)?);
    text.map_err(|_| {
        Failure::new(
            ExitCode::Plan,
            format!("{} is not UTF-8 text", path.display()),
        )
    })
}

/// A compiled program.
pub(crate) fn program(path: &Path) -> Result<Arc<Program>, Failure> {
    load(path, &read(path)?).map(Arc::new)
}

/// The compiled program that these bytes of a file are.
pub(crate) fn load(path: &Path, bytes: &[u8]) -> Result<Program, Failure> {
    Program::from_json(bytes).map_err(|error| wrong(path, &error))
}

/// What is wrong with a file.
pub(crate) fn wrong(path: &Path, error: &dyn std::error::Error) -> Failure {
    Failure::new(ExitCode::Plan, format!("{}: {error}", path.display()))
}

/// Sets what a file of STF statements adds: entries, defaults, groups, sessions.
pub(crate) fn set_entries(switch: &mut Switch, path: &Path) -> Result<(), Failure> {
    let statements = stf::parse(&read_text(path)?).map_err(|error| wrong(path, &error))?;
    stf::control(switch, &statements).map_err(|error| wrong(path, &error))
}

/// Checks that a P4Info file is of a program.
pub(crate) fn check_p4info(program: &Program, path: &Path) -> Result<(), Failure> {
    let checked = linerate_p4_runtime::check_p4info(program, &read(path)?);
    checked.map_err(|error| wrong(path, &error))
}

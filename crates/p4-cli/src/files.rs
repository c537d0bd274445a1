//! Input files: read with a bound on their size, and errors that say which file.

use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_p4::{Program, Switch, stf};
use linerate_sys::bounded;
use std::path::Path;
use std::sync::Arc;

/// The largest published program has 0.8 MB.
const MAX_FILE: u64 = 64 << 20;

/// The bytes of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    bounded::read_file(path, MAX_FILE).map_err(|error| {
        let message = format!("cannot read {}: {error}", path.display());
        Failure::new(ExitCode::Plan, message)
    })
}

/// The text of a file.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let text = String::from_utf8(read(path)?);
    text.map_err(|_| {
        Failure::new(
            ExitCode::Plan,
            format!("{} is not UTF-8 text", path.display()),
        )
    })
}

/// A compiled program.
pub(crate) fn program(path: &Path) -> Result<Arc<Program>> {
    load(path, &read(path)?).map(Arc::new)
}

/// The compiled program that these bytes of a file are.
pub(crate) fn load(path: &Path, bytes: &[u8]) -> Result<Program> {
    let begins = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if begins.is_some_and(|byte| *byte != b'{') {
        let what = "no program that p4c-bm2-ss wrote (JSON): a source in P4 is compiled first, p4c-bm2-ss -o PROGRAM.json";
        let message = format!("{}: {what}", path.display());
        return Err(Failure::new(ExitCode::Plan, message));
    }
    Program::from_json(bytes).map_err(|error| wrong(path, &error))
}

/// What is wrong with a file.
pub(crate) fn wrong(path: &Path, error: &dyn std::error::Error) -> Failure {
    Failure::new(ExitCode::Plan, format!("{}: {error}", path.display()))
}

/// Sets what a file of STF statements adds: entries, defaults, groups, sessions.
pub(crate) fn set_entries(switch: &mut Switch, path: &Path) -> Result<()> {
    let statements = stf::parse(&read_text(path)?).map_err(|error| wrong(path, &error))?;
    stf::control(switch, &statements).map_err(|error| wrong(path, &error))
}

/// Checks that a P4Info file is of a program.
pub(crate) fn check_p4info(program: &Program, path: &Path) -> Result<()> {
    let checked = linerate_p4_runtime::check_p4info(program, &read(path)?);
    checked.map_err(|error| wrong(path, &error))
}

//! Commands that are programs of their own: `linerate NAME` starts `linerate-NAME`, as git does.

use clap::error::ErrorKind;
use linerate_boards::Arch;
use linerate_model::exit::{ExitCode, Failure};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// These programs by name: the one beside linerate itself, else the first on `PATH`.
pub(crate) fn find() -> BTreeMap<String, PathBuf> {
    let own = env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(Path::to_owned);
    let path = env::var_os("PATH").unwrap_or_default();
    let mut found = BTreeMap::new();
    for folder in beside.into_iter().chain(env::split_paths(&path)) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let file = entry.file_name();
            let name = file
                .to_str()
                .and_then(|file| file.strip_prefix("linerate-"));
            if let Some(name) = name.filter(|name| !is_agent(name))
                && is_executable(&entry.path())
            {
                found.entry(name.to_owned()).or_insert_with(|| entry.path());
            }
        }
    }
    found
}

/// Whether `linerate-NAME` is linerate itself, or a program of its own, built for a board.
fn is_agent(name: &str) -> bool {
    let (_, last) = name.rsplit_once('-').unwrap_or_default();
    Arch::ALL
        .iter()
        .map(ToString::to_string)
        .any(|arch| arch == name || arch == last)
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// The command line with these programs among its commands, so that help lists them and near names are theirs too.
pub(crate) fn add_to(known: clap::Command, programs: &BTreeMap<String, PathBuf>) -> clap::Command {
    programs.iter().fold(known, |known, (name, path)| {
        if known.find_subcommand(name).is_some() {
            return known;
        }
        let about = format!("Start {}", path.display());
        known.subcommand(clap::Command::new(name.clone()).about(about))
    })
}

/// Becomes the program that the first argument names, if linerate has no such command itself; its exit code is the
/// program's. Returns only where there is none, or why it cannot be started.
pub(crate) fn start(
    words: &[OsString],
    refused: &clap::Error,
    programs: &BTreeMap<String, PathBuf>,
) -> Option<Failure> {
    let (name, arguments) = words.split_first()?;
    let program = programs.get(name.to_str()?)?;
    if refused.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let error = Command::new(program).args(arguments).exec();
    let message = format!("cannot start {}: {error}", program.display());
    Some(Failure::new(ExitCode::HostLacks, message))
}

//! The program where no program `linerate-NAME` is beside it or on its path, which its help would list.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// A link to the program in a folder of its own.
fn link() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME"));
    let link = folder.join("linerate");
    std::fs::create_dir_all(&folder).unwrap();
    // An earlier run's, of an earlier program.
    let _ = std::fs::remove_file(&link);
    std::fs::hard_link(env!("CARGO_BIN_EXE_linerate"), &link).unwrap();
    link
}

/// The program by itself.
pub(crate) fn alone() -> Command {
    static LINK: OnceLock<PathBuf> = OnceLock::new();
    let mut command = Command::new(LINK.get_or_init(link));
    command.env("PATH", "");
    command
}

//! Programs of the Python index, each in an environment of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of programs of an environment below `folder` that has this package, such as `finsy==0.30.0`: made once.
///
/// # Panics
///
/// If it cannot be made: the test was not run then.
#[must_use]
pub fn environment(folder: &Path, package: &str) -> PathBuf {
    let root = folder.join("python").join(package.replace("==", "-"));
    let programs = root.join("bin");
    let complete = root.join("complete");
    if !complete.exists() {
        fs::create_dir_all(&root).expect("a folder");
        let run = |command: &mut Command| {
            let output = command.output().expect("NOT RUN: python3 is missing");
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "NOT RUN: {command:?}: {error}");
        };
        run(Command::new("python3").args(["-m", "venv"]).arg(&root));
        let python = programs.join("python");
        run(Command::new(python).args(["-m", "pip", "install", "--quiet", package]));
        fs::write(complete, "").expect("a file");
    }
    programs
}

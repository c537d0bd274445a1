//! Fetches a Debian source package of this machine's release. Nothing is installed.

use crate::cache::failed;
use crate::tools::run;
use linerate_model::exit::{ExitCode, Failure, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Subfolder with a package's source.
pub const UNPACKED: &str = "source";

/// Fetches the package into `folder` and unpacks it there, with Debian's patches; returns the source's folder.
pub fn source(package: &str, folder: &Path) -> Result<PathBuf> {
    let unpacked = folder.join(UNPACKED);
    if unpacked.is_dir() {
        return Ok(unpacked);
    }
    let list = sources_list(folder)?;
    let partial = folder.join("lists/partial");
    fs::create_dir_all(&partial).map_err(|error| failed("creating", &partial, &error))?;
    let option = |name: &str, path: &Path| format!("{name}={}", path.display());
    let options = [
        option("Dir::Etc::SourceList", &list),
        option("Dir::Etc::SourceParts", Path::new("-")),
        option("Dir::State::Lists", &folder.join("lists")),
        // Downloads as root need not drop to another user.
        "APT::Sandbox::User=root".to_owned(),
    ];
    for words in [&["update"][..], &["source", "--download-only", package]] {
        let mut apt = Command::new("apt-get");
        apt.current_dir(folder).arg("-q");
        for option in &options {
            apt.args(["-o", option]);
        }
        run(apt.args(words)).map_err(|error| {
            let message = format!("cannot fetch Debian's source package {package}: {error}");
            Failure::new(error.code, message)
        })?;
    }
    let description = description(folder)?;
    // Signatures were verified by apt when the package was fetched.
    let mut unpack = Command::new("dpkg-source");
    run(unpack
        .args(["--no-check", "-x"])
        .arg(description)
        .arg(&unpacked))?;
    Ok(unpacked)
}

/// Writes a sources list for source packages of the same archives.
fn sources_list(folder: &Path) -> Result<PathBuf> {
    let mut targets = Command::new("apt-get");
    targets.args([
        "indextargets",
        "--format",
        "$(SITE) $(RELEASE) $(COMPONENT)",
        "Created-By: Packages",
    ]);
    let text = String::from_utf8_lossy(&run(&mut targets)?.stdout).into_owned();
    let lines: Vec<String> = text
        .lines()
        .filter(|line| line.ends_with(" main") && line.contains("/debian "))
        .map(|line| format!("deb-src {line}\n"))
        .collect();
    if lines.is_empty() {
        let message = "apt has no Debian archive configured, so no source package can be fetched: add one to /etc/apt/sources.list";
        return Err(Failure::new(ExitCode::HostLacks, message));
    }
    let list = folder.join("sources.list");
    fs::write(&list, lines.concat()).map_err(|error| failed("writing", &list, &error))?;
    Ok(list)
}

/// The `.dsc` file in a package's folder, with hashes of all its files.
pub(crate) fn description(folder: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).map_err(|error| failed("reading", folder, &error))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut found = paths.filter(|path| path.extension().is_some_and(|ending| ending == "dsc"));
    found.next().ok_or_else(|| {
        let message = format!(
            "the source package in {} has no description (.dsc)",
            folder.display()
        );
        Failure::new(ExitCode::Other, message)
    })
}

//! A source package of Debian, of the release that this machine's packages are of. Nothing is installed.

use super::tools::run;
use anyhow::{Context as _, Result};
use linerate_model::exit::{ExitCode, Failure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Fetches the package into `folder` and unpacks it there, with Debian's changes; where it is.
pub(super) fn source(package: &str, folder: &Path) -> Result<PathBuf> {
    let unpacked = folder.join("source");
    if unpacked.is_dir() {
        return Ok(unpacked);
    }
    let list = sources_list(folder)?;
    fs::create_dir_all(folder.join("lists/partial"))
        .with_context(|| format!("creating a folder in {}", folder.display()))?;
    let option = |name: &str, path: &Path| format!("{name}={}", path.display());
    let options = [
        option("Dir::Etc::SourceList", &list),
        option("Dir::Etc::SourceParts", Path::new("-")),
        option("Dir::State::Lists", &folder.join("lists")),
        // Root's own downloads need not become another user's.
        "APT::Sandbox::User=root".to_owned(),
    ];
    for words in [&["update"][..], &["source", "--download-only", package]] {
        let mut apt = Command::new("apt-get");
        apt.current_dir(folder).arg("-q");
        for option in &options {
            apt.args(["-o", option]);
        }
        run(apt.args(words)).map_err(|error| {
            let message = format!("cannot fetch Debian's source package {package}: {error}; or give its unpacked source with --source DIR");
            Failure::new(error.code, message)
        })?;
    }
    let description = description(folder)?;
    // Its index was checked when it was fetched.
    let mut unpack = Command::new("dpkg-source");
    run(unpack
        .args(["--no-check", "-x"])
        .arg(description)
        .arg(&unpacked))?;
    Ok(unpacked)
}

/// Writes the archive's addresses as those of source packages.
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
        let message = "apt knows no Debian archive, so no source package can be fetched; give an unpacked source with --source DIR";
        return Err(Failure::new(ExitCode::HostLacks, message).into());
    }
    let list = folder.join("sources.list");
    fs::write(&list, lines.concat()).with_context(|| format!("writing {}", list.display()))?;
    Ok(list)
}

fn description(folder: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut found = paths.filter(|path| path.extension().is_some_and(|ending| ending == "dsc"));
    found
        .next()
        .context("the source package has no description (.dsc)")
}

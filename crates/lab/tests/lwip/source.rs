//! lwIP from Debian's source package, built with its lwiperf as a small board has it.
//!
//! The package is fetched into a folder of the test's own: nothing is installed, nothing is kept.

use anyhow::{Context as _, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Builds the program of `board.c` from what was fetched; where it is.
pub(crate) fn build(folder: &Path) -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lwip");
    let source = unpacked(folder)?;
    let program = folder.join("board");
    let mut cc = Command::new("cc");
    // The one that says what the stack is like comes first.
    cc.arg("-O2").arg("-w").arg("-I").arg(&here);
    for headers in ["src/include", "port/include"] {
        cc.arg("-I").arg(source.join(headers));
    }
    cc.arg(here.join("board.c"));
    for part in ["src/core", "src/core/ipv4", "src/api", "src/apps/lwiperf"] {
        cc.args(with_extension(&source.join(part), "c")?);
    }
    cc.arg(source.join("src/netif/ethernet.c"));
    cc.arg(source.join("port/sys_arch.c"));
    cc.arg(source.join("port/netif/tapif.c"));
    cc.args(["-lpthread", "-o"]).arg(&program);
    run(&mut cc)?;
    Ok(program)
}

/// The package with Debian's changes: the port to Unix, with its TAP driver, is one of them.
fn unpacked(folder: &Path) -> Result<PathBuf> {
    let description = with_extension(folder, "dsc")?;
    let description = description
        .first()
        .context("the package has no description")?;
    let into = folder.join("source");
    let mut unpack = Command::new("dpkg-source");
    // Its index was checked when it was fetched.
    unpack
        .args(["--no-check", "-x"])
        .arg(description)
        .arg(&into);
    run(&mut unpack)?;
    Ok(into)
}

/// Fetches the source package of the release that this machine has its binary packages from.
pub(crate) fn fetch(folder: &Path) -> Result<()> {
    let mut targets = Command::new("apt-get");
    targets.args([
        "indextargets",
        "--format",
        "$(SITE) $(RELEASE) $(COMPONENT)",
        "Created-By: Packages",
    ]);
    let found = run(&mut targets)?;
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    let lines: Vec<String> = text
        .lines()
        .filter(|line| line.ends_with(" main") && line.contains("/debian "))
        .map(|line| format!("deb-src {line}\n"))
        .collect();
    ensure!(!lines.is_empty(), "apt knows no Debian archive");
    let list = folder.join("sources.list");
    fs::write(&list, lines.concat())?;
    fs::create_dir_all(folder.join("lists/partial"))?;
    let option = |name: &str, path: &Path| format!("{name}={}", path.display());
    let options = [
        option("Dir::Etc::SourceList", &list),
        option("Dir::Etc::SourceParts", Path::new("-")),
        option("Dir::State::Lists", &folder.join("lists")),
        // Root's own downloads need not become another user's.
        "APT::Sandbox::User=root".to_owned(),
    ];
    for words in [&["update"][..], &["source", "--download-only", "lwip"]] {
        let mut apt = Command::new("apt-get");
        apt.current_dir(folder).arg("-q");
        for option in &options {
            apt.args(["-o", option]);
        }
        run(apt.args(words))?;
    }
    Ok(())
}

fn with_extension(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    let fits = |path: &PathBuf| path.extension().is_some_and(|found| found == extension);
    Ok(paths.into_iter().filter(fits).collect())
}

fn run(command: &mut Command) -> Result<Output> {
    let output = command
        .output()
        .with_context(|| format!("starting {command:?}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        bail!("{command:?}: {}", said.trim());
    }
    Ok(output)
}

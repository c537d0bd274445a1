//! `write-packages`: writes what is installed, from the command lines and from the programs that `make dist` builds.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "says what it wrote")]

use anyhow::{Context as _, Result, bail};
use jiff::Timestamp;
use linerate_packages::architecture::Architecture;
use linerate_packages::entry::Entry;
use linerate_packages::package::Package;
use linerate_packages::{
    Named, Source, archive, completions, content, formats, hex, image, manual,
};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

const USAGE: &str =
    "usage: write-packages manual FOLDER | completions FOLDER | packages DIST FOLDER [VERSION]";

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = own.ancestors().nth(2).unwrap_or(own);
    let source = Source {
        root,
        time: time(root)?,
        version: env!("CARGO_PKG_VERSION"),
    };
    match words.as_slice() {
        ["manual", folder] => write(Path::new(folder), manual::pages(&source.date())?),
        ["completions", folder] => {
            for (shell, _) in completions::SHELLS {
                let folder = Path::new(folder).join(shell.to_string());
                write(&folder, completions::files(shell))?;
            }
            Ok(())
        }
        ["packages", dist, folder] => packages(&source, Path::new(dist), Path::new(folder)),
        ["packages", dist, folder, version] => {
            let source = Source { version, ..source };
            packages(&source, Path::new(dist), Path::new(folder))
        }
        _ => bail!("{USAGE}"),
    }
}

/// `SOURCE_DATE_EPOCH`, else the time of the newest commit.
fn time(root: &Path) -> Result<Timestamp> {
    let seconds = if let Some(seconds) = std::env::var_os("SOURCE_DATE_EPOCH") {
        seconds.to_string_lossy().into_owned()
    } else {
        let mut git = Command::new("git");
        git.args(["log", "-1", "--format=%ct"]).current_dir(root);
        let output = git
            .output()
            .context("running git log; or set SOURCE_DATE_EPOCH")?;
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let parsed = seconds.trim().parse().ok();
    let parsed = parsed.and_then(|seconds| Timestamp::from_second(seconds).ok());
    parsed.with_context(|| {
        format!("SOURCE_DATE_EPOCH: {seconds:?} are not seconds since 1970; without git, set it")
    })
}

/// All packages for the architectures whose programs are in `dist`, and their sums.
fn packages(source: &Source<'_>, dist: &Path, folder: &Path) -> Result<()> {
    let built = |one: &Architecture| dist.join(format!("linerate-{one}")).is_file();
    let architectures: Vec<_> = Architecture::ALL.into_iter().filter(built).collect();
    if architectures.is_empty() {
        bail!("no program in {}: `make dist` builds them", dist.display());
    }
    // Packing takes a core each, for a minute.
    let made: Vec<_> = thread::scope(|scope| {
        let pack = |one: &Architecture| {
            let one = *one;
            scope.spawn(move || pack(source, dist, one))
        };
        let packing: Vec<_> = architectures.iter().map(pack).collect();
        let joined = packing.into_iter().map(thread::ScopedJoinHandle::join);
        joined
            .map(|made| made.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect::<Result<_>>()
    })?;
    let mut sums = Vec::new();
    let mut all = Vec::new();
    for (architecture, (entries, packed)) in architectures.into_iter().zip(made) {
        for (name, bytes) in packed {
            sums.push(save(folder, name, &bytes)?);
        }
        all.push((architecture, entries));
    }
    for (at, package) in Package::ALL.into_iter().enumerate() {
        // The hub starts linerate, whose package comes before it.
        let needed = |(architecture, entries): &(Architecture, [Vec<Entry>; 2])| {
            let mut needed = entries[..=at].concat();
            needed.sort_by(|a, b| a.path.cmp(&b.path));
            (*architecture, needed)
        };
        let entries: Vec<_> = all.iter().map(needed).collect();
        let name = archive::tarball_name(source, package, "image.tar");
        sums.push(save(
            folder,
            name,
            &image::archive(source, package, &entries)?,
        )?);
    }
    sums.sort();
    let text = sums.iter().map(|(name, sum)| format!("{sum}  {name}\n"));
    let text: String = text.collect();
    save(folder, "SHA256SUMS".to_owned(), text.as_bytes())?;
    Ok(())
}

/// What each package installs on one architecture, and its forms by file name.
fn pack(
    source: &Source<'_>,
    dist: &Path,
    architecture: Architecture,
) -> Result<([Vec<Entry>; 2], Vec<Named>)> {
    let mut packed = Vec::new();
    let mut installed = [Vec::new(), Vec::new()];
    for (package, place) in Package::ALL.into_iter().zip(&mut installed) {
        let entries = content::entries(source, dist, package, architecture)?;
        for format in formats::ALL {
            let name = format.file_name(source, package, architecture);
            let made = format.package(source, package, architecture, &entries);
            packed.push((name.clone(), made.context(name)?));
        }
        *place = entries;
    }
    Ok((installed, packed))
}

/// Writes a package and says its size; its name and its sum.
fn save(folder: &Path, name: String, bytes: &[u8]) -> Result<(String, String)> {
    let sum = hex(&Sha256::digest(bytes));
    let path: PathBuf = folder.join(&name);
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))?;
    println!("{}: {} bytes", path.display(), bytes.len());
    Ok((name, sum))
}

fn write(folder: &Path, files: impl IntoIterator<Item = Named>) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    for (name, bytes) in files {
        let path = folder.join(name);
        fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

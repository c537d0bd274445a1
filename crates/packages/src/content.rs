//! What a package installs: files by path, made of programs, command lines, and texts of the repository.

use crate::architecture::Architecture;
use crate::entry::Entry;
use crate::package::Package;
use crate::parts::{Part, notices};
use crate::{Source, bill, completions, gzip, hex, manual};
use anyhow::{Context as _, Result};
use flate2::Compression;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::path::Path;

/// A text of the repository, and where it is installed.
type File = (&'static str, &'static str);

/// The units and their configuration.
const fn service(package: Package) -> &'static [File] {
    match package {
        // Those of the Yocto layer.
        Package::Linerate => &[
            (
                "lib/systemd/system/linerate.service",
                include_str!(
                    "../../../yocto/meta-linerate/recipes-linerate/linerate/linerate/linerate.service"
                ),
            ),
            (
                "lib/systemd/system/linerate.socket",
                include_str!(
                    "../../../yocto/meta-linerate/recipes-linerate/linerate/linerate/linerate.socket"
                ),
            ),
            (
                "etc/linerate/serve.toml",
                include_str!(
                    "../../../yocto/meta-linerate/recipes-linerate/linerate/linerate/serve.toml"
                ),
            ),
        ],
        Package::Hub => &[(
            "lib/systemd/system/linerate-hub.service",
            include_str!("../../hub/linerate-hub.service"),
        )],
    }
}

/// Files to copy and to change.
const fn examples(package: Package) -> &'static [File] {
    match package {
        Package::Linerate => &[
            ("datapaths.conf", include_str!("../files/datapaths.conf")),
            ("key.conf", include_str!("../files/key.conf")),
        ],
        Package::Hub => &[
            ("alerts.yml", include_str!("../../hub/alerts.yml")),
            ("hub.toml", include_str!("../files/hub.toml")),
        ],
    }
}

/// The licences of linerate itself.
const LICENCES: &[File] = &[
    ("LICENSE-APACHE", include_str!("../../../LICENSE-APACHE")),
    ("LICENSE-MIT", include_str!("../../../LICENSE-MIT")),
];

/// A document as distributions want it compressed.
pub(crate) fn packed(text: &[u8]) -> Vec<u8> {
    gzip(text, Compression::best())
}

/// Everything of a package for `architecture`, sorted by path. `dist` has the programs as `make dist` leaves them; linerate
/// for each other architecture that is there becomes an agent.
pub fn entries(
    source: &Source<'_>,
    dist: &Path,
    package: Package,
    architecture: Architecture,
) -> Result<Vec<Entry>> {
    let doc = format!("share/doc/{}", package.name());
    let mut all = programs(dist, package, architecture)?;
    let pages = manual::pages(&source.date())?;
    let pages = pages
        .into_iter()
        .filter(|(name, _)| package.has_words(name));
    all.extend(
        pages.map(|(name, page)| Entry::text(format!("share/man/man1/{name}.gz"), packed(&page))),
    );
    for (shell, folder) in completions::SHELLS {
        let files = completions::files(shell).into_iter();
        let files = files.filter(|(name, _)| package.has_words(name));
        all.extend(files.map(|(name, text)| Entry::text(format!("share/{folder}/{name}"), text)));
    }
    let texts = service(package).iter();
    all.extend(texts.map(|(path, text)| Entry::text(*path, *text)));
    for (name, text) in examples(package) {
        all.push(Entry::text(format!("{doc}/examples/{name}"), *text));
    }
    all.extend(notes(source, package, architecture, &all[0], &doc)?);
    if package == Package::Linerate {
        all.extend(guide(source, &doc)?);
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(all)
}

fn programs(dist: &Path, package: Package, architecture: Architecture) -> Result<Vec<Entry>> {
    let read = |name: String| {
        let path = dist.join(name);
        let remedy = "`make dist` builds it";
        fs::read(&path).with_context(|| format!("reading {}; {remedy}", path.display()))
    };
    let mut all = Vec::new();
    for program in package.programs() {
        let bytes = read(format!("{program}-{architecture}"))?;
        all.push(Entry::program(format!("bin/{program}"), bytes));
    }
    if package == Package::Hub {
        return Ok(all);
    }
    // For hosts of its own architecture linerate is the agent itself.
    for other in Architecture::ALL {
        let name = format!("linerate-{other}");
        if other != architecture && dist.join(&name).is_file() {
            let path = format!("lib/linerate/agents/{name}");
            all.push(Entry::program(path, read(name)?));
        }
    }
    Ok(all)
}

/// Licences and the bill of materials.
fn notes(
    source: &Source<'_>,
    package: Package,
    architecture: Architecture,
    program: &Entry,
    doc: &str,
) -> Result<Vec<Entry>> {
    let parts = Part::of_programs(source.root, package, architecture)?;
    let hash = hex(&Sha256::digest(&program.bytes));
    let bill = bill::bill(package, &parts, architecture, &hash, source.time);
    let bill = serde_json::to_vec_pretty(&bill)?;
    let compressed = [
        ("third-party.txt", notices(package, &parts).into_bytes()),
        (&format!("{}.spdx.json", package.name()), bill),
    ];
    let compressed =
        compressed.map(|(name, text)| Entry::text(format!("{doc}/{name}.gz"), packed(&text)));
    let mut all = Vec::from(compressed);
    for (name, text) in LICENCES {
        let path = format!("share/licenses/{}/{name}", package.name());
        all.push(Entry::text(path, *text));
    }
    Ok(all)
}

/// What people read of the repository's documents.
fn guide(source: &Source<'_>, doc: &str) -> Result<Vec<Entry>> {
    let mut all = Vec::new();
    let mut take = |name: String, path: &Path| -> Result<()> {
        let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        all.push(Entry::text(format!("{doc}/{name}"), bytes));
        Ok(())
    };
    take("CHANGELOG.md".to_owned(), &source.root.join("CHANGELOG.md"))?;
    for page in ["introduction.md", "methodology.md"] {
        take(page.to_owned(), &source.root.join("docs").join(page))?;
    }
    let guide = source.root.join("docs/guide");
    for file in fs::read_dir(&guide).with_context(|| format!("reading {}", guide.display()))? {
        let path = file?.path();
        if path.extension().is_some_and(|ending| ending == "md") {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            take(format!("guide/{name}"), &path)?;
        }
    }
    Ok(all)
}

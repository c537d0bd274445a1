//! What a package installs: files by path, made of programs, command lines, and texts of the repository.

use crate::architecture::Architecture;
use crate::entry::Entry;
use crate::parts::{Part, notices};
use crate::{Source, bill, completions, deb, gzip, hex, manual};
use anyhow::{Context as _, Result};
use flate2::Compression;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::path::Path;

/// The units and their configuration: those of the Yocto layer.
const SERVICE: [(&str, &str); 3] = [
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
        include_str!("../../../yocto/meta-linerate/recipes-linerate/linerate/linerate/serve.toml"),
    ),
];

/// Drop-ins of the unit to copy.
const EXAMPLES: [(&str, &str); 2] = [
    ("datapaths.conf", include_str!("../files/datapaths.conf")),
    ("key.conf", include_str!("../files/key.conf")),
];

/// A text as Debian wants it compressed.
fn packed(text: &[u8]) -> Vec<u8> {
    gzip(text, Compression::best())
}

/// Where documents are.
const DOC: &str = "share/doc/linerate";

/// Everything for `architecture`, sorted by path. `dist` has the programs as `make dist` leaves them; linerate for each
/// other architecture that is there becomes an agent.
pub fn entries(source: &Source<'_>, dist: &Path, architecture: Architecture) -> Result<Vec<Entry>> {
    let mut all = programs(dist, architecture)?;
    for (name, page) in manual::pages(&source.date())? {
        all.push(Entry::text(
            format!("share/man/man1/{name}.gz"),
            packed(&page),
        ));
    }
    for (shell, folder) in completions::SHELLS {
        for (name, text) in completions::files(shell) {
            all.push(Entry::text(format!("share/{folder}/{name}"), text));
        }
    }
    all.extend(SERVICE.map(|(path, text)| Entry::text(path, text)));
    for (name, text) in EXAMPLES {
        all.push(Entry::text(format!("{DOC}/examples/{name}"), text));
    }
    let overrides = include_str!("../files/lintian-overrides");
    all.push(Entry::text("share/lintian/overrides/linerate", overrides));
    all.extend(documents(source, architecture, &all[0])?);
    all.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(all)
}

fn programs(dist: &Path, architecture: Architecture) -> Result<Vec<Entry>> {
    let read = |name: String| {
        let path = dist.join(name);
        let remedy = "`make dist` builds it";
        fs::read(&path).with_context(|| format!("reading {}; {remedy}", path.display()))
    };
    let mut all = Vec::new();
    for program in ["linerate", "linerate-p4", "linerate-web"] {
        let bytes = read(format!("{program}-{architecture}"))?;
        all.push(Entry::program(format!("bin/{program}"), bytes));
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

fn documents(
    source: &Source<'_>,
    architecture: Architecture,
    program: &Entry,
) -> Result<Vec<Entry>> {
    let parts = Part::of_programs(source.root, architecture)?;
    let hash = hex(&Sha256::digest(&program.bytes));
    let bill = bill::bill(&parts, architecture, &hash, source.time);
    let bill = serde_json::to_vec_pretty(&bill)?;
    let mut all = vec![
        Entry::text(
            format!("{DOC}/copyright"),
            include_str!("../files/copyright"),
        ),
        Entry::text(
            format!("{DOC}/third-party.txt.gz"),
            packed(notices(&parts).as_bytes()),
        ),
        Entry::text(format!("{DOC}/linerate.spdx.json.gz"), packed(&bill)),
    ];
    let text = |path: &str| {
        let path = source.root.join(path);
        fs::read(&path).with_context(|| format!("reading {}", path.display()))
    };
    let changelog = deb::changelog(source);
    all.push(Entry::text(
        format!("{DOC}/changelog.gz"),
        packed(changelog.as_bytes()),
    ));
    all.push(Entry::text(
        format!("{DOC}/CHANGELOG.md"),
        text("CHANGELOG.md")?,
    ));
    for page in ["introduction.md", "methodology.md"] {
        all.push(Entry::text(
            format!("{DOC}/{page}"),
            text(&format!("docs/{page}"))?,
        ));
    }
    let guide = source.root.join("docs/guide");
    for file in fs::read_dir(&guide).with_context(|| format!("reading {}", guide.display()))? {
        let path = file?.path();
        if path.extension().is_some_and(|ending| ending == "md") {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let bytes = text(&format!("docs/guide/{name}"))?;
            all.push(Entry::text(format!("{DOC}/guide/{name}"), bytes));
        }
    }
    Ok(all)
}

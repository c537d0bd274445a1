//! The crates in the programs: what cargo resolved for a target, with their licences.

use crate::architecture::Architecture;
use crate::package::Package;
use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A crate in a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its name at crates.io, or in this workspace.
    pub name: String,
    /// Its version.
    pub version: String,
    /// SPDX expression.
    pub licence: String,
    /// SHA-256 of its archive at crates.io; none for what is of this workspace.
    pub checksum: Option<String>,
    /// Texts of its licences.
    texts: Vec<String>,
}

impl Part {
    /// Those of a package's programs, sorted by name and version. What only builds or tests them is not among them.
    pub fn of_programs(
        root: &Path,
        package: Package,
        architecture: Architecture,
    ) -> Result<Vec<Self>> {
        let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["metadata", "--format-version", "1", "--locked"])
            .args(["--filter-platform", architecture.target()])
            .current_dir(root)
            .output()
            .context("running cargo metadata")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("cargo metadata failed: {said}");
        }
        let metadata = serde_json::from_slice(&output.stdout).context("reading cargo metadata")?;
        let lock = fs::read_to_string(root.join("Cargo.lock")).context("reading Cargo.lock")?;
        Ok(parts(&metadata, &lock, &package.crates()))
    }
}

fn parts(metadata: &Value, lock: &str, programs: &[&str]) -> Vec<Part> {
    let nodes: BTreeMap<&str, &Value> = list(&metadata["resolve"]["nodes"])
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let packages: BTreeMap<&str, &Value> = list(&metadata["packages"])
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    let is_program = |package: &&Value| programs.iter().any(|name| package["name"] == *name);
    let roots = packages.values().filter(|package| is_program(package));
    let mut open: Vec<&str> = roots.filter_map(|package| package["id"].as_str()).collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        // What a macro is made of runs in the compiler too.
        if packages.get(id).is_none_or(|package| is_macro(package)) || !seen.insert(id) {
            continue;
        }
        let dependencies = nodes
            .get(id)
            .into_iter()
            .flat_map(|node| list(&node["deps"]));
        let normal =
            dependencies.filter(|one| list(&one["dep_kinds"]).any(|kind| kind["kind"].is_null()));
        open.extend(normal.filter_map(|one| one["pkg"].as_str()));
    }
    let used = seen.iter().filter_map(|id| packages.get(id));
    let mut parts: Vec<Part> = used.map(|package| part(package, lock)).collect();
    parts.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    parts
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Whether it only runs in the compiler.
fn is_macro(package: &Value) -> bool {
    list(&package["targets"]).any(|target| list(&target["kind"]).any(|kind| kind == "proc-macro"))
}

fn part(package: &Value, lock: &str) -> Part {
    let word = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let (name, version) = (word("name"), word("version"));
    let is_ours = package["source"].is_null();
    let manifest = word("manifest_path");
    let folder = Path::new(&manifest).parent().filter(|_| !is_ours);
    Part {
        checksum: checksum(lock, &name, &version),
        licence: expression(&word("license")),
        texts: folder.map(texts).unwrap_or_default(),
        name,
        version,
    }
}

/// A licence expression as SPDX has it: some packages write `/` for `OR`, or more blanks than one.
fn expression(licence: &str) -> String {
    let words = licence.replace('/', " OR ");
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn checksum(lock: &str, name: &str, version: &str) -> Option<String> {
    let head = format!("\nname = \"{name}\"\nversion = \"{version}\"\n");
    let (_, rest) = lock.split_once(&head)?;
    let entry = rest.split("[[package]]").next()?;
    let line = entry
        .lines()
        .find_map(|line| line.strip_prefix("checksum = \""));
    line.and_then(|line| line.strip_suffix('"'))
        .map(str::to_owned)
}

/// What a crate's folder says of licences and copyright.
fn texts(folder: &Path) -> Vec<String> {
    let beginnings = [
        "LICENSE",
        "LICENCE",
        "COPYING",
        "COPYRIGHT",
        "NOTICE",
        "UNLICENSE",
    ];
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = files.map(|file| file.path()).collect();
    paths.sort();
    let named = paths.into_iter().filter(|path| {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_uppercase();
        beginnings.iter().any(|one| name.starts_with(one)) && path.is_file()
    });
    let read = named.filter_map(|path| fs::read(path).ok());
    read.map(|bytes| String::from_utf8_lossy(&bytes).trim_end().to_owned())
        .collect()
}

/// The licences of everything in the programs that is not of this project; each text once, after all it is for.
pub fn notices(package: Package, parts: &[Part]) -> String {
    let mut text = format!("{} contains:\n\n", package.name());
    let mut by_text: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for part in parts.iter().filter(|part| part.checksum.is_some()) {
        let name = format!("{} {}", part.name, part.version);
        let _ = writeln!(text, "  {name}: {}", part.licence);
        for licence in &part.texts {
            by_text.entry(licence).or_default().push(name.clone());
        }
    }
    if package == Package::Linerate {
        text.push_str("  Apache ECharts 6.1.0, in reports: Apache-2.0\n");
    }
    for (licence, names) in by_text {
        let rule = "-".repeat(80);
        let _ = writeln!(text, "\n{rule}\n{}\n\n{licence}", names.join(", "));
    }
    text
}

//! A package: one tar archive that holds a reproduction and all that repeats it.
//!
//! ```text
//! README       what it is, and the command that repeats it
//! plan.toml    what was measured
//! table.csv    what was published
//! runs/1.json  every study, with its raw runs and the facts of both hosts
//! answer.json  the verdicts (linerate/reproduce/1)
//! answer.html  the report
//! ```
//!
//! A package may come from anybody: it is read in memory, at most so many bytes, and nothing of it is written to a file or
//! names one. Its plan is [`Foreign`]: its host is not contacted and no program of it is started unless the user says so.

use super::mapping::measured;
use crate::plan::StudyPlan;
use anyhow::{Context as _, Result};
use linerate_analysis::compare::recorded_fact;
use linerate_analysis::published::{PublishedTable, as_published};
use linerate_archive::{check_place, write_file};
use linerate_model::consent::Foreign;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{Run, RunKind};
use linerate_report::Answer;
use linerate_report::document::{DocumentFormat, Indent, as_json, render};
use linerate_sys::clock::wall_now;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

/// Most bytes of a package, and most files.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
const MAX_FILES: usize = 1000;

/// Facts that decide whether values of another machine are comparable.
const SETUP: [&str; 4] = ["cpu", "kernel", "nic", "preloaded"];

/// A package that was read.
#[derive(Debug, Clone)]
pub struct Package {
    /// What was measured; its host is the packer's.
    pub plan: Foreign<StudyPlan>,
    /// What was measured then, as a table to hold against what is measured now.
    pub table: PublishedTable,
    /// The texts that they were read from.
    pub texts: Texts,
}

/// The files of a package that are not measured.
#[derive(Debug, Clone)]
pub struct Texts {
    plan: String,
    table: String,
}

impl Texts {
    /// Of a plan and a table that could be read.
    pub fn read(plan: &Path, table: &Path) -> Result<Self> {
        let text = |path: &Path| {
            std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
        };
        Ok(Self {
            plan: text(plan)?,
            table: text(table)?,
        })
    }
}

/// Whether a package can be written to `path`, as far as can be said before it is made.
pub fn check_package(path: &Path) -> Result<(), Failure> {
    if path.extension().is_none_or(|ending| ending != "tar") {
        let message = format!("--package {}: let its name end in .tar", path.display());
        return Err(Failure::new(ExitCode::Usage, message));
    }
    check_place(path)
}

impl Package {
    /// Reads the package at `path`.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let failed = |why: String| {
            let message = format!(
                "cannot read the package {}: {why}; give one that `linerate reproduce --package` wrote",
                path.display()
            );
            Failure::new(ExitCode::Plan, message)
        };
        let file = std::fs::File::open(path).map_err(|error| failed(error.to_string()))?;
        let mut files = unpack(file).map_err(failed)?;
        let mut text = |name: &str| {
            let bytes = files
                .remove(name)
                .ok_or_else(|| failed(format!("it has no {name}")))?;
            String::from_utf8(bytes).map_err(|_| failed(format!("{name} is not UTF-8")))
        };
        let texts = Texts {
            plan: text("plan.toml")?,
            table: text("table.csv")?,
        };
        let plan = StudyPlan::parse(&texts.plan)
            .map_err(|error| failed(format!("plan.toml{}", error.message)))?;
        let published = PublishedTable::parse(&texts.table)
            .map_err(|error| failed(format!("table.csv: {error}")))?;
        let documents = files.iter().filter(|(name, _)| name.starts_with("runs/"));
        let studies = documents
            .map(|(name, bytes)| {
                let run: Run = serde_json::from_slice(bytes)
                    .map_err(|error| failed(format!("{name}: {error}")))?;
                Ok(run)
            })
            .collect::<Result<Vec<Run>, Failure>>()?;
        let table = earlier(&published, &plan, &studies)
            .ok_or_else(|| failed("none of its runs has a cell of its table".to_owned()))?;
        let plan = Foreign::new(plan, path.display().to_string());
        Ok(Self { plan, table, texts })
    }
}

/// What the studies of a package measured, as a table with their facts.
fn earlier(
    published: &PublishedTable,
    plan: &StudyPlan,
    studies: &[Run],
) -> Option<PublishedTable> {
    let parts: Vec<&Run> = studies
        .iter()
        .filter(|run| run.kind() == RunKind::Study)
        .flat_map(Run::parts)
        .collect();
    let setup = SETUP.iter().filter_map(|fact| {
        let known = studies.iter().find_map(|run| recorded_fact(run, fact))?;
        Some(((*fact).to_owned(), known))
    });
    let values = measured(published, plan, &parts);
    as_published(published, &values, setup.collect())
}

/// Writes a package; it appears whole or not at all.
pub fn write_package(path: &Path, texts: &Texts, answer: &Answer) -> Result<()> {
    let studies: &[Run] = match answer {
        Answer::Audit(_) => &[],
        Answer::Reproduction(judged) => &judged.studies,
    };
    let mut archive = tar::Builder::new(Vec::new());
    let mut add = |name: &str, bytes: &[u8]| -> Result<()> {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive
            .append_data(&mut header, name, bytes)
            .with_context(|| format!("packing {name}"))
    };
    add("README", README.as_bytes())?;
    add("plan.toml", texts.plan.as_bytes())?;
    add("table.csv", texts.table.as_bytes())?;
    add("answer.json", as_json(answer, Indent::Indented)?.as_bytes())?;
    add(
        "answer.html",
        render(answer, DocumentFormat::Html, &wall_now())?.as_bytes(),
    )?;
    for (number, run) in (1..).zip(studies) {
        let document = serde_json::to_vec_pretty(run).context("writing a run as JSON")?;
        add(&format!("runs/{number}.json"), &document)?;
    }
    let bytes = archive.into_inner().context("packing")?;
    write_file(path, &bytes)
}

const README: &str = "A published table, measured again by linerate.

Repeat it, and compare with what is in this package:

    linerate reproduce PACKAGE.tar --host HOST

HOST is a peer of yours. Where plan.toml measures stacks that linerate starts, give --run-programs in place of --host: it
shows what is started.

plan.toml is what was measured, table.csv what was published, runs/ every run with its raw figures and the facts of both
hosts, answer.json and answer.html the verdicts. Unpacked:

    linerate reproduce plan.toml --published table.csv --runs runs/1.json
";

/// The files of an archive by their names: only those that a package has.
fn unpack(file: impl std::io::Read) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let mut archive = tar::Archive::new(file.take(MAX_BYTES));
    let mut files = BTreeMap::new();
    let mut left = MAX_BYTES;
    for entry in archive.entries().map_err(|error| error.to_string())? {
        let entry = entry.map_err(|error| error.to_string())?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if !entry.header().entry_type().is_file() || !is_known(&name) {
            return Err(format!(
                "\"{}\" is not a file of a package",
                name.escape_debug()
            ));
        }
        // Checked before anything is read: a header may state any size.
        left = left.checked_sub(entry.size()).ok_or_else(too_large)?;
        if files.len() == MAX_FILES {
            return Err(too_large());
        }
        let size = entry.size();
        let mut bytes = Vec::new();
        entry
            .take(size)
            .read_to_end(&mut bytes)
            .map_err(|error| error.to_string())?;
        if bytes.len() as u64 != size {
            return Err(format!("it breaks off in {name}"));
        }
        if files.insert(name.clone(), bytes).is_some() {
            return Err(format!("{name} is there twice"));
        }
    }
    if files.is_empty() {
        return Err("not a tar archive, or an empty one".to_owned());
    }
    Ok(files)
}

fn too_large() -> String {
    format!(
        "it has more than {} MiB or {MAX_FILES} files",
        MAX_BYTES / 1024 / 1024
    )
}

fn is_known(name: &str) -> bool {
    let is_run = || {
        let number = name
            .strip_prefix("runs/")
            .and_then(|rest| rest.strip_suffix(".json"));
        number
            .is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
    };
    [
        "README",
        "plan.toml",
        "table.csv",
        "answer.json",
        "answer.html",
    ]
    .contains(&name)
        || is_run()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive of one entry with this name and type, whose header states this size.
    fn archive(name: &[u8], kind: tar::EntryType, size: u64) -> Vec<u8> {
        let mut header = tar::Header::new_ustar();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name);
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_cksum();
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend([0_u8; 512]);
        bytes
    }

    #[test]
    fn what_no_package_has_is_refused_and_nothing_is_reserved_for_a_stated_size() {
        let file = tar::EntryType::Regular;
        for (bytes, wanted) in [
            (
                archive(b"../plan.toml", file, 4),
                "is not a file of a package",
            ),
            (
                archive(b"/etc/passwd", file, 4),
                "is not a file of a package",
            ),
            (
                archive(b"runs/../../x.json", file, 4),
                "is not a file of a package",
            ),
            (
                archive(b"plan.toml", tar::EntryType::Symlink, 0),
                "is not a file of a package",
            ),
            (
                archive(b"plan.toml", tar::EntryType::Directory, 0),
                "is not a file of a package",
            ),
            (
                archive(b"plan.toml", file, u64::MAX / 2),
                "more than 256 MiB",
            ),
            (
                archive(b"plan.toml", file, 100_000_000),
                "breaks off in plan.toml",
            ),
            (Vec::new(), "not a tar archive"),
            (b"linerate".repeat(100), ""),
        ] {
            let error = unpack(&bytes[..]).unwrap_err();
            assert!(error.contains(wanted), "{wanted}: {error}");
        }
        let twice = [archive(b"README", file, 4), archive(b"README", file, 4)].concat();
        assert!(unpack(&twice[..]).unwrap_err().contains("is there twice"));
    }

    #[test]
    fn an_archive_that_is_cut_anywhere_is_an_error_or_holds_what_came_before() {
        let mut whole = archive(b"plan.toml", tar::EntryType::Regular, 8);
        whole.extend(archive(b"table.csv", tar::EntryType::Regular, 8));
        for end in 0..whole.len() {
            if let Ok(files) = unpack(&whole[..end]) {
                assert!(files.values().all(|bytes| bytes.len() == 8), "{end}");
            }
        }
    }
}

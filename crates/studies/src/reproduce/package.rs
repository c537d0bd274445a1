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
//! names one. Its plan is [`Foreign`]: its host is not contacted and no program of it is started unless the user says so,
//! and until then its runs are bytes.

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
use linerate_store::run_from_document;
use linerate_sys::bounded;
use linerate_sys::clock::wall_now;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

/// Most bytes of a package with all of its headers, and most entries.
const MAX_BYTES: u64 = 256 * MIB;
const MAX_ENTRIES: usize = 1000;
/// Most bytes of its plan and of its table, of a run, and of all runs.
const MAX_TEXT_BYTES: u64 = 4 * MIB;
const MAX_RUN_BYTES: u64 = 32 * MIB;
const MAX_RUNS_BYTES: u64 = 64 * MIB;
/// Most bytes of a header that says more of the entry behind it.
const MAX_EXTENSION_BYTES: u64 = 8 * 1024;
const MIB: u64 = 1024 * 1024;

/// Facts that decide whether values of another machine are comparable.
const SETUP: [&str; 4] = ["cpu", "kernel", "nic", "preloaded"];

/// A package that was read.
#[derive(Debug, Clone)]
pub struct Package {
    /// What was measured; its host is the packer's.
    pub plan: Foreign<StudyPlan>,
    /// The texts that plan and table were read from.
    pub texts: Texts,
    published: PublishedTable,
    /// Run documents by their names, not read yet.
    runs: BTreeMap<String, Vec<u8>>,
    name: String,
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
            bounded::read_text_file(path, MAX_TEXT_BYTES)
                .with_context(|| format!("reading {}", path.display()))
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
    /// Reads the plan and the table of the package at `path`; its runs stay as they are.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let package = path.display().to_string();
        let failed = |why: String| unreadable(&package, &why);
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
        let plan = StudyPlan::parse_foreign(&texts.plan)
            .map_err(|error| failed(format!("plan.toml{}", error.message)))?;
        let published = PublishedTable::parse(&texts.table)
            .map_err(|error| failed(format!("table.csv: {error}")))?;
        Ok(Self {
            plan: Foreign::new(plan, package.clone()),
            texts,
            published,
            runs: files,
            name: package,
        })
    }

    /// What was measured then, as a table to hold against what is measured now. Reads the runs, which takes many times
    /// their length in memory: first see whether the user lets the plan be carried out.
    pub fn table(self) -> Result<PublishedTable, Failure> {
        let failed = |why: &str| unreadable(&self.name, why);
        let studies = self.runs.into_iter().map(|(name, bytes)| {
            run_from_document(Path::new(&name), &bytes).map_err(|error| failed(&error.to_string()))
        });
        let studies = studies.collect::<Result<Vec<Run>, Failure>>()?;
        earlier(&self.published, &self.plan, &studies)
            .ok_or_else(|| failed("none of its runs has a cell of its table"))
    }
}

fn unreadable(package: &str, why: &str) -> Failure {
    let message = format!(
        "cannot read the package {package}: {why}; give one that `linerate reproduce --package` wrote"
    );
    Failure::new(ExitCode::Plan, message)
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
    let mut left = MAX_RUNS_BYTES;
    for (number, run) in (1..).zip(studies) {
        let document = serde_json::to_vec(run).context("writing a run as JSON")?;
        let name = format!("runs/{number}.json");
        left = within(&name, document.len() as u64, MAX_RUN_BYTES)
            .and_then(|size| left.checked_sub(size).ok_or_else(runs_too_large))
            .map_err(|why| {
                let message = format!("cannot write the package: {why}; measure fewer --series");
                Failure::new(ExitCode::Other, message)
            })?;
        add(&name, &document)?;
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

/// What a member of a package is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Member {
    /// For people: passed over.
    Read,
    Run,
    /// A plan or a table.
    Text,
}

impl Member {
    fn of(name: &str) -> Option<Self> {
        match name {
            "README" | "answer.json" | "answer.html" => Some(Self::Read),
            "plan.toml" | "table.csv" => Some(Self::Text),
            _ => {
                let number = name.strip_prefix("runs/")?.strip_suffix(".json")?;
                let is_number = !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit());
                is_number.then_some(Self::Run)
            }
        }
    }

    const fn max_bytes(self) -> u64 {
        match self {
            Self::Read => MAX_BYTES,
            Self::Run => MAX_RUN_BYTES,
            Self::Text => MAX_TEXT_BYTES,
        }
    }
}

/// The files of an archive by their names: only those that a package has, and of these what a reproduction needs.
fn unpack(file: impl std::io::Read) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let mut archive = tar::Archive::new(file.take(MAX_BYTES));
    let mut files = BTreeMap::new();
    let mut names = BTreeSet::new();
    let mut left = MAX_BYTES;
    let mut left_of_runs = MAX_RUNS_BYTES;
    // As they are in the file: what headers say of the entry behind them would be read whole, and not be counted.
    let entries = archive.entries().map_err(|error| error.to_string())?;
    for (number, entry) in entries.raw(true).enumerate() {
        let entry = entry.map_err(|error| error.to_string())?;
        // Checked before anything is read: a header may state any size.
        let size = entry.size();
        left = left.checked_sub(size).ok_or_else(too_large)?;
        if number == MAX_ENTRIES {
            return Err(too_large());
        }
        let kind = entry.header().entry_type();
        if kind.is_pax_local_extensions() || kind.is_pax_global_extensions() {
            // Times and owners. A name or a size that it gives is not taken, so its entry is refused by its own.
            within("a pax header", size, MAX_EXTENSION_BYTES)?;
            continue;
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let member = Member::of(&name)
            .filter(|_| kind.is_file())
            .ok_or_else(|| format!("\"{}\" is not a file of a package", name.escape_debug()))?;
        within(&name, size, member.max_bytes())?;
        if !names.insert(name.clone()) {
            return Err(format!("{name} is there twice"));
        }
        match member {
            Member::Read => continue,
            Member::Run => {
                left_of_runs = left_of_runs.checked_sub(size).ok_or_else(runs_too_large)?;
            }
            Member::Text => {}
        }
        let mut bytes = Vec::new();
        entry
            .take(size)
            .read_to_end(&mut bytes)
            .map_err(|error| error.to_string())?;
        if bytes.len() as u64 != size {
            return Err(format!("it breaks off in {name}"));
        }
        files.insert(name, bytes);
    }
    if names.is_empty() {
        return Err("not a tar archive, or an empty one".to_owned());
    }
    Ok(files)
}

fn too_large() -> String {
    format!(
        "it has more than {} MiB or {MAX_ENTRIES} entries",
        MAX_BYTES / MIB
    )
}

fn runs_too_large() -> String {
    format!("its runs have more than {} MiB", MAX_RUNS_BYTES / MIB)
}

/// `size`, which is refused above `most`.
fn within(name: &str, size: u64, most: u64) -> Result<u64, String> {
    if size <= most {
        return Ok(size);
    }
    Err(format!("{name} has {size} bytes, more than {most}"))
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
                archive(b"plan.toml", file, 100_000),
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

    /// Whatever the table that it stands in, and however it is written.
    #[test]
    fn a_plan_that_came_with_results_reads_no_file() {
        let refused = |text: &str| StudyPlan::parse_foreign(text).unwrap_err().message;
        for (place, file) in [
            ("[defaults]\nflow-sizes = \"/etc/passwd\"", "/etc/passwd"),
            ("[defaults]\ntemplate = \"/dev/zero,offset=3\"", "/dev/zero"),
            ("[factors]\nflow-sizes = [\"web-search\", \"pipe\"]", "pipe"),
            ("[series.a.factors]\ntemplate = [\"x\"]", "template = \"x\""),
            (
                "[defaults]\ndut = \"p4,program=/etc/passwd\"",
                "/etc/passwd",
            ),
            (
                "[factors]\ndut = [\"wire\", \"bmv2,commands=c\"]",
                "commands=c",
            ),
            (
                "[defaults]\ndut = \"p4runtime://[::1]:9559,tls-key=k\"",
                "tls-key=k",
            ),
            ("[quick.defaults]\nflow-sizes = \"y\"", "flow-sizes = \"y\""),
        ] {
            let why = refused(&format!("[study]\nhost = \"192.0.2.1\"\n{place}\n"));
            assert!(
                why.contains(file) && why.contains("not read for a package"),
                "{why}"
            );
        }
        let known = "[study]\nhost = \"192.0.2.1\"\n[defaults]\nkind = \"tcp\"\nflow-sizes = \"fixed:10K\"\nlink-rate = \"1G\"\n";
        StudyPlan::parse_foreign(known).unwrap();
        assert!(refused("[study").contains("line"));
    }

    #[test]
    fn every_member_and_every_header_is_bounded_before_it_is_read() {
        use tar::EntryType;
        let refused = |bytes: Vec<u8>| unpack(&bytes[..]).unwrap_err();
        let file = EntryType::Regular;
        let run = refused(archive(b"runs/1.json", file, MAX_RUN_BYTES + 1));
        assert!(run.contains("runs/1.json has 33554433 bytes"), "{run}");
        let plan = refused(archive(b"plan.toml", file, MAX_TEXT_BYTES + 1));
        assert!(plan.contains("plan.toml has 4194305 bytes"), "{plan}");
        for (kind, why) in [
            (EntryType::XHeader, "a pax header has 209715200 bytes"),
            (EntryType::XGlobalHeader, "a pax header has 209715200 bytes"),
            (EntryType::GNULongName, "not a file of a package"),
            (EntryType::GNULongLink, "not a file of a package"),
        ] {
            let long = refused(archive(b"x", kind, 200 * MIB));
            assert!(long.contains(why), "{long}");
        }
        // They count as entries, so that an archive of nothing else has an end.
        let small = archive(b"x", EntryType::XHeader, 100);
        let many = refused(small.repeat(MAX_ENTRIES + 1));
        assert!(many.contains("1000 entries"), "{many}");
        let mut paxed = small;
        paxed.extend(archive(b"plan.toml", file, 8));
        assert_eq!(unpack(&paxed[..]).unwrap().len(), 1);
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

//! Logs and tables of other tools become runs of the store.

use anyhow::Result;
use linerate_analysis::conclude;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{Run, RunWork};
use linerate_store::Store;
use linerate_store::import::{
    self, Columns, Findings, Hints, ImportError, LogFile, Source, import_table,
};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Largest log that is read from a pipe: it is read twice, so what comes once only is kept whole.
const MAX_PIPED_BYTES: u64 = 64 * 1024 * 1024;

/// Takes runs that were made.
type Take<'a> = dyn FnMut(Vec<Run>) -> Result<()> + 'a;

/// Reads logs of other tools, stores the runs they make, and shows them: in parts if they are many. Runs that the store has
/// already stay as they are, with a warning each. An error, after which nothing new is stored, if the logs make no run.
pub fn import_logs(
    store: Option<&Store>,
    files: &[PathBuf],
    hints: &Hints,
    show: &mut Take<'_>,
) -> Result<Findings> {
    keep_all(store, &mut |keep| read_logs(files, hints, keep), show)
}

/// Stores and shows the runs that `read` makes.
fn keep_all(
    store: Option<&Store>,
    read: &mut dyn FnMut(&mut Take<'_>) -> Result<Findings>,
    show: &mut Take<'_>,
) -> Result<Findings> {
    let (mut stored, mut known) = (Vec::new(), Vec::new());
    let mut keep = |runs: Vec<Run>| {
        if let Some(store) = store {
            stored.append(&mut add(store, &runs, &mut known)?);
        }
        show(runs)
    };
    let mut imported = read(&mut keep).inspect_err(|_| {
        if let Some(store) = store {
            store.take_back(&stored);
        }
    })?;
    imported.warnings.append(&mut known);
    Ok(imported)
}

/// Stores the runs that are new, and names those that are not. Returns the directories of the new ones.
fn add(store: &Store, runs: &[Run], known: &mut Vec<String>) -> Result<Vec<PathBuf>> {
    let added = store.add_all(runs)?;
    known.extend(added.known.iter().map(|place| {
        let run = &runs[*place];
        let source = run.source.as_ref();
        let files = source.map_or_else(String::new, |source| source.files.join(", "));
        let id = &run.id;
        format!("{files}: in the store already, as run {id}, which stays as it is")
    }));
    Ok(added.written)
}

/// Reads tables of old results as `columns` says, stores the runs they make, and shows them: in parts if they are long. Runs
/// that the store has already stay as they are, with a warning each. An error, after which nothing new is stored, if a table
/// makes no run.
pub fn import_tables(
    store: Option<&Store>,
    files: &[PathBuf],
    columns: &Columns,
    show: &mut Take<'_>,
) -> Result<Findings> {
    keep_all(store, &mut |keep| read_tables(files, columns, keep), show)
}

fn read_tables(files: &[PathBuf], columns: &Columns, take: &mut Take<'_>) -> Result<Findings> {
    let mut findings = Findings::default();
    for path in files {
        let table = open_log(path)?;
        let mut taken = Ok(());
        let read = import_table(&table, columns, &mut |mut runs| {
            runs.iter_mut().for_each(conclude_all);
            taken = take(runs);
            go_on(&taken)
        });
        taken?;
        let mut read = read.map_err(|error| no_import(&error))?;
        findings.refused.append(&mut read.refused);
        findings.warnings.append(&mut read.warnings);
    }
    Ok(findings)
}

/// Whether to go on after runs were taken.
const fn go_on(taken: &Result<()>) -> ControlFlow<()> {
    if taken.is_ok() {
        ControlFlow::Continue(())
    } else {
        ControlFlow::Break(())
    }
}

fn no_import(error: &ImportError) -> Failure {
    Failure::new(ExitCode::Plan, format!("cannot import: {error}"))
}

/// Draws the verdicts of a run and of what it is made of, and the means of a study.
fn conclude_all(run: &mut Run) {
    for part in run.parts_mut().into_iter().flatten() {
        conclude(part);
    }
    if let RunWork::Study {
        estimates,
        findings,
        parts,
    } = &mut run.work
    {
        let mut seen = BTreeSet::new();
        let places = parts.iter().filter_map(|part| part.config.place.as_ref());
        let cells = places.map(|place| &*place.cell);
        let cells: Vec<&str> = cells.filter(|cell| seen.insert(*cell)).collect();
        let made = linerate_analysis::study::findings(cells.iter().copied(), None, parts);
        *estimates = linerate_analysis::estimates(cells, parts);
        *findings = Some(Box::new(made));
        return;
    }
    conclude(run);
}

/// Hands out the runs that logs of other tools make.
pub fn read_logs(files: &[PathBuf], hints: &Hints, take: &mut Take<'_>) -> Result<Findings> {
    let (files, found) = expanded(files)?;
    let open = |path: &PathBuf| -> Result<Box<dyn Source>> {
        if found.contains(&path.display().to_string()) {
            return Ok(Box::new(LogFile::found(path)));
        }
        open_log(path)
    };
    let logs = files.iter().map(open).collect::<Result<Vec<_>>>()?;
    let mut taken = Ok(());
    let read = import::import_in_parts(&logs, hints, &mut |mut runs| {
        runs.iter_mut().for_each(conclude);
        taken = take(runs);
        go_on(&taken)
    });
    taken?;
    let mut findings = read.map_err(|error| no_import(&error))?;
    let (beside, refused): (Vec<_>, Vec<_>) = std::mem::take(&mut findings.refused)
        .into_iter()
        .partition(|error| beside_logs(error, &found).is_some());
    findings.refused = refused;
    let names: Vec<_> = beside
        .iter()
        .filter_map(|error| beside_logs(error, &found))
        .collect();
    findings.warnings.extend(left_out(&names));
    Ok(findings)
}

/// Most files that a folder may stand for.
const MAX_FILES: usize = 10_000;

/// The files that are meant, and the names of those that nobody named: a folder stands for all regular files below it in the
/// order of their names, hidden ones aside. Links are not followed.
fn expanded(paths: &[PathBuf]) -> Result<(Vec<PathBuf>, BTreeSet<String>)> {
    let (mut files, mut found) = (Vec::new(), BTreeSet::new());
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let mut below = Vec::new();
        files_below(path, &mut below)?;
        if below.is_empty() {
            let message = format!(
                "{} has no file in it; give a folder of logs",
                path.display()
            );
            return Err(Failure::new(ExitCode::Plan, message).into());
        }
        found.extend(below.iter().map(|file| file.display().to_string()));
        files.append(&mut below);
    }
    Ok((files, found))
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let failed = |error: io::Error| unreadable(folder, &error);
    let entries = fs::read_dir(folder).map_err(failed)?;
    let mut entries = entries.collect::<io::Result<Vec<_>>>().map_err(failed)?;
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        let path = entry.path();
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            files_below(&path, files)?;
        } else if kind.is_file() {
            files.push(path);
        }
        if files.len() > MAX_FILES {
            let message = format!(
                "{} has more than {MAX_FILES} files; give its parts",
                folder.display()
            );
            return Err(Failure::new(ExitCode::Plan, message).into());
        }
    }
    Ok(())
}

/// The file that was refused, if it only lies beside logs, and is not a damaged one.
fn beside_logs<'a>(error: &'a ImportError, found: &BTreeSet<String>) -> Option<&'a str> {
    match error {
        ImportError::Binary { file, .. }
        | ImportError::Empty { file }
        | ImportError::Unknown { file, .. } => {
            Some(file.as_str()).filter(|file| found.contains(*file))
        }
        _ => None,
    }
}

/// What to say of the files of a folder that are no logs.
fn left_out(names: &[&str]) -> Option<String> {
    /// More names than anybody reads in one line.
    const MAX_NAMES: usize = 200;
    let all = names.len();
    let files = if all == 1 { "file" } else { "files" };
    let mut list = names[..all.min(MAX_NAMES)].join(", ");
    if all > MAX_NAMES {
        list = format!("{list} and {} more", all - MAX_NAMES);
    }
    (all > 0).then(|| {
        format!(
            "left out {all} {files} of the folder, which linerate does not read as logs: {list}"
        )
    })
}

/// Whether a file is a run document, of any version, whole or damaged.
pub fn is_run_document(path: &Path) -> Result<bool, Failure> {
    linerate_store::is_document(|| fs::File::open(path)).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let name = path.display();
    let message = format!("cannot read {name}: {error}; give a log file that this user may read");
    Failure::new(ExitCode::Plan, message)
}

/// A log of a file, which is read when it is needed, or of a pipe, which is read now.
fn open_log(path: &Path) -> Result<Box<dyn Source>> {
    let failed = |error: io::Error| unreadable(path, &error);
    let file = fs::File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_file() {
        return Ok(Box::new(LogFile::new(path)));
    }
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let mut piped = io::Read::take(file, MAX_PIPED_BYTES + 1);
    let count = piped.read_to_end(&mut bytes).map_err(failed)?;
    if count as u64 > MAX_PIPED_BYTES {
        let message = format!(
            "{name} is not a file, and more than 64 MiB come from it; write it to a file and import that"
        );
        return Err(Failure::new(ExitCode::Plan, message).into());
    }
    Ok(Box::new((name, bytes)))
}

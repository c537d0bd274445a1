//! Logs and tables of other tools become runs of the store.

use anyhow::Result;
use linerate_analysis::conclude;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{Run, RunWork};
use linerate_store::import::{
    self, Columns, Findings, Hints, ImportError, LogFile, Source, import_table,
};
use linerate_store::{Batch, Store, Stored};
use linerate_sys::piped::{self, is_stream};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Largest log that is read from a pipe: it is read twice, so what comes once only is kept whole.
const MAX_PIPED_BYTES: u64 = 64 * 1024 * 1024;

/// Runs that are stored before it is seen whether the user wants no more: a few milliseconds.
const RUNS_BETWEEN_CHECKS: usize = 20;

/// What came out of an import beside its runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ImportOutcome {
    /// Doubts, what was left out and what could not be read.
    pub findings: Findings,
    /// Runs that the store had already.
    pub known: Vec<String>,
}

/// Takes runs that were made.
type Take<'a> = dyn FnMut(Vec<Run>) -> Result<()> + 'a;

/// Reads logs of other tools, stores the runs they make, and shows them: in parts if they are many. Runs that the store has
/// already stay as they are, and are named. An error, after which nothing new is stored, if the logs make no run or
/// `interrupt` is set meanwhile.
pub fn import_logs(
    store: Option<&Store>,
    files: &[PathBuf],
    hints: &Hints,
    interrupt: &AtomicBool,
    show: &mut Take<'_>,
) -> Result<ImportOutcome> {
    let read = &mut |keep: &mut Take<'_>| read_logs(files, hints, interrupt, keep);
    keep_all(store, read, interrupt, show)
}

/// Stores and shows the runs that `read` makes.
fn keep_all(
    store: Option<&Store>,
    read: &mut dyn FnMut(&mut Take<'_>) -> Result<Findings>,
    interrupt: &AtomicBool,
    show: &mut Take<'_>,
) -> Result<ImportOutcome> {
    let mut batch = None;
    let mut known = Known::default();
    let mut keep = |runs: Vec<Run>| {
        if let Some(store) = store {
            let batch = match &mut batch {
                Some(batch) => batch,
                none => none.insert(store.batch()?),
            };
            for some in runs.chunks(RUNS_BETWEEN_CHECKS) {
                unless_interrupted(interrupt)?;
                known.add(some, &batch.add(some)?);
            }
        }
        show(runs)
    };
    let findings = read(&mut keep)?;
    if let Some(batch) = batch {
        finish(batch, &mut || !interrupt.load(Ordering::Relaxed))?;
    }
    Ok(ImportOutcome {
        findings,
        known: known.into_notes(),
    })
}

/// Puts the runs of a batch into the store; an error that says how many are there if `goes_on` ends that.
fn finish(batch: Batch, goes_on: &mut dyn FnMut() -> bool) -> Result<()> {
    match batch.finish(goes_on)? {
        Stored { left: 0, .. } => Ok(()),
        Stored { stored: 0, .. } => Err(interrupted().into()),
        Stored { stored, left } => {
            let all = stored + left;
            let message = format!(
                "the import was interrupted: {stored} of its {all} runs are stored; import again, which adds the others"
            );
            Err(Failure::new(ExitCode::Other, message).into())
        }
    }
}

/// Runs that the store has already.
#[derive(Default)]
struct Known {
    named: Vec<String>,
    more: usize,
}

impl Known {
    fn add(&mut self, runs: &[Run], places: &[usize]) {
        /// More than anybody reads.
        const MAX_NAMED: usize = 1000;
        for run in places.iter().map(|place| &runs[*place]) {
            if self.named.len() == MAX_NAMED {
                self.more += 1;
                continue;
            }
            let source = run.source.as_ref();
            let files = source.map_or_else(String::new, |source| source.files.join(", "));
            let id = &run.id;
            self.named.push(format!(
                "{files}: in the store already, as run {id}, which stays as it is"
            ));
        }
    }

    fn into_notes(self) -> Vec<String> {
        let mut all = self.named;
        if self.more > 0 {
            let more = self.more;
            all.push(format!(
                "{more} more runs are in the store already and stay as they are"
            ));
        }
        all
    }
}

/// Reads tables of old results as `columns` says, stores the runs they make, and shows them: in parts if they are long. Runs
/// that the store has already stay as they are, and are named. An error, after which nothing new is stored, if no table
/// makes a run or `interrupt` is set meanwhile.
pub fn import_tables(
    store: Option<&Store>,
    files: &[PathBuf],
    columns: &Columns,
    interrupt: &AtomicBool,
    show: &mut Take<'_>,
) -> Result<ImportOutcome> {
    let read = &mut |keep: &mut Take<'_>| read_tables(files, columns, interrupt, keep);
    keep_all(store, read, interrupt, show)
}

fn read_tables(
    files: &[PathBuf],
    columns: &Columns,
    interrupt: &AtomicBool,
    take: &mut Take<'_>,
) -> Result<Findings> {
    let mut findings = Findings::default();
    let mut tables_read = 0;
    for path in files {
        let mut taken = Ok(());
        let read = open_log(path, interrupt).and_then(|log| {
            let table = Interruptible { log, interrupt };
            import_table(&table, columns, &mut |mut runs| {
                let goes_on = |_: &&mut Run| !interrupt.load(Ordering::Relaxed);
                runs.iter_mut().take_while(goes_on).for_each(conclude_all);
                taken = take(runs);
                go_on(&taken)
            })
        });
        taken?;
        unless_interrupted(interrupt)?;
        match read {
            Ok(mut read) => {
                tables_read += 1;
                findings.refused.append(&mut read.refused);
                findings.warnings.append(&mut read.warnings);
            }
            Err(error) => findings.refused.push(error),
        }
    }
    if tables_read == 0 {
        return Err(no_import(&findings.refused).into());
    }
    Ok(findings)
}

/// A log that ends with an error once the import is interrupted.
struct Interruptible<'a> {
    log: Box<dyn Source>,
    interrupt: &'a AtomicBool,
}

/// What is read of it, a buffer at a time.
struct Reading<'a> {
    from: Box<dyn BufRead + 'a>,
    interrupt: &'a AtomicBool,
}

impl Source for Interruptible<'_> {
    fn name(&self) -> String {
        self.log.name()
    }

    fn open(&self) -> io::Result<Box<dyn BufRead + '_>> {
        let from = self.log.open()?;
        let interrupt = self.interrupt;
        Ok(Box::new(Reading { from, interrupt }))
    }
}

impl io::Read for Reading<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(into)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Reading<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.interrupt.load(Ordering::Relaxed) {
            // Not `Interrupted`, after which readers go on.
            return Err(io::Error::other("the import was interrupted"));
        }
        self.from.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.from.consume(count);
    }
}

/// An error once the import is interrupted.
pub fn unless_interrupted(interrupt: &AtomicBool) -> Result<()> {
    if interrupt.load(Ordering::Relaxed) {
        return Err(interrupted().into());
    }
    Ok(())
}

fn interrupted() -> Failure {
    let message = "the import was interrupted: nothing of it is stored";
    Failure::new(ExitCode::Other, message)
}

/// Whether to go on after runs were taken.
const fn go_on(taken: &Result<()>) -> ControlFlow<()> {
    if taken.is_ok() {
        ControlFlow::Continue(())
    } else {
        ControlFlow::Break(())
    }
}

/// Nothing could be read, each for a reason of its own.
fn no_import(errors: &[ImportError]) -> Failure {
    /// More than are read in one message.
    const MAX_NAMED: usize = 10;
    let mut named: Vec<_> = errors
        .iter()
        .take(MAX_NAMED)
        .map(ToString::to_string)
        .collect();
    if errors.len() > MAX_NAMED {
        named.push(format!(
            "{} more could not be read",
            errors.len() - MAX_NAMED
        ));
    }
    Failure::new(
        ExitCode::Plan,
        format!("cannot import: {}", named.join("; and ")),
    )
}

/// Draws the verdicts of a run and of what it is made of, and the means of a study.
fn conclude_all(run: &mut Run) {
    for part in run.parts_mut().into_iter().flatten() {
        conclude(part);
        // Of a line with a figure or two rules have nothing to say, in ten times the bytes of the figures. Whoever
        // explains the part draws them anew.
        part.findings.clear();
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

/// Hands out the runs that logs of other tools make. What cannot be read is named, and the others are read all the same; an
/// error if that leaves none, or once `interrupt` is set.
pub fn read_logs(
    files: &[PathBuf],
    hints: &Hints,
    interrupt: &AtomicBool,
    take: &mut Take<'_>,
) -> Result<Findings> {
    let Expanded {
        files,
        found,
        aside,
        refused: mut missing,
    } = expanded(files);
    let mut logs = Vec::new();
    for path in &files {
        let log = if found.contains(&path.display().to_string()) {
            Ok(Box::new(LogFile::found(path)) as Box<dyn Source>)
        } else {
            open_log(path, interrupt)
        };
        match log {
            Ok(log) => logs.push(Interruptible { log, interrupt }),
            Err(error) => missing.push(error),
        }
    }
    unless_interrupted(interrupt)?;
    if logs.is_empty() && !missing.is_empty() {
        return Err(no_import(&missing).into());
    }
    let mut taken = Ok(());
    let read = import::import_in_parts(&logs, hints, &mut |mut runs| {
        runs.iter_mut().for_each(conclude);
        taken = take(runs);
        go_on(&taken)
    });
    taken?;
    unless_interrupted(interrupt)?;
    let mut findings = match read {
        Ok(findings) => findings,
        Err(error) => {
            missing.push(error);
            return Err(no_import(&missing).into());
        }
    };
    let (beside, refused): (Vec<_>, Vec<_>) = std::mem::take(&mut findings.refused)
        .into_iter()
        .partition(|error| beside_logs(error, &found).is_some());
    findings.refused = missing;
    findings.refused.extend(refused);
    let names: Vec<_> = beside
        .iter()
        .filter_map(|error| beside_logs(error, &found))
        .collect();
    findings
        .warnings
        .extend(left_out(&names, "which linerate does not read as logs"));
    let aside: Vec<&str> = aside.iter().map(String::as_str).collect();
    findings.warnings.extend(left_out(&aside, ASIDE));
    Ok(findings)
}

/// Why links, pipes and devices of a folder are not read, and what to do.
const ASIDE: &str = "which are links, pipes or devices: give by name what is to be read";

/// The same of a folder that has nothing else.
const ONLY_ASIDE: &str = "has only links, pipes or devices in it, which are not opened";

/// Most files that a folder may stand for.
const MAX_FILES: usize = 10_000;

/// The files that are meant.
#[derive(Default)]
struct Expanded {
    files: Vec<PathBuf>,
    /// Names of those that nobody named.
    found: BTreeSet<String>,
    /// Names of what is no regular file in a folder.
    aside: Vec<String>,
    /// Folders that stand for no file.
    refused: Vec<ImportError>,
}

/// A folder stands for all regular files below it in the order of their names, hidden ones aside. Links are not followed.
fn expanded(paths: &[PathBuf]) -> Expanded {
    let mut all = Expanded::default();
    for path in paths {
        if !path.is_dir() {
            all.files.push(path.clone());
            continue;
        }
        let mut below = Below::default();
        let read = files_below(path, &mut below);
        let Below { mut files, aside } = below;
        let read = read.and_then(|()| match (files.is_empty(), aside.is_empty()) {
            (false, _) => Ok(()),
            (true, false) => Err(folder(path, ONLY_ASIDE, "give by name what is to be read")),
            (true, true) => Err(folder(path, "has no file in it", "give a folder of logs")),
        });
        match read {
            Ok(()) => {
                all.found
                    .extend(files.iter().map(|file| file.display().to_string()));
                all.files.append(&mut files);
                all.aside.extend(aside);
            }
            Err(error) => all.refused.push(error),
        }
    }
    all
}

fn folder(path: &Path, why: impl Into<String>, hint: &'static str) -> ImportError {
    ImportError::Folder {
        folder: path.display().to_string(),
        why: why.into(),
        hint,
    }
}

/// What lies below a folder.
#[derive(Default)]
struct Below {
    files: Vec<PathBuf>,
    /// Names of what is neither a file nor a folder.
    aside: Vec<String>,
}

fn files_below(place: &Path, below: &mut Below) -> Result<(), ImportError> {
    let failed = |error: io::Error| no_log(place, &error);
    let entries = fs::read_dir(place).map_err(failed)?;
    let mut entries = entries.collect::<io::Result<Vec<_>>>().map_err(failed)?;
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        let path = entry.path();
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            files_below(&path, below)?;
        } else if kind.is_file() {
            below.files.push(path);
        } else {
            below.aside.push(path.display().to_string());
        }
        if below.files.len() + below.aside.len() > MAX_FILES {
            let why = format!("has more than {MAX_FILES} files");
            return Err(folder(place, why, "give its parts"));
        }
    }
    Ok(())
}

/// The file that was refused, if it only lies beside logs, and is not a damaged one.
fn beside_logs<'a>(error: &'a ImportError, found: &BTreeSet<String>) -> Option<&'a str> {
    match error {
        ImportError::Enclosed { error, .. } => beside_logs(error, found),
        ImportError::Binary { file, .. }
        | ImportError::Container { file, .. }
        | ImportError::Empty { file }
        | ImportError::Unknown { file, .. } => {
            Some(file.as_str()).filter(|file| found.contains(*file))
        }
        _ => None,
    }
}

/// What to say of the files of a folder that were not read, and why they were not.
fn left_out(names: &[&str], why: &str) -> Option<String> {
    /// More names than anybody reads in one line.
    const MAX_NAMES: usize = 200;
    let all = names.len();
    let files = if all == 1 { "file" } else { "files" };
    let mut list = names[..all.min(MAX_NAMES)].join(", ");
    if all > MAX_NAMES {
        list = format!("{list} and {} more", all - MAX_NAMES);
    }
    (all > 0).then(|| format!("left out {all} {files} of the folder, {why}: {list}"))
}

/// Whether a file is a run document, of any version, whole or damaged.
pub fn is_run_document(path: &Path) -> Result<bool, Failure> {
    let file = LogFile::new(path);
    linerate_store::is_document(|| file.open()).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(ExitCode::Plan, no_log(path, error).to_string())
}

fn no_log(path: &Path, error: &io::Error) -> ImportError {
    ImportError::unreadable(&path.display().to_string(), error)
}

/// A log of a file, which is read when it is needed, or of a pipe or the standard input, which is read now.
fn open_log(path: &Path, interrupt: &AtomicBool) -> Result<Box<dyn Source>, ImportError> {
    let failed = |error: io::Error| no_log(path, &error);
    if !is_stream(path).map_err(failed)? {
        let log = LogFile::new(path);
        // Says now what is no log at all.
        log.open().map_err(failed)?;
        return Ok(Box::new(log));
    }
    let name = path.display().to_string();
    match piped::read(path, MAX_PIPED_BYTES, interrupt).map_err(failed)? {
        Some(bytes) => Ok(Box::new((name, bytes))),
        None => Err(ImportError::Pipe { file: name }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::run::{RunKind, Tool};

    /// However long the log, and whatever is still to be read of it.
    #[test]
    fn an_interrupted_import_ends_at_the_next_read_and_says_so() {
        let logs = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../store/tests/fixtures/formats"
        );
        let files = [Path::new(logs).join("sockperf-3.7-ul.txt")];
        let read = |is_interrupted| {
            let interrupt = AtomicBool::new(is_interrupted);
            let mut count = 0;
            let take = &mut |runs: Vec<Run>| {
                count += runs.len();
                Ok(())
            };
            let read = read_logs(&files, &Hints::default(), &interrupt, take);
            (count, read.map_err(|error| error.to_string()).err())
        };
        assert_eq!(read(false), (1, None));
        let said = "the import was interrupted: nothing of it is stored";
        assert_eq!(read(true), (0, Some(said.to_owned())));
    }

    /// As of `/var/log/containers`, where every log is a link.
    #[test]
    fn links_of_a_folder_are_named_and_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let fixtures = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../store/tests/fixtures/formats"
        );
        let log = Path::new(fixtures).join("sockperf-3.7-ul.txt");
        let [mixed, links] = ["mixed", "links"].map(|name| place.path().join(name));
        for folder in [&mixed, &links] {
            fs::create_dir(folder).unwrap();
            std::os::unix::fs::symlink(&log, folder.join("b.log")).unwrap();
        }
        fs::copy(&log, mixed.join("a.log")).unwrap();
        let read = |folder: &Path| {
            let mut count = 0;
            let take = &mut |runs: Vec<Run>| {
                count += runs.len();
                Ok(())
            };
            let files = [folder.to_owned()];
            let read = read_logs(&files, &Hints::default(), &AtomicBool::new(false), take);
            (count, read.map_err(|error| error.to_string()))
        };
        let (count, findings) = read(&mixed);
        let warnings = findings.unwrap().warnings.join("\n");
        assert_eq!(count, 1);
        let named = mixed.join("b.log").display().to_string();
        assert!(
            warnings.contains("1 file of the folder") && warnings.contains(&named),
            "{warnings}"
        );
        let (count, refused) = read(&links);
        assert_eq!(count, 0);
        let refused = refused.err().unwrap();
        assert!(
            refused.contains("only links") && refused.contains("by name"),
            "{refused}"
        );
    }

    /// A table of which a part is stored already when the user ends the import.
    #[test]
    fn an_import_that_is_interrupted_stores_nothing_or_says_how_much() {
        let place = tempfile::tempdir().unwrap();
        let table = place.path().join("table.csv");
        let lines = (0..1100).map(|line| format!("r{line},94.5\n"));
        fs::write(&table, format!("name,rate\n{}", lines.collect::<String>())).unwrap();
        let store = crate::open_store(&place.path().join("store")).unwrap();
        let columns = "run=name,rate=rate:Mbit/s,transport==tcp".parse().unwrap();
        let import = |parts_until: usize| {
            let interrupt = AtomicBool::new(false);
            let mut parts = 0;
            let show = &mut |runs: Vec<Run>| {
                assert!(runs.len() <= 1000, "{} at once", runs.len());
                parts += 1;
                interrupt.store(parts == parts_until, Ordering::Relaxed);
                unless_interrupted(&interrupt)
            };
            let files = [table.clone()];
            import_tables(Some(&store), &files, &columns, &interrupt, show)
                .map(|outcome| outcome.known.len())
                .map_err(|error| error.to_string())
        };
        let nothing = "the import was interrupted: nothing of it is stored".to_owned();
        assert_eq!(import(2), Err(nothing.clone()));
        assert_eq!(store.list().unwrap().len(), 0);
        let stopped_after = |moved: usize| {
            let mut batch = store.batch().unwrap();
            let run = |id: &str| Run::new(id, RunKind::Tcp, Tool::unversioned("x"));
            batch.add(&[run("a"), run("b"), run("c")]).unwrap();
            let mut steps = 0;
            let ended = finish(batch, &mut || {
                steps += 1;
                steps <= moved
            });
            ended.map_err(|error| error.to_string())
        };
        assert_eq!(stopped_after(0), Err(nothing));
        let some = "the import was interrupted: 2 of its 3 runs are stored; import again, which adds the others";
        assert_eq!(stopped_after(2), Err(some.to_owned()));
        assert_eq!(store.list().unwrap().len(), 2);
        assert_eq!(import(0), Ok(0));
        assert_eq!(store.list().unwrap().len(), 1102);
        // All of them are known now, of which a thousand and one line are told.
        assert_eq!(import(0), Ok(1001));
    }
}

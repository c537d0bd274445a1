//! Commands over stored runs: import, list, load, export, report.

use crate::context::Context;
use anyhow::{Context as _, Result};
pub use linerate_analysis::conclude;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{Run, RunKind, RunStatus, RunWork};
use linerate_report::document::{self, Document, DocumentFormat};
use linerate_report::export;
use linerate_report::renderers::{Renderer, ReportFile};
use linerate_report::{Report, renderers};
pub use linerate_store::import::{Columns, HgrmHint, Hints, ImportError, QUANTITIES, UnitStep};
use linerate_store::import::{Findings, LogFile, Source, import_table};
pub use linerate_store::{Entry, Figure, Listed};
use linerate_store::{Store, StoreError, import};
use linerate_sys::clock::wall_now;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Largest log that is read from a pipe: it is read twice, so what comes once only is kept whole.
const MAX_PIPED_BYTES: u64 = 64 * 1024 * 1024;

/// Reads logs of other tools, stores the runs they make, and shows them: in parts if they are many. Returns the files,
/// and tests in them, that could not be read and are left out. An error, after which nothing is stored, if they make no
/// run.
pub fn import_logs(
    context: &mut Context<'_>,
    files: &[PathBuf],
    hints: &Hints,
    show: &mut dyn FnMut(Vec<Run>) -> Result<()>,
) -> Result<Vec<ImportError>> {
    let mut stored = Vec::new();
    let store = context.store.clone();
    let mut keep = |runs: Vec<Run>| {
        if let Some(store) = &store {
            stored.extend(store.add_all(&runs)?);
        }
        show(runs)
    };
    let imported = read_logs(context, files, hints, &mut keep);
    imported.inspect_err(|_| {
        if let Some(store) = &store {
            store.take_back(&stored);
        }
    })
}

/// Reads tables of old results as `columns` says, stores the runs they make, and shows them. Returns what of them could
/// not be read and is left out. An error, after which nothing is stored, if a table makes no run.
pub fn import_tables(
    context: &mut Context<'_>,
    files: &[PathBuf],
    columns: &Columns,
    show: &mut dyn FnMut(Vec<Run>) -> Result<()>,
) -> Result<Vec<ImportError>> {
    let (mut runs, mut refused) = (Vec::new(), Vec::new());
    for path in files {
        let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
        let mut read = import_table(&path.display().to_string(), &bytes, columns)
            .map_err(|error| Failure::new(ExitCode::Plan, format!("cannot import: {error}")))?;
        runs.append(&mut read.runs);
        refused.append(&mut read.refused);
    }
    for run in &mut runs {
        conclude_all(run);
    }
    if let Some(store) = &context.store {
        store.add_all(&runs)?;
    }
    show(runs)?;
    Ok(refused)
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
        let mut cells: Vec<&str> = Vec::new();
        for place in parts.iter().filter_map(|part| part.config.place.as_ref()) {
            if !cells.contains(&&*place.cell) {
                cells.push(&place.cell);
            }
        }
        let made = linerate_analysis::study::findings(cells.iter().copied(), None, parts);
        *estimates = linerate_analysis::estimates(cells, parts);
        *findings = Some(Box::new(made));
        return;
    }
    conclude(run);
}

/// Takes the runs that logs of other tools make; what their figures contradict is noted. Returns what is left out.
pub(crate) fn read_logs(
    context: &mut Context<'_>,
    files: &[PathBuf],
    hints: &Hints,
    take: &mut dyn FnMut(Vec<Run>) -> Result<()>,
) -> Result<Vec<ImportError>> {
    let (files, found) = expanded(files)?;
    let logs = files
        .iter()
        .map(|path| open_log(path))
        .collect::<Result<Vec<_>>>()?;
    let mut taken = Ok(());
    let read = import::import_in_parts(&logs, hints, &mut |mut runs| {
        runs.iter_mut().for_each(conclude);
        taken = take(runs);
        if taken.is_ok() {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    taken?;
    let Findings { warnings, refused } =
        read.map_err(|error| Failure::new(ExitCode::Plan, format!("cannot import: {error}")))?;
    for warning in &warnings {
        context.watcher.event(crate::watch::Event::Note(warning));
    }
    let (beside, refused): (Vec<_>, Vec<_>) = refused
        .into_iter()
        .partition(|error| is_beside_logs(error, &found));
    if !beside.is_empty() {
        let note = format!(
            "{} files of the folder are no logs that linerate reads, and are left out",
            beside.len()
        );
        context.watcher.event(crate::watch::Event::Note(&note));
    }
    Ok(refused)
}

/// Most files that a folder may stand for.
const MAX_FILES: usize = 10_000;

/// The files that are meant, and the names of those that nobody named: a folder stands for all below it in the order of
/// their names, hidden ones aside. Links to folders are not followed.
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
        if entry.file_type().map_err(failed)?.is_dir() {
            files_below(&path, files)?;
        } else if path.is_file() {
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

/// Whether what was refused is a file that only lies beside logs, and not a damaged one.
fn is_beside_logs(error: &ImportError, found: &BTreeSet<String>) -> bool {
    match error {
        ImportError::Binary { file, .. }
        | ImportError::Empty { file }
        | ImportError::Unknown { file, .. } => found.contains(file),
        _ => false,
    }
}

/// Whether a file is a run document, of any version, whole or damaged.
pub(crate) fn is_run_document(path: &Path) -> Result<bool, Failure> {
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

/// Opens the store in `dir`, which need not exist yet.
pub fn open_store(dir: &Path) -> Result<Store> {
    Store::open(dir).map_err(|error| match error {
        StoreError::NotADirectory { .. } => Failure::new(ExitCode::Usage, error.to_string()).into(),
        other => other.into(),
    })
}

/// A stored run with what the user keeps beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The run.
    pub listed: Listed,
    /// What it is called.
    pub tags: Vec<String>,
    /// The note on it.
    pub note: Option<String>,
}

/// Which runs are listed; all that is given must hold.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Of this kind.
    pub kind: Option<RunKind>,
    /// That came to this end.
    pub status: Option<RunStatus>,
    /// Limited by this, by its id or a part of its name.
    pub limit: Option<String>,
    /// Called so, or at all if empty.
    pub tag: Option<String>,
    /// With this in its id, title or note, whatever the case.
    pub text: Option<String>,
    /// Started on this day or later: `2026-11-24`, or the beginning of a time.
    pub since: Option<String>,
    /// At most so many, the newest.
    pub most: Option<usize>,
}

impl Filter {
    /// All of it but the text, which may be in a note.
    fn holds(&self, kept: &Kept) -> bool {
        let tag = |wanted: &String| match wanted.as_str() {
            "" => !kept.tags.is_empty(),
            name => kept.tags.iter().any(|tag| tag == name),
        };
        let run = match &kept.listed.entry {
            Entry::Run(run) => Some(run),
            Entry::Broken { .. } => None,
        };
        let limit = |wanted: &String| {
            let limit = run.and_then(|run| run.limit.as_ref());
            limit.is_some_and(|(id, name)| id == wanted || contains(name, wanted))
        };
        let since = |wanted: &String| {
            let started = run.and_then(|run| run.started.as_ref());
            started.is_some_and(|started| started.to_string() >= *wanted)
        };
        self.kind
            .is_none_or(|kind| run.is_some_and(|run| run.kind == kind))
            && self
                .status
                .is_none_or(|status| run.is_some_and(|run| run.status == status))
            && self.limit.as_ref().is_none_or(limit)
            && self.tag.as_ref().is_none_or(tag)
            && self.since.as_ref().is_none_or(since)
    }

    fn is_in_text(&self, kept: &Kept) -> bool {
        let title = match &kept.listed.entry {
            Entry::Run(run) => run.title.as_deref(),
            Entry::Broken { .. } => None,
        };
        let mut texts = [Some(&*kept.listed.id), title, kept.note.as_deref()]
            .into_iter()
            .flatten();
        self.text
            .as_ref()
            .is_none_or(|wanted| texts.any(|text| contains(text, wanted)))
    }

    fn newest(&self, kept: &mut Vec<Kept>) {
        let most = self.most.unwrap_or(usize::MAX);
        kept.drain(..kept.len().saturating_sub(most));
    }
}

/// Whatever the case.
fn contains(text: &str, wanted: &str) -> bool {
    text.to_lowercase().contains(&wanted.to_lowercase())
}

/// The stored runs that `filter` lets through, oldest first.
pub fn list(store: &Store, filter: &Filter) -> Result<Vec<Kept>> {
    let mut tags: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (tag, id) in store.tags()? {
        tags.entry(id).or_default().push(tag);
    }
    let kept = store.list()?.into_iter().map(|listed| Kept {
        tags: tags.remove(&listed.id).unwrap_or_default(),
        note: None,
        listed,
    });
    let mut kept: Vec<_> = kept.filter(|kept| filter.holds(kept)).collect();
    if filter.text.is_none() {
        // Notes are read of what is shown alone.
        filter.newest(&mut kept);
    }
    let notes = store.notes(&kept.iter().map(|kept| &kept.listed).collect::<Vec<_>>());
    for (kept, note) in kept.iter_mut().zip(notes) {
        kept.note = note;
    }
    kept.retain(|kept| filter.is_in_text(kept));
    filter.newest(&mut kept);
    Ok(kept)
}

/// What a store cannot do is what the command line asked of it, unless the system refused.
fn refused(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::Io { .. } => error.into(),
        asked => Failure::new(ExitCode::Usage, asked.to_string()).into(),
    }
}

/// The id of a run of the store.
pub fn id(store: &Store, run: &str) -> Result<String> {
    store.id(run).map_err(refused)
}

/// The ids of tagged runs, by tag.
pub fn tags(store: &Store) -> Result<BTreeMap<String, String>> {
    store.tags().map_err(refused)
}

/// Removes a run for good; its id.
pub fn remove(store: &Store, run: &str) -> Result<String> {
    store.remove(run).map_err(refused)
}

/// Calls a run `tag`; its id.
pub fn tag(store: &Store, run: &str, tag: &str) -> Result<String> {
    store.tag(run, tag).map_err(refused)
}

/// Forgets a tag.
pub fn untag(store: &Store, tag: &str) -> Result<()> {
    store.untag(tag).map_err(refused)
}

/// Keeps a note on a run, none if it is empty; its id.
pub fn set_note(store: &Store, run: &str, text: &str) -> Result<String> {
    store.set_note(run, text).map_err(refused)
}

/// The note on a run.
pub fn note(store: &Store, run: &str) -> Result<Option<String>> {
    store.note(run).map_err(refused)
}

/// One stored run, by id, start of an id, tag, `last`, `last~1`, or path.
pub fn load(store: &Store, run: &str) -> Result<Run> {
    store
        .load(run)
        .map_err(|error| Failure::new(ExitCode::Usage, error.to_string()).into())
}

/// Renders runs in the format called `id`.
pub fn render(id: &str, runs: &[Run]) -> Result<String> {
    Ok(find_renderer(id)?.render(&report(runs, None))?)
}

fn find_renderer(id: &str) -> Result<&'static Renderer> {
    let mut all = renderers::ALL.iter().copied();
    all.find(|renderer| renderer.id == id)
        .with_context(|| format!("there is no report format \"{id}\""))
}

/// The report of runs under the user's title, if there is one.
fn report<'a>(runs: &'a [Run], title: Option<&str>) -> Report<'a> {
    Report {
        title: title.map_or_else(|| linerate_report::title(runs), str::to_owned),
        runs,
        made: wall_now(),
    }
}

/// Whether a report can be written to `path`, as far as can be said before it is made.
pub fn check_report(path: &Path) -> Result<(), Failure> {
    renderer_for(path)?;
    check_place(path)
}

/// Whether a document can be written to `path`, as far as can be said before it is made.
pub fn check_document<D: Document>(path: &Path) -> Result<(), Failure> {
    format_of::<D>(path)?;
    check_place(path)
}

/// Writes a document; the ending of the file chooses the format.
pub fn write_document<D: Document>(path: &Path, document: &D) -> Result<()> {
    let format = format_of::<D>(path)?;
    check_place(path)?;
    write_text(path, &document::render(document, format, &wall_now())?)
}

fn format_of<D: Document>(path: &Path) -> Result<DocumentFormat, Failure> {
    let named = D::FORMATS.iter().map(|format| (format.ending(), *format));
    by_ending(path, named)
}

/// The one of `known` whose ending the file has: it chooses the format.
fn by_ending<F>(
    path: &Path,
    known: impl Iterator<Item = (&'static str, F)> + Clone,
) -> Result<F, Failure> {
    let ending = path.extension().and_then(|ending| ending.to_str());
    let mut named = known.clone().filter(|(of, _)| ending == Some(of));
    named.next().map(|(_, format)| format).ok_or_else(|| {
        let endings: Vec<_> = known.map(|(ending, _)| format!(".{ending}")).collect();
        let message = format!(
            "cannot tell the format of {}; let its name end in {}",
            path.display(),
            endings.join(", ")
        );
        Failure::new(ExitCode::Usage, message)
    })
}

/// Whether there is a directory for `path`.
pub(crate) fn check_place(path: &Path) -> Result<(), Failure> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    match parent {
        Some(dir) if !dir.is_dir() => {
            let message = format!(
                "cannot write {}: there is no directory {}; create it, or choose another place",
                path.display(),
                dir.display()
            );
            Err(Failure::new(ExitCode::Usage, message))
        }
        _ => Ok(()),
    }
}

/// Renders runs into a file; its ending chooses the format. The file appears whole or not at all. A
/// format with a file for each trial puts the trial's name before the ending. Returns what was written.
pub fn write_report(path: &Path, runs: &[Run], title: Option<&str>) -> Result<Vec<PathBuf>> {
    check_report(path)?;
    write_documents(path, (renderer_for(path)?.documents)(&report(runs, title))?)
}

fn write_documents(path: &Path, documents: Vec<ReportFile>) -> Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for document in documents {
        let place = match &document.name {
            None => path.to_owned(),
            Some(name) => beside(path, name),
        };
        write_text(&place, &document.text)?;
        written.push(place);
    }
    Ok(written)
}

/// `dir/x.hgrm` with a name: `dir/x-NAME.hgrm`.
fn beside(path: &Path, name: &str) -> PathBuf {
    let part =
        |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let (stem, ending) = (part(path.file_stem()), part(path.extension()));
    path.with_file_name(format!("{stem}-{name}.{ending}"))
}

/// Writes `text` as a file that appears whole or not at all.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    write_bytes(path, text.as_bytes())
}

/// The same of bytes.
pub(crate) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    write_whole(path, bytes).map_err(|error| {
        let message = format!(
            "cannot write {}: {error}; choose a place with room that this user may write to",
            path.display()
        );
        Failure::new(ExitCode::Other, message).into()
    })
}

fn renderer_for(path: &Path) -> Result<&'static Renderer, Failure> {
    let all = renderers::ALL.iter().copied();
    by_ending(path, all.map(|renderer| (renderer.ending, renderer)))
}

/// Writes beside the target, then renames: a full disk leaves the old file or none.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".tmp");
    let beside = PathBuf::from(beside);
    let written = fs::File::create(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// The run document.
pub fn to_json(run: &Run) -> String {
    export::json(run)
}

/// One row per trial.
pub fn to_csv(run: &Run) -> String {
    export::csv([run])
}

/// HdrHistogram's percentile text of every whole delay distribution, or of the trial of one index.
pub fn to_hgrm(run: &Run, trial: Option<u32>) -> Result<String> {
    let mut chosen = run.clone();
    if let Some(index) = trial {
        chosen.trials.retain(|trial| trial.index == index);
        if let Some(parts) = chosen.parts_mut() {
            parts.clear();
        }
        if chosen.trials.is_empty() {
            let message = format!(
                "{} has no trial {index}; it has 0 to {}",
                run.id,
                run.trials.len().saturating_sub(1)
            );
            return Err(Failure::new(ExitCode::Usage, message).into());
        }
    }
    render(HGRM, &[chosen])
}

const HGRM: &str = "hgrm";

/// The same in a file for each trial, whatever the ending of `path`.
pub fn write_hgrm(path: &Path, run: &Run) -> Result<Vec<PathBuf>> {
    check_place(path)?;
    let runs = std::slice::from_ref(run);
    write_documents(path, (find_renderer(HGRM)?.documents)(&report(runs, None))?)
}

/// One row per reporting interval.
pub fn to_interval_csv(run: &Run) -> String {
    export::intervals_csv(run)
}

/// The store's runs as a JSON array. What is not known is null.
pub fn listing_json(listed: &[Kept]) -> Result<String> {
    let entry = |kept: &Kept| match &kept.listed.entry {
        Entry::Broken { reason } => {
            json!({"id": kept.listed.id, "broken": reason, "tags": kept.tags, "note": kept.note})
        }
        Entry::Run(run) => {
            let (mut received, mut bound, mut median) = (None, None, None);
            match run.result {
                Some(Figure::Received(rate)) => received = Some(rate),
                Some(Figure::LowerBound(rate)) => bound = Some(rate),
                Some(Figure::MedianNs(ns)) => median = Some(ns),
                None => {}
            }
            json!({
                "id": kept.listed.id, "kind": run.kind, "status": run.status, "title": run.title,
                "started": run.started, "trials": run.trials, "parts": run.parts,
                "received_bps": received, "lower_bound_bps": bound, "p50_ns": median,
                "limit": run.limit.as_ref().map(|(id, _)| id), "tags": kept.tags, "note": kept.note,
            })
        }
    };
    Ok(serde_json::to_string_pretty(
        &listed.iter().map(entry).collect::<Vec<_>>(),
    )?)
}

//! Tables of old results become runs: a line is a test, a column what `--columns` says of it.
//!
//! Without factors a run has a trial for each line. With factors it is a study: lines with the same levels are the
//! repetitions of a cell. The caller averages them.
//!
//! Invariants as for logs: a line is imported whole or not at all, and one that cannot be read is named with its column;
//! what a table does not say stays `None`.

mod cell;
mod columns;
mod parts;
mod row;

pub use columns::{ALL as QUANTITIES, ColumnKind, Columns};

use super::line::Fingerprint;
use super::{Findings, ImportError, Source};
use columns::{Column, Origin};
use linerate_model::run::{self, Run, RunKind, StudyPlace, Tool, Trial};
use linerate_model::spec::Transport;
use parts::Parts;
use row::{Line, Sheet};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Most lines of a table that are put together.
const MAX_LINES: usize = 10_000;
/// Most of those that are parts of a study, each a run by itself.
const MAX_STUDY_LINES: usize = 1000;
/// Most runs that are handed out at once.
const MAX_RUNS: usize = 1000;
/// Most lines that cannot be read and are named.
const MAX_NAMED: usize = 1000;

/// What a run of a table says of its source.
const FORMAT: &str = "table";

/// Reads a table, and hands out the runs of each 10 000 lines, or 1000 of a study, while it is read, at most 1000 at once.
/// `take` says whether to go on.
///
/// Lines that cannot be read are named in [`Findings::refused`]; an error if that leaves none.
pub fn import_table(
    table: &dyn Source,
    columns: &Columns,
    take: &mut dyn FnMut(Vec<Run>) -> ControlFlow<()>,
) -> Result<Findings, ImportError> {
    let file = table.name();
    let is_study = columns.get(Column::Factors).is_some();
    let max_lines = if is_study { MAX_STUDY_LINES } else { MAX_LINES };
    let mut parts = Parts::open(table, max_lines)?;
    let mut findings = Findings::default();
    let (mut has_runs, mut more) = (false, 0);
    'parts: while let Some(part) = parts.next()? {
        let lines = part.lines;
        let is_whole = part.skipped == 0 && parts.is_over()?;
        if !is_whole && findings.warnings.is_empty() {
            findings.warnings.push(format!(
                "{file}: has more than {max_lines} lines: so many are put together at a time, so runs, and the cells \
                 of a study, are made within these only"
            ));
        }
        let sheet = Sheet::read(&file, part, columns)?;
        let made = TableOrigin {
            file: &file,
            fingerprint: Fingerprint::of(std::iter::once(sheet.text())).get(),
            is_study,
            lines: (!is_whole).then_some(lines),
        };
        let named = by_run(&sheet, columns, &mut |error| {
            if findings.refused.len() < MAX_NAMED {
                findings.refused.push(error);
            } else {
                more += 1;
            }
        });
        let mut runs = named
            .into_iter()
            .flat_map(|(name, lines)| made.runs(&name, lines));
        loop {
            let some: Vec<_> = runs.by_ref().take(MAX_RUNS).collect();
            if some.is_empty() {
                break;
            }
            has_runs = true;
            if take(some).is_break() {
                break 'parts;
            }
        }
    }
    if !has_runs {
        let format = FORMAT;
        let none = ImportError::NoTest { file, format };
        return Err(findings.refused.into_iter().next().unwrap_or(none));
    }
    if more > 0 {
        findings.refused.push(ImportError::More { count: more });
    }
    Ok(findings)
}

/// The lines of a part by the names of their runs, in the order of their first lines.
fn by_run(
    sheet: &Sheet<'_>,
    columns: &Columns,
    refuse: &mut dyn FnMut(ImportError),
) -> Vec<(String, Vec<Line>)> {
    let mut runs: Vec<(String, Vec<Line>)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for record in sheet.records() {
        match sheet.line(&record, columns) {
            Err(error) => refuse(error),
            Ok(None) => {}
            Ok(Some(line)) => {
                let place = *places.entry(line.run.clone()).or_insert(runs.len());
                if place == runs.len() {
                    runs.push((line.run.clone(), Vec::new()));
                }
                runs[place].1.push(line);
            }
        }
    }
    runs
}

/// What all runs of a part of a table share.
struct TableOrigin<'a> {
    file: &'a str,
    fingerprint: u64,
    is_study: bool,
    /// First and last line of a part of the table.
    lines: Option<(usize, usize)>,
}

/// Transport and kind that the trials of one run share.
type Kind = (Transport, bool);

impl TableOrigin<'_> {
    /// The runs of lines with one name: a study, or one for each transport and kind.
    fn runs(&self, name: &str, lines: Vec<Line>) -> Vec<Run> {
        if self.is_study {
            return vec![self.study(name, lines)];
        }
        let mut kinds: Vec<(Kind, Vec<Trial>)> = Vec::new();
        for Line { trial, .. } in lines {
            let kind = kind(&trial);
            match kinds.iter_mut().find(|(other, _)| *other == kind) {
                Some((_, trials)) => trials.push(trial),
                None => kinds.push((kind, vec![trial])),
            }
        }
        let several = kinds.len() > 1;
        let named = kinds.into_iter().map(|(kind, trials)| {
            let title = match (name, several) {
                ("", _) => format!("{}, {}", stem(self.file), kind.0),
                (name, false) => name.to_owned(),
                (name, true) => format!("{name}, {}", kind.0),
            };
            self.run(&title, kind, trials)
        });
        named.collect()
    }

    fn study(&self, name: &str, lines: Vec<Line>) -> Run {
        let title = if name.is_empty() {
            stem(self.file)
        } else {
            name
        };
        let mut seen: BTreeMap<String, u32> = BTreeMap::new();
        let mut parts = Vec::with_capacity(lines.len());
        for line in lines {
            let repetition = seen.entry(line.cell.clone()).or_default();
            *repetition += 1;
            let part_title = format!("{} (repetition {repetition})", line.cell);
            let kind = kind(&line.trial);
            let mut part = self.run(&part_title, kind, vec![line.trial]);
            part.id = format!("{}-{}", part.id, parts.len());
            part.config.place = Some(StudyPlace {
                cell: line.cell,
                repetition: *repetition,
            });
            parts.push(part);
        }
        let mut study = self.empty(title, RunKind::Study);
        if let Some(all) = study.parts_mut() {
            *all = parts;
        }
        study
    }

    fn run(&self, title: &str, (transport, is_timed): Kind, mut trials: Vec<Trial>) -> Run {
        let kind = match (transport, is_timed) {
            (_, true) => RunKind::Latency,
            (Transport::Tcp, false) => RunKind::Tcp,
            (Transport::Udp, false) => RunKind::Udp,
        };
        trials.sort_by_key(|trial| trial.intended_load);
        for (index, trial) in (0..).zip(&mut trials) {
            trial.index = index;
        }
        let mut run = self.empty(title, kind);
        run.trials = trials;
        run
    }

    /// The same table and mapping give the same id, so that a store notices that it has it already.
    fn empty(&self, title: &str, kind: RunKind) -> Run {
        let title = match self.lines {
            Some((first, last)) => format!("{title}, lines {first} to {last}"),
            None => title.to_owned(),
        };
        let name = Fingerprint::of(std::iter::once(&*title)).get();
        let id = super::build::id(None, kind, self.fingerprint.rotate_left(1) ^ name);
        let mut run = Run::new(
            id,
            kind,
            Tool::unversioned("a tool that its table does not name"),
        );
        run.title = Some(title);
        run.source = Some(run::Source {
            format: FORMAT.to_owned(),
            files: vec![self.file.to_owned()],
        });
        run.hosts = super::test_builder::hosts(None, None);
        run
    }
}

fn kind(trial: &Trial) -> Kind {
    (trial.transport, trial.delay().is_some())
}

/// The file's name without folders and ending.
fn stem(file: &str) -> &str {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

#[cfg(test)]
mod tests;

//! Tables of old results become runs: a line is a test, a column what `--columns` says of it.
//!
//! Without factors a run has a trial for each line. With factors it is a study: lines with the same levels are the
//! repetitions of a cell. The caller averages them.
//!
//! Invariants as for logs: a line is imported whole or not at all, and one that cannot be read is named with its column;
//! what a table does not say stays `None`.

mod cell;
mod columns;
mod row;

pub use columns::{ALL as QUANTITIES, ColumnKind, Columns};

use super::line::Fingerprint;
use super::{Findings, ImportError, Imported};
use columns::{Column, Origin};
use linerate_model::run::{Run, RunKind, Source, StudyPlace, Tool, Trial};
use linerate_model::spec::Transport;
use row::{Line, Sheet};
use std::collections::BTreeMap;

/// Largest table, bytes.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Most lines of a table: as a trial, with what is drawn of it, a line takes some kilobytes of memory.
const MAX_LINES: usize = 10_000;

/// What a run of a table says of its source.
const FORMAT: &str = "table";

/// Reads the table called `file`.
///
/// Lines that cannot be read are named in [`Imported::refused`]; an error if that leaves none.
pub fn import_table(file: &str, bytes: &[u8], columns: &Columns) -> Result<Imported, ImportError> {
    if bytes.len() > MAX_BYTES {
        return Err(ImportError::TooLarge {
            file: file.to_owned(),
            line: 1,
            what: "a table",
            limit: "16 MiB",
            hint: "give its parts",
        });
    }
    let lines = bytes.split(|byte| *byte == b'\n').count() - 1;
    if lines > MAX_LINES {
        return Err(ImportError::TooLarge {
            file: file.to_owned(),
            line: MAX_LINES + 1,
            what: "a table",
            limit: "10 000 lines",
            hint: "give its parts, such as those that `split -l 9999` makes, each with the headings",
        });
    }
    let sheet = Sheet::read(file, bytes, columns)?;
    let mut findings = Findings::default();
    let mut runs: Vec<(String, Vec<Line>)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for record in sheet.records() {
        match sheet.line(&record, columns) {
            Err(error) => findings.refused.push(error),
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
    if runs.is_empty() {
        let none = ImportError::NoTest {
            file: file.to_owned(),
            format: FORMAT,
        };
        return Err(findings.refused.into_iter().next().unwrap_or(none));
    }
    let fingerprint = Fingerprint::of(std::iter::once(sheet.text())).get();
    let made = Made {
        file,
        fingerprint,
        is_study: columns.get(Column::Factors).is_some(),
    };
    let runs = runs
        .into_iter()
        .flat_map(|(name, lines)| made.runs(&name, lines));
    Ok(Imported {
        runs: runs.collect(),
        warnings: findings.warnings,
        refused: findings.refused,
    })
}

/// What all runs of a table share.
struct Made<'a> {
    file: &'a str,
    fingerprint: u64,
    is_study: bool,
}

/// Transport and kind that the trials of one run share.
type Kind = (Transport, bool);

impl Made<'_> {
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
        let name = Fingerprint::of(std::iter::once(title)).get();
        let id = super::build::id(None, kind, self.fingerprint.rotate_left(1) ^ name);
        let mut run = Run::new(
            id,
            kind,
            Tool::unversioned("a tool that its table does not name"),
        );
        run.title = Some(title.to_owned());
        run.source = Some(Source {
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

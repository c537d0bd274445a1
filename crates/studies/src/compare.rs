//! `linerate compare A B`: finds both, judges B against A, writes the answer down.

use crate::context::Context;
use crate::watch::Event;
use anyhow::Result;
use linerate_analysis::compare::{NamedRun, compare, known_metrics};
use linerate_archive::{self as archive, Hints};

use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::Run;
use linerate_store::Store;
use std::path::Path;

pub use linerate_analysis::compare::Options;
pub use linerate_model::comparison::Comparison;

/// Judges `b` against `a`: each an id of a stored run, a path to one, or a log that can be imported.
/// Nothing is stored.
pub fn compare_named(
    context: &mut Context<'_>,
    a: &str,
    b: &str,
    hints: &Hints,
    options: &Options,
) -> Result<Comparison> {
    check_metrics(options)?;
    let first = find(context, a, hints)?;
    let second = find(context, b, hints)?;
    let [a, b] = [(a, &first), (b, &second)].map(|(name, run)| NamedRun { name, run });
    compare_runs(a, b, options)
}

/// Judges `b` against `a`: runs with the names that the comparison calls them by.
pub fn compare_runs(a: NamedRun<'_>, b: NamedRun<'_>, options: &Options) -> Result<Comparison> {
    comparable(compare(a, b, options))
}

/// Whether the metrics that are asked for are known.
pub(crate) fn check_metrics(options: &Options) -> Result<(), Failure> {
    for start in &options.only {
        let is_known = |id: &String| id.starts_with(start) || start.starts_with(id);
        if !known_metrics().iter().any(is_known) {
            let message = format!(
                "--metric {start}: no metric begins so; known are {}",
                known_metrics().join(", ")
            );
            return Err(Failure::new(ExitCode::Usage, message));
        }
    }
    Ok(())
}

/// The comparison, if there is anything in it.
pub(crate) fn comparable(comparison: Comparison) -> Result<Comparison> {
    if comparison.pairs.iter().all(|pair| pair.metrics.is_empty()) {
        let message = format!(
            "{} and {} have nothing in common that can be compared{}; compare runs of the same kind, \
             transport, size and load",
            comparison.a.name,
            comparison.b.name,
            reason(&comparison)
        );
        return Err(Failure::new(ExitCode::Usage, message).into());
    }
    Ok(comparison)
}

fn reason(comparison: &Comparison) -> String {
    let first = comparison.unpaired.first();
    first.map_or_else(
        || ": they know no metric that the other knows too".to_owned(),
        |one| format!(": of {}, {}", one.cell.name, one.why),
    )
}

/// A run by its name: a file that is no run document is a log of another tool.
fn find(context: &mut Context<'_>, name: &str, hints: &Hints) -> Result<Run> {
    let path = Path::new(name);
    if path.is_file() && !archive::is_run_document(path)? {
        return imported(context, path, hints);
    }
    let elsewhere = Store::open(Path::new("."))?;
    let store = context.store.as_ref().unwrap_or(&elsewhere);
    archive::load(store, name)
}

fn imported(context: &mut Context<'_>, path: &Path, hints: &Hints) -> Result<Run> {
    let (mut first, mut count) = (None, 0);
    let interrupt = context.interrupt;
    let findings = archive::read_logs(&[path.to_owned()], hints, interrupt, &mut |runs| {
        count += runs.len();
        first = first.take().or_else(|| runs.into_iter().next());
        Ok(())
    })?;
    let left_out = findings.refused.iter();
    let left_out = left_out.map(|error| format!("left out: {error}"));
    for note in findings.warnings.iter().cloned().chain(left_out) {
        context.watcher.event(Event::Warning(&note));
    }
    first.filter(|_| count == 1).ok_or_else(|| {
        let message = format!(
            "{} holds {count} runs; `linerate import` it, and compare one of them by its id",
            path.display()
        );
        Failure::new(ExitCode::Usage, message).into()
    })
}

//! What becomes of the runs that a command makes: shown, written as a report, turned into an exit code.

use crate::args::output::OutputArgs;
use crate::context::in_context;
use crate::terminal::{self, Layout};
use anyhow::{Error, Result};
use linerate_archive as archive;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{Run, RunKind, RunStatus};
use linerate_model::spec::Direction;
use linerate_report::document::{Document, Indent, as_json, as_text};
use linerate_report::{Whereabouts, details_text, missed_goals, summaries_text, summary_text};
use linerate_studies::context::Context;

/// Runs something that measures, shows its result, and derives the exit code from it.
pub(crate) fn measured(
    output: &OutputArgs,
    work: impl FnOnce(&mut Context<'_>) -> Result<Run>,
) -> Result<ExitCode> {
    let mut unsaved = None;
    let run = in_context(output, |context| {
        let run = work(context);
        unsaved = context.unsaved.take();
        run
    })?;
    let is_kept = !output.no_store && unsaved.is_none();
    show_run(output, &run, is_kept.then_some(&*run.id))?;
    if let Some(error) = unsaved {
        return Err(Error::new(error).context(NOT_KEPT));
    }
    Ok(concluded(output, &run))
}

/// Measures one direction after the other and derives the exit code from both. What was measured is shown, also if the
/// rest fails.
pub(crate) fn measured_both(
    output: &OutputArgs,
    work: impl Fn(&mut Context<'_>, Direction) -> Result<Run>,
) -> Result<ExitCode> {
    const BOTH: [Direction; 2] = [Direction::Forward, Direction::Reverse];
    let (mut runs, mut unsaved) = (Vec::new(), None);
    let measured = in_context(output, |context| {
        for direction in BOTH {
            if context.interrupted() {
                break;
            }
            context.title = output
                .title
                .as_ref()
                .map(|title| format!("{title}, {direction}"));
            let run = work(context, direction);
            unsaved = unsaved.take().or_else(|| context.unsaved.take());
            runs.push(run?);
        }
        Ok(())
    });
    if !runs.is_empty() {
        show_runs(output, &runs)?;
    }
    measured?;
    if let Some(error) = unsaved {
        return Err(Error::new(error).context(NOT_KEPT));
    }
    let codes = runs.iter().map(|run| concluded(output, run));
    let codes: Vec<_> = codes.collect();
    let failed = codes.into_iter().find(|code| *code != ExitCode::Done);
    let is_cut = runs.len() < BOTH.len();
    Ok(failed.unwrap_or(if is_cut {
        ExitCode::Other
    } else {
        ExitCode::Done
    }))
}

/// Says what is not well with a run that was shown; the exit code that it deserves.
fn concluded(output: &OutputArgs, run: &Run) -> ExitCode {
    if run.status == RunStatus::Incomplete {
        terminal::error(&format!("{} was interrupted; {}", run.id, kept(output)));
    }
    let code = verdict_code(run);
    if code == ExitCode::GoalMissed {
        for sentence in missed_goals(run) {
            terminal::error(&sentence);
        }
    }
    code
}

/// What is said of a result that is on the screen only.
pub(crate) const NOT_KEPT: &str = "the result above was not stored, or only some of its trials: make room or choose another --store and measure again, or write it elsewhere with -o FILE";

/// What becomes of an interrupted run.
fn kept(output: &OutputArgs) -> &'static str {
    if output.no_store {
        "nothing was kept of it"
    } else {
        "the trials that it had finished are kept"
    }
}

/// Shows a run as the options ask, and writes the report file if one is asked for. `name` is what commands call it.
pub(crate) fn show_run(output: &OutputArgs, run: &Run, name: Option<&str>) -> Result<()> {
    if output.json || output.stream || output.verbose {
        return show_runs(output, std::slice::from_ref(run));
    }
    // Before the text, which says where it is; a report that fails takes nothing of the text away.
    let written = written_report(output, std::slice::from_ref(run));
    let files = written.as_ref().ok().filter(|files| !files.is_empty());
    let files = files.map(|files| files.join(", "));
    let at = Whereabouts {
        name,
        report: files.as_deref(),
    };
    let Layout { width, style } = terminal::layout();
    terminal::print_line(summary_text(run, Some(&at), width, style).trim_end())?;
    written.map(|_| ())
}

/// Shows the results of any number of runs, and writes the report that was asked for.
pub(crate) fn show_runs(output: &OutputArgs, runs: &[Run]) -> Result<()> {
    match runs {
        [run] if !(output.json || output.stream || output.verbose) => {
            return show_run(output, run, Some(&run.id));
        }
        _ => print_runs(output, runs)?,
    }
    write_report(output, runs)
}

fn print_runs(output: &OutputArgs, runs: &[Run]) -> Result<()> {
    let Layout { width, style } = terminal::layout();
    if output.stream {
        for run in runs {
            terminal::print_line(&serde_json::to_string(run)?)?;
        }
    } else if output.json {
        print_json(runs)?;
    } else if output.verbose {
        let texts: Vec<_> = runs
            .iter()
            .map(|run| details_text(run, width, style))
            .collect();
        terminal::print_line(texts.join("\n").trim_end())?;
    } else {
        terminal::print_line(summaries_text(runs, width, style).trim_end())?;
    }
    Ok(())
}

/// Shows runs that may come in several parts, like [`show_runs`] those that come at once. A report needs all of them:
/// only where one is asked for they are kept.
pub(crate) struct RunsInParts<'a> {
    output: &'a OutputArgs,
    /// Those that are not shown yet: whether they are the only ones shows when more come, or none.
    kept: Vec<Run>,
    /// Parts that were printed.
    printed: usize,
}

impl<'a> RunsInParts<'a> {
    pub(crate) const fn new(output: &'a OutputArgs) -> Self {
        Self {
            output,
            kept: Vec::new(),
            printed: 0,
        }
    }

    /// Takes the next part.
    pub(crate) fn add(&mut self, mut runs: Vec<Run>) -> Result<()> {
        if self.output.output.is_some() {
            self.kept.append(&mut runs);
        } else if !self.kept.is_empty() {
            self.print()?;
            self.kept = runs;
        } else {
            self.kept = runs;
        }
        Ok(())
    }

    fn print(&mut self) -> Result<()> {
        if self.output.stream || !self.output.json {
            print_runs(self.output, &self.kept)?;
        } else {
            let mut before = if self.printed == 0 { "[\n" } else { ",\n" };
            terminal::print_json(|out| {
                for run in &self.kept {
                    let begun = out.write_all(before.as_bytes());
                    begun.map_err(serde_json::Error::io)?;
                    serde_json::to_writer_pretty(&mut *out, run)?;
                    before = ",\n";
                }
                Ok(())
            })?;
        }
        self.printed += 1;
        Ok(())
    }

    /// Shows the last part.
    pub(crate) fn finish(mut self) -> Result<()> {
        if self.printed == 0 {
            return show_runs(self.output, &self.kept);
        }
        self.print()?;
        if self.output.json && !self.output.stream {
            terminal::print_line("]")?;
        }
        Ok(())
    }
}

/// Prints one JSON document: the run itself, or an array where there are several.
pub(crate) fn print_json(runs: &[Run]) -> Result<()> {
    terminal::print_json(|out| match runs {
        [run] => serde_json::to_writer_pretty(out, run),
        _ => serde_json::to_writer_pretty(out, runs),
    })
}

/// Shows a document as the options ask, and writes the file if one is asked for.
pub(crate) fn show_document<D: Document>(output: &OutputArgs, document: &D) -> Result<()> {
    print_document(output, document)?;
    write_document(output, document)
}

/// Writes a document to the file that is asked for, if one is.
pub(crate) fn write_document<D: Document>(output: &OutputArgs, document: &D) -> Result<()> {
    let Some(path) = &output.output else {
        return Ok(());
    };
    archive::write_document(path, document)?;
    if !(output.quiet || output.json || output.stream) {
        terminal::note(&format!("the {} is in {}", D::NAME, path.display()));
    }
    Ok(())
}

/// Shows a document as the options ask.
pub(crate) fn print_document<D: Document>(output: &OutputArgs, document: &D) -> Result<()> {
    let text = if output.stream {
        as_json(document, Indent::Line)?
    } else if output.json {
        as_json(document, Indent::Indented)?
    } else {
        let Layout { width, style } = terminal::layout();
        as_text(document, width, style)
    };
    terminal::print_line(text.trim_end())
}

/// Writes the report file if one is asked for, and says where it is.
pub(crate) fn write_report(output: &OutputArgs, runs: &[Run]) -> Result<()> {
    let names = written_report(output, runs)?;
    if !(names.is_empty() || output.quiet || output.json || output.stream) {
        terminal::note(&format!("the report is in {}", names.join(", ")));
    }
    Ok(())
}

/// Writes the report file if one is asked for; the files that there are.
fn written_report(output: &OutputArgs, runs: &[Run]) -> Result<Vec<String>> {
    let Some(path) = &output.output else {
        return Ok(Vec::new());
    };
    let written = archive::write_report(path, runs, output.title.as_deref())?;
    Ok(written
        .iter()
        .map(|path| path.display().to_string())
        .collect())
}

/// Refuses `-o` where there is nothing to report.
pub(crate) fn no_report(output: &OutputArgs, command: &str) -> Result<()> {
    if output.output.is_none() {
        return Ok(());
    }
    let message = format!("`linerate {command}` writes no report; leave out -o");
    Err(Failure::new(ExitCode::Usage, message).into())
}

/// The exit code that a finished run deserves. The goals of a demo's parts are not the user's: it is
/// done when everything was measured, however fast this machine is.
fn verdict_code(run: &Run) -> ExitCode {
    let missed = |run: &Run| run.goals().iter().any(|goal| !goal.reached);
    match run.status {
        RunStatus::Invalid => ExitCode::Invalid,
        RunStatus::Incomplete => ExitCode::Other,
        RunStatus::Complete if run.kind() == RunKind::Demo => ExitCode::Done,
        RunStatus::Complete if missed(run) || run.parts().iter().any(missed) => {
            ExitCode::GoalMissed
        }
        RunStatus::Complete => ExitCode::Done,
    }
}

//! `linerate rm`, `tag` and `note`: what a user keeps, and how it is called.

use crate::args::output::OutputArgs;
use crate::context::open_store;
use crate::outcome::no_report;
use crate::terminal;
use anyhow::Result;
use clap::Args;
use linerate_archive::refused;
use linerate_model::exit::{ExitCode, Failure};

/// Arguments of `rm`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RmArgs {
    /// Ids, unique starts of ids, `last` or `last~1`: counted before any is removed.
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,
}

impl RmArgs {
    /// Removes the runs, for good.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        no_report(output, "rm")?;
        let store = open_store(output)?;
        // `last` and `last~1` are the two newest, not the newest and what is then the third.
        let loaded = self.runs.iter().map(|run| store.id(run));
        let ids = loaded.collect::<Result<Vec<_>, _>>().map_err(refused)?;
        for id in &ids {
            store.remove(id).map_err(refused)?;
            if !output.quiet {
                terminal::print_line(&format!("removed {id}"))?;
            }
        }
        Ok(ExitCode::Done)
    }
}

/// Arguments of `tag`.
#[derive(Debug, Clone, Args)]
pub(crate) struct TagArgs {
    /// Id, unique start of an id, `last` or `last~1`; without it the tags are listed.
    #[arg(value_name = "RUN", requires = "name")]
    run: Option<String>,
    /// What to call it from now on, in every command: `baseline`. Whatever was called so before is not any more.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Forget these tags; their runs stay.
    #[arg(long, value_name = "NAME", num_args = 1.., conflicts_with = "run")]
    delete: Vec<String>,
}

impl TagArgs {
    /// Tags a run, forgets tags, or lists them.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        no_report(output, "tag")?;
        let store = open_store(output)?;
        for tag in &self.delete {
            store.untag(tag).map_err(refused)?;
        }
        if let (Some(run), Some(name)) = (&self.run, &self.name) {
            let id = store.tag(run, name).map_err(refused)?;
            if !output.quiet {
                terminal::print_line(&format!("{name} is {id}"))?;
            }
        } else if self.delete.is_empty() {
            let tags = store.tags().map_err(refused)?;
            let text = if output.json {
                serde_json::to_string_pretty(&tags)?
            } else if tags.is_empty() {
                "no tags: `linerate tag RUN NAME` makes one".to_owned()
            } else {
                let lines = tags.iter().map(|(tag, id)| format!("{tag}  {id}"));
                lines.collect::<Vec<_>>().join("\n")
            };
            terminal::print_line(&text)?;
        }
        Ok(ExitCode::Done)
    }
}

/// Arguments of `note`.
#[derive(Debug, Clone, Args)]
pub(crate) struct NoteArgs {
    /// Id, unique start of an id, tag, `last` or `last~1`.
    #[arg(value_name = "RUN")]
    run: String,
    /// The note, in place of the one before; an empty one removes it. Without it the note is printed.
    #[arg(value_name = "TEXT")]
    text: Option<String>,
}

impl NoteArgs {
    /// Keeps a note on a run, or prints it.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        no_report(output, "note")?;
        let store = open_store(output)?;
        if let Some(text) = &self.text {
            store.set_note(&self.run, text).map_err(refused)?;
            return Ok(ExitCode::Done);
        }
        let Some(note) = store.note(&self.run).map_err(refused)? else {
            let message = format!(
                "there is no note on {}; `linerate note {} TEXT` keeps one",
                self.run, self.run
            );
            return Err(Failure::new(ExitCode::Usage, message).into());
        };
        for line in note.lines() {
            terminal::print_line(&linerate_report::figures::clean(line))?;
        }
        Ok(ExitCode::Done)
    }
}

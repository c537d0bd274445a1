//! `linerate list`.

use crate::args::output::OutputArgs;
use crate::context::open_store;
use crate::outcome::no_report;
use crate::terminal::{self, Layout};
use anyhow::Result;
use clap::{Args, ValueEnum};
use linerate_archive::{Filter, listing_json};
use linerate_model::exit::ExitCode;
use linerate_model::run::{RunKind, RunStatus};
use linerate_report::listing_text;

/// For short help.
const EXAMPLES: &str = "Examples:
  linerate list -n 10           the ten newest
  linerate list --limit link    what a link limited";

/// Arguments of `list`.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ListArgs {
    /// Only runs of this kind.
    #[arg(long)]
    kind: Option<KindArg>,
    /// Only runs that ended so.
    #[arg(long)]
    status: Option<StatusArg>,
    /// Only runs that this limits: an id such as `link`, or a part of its name.
    #[arg(long, value_name = "LIMIT")]
    limit: Option<String>,
    /// Only runs with this tag (`nightly*`: one that begins so), or without NAME with any.
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    tag: Option<String>,
    /// Only runs with this in their id, title or note.
    #[arg(long = "match", value_name = "TEXT")]
    text: Option<String>,
    /// Only runs that started on this day or later: `2026-11-24`.
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// Only so many, the newest.
    #[arg(short = 'n', long, value_name = "COUNT")]
    newest: Option<usize>,
}

/// Kinds by name.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum KindArg {
    /// `demo`.
    Demo,
    /// `latency`.
    Latency,
    /// `saturate`.
    Saturate,
    /// `run`, and `compare --interleave`.
    Study,
    /// `switch`.
    Switch,
    /// `tcp`.
    Tcp,
    /// `udp`.
    Udp,
}

/// Ends by name.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum StatusArg {
    /// It came to its end.
    Complete,
    /// It ended early.
    Incomplete,
    /// It came to its end, and cannot be trusted.
    Invalid,
}

impl ListArgs {
    /// Lists the stored runs, newest first; as JSON oldest first.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        no_report(output, "list")?;
        let mut kept = linerate_archive::list(&open_store(output)?, &self.filter())?;
        if output.json {
            terminal::print_line(&listing_json(&kept)?)?;
            return Ok(ExitCode::Done);
        }
        kept.reverse();
        let Layout { width, style } = terminal::layout();
        terminal::print_line(&listing_text(&kept, width, style))?;
        Ok(ExitCode::Done)
    }

    fn filter(&self) -> Filter {
        Filter {
            kind: self.kind.map(|kind| match kind {
                KindArg::Demo => RunKind::Demo,
                KindArg::Latency => RunKind::Latency,
                KindArg::Saturate => RunKind::Saturate,
                KindArg::Study => RunKind::Study,
                KindArg::Switch => RunKind::Switch,
                KindArg::Tcp => RunKind::Tcp,
                KindArg::Udp => RunKind::Udp,
            }),
            status: self.status.map(|status| match status {
                StatusArg::Complete => RunStatus::Complete,
                StatusArg::Incomplete => RunStatus::Incomplete,
                StatusArg::Invalid => RunStatus::Invalid,
            }),
            limit: self.limit.clone(),
            tag: self.tag.clone(),
            text: self.text.clone(),
            since: self.since.clone(),
            most: self.newest,
        }
    }
}

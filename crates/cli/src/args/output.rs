//! Options of every command: how results are shown, and where they are kept.

use crate::args::values::title;
use clap::Args;
use std::path::PathBuf;

/// Options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output and store")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct OutputArgs {
    /// Print one JSON document (schema linerate/run/2) instead of text.
    #[arg(long, short_alias = 'J', global = true, conflicts_with = "stream")]
    pub(crate) json: bool,
    /// Print JSON lines while the run goes on; the last one is the whole run.
    #[arg(long, alias = "json-stream", global = true, hide_short_help = true)]
    pub(crate) stream: bool,
    /// Show every figure, trial, piece of evidence and cell, not one screen.
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
    /// Show no progress and no notes.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Directory that keeps the runs [default: `LINERATE_STORE`, else ~/.local/share/linerate].
    #[arg(long, global = true, value_name = "DIR", hide_short_help = true)]
    pub(crate) store: Option<PathBuf>,
    /// Keep nothing on disk.
    #[arg(long, global = true, conflicts_with = "store", hide_short_help = true)]
    pub(crate) no_store: bool,
    /// Title of the run and of its report, for lists and headings; `report` gives one to several runs.
    #[arg(long, short_alias = 'T', global = true, value_name = "TEXT", value_parser = title, hide_short_help = true)]
    pub(crate) title: Option<String>,
    /// Write a report of the run to this file; its ending chooses the format (html, txt, csv, json, xml, sfnt, hgrm).
    /// `export` writes what it exports.
    #[arg(long, short = 'o', global = true, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Whether the whole terminal shows a test while it goes on; an option of the commands that run one.
    #[arg(skip)]
    pub(crate) live: bool,
}

//! The program `linerate-hub`, which `linerate hub` starts: meshes on a schedule, for weeks, by one hub or several.
//!
//! ```text
//!   claim a round ──► `linerate mesh` as a child ──► document in the archive ──► rows ──► the round is done
//!   (lease, fence)    (writes into the spool)        (synced, renamed)           (one transaction)
//! ```
//!
//! Truth is the run document in the archive, a store as every command reads it; what PostgreSQL holds is derived from it and
//! can be made again. Each arrow can be repeated after a crash at any instant: a document is moved by one rename, a row
//! has one key, and who holds an older lease changes nothing. The hub measures nothing itself, so that neither the event
//! loop nor a database's password are in the program that does.
#![forbid(unsafe_code)]

mod archive;
mod configuration;
mod database;
mod environment;
mod gauges;
mod log;
mod rebuild;
mod records;
mod serve;
mod source;
mod status;
mod worker;

use anyhow::Result;
use clap::{CommandFactory as _, Parser, Subcommand};
use configuration::{HubArgs, HubStorage, PlaceArgs};
use linerate_model::exit::ExitCode;
use linerate_sys::ending;
use tokio::runtime;

/// For short help.
const EXAMPLES: &str = "Examples:
  linerate hub serve --database postgresql:///linerate --archive /var/lib/linerate-hub --every 1h lab.toml
  linerate hub serve --config /etc/linerate/hub.toml
  linerate hub status --config /etc/linerate/hub.toml
  linerate web --store /var/lib/linerate-hub      the runs of the archive, and their trends";

/// Measure meshes on a schedule, for weeks: documents in an archive, a row per trial in PostgreSQL.
#[derive(Debug, Parser)]
#[command(name = "linerate hub", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the rounds that are due, until it is asked to end.
    Serve(Box<HubArgs>),
    /// Say what the database knows: schedules, rounds, leases, documents without rows.
    Status(PlaceArgs),
    /// Work on the documents of the archive.
    #[command(subcommand)]
    Archive(ArchiveCommand),
}

#[derive(Debug, Subcommand)]
enum ArchiveCommand {
    /// Make all rows of runs and trials again from the documents: all of them, or after an error none.
    Rebuild(PlaceArgs),
}

/// The command line with all its options: what man pages and completions are made of.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Does what the arguments of this process ask for: all of the binary `linerate-hub`.
pub fn main() -> ExitCode {
    // A refused command line ends here, as everywhere: code 2, or 0 where help or the version was asked for.
    run(&Cli::parse().command).unwrap_or_else(|error| {
        log::say(&format!("{error:#}"));
        ExitCode::for_error(error.as_ref())
    })
}

fn run(command: &Command) -> Result<ExitCode> {
    ending::watch()?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let done = match command {
        Command::Serve(args) => {
            let plan = args.plan()?;
            runtime.block_on(serve::serve(plan))
        }
        Command::Status(args) => {
            let HubStorage { database, .. } = args.given()?;
            runtime.block_on(status::show(&database.needed()?))
        }
        Command::Archive(ArchiveCommand::Rebuild(args)) => {
            let HubStorage {
                database,
                archive,
                keep,
            } = args.given()?;
            runtime.block_on(rebuild::rebuild(
                &database.needed()?,
                &archive.needed()?,
                keep,
            ))
        }
    };
    // A thread that waits for a child or a wish to end keeps nobody waiting.
    runtime.shutdown_background();
    done
}

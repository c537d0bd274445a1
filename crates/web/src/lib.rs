//! The program `linerate-web`, which `linerate web` starts: the stored runs as a site on this machine.
//!
//! Reads the store and shows what `report` makes of it; measures nothing itself: a test is a child process, `linerate …
//! --stream`. Invariants: nothing is loaded from elsewhere; no text of a run becomes markup or a script; whoever has no
//! token changes nothing.
#![forbid(unsafe_code)]

mod access;
mod layout;
mod links;
mod live;
mod pages;
mod server;
mod site;

use anyhow::Result;
use clap::{CommandFactory as _, Parser};
use linerate_archive as archive;
use linerate_model::exit::{ExitCode, Failure};
use linerate_sys::ending;
use live::Live;
use site::{Rights, Site};
use std::env;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// For short help.
const EXAMPLES: &str = "Examples:
  linerate web                                 the runs of this user, at http://127.0.0.1:5380
  linerate web --allow-tests                   also to start tests, by the link that it prints
  linerate web --listen 192.0.2.7:5380         also for other hosts, by the link that it prints";

/// Show the stored runs as a site on this machine: lists, reports, comparisons, trends.
#[derive(Debug, Parser)]
#[command(name = "linerate web", version, after_help = EXAMPLES)]
struct Cli {
    /// Directory of the runs [default: `LINERATE_STORE`, else ~/.local/share/linerate].
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Address and port to listen at; port 0 is any free one. One that other hosts can reach requires the link that is
    /// printed.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:5380")]
    listen: SocketAddr,
    /// Require the printed link also of this machine's own users.
    #[arg(long)]
    private: bool,
    /// Let who opens the printed link start and stop tests. They are made by the program linerate beside this one, or on
    /// `PATH`.
    #[arg(long)]
    allow_tests: bool,
}

/// The command line with all its options: what man pages and completions are made of.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Does what the arguments of this process ask for: all of the binary `linerate-web`.
pub fn main() -> ExitCode {
    // A refused command line ends here, as everywhere: code 2, or 0 where help or the version was asked for.
    let Err(error) = serve(&Cli::parse());
    let _ = writeln!(io::stderr(), "linerate web: {error:#}");
    ExitCode::for_error(error.as_ref())
}

/// Serves the site until the process is asked to end.
fn serve(cli: &Cli) -> Result<std::convert::Infallible> {
    ending::watch()?;
    #[expect(
        clippy::disallowed_methods,
        reason = "the environment is read by the command line"
    )]
    let store = archive::open_usual_store(cli.store.as_deref(), |name| env::var(name).ok())?;
    let rights = Rights {
        needs_link_to_read: cli.private || !cli.listen.ip().is_loopback(),
    };
    let listener = server::bind(cli.listen)?;
    let at = listener.local_addr()?;
    let live = if cli.allow_tests {
        Some(Arc::new(Live::new(measuring_program()?, store.dir())?))
    } else {
        None
    };
    if let Some(live) = live.clone() {
        ending::before_end(move || live.stop());
    }
    let site = Arc::new(Site::new(store, rights, at, live)?);
    announce(&site, at)?;
    server::run(listener, site)
}

/// The program that measures: beside this one, else the first on `PATH`.
fn measuring_program() -> Result<PathBuf, Failure> {
    linerate_sys::process::program_beside("linerate").ok_or_else(|| {
        let message = "--allow-tests: there is no program linerate beside this one or on PATH; install it, or add its folder to PATH";
        Failure::new(ExitCode::HostLacks, message)
    })
}

/// Says on standard output where the site is.
fn announce(site: &Site, at: SocketAddr) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", site.entrance(at))?;
    out.flush()?;
    Ok(())
}

//! The surroundings of a command: the store, who watches, and the interrupt.

use crate::args::output::OutputArgs;
use crate::live::LiveView;
use crate::terminal;
use anyhow::{Context as _, Result};
use linerate_archive::{self as archive, Store};
use linerate_client::address::without_password;
use linerate_model::exit::{ExitCode, Failure};
use linerate_studies::context::Context;
use linerate_studies::watch::Watcher;
use linerate_sys::ending;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Gives `work` the store and the watcher that the options ask for; refuses an output file that cannot be a report before
/// anything is measured.
pub(crate) fn in_context<T>(
    output: &OutputArgs,
    work: impl FnOnce(&mut Context<'_>) -> Result<T>,
) -> Result<T> {
    if let Some(path) = &output.output {
        // Before anything is measured: nobody wants to hear of it afterwards.
        archive::check_report(path)?;
    }
    with_store(output, work)
}

/// Gives `work` the store and the watcher that the options ask for. An output file is not looked at.
pub(crate) fn with_store<T>(
    output: &OutputArgs,
    work: impl FnOnce(&mut Context<'_>) -> Result<T>,
) -> Result<T> {
    let store = if output.no_store {
        None
    } else {
        Some(open_store(output)?)
    };
    let (interrupt, mut watcher) = watched(output)?;
    let mut context = Context {
        store,
        watcher: &mut *watcher,
        command: command_line(),
        title: output.title.clone(),
        unsaved: None,
        device: None,
        interrupt,
    };
    let done = work(&mut context);
    ending::work_is_over();
    done
}

/// What interrupts a command, and who is told how it goes on.
fn watched(output: &OutputArgs) -> Result<(&'static AtomicBool, Box<dyn Watcher>)> {
    let interrupt = interrupt_flag()?;
    if output.live {
        return Ok((interrupt, Box::new(LiveView::start()?)));
    }
    let watcher = terminal::watcher(output.stream, output.quiet || output.json);
    Ok((interrupt, watcher))
}

/// A flag that the first wish to end sets: a signal, the end of the terminal or of who reads the output.
pub(crate) fn interrupt_flag() -> Result<&'static AtomicBool> {
    ending::interrupt().context("installing the interrupt handler")
}

pub(crate) fn open_store(output: &OutputArgs) -> Result<Store> {
    usual_store(output.store.as_deref())
}

fn usual_store(given: Option<&Path>) -> Result<Store> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the environment is read here, once"
    )]
    archive::open_usual_store(given, |name| env::var(name).ok())
}

/// Whether `store` is the one that the user's runs are kept in without `--store`: another may be anybody's.
pub(crate) fn is_own_store(output: &OutputArgs, store: &Store) -> bool {
    if output.store.is_none() {
        return true;
    }
    let Ok(own) = usual_store(None) else {
        return false;
    };
    let [own, given] = [own.dir(), store.dir()].map(|dir| dir.canonicalize().ok());
    own.is_some() && own == given
}

/// Where what is fetched and built is kept for later.
pub(crate) fn cache_folder() -> Result<PathBuf, Failure> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the environment is read by the command line"
    )]
    let read = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let shared = read("XDG_CACHE_HOME").map(PathBuf::from);
    let shared = shared.or_else(|| Some(PathBuf::from(read("HOME")?).join(".cache")));
    let folder = shared.map(|shared| shared.join("linerate"));
    folder.ok_or_else(|| {
        let message = "no place for what is fetched: set HOME or XDG_CACHE_HOME";
        Failure::new(ExitCode::Usage, message)
    })
}

/// This program, which starts itself again behind a wrapper and as the server on a stack.
pub(crate) fn this_program() -> Result<PathBuf, Failure> {
    env::current_exe().map_err(|error| {
        let message = format!("this program cannot be found to be started again: {error}");
        Failure::new(ExitCode::HostLacks, message)
    })
}

/// The command line as a shell would take it again.
fn command_line() -> String {
    let words = env::args_os().enumerate().map(|(position, word)| {
        if position == 0 {
            "linerate".to_owned()
        } else {
            quoted(&without_password(&word.to_string_lossy()))
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=%@+[]".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

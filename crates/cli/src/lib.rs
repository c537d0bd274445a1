//! The program `linerate`: arguments, terminal, exit codes.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod context;
mod habits;
mod live;
mod outcome;
mod programs;
mod stacks;
mod terminal;

use anyhow::Context as _;
use clap::{CommandFactory as _, Parser as _};
use commands::Cli;
use linerate_model::exit::ExitCode;
use linerate_sys::ending;
use std::env;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Does what the arguments of this process ask for: all of the binary `linerate`.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(refused) => return explain(refused),
    };
    linerate_sys::process::raise_open_files();
    match survive_file_size_limits().and_then(|()| cli.run()) {
        Ok(code) => code,
        Err(error) => failed(&error),
    }
}

/// Says what went wrong, to whoever still reads, and gives its exit code.
fn failed(error: &anyhow::Error) -> ExitCode {
    // Whoever read our output has seen enough; what was cut short for that is not done.
    if is_closed_pipe(error) && ending::is_asked() {
        return ExitCode::Other;
    }
    if is_closed_pipe(error) {
        return ExitCode::Done;
    }
    terminal::error(&words(error));
    ExitCode::for_error(error.as_ref())
}

/// The command line with all its commands and options: what man pages and completions are made of.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Starts the program beside linerate that is named, shows help, or says what is wrong with the arguments.
fn explain(refused: clap::Error) -> ExitCode {
    let words: Vec<_> = env::args_os().skip(1).collect();
    let programs = programs::find();
    if let Some(failure) = programs::start(&words, &refused, &programs) {
        terminal::error(&failure.message);
        return failure.code;
    }
    if refused.kind() == clap::error::ErrorKind::InvalidSubcommand
        && words.first().is_some_and(|word| word == "version")
    {
        terminal::error("linerate has no command `version`: say `linerate --version`");
        return ExitCode::Usage;
    }
    let mut known = programs::add_to(Cli::command(), &programs);
    let again = known.try_get_matches_from_mut(env::args_os());
    let refused = again.err().unwrap_or(refused);
    let words = words.iter().map(|word| word.to_string_lossy().into_owned());
    let words: Vec<_> = words.collect();
    if !refused.use_stderr() {
        let printed = if words == ["-h"] {
            terminal::print_line(&commands::screen::help(programs.keys()))
        } else {
            refused.print().context(terminal::OutputFailed)
        };
        return printed.map_or_else(|error| failed(&error), |()| ExitCode::Done);
    }
    if words.is_empty() {
        terminal::usage(&commands::screen::beginning(programs.keys()));
        return ExitCode::Usage;
    }
    match habits::answer(&words, &refused, &mut known) {
        Some(answer) => {
            terminal::error(&answer.error);
            for note in &answer.notes {
                terminal::note(note);
            }
        }
        None => {
            let _ = refused.print();
        }
    }
    ExitCode::Usage
}

/// Makes a write beyond `ulimit -f` an error that is reported, instead of a signal that kills.
fn survive_file_size_limits() -> anyhow::Result<()> {
    let ignored = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, ignored)
        .context("installing the handler of SIGXFSZ")?;
    Ok(())
}

/// The chain of causes as one sentence; a cause that its effect already names is not said twice.
fn words(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Whether nobody reads the output any more.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let cause = error.root_cause().downcast_ref::<io::Error>();
    error.is::<terminal::OutputFailed>()
        && cause.is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

//! The program `linerate-p4`, which `linerate p4` starts: compiled P4 programs run between ports, shown, traced and tested.
#![forbid(unsafe_code)]

mod control;
mod cost;
mod files;
mod junit;
mod replay;
mod run;
mod show;
mod test;
mod trace;

use clap::{CommandFactory as _, Parser, Subcommand};
use linerate_model::exit::{ExitCode, Failure};
use std::io::{self, Write as _};

/// Executes P4 programs that p4c compiled for BMv2 (v1model).
#[derive(Debug, Parser)]
#[command(name = "linerate p4", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a program as a switch between network ports, until Ctrl-C.
    Run(run::RunArgs),
    /// Tell what each construct of a program costs in time of a core: tables, matches, externs, copies.
    Cost(cost::CostArgs),
    /// List, add, change and delete entries of a switch that speaks P4Runtime.
    #[command(subcommand)]
    Table(control::TableCommand),
    /// Print what the counters of a switch that speaks P4Runtime show.
    Counters(control::CountersArgs),
    /// Measure entries and packets per second that a switch takes by P4Runtime.
    Rate(control::RateArgs),
    /// Set the program of a switch that speaks P4Runtime.
    #[command(subcommand)]
    Pipeline(control::PipelineCommand),
    /// Let captured frames through a program, in the captures' time; write what goes out.
    Replay(replay::ReplayArgs),
    /// Show what a program consists of: headers, parser, tables, actions.
    Show(show::ShowArgs),
    /// Follow one packet through a program, in words.
    Trace(trace::TraceArgs),
    /// Run packet tests in p4c's STF form. Exit code 7 if one fails.
    Test(test::TestArgs),
}

/// The command line with all its commands and options: what man pages and completions are made of.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Does what the arguments of this process ask for: all of the binary `linerate-p4`.
pub fn main() -> ExitCode {
    // A refused command line ends here, as everywhere: code 2, or 0 where help or the version was asked for.
    let result = match &Cli::parse().command {
        Command::Run(args) => run::run(args),
        Command::Cost(args) => cost::run(args),
        Command::Table(command) => control::table(command),
        Command::Counters(args) => control::counters(args),
        Command::Rate(args) => control::rate(args),
        Command::Pipeline(command) => control::pipeline(command),
        Command::Replay(args) => replay::run(args),
        Command::Show(args) => show::run(args),
        Command::Trace(args) => trace::run(args),
        Command::Test(args) => test::run(args),
    };
    result.unwrap_or_else(|failure| {
        let _ = writeln!(io::stderr(), "error: {}", failure.message);
        failure.code
    })
}

/// Writes to standard output. A reader that has seen enough is no error.
fn print(text: &str) -> Result<(), Failure> {
    match io::stdout()
        .write_all(text.as_bytes())
        .and_then(|()| io::stdout().flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::new(
            ExitCode::Other,
            format!("cannot write to standard output: {error}"),
        )),
        _ => Ok(()),
    }
}

//! The command line: a contract that help texts and scripts rely on. Each command is a file: its arguments, what they
//! ask for, and what it calls.

mod board;
mod board_equipment;
mod board_image;
mod calibrate;
mod compare;
mod demo;
mod deployed;
mod doctor;
mod explain;
mod export;
mod footprint;
mod import;
mod keep;
mod kernel_server;
mod list;
mod measure;
mod mesh;
mod plan;
mod ports;
mod report;
mod reproduce;
mod run;
pub(crate) mod screen;
mod serve;
mod show;

use crate::args::output::OutputArgs;
use crate::args::stored::OneRun;
use anyhow::Result;
use clap::{Parser, Subcommand};
use linerate_model::exit::{ExitCode, Failure};
use linerate_sys::ending;

/// How fast a network path is, where it stops, and why.
#[derive(Debug, Parser)]
#[command(name = "linerate", version, after_long_help = exit_code_help())]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    command: Command,
    /// How to show it.
    #[command(flatten)]
    output: OutputArgs,
}

/// The commands.
#[derive(Debug, Subcommand)]
enum Command {
    /// Measure two hosts made of this machine, and write a report: no privileges, no second machine.
    Demo(demo::DemoArgs),
    /// Be the peer: answer tests that other hosts ask for.
    Serve(serve::ServeArgs),
    /// Measure at a peer.
    #[command(flatten)]
    Measure(measure::Measure),
    /// Run a study: every combination of factors in a plan file, repeated, in random order.
    Run(run::RunArgs),
    /// Have many hosts test each other, find slow pairs, and links that they share.
    Mesh(mesh::MeshArgs),
    /// Begin a plan from an example, and see what it costs.
    Plan(plan::PlanArgs),
    /// Judge run B against run A: what is faster, slower, or shows no difference.
    Compare(compare::CompareArgs),
    /// Say whether a published result holds: audit its table, measure its cells by a plan, judge each.
    Reproduce(reproduce::ReproduceArgs),
    /// Say what limits a stored run, and on what evidence.
    Explain(explain::ExplainArgs),
    /// Turn logs of other tools into stored runs.
    Import(import::ImportArgs),
    /// Write a report of stored runs.
    Report(report::ReportArgs),
    /// Say what on this host spoils measurements; change it, take it back, measure the host's own jitter.
    Doctor(doctor::DoctorArgs),
    /// Find what linerate itself does at most on this host; later results near it are said to be the tool's.
    Calibrate(calibrate::CalibrateArgs),
    /// Say which ports firewalls must let through, by protocol.
    Ports(ports::PortsArgs),
    /// Say what a build takes of a device's flash and RAM, by section, object and symbol; or what changed from A to B.
    Footprint(footprint::FootprintArgs),
    /// Start, use and stop emulated boards: peers without hardware.
    Board(board::BoardArgs),
    /// List the stored runs, newest first.
    List(list::ListArgs),
    /// Show one stored run.
    Show(OneRun),
    /// Write a stored run as JSON or CSV.
    Export(export::ExportArgs),
    /// Give a stored run a name, such as `baseline`; list and forget names.
    Tag(keep::TagArgs),
    /// Keep a note on a stored run, or print it.
    Note(keep::NoteArgs),
    /// Remove stored runs, for good; those with a tag are kept.
    Rm(keep::RmArgs),
    /// Make the tests that the parent process asks for on standard input: what `latency --wrap` starts.
    #[command(name = linerate_studies::run::CHILD, hide = true)]
    WrappedTurns,
    /// Serve one client over the console that this is started on: what `serial://` starts on a board.
    #[command(name = linerate_deploy::CONSOLE_AGENT, hide = true)]
    ConsoleAgent(deployed::ConsoleArgs),
    /// Serve until standard input ends, with the key that comes on it: what `ssh://` starts on another host.
    #[command(name = linerate_deploy::DEPLOYED_AGENT, hide = true)]
    DeployedAgent(deployed::DeployedArgs),
    /// Start an emulated board and end it, as the parent process asks on standard input: what `board up` starts.
    #[command(name = linerate_boards::SUPERVISOR, hide = true)]
    BoardSupervisor,
    /// Give the kernel of an emulated board the seed of its random numbers: what the board's first program calls.
    #[command(name = linerate_boards::SEED, hide = true)]
    BoardSeed,
    /// Serve on the kernel of this network namespace, and say what it counted when the parent process asks.
    #[command(name = linerate_stacks::KERNEL_SERVER, hide = true)]
    KernelServer,
    /// Start another program, and end it when the parent process is gone: what `stack://command` starts.
    #[command(name = linerate_stacks::COMMAND_SERVER, hide = true)]
    ProgramServer {
        /// Number of its link, and its options.
        words: Vec<String>,
    },
    /// Serve on smoltcp, and say what it counted when the parent process asks.
    #[command(name = linerate_stacks::SMOLTCP_SERVER, hide = true)]
    SmoltcpServer {
        /// Addresses and sizes.
        words: Vec<String>,
    },
}

impl Cli {
    /// Does what is asked.
    pub(crate) fn run(&self) -> Result<ExitCode> {
        if !self.command.outlives_its_caller() {
            ending::watch().map_err(|error| {
                let remedy = "raise the limit of processes (ulimit -u, TasksMax= of a service, the container's pids limit)";
                let message = format!("cannot watch for the end of the terminal: {error}; {remedy}");
                Failure::new(ExitCode::HostLacks, message)
            })?;
        }
        let output = &self.output;
        if output.title.is_some() && !self.command.takes_title() {
            let message = "--title is for what measures (demo, tcp, udp, latency, saturate, mesh, run) and for `report`; leave it out here";
            return Err(Failure::new(ExitCode::Usage, message).into());
        }
        match &self.command {
            Command::Demo(args) => args.run(output),
            Command::Serve(args) => args.run(output),
            Command::Measure(args) => args.run(output),
            Command::Run(args) => args.run(output),
            Command::Mesh(args) => args.run(output),
            Command::Plan(args) => args.run(output),
            Command::Compare(args) => args.run(output),
            Command::Reproduce(args) => args.run(output),
            Command::Explain(args) => args.run(output),
            Command::Import(args) => args.run(output),
            Command::Report(args) => args.run(output),
            Command::Doctor(args) => args.run(output),
            Command::Calibrate(args) => args.run(output),
            Command::Ports(args) => args.run(output),
            Command::Footprint(args) => args.run(output),
            Command::Board(args) => args.run(output),
            Command::List(args) => args.run(output),
            Command::Show(which) => show::show(which, output),
            Command::Export(args) => args.run(output),
            Command::Tag(args) => args.run(output),
            Command::Note(args) => args.run(output),
            Command::Rm(args) => args.run(output),
            Command::WrappedTurns => measure::serve_turns(),
            Command::ConsoleAgent(args) => args.run(),
            Command::DeployedAgent(args) => args.run(),
            Command::BoardSupervisor => board::supervise(),
            Command::BoardSeed => board::seed(),
            Command::KernelServer => kernel_server::serve(),
            Command::ProgramServer { words } => {
                linerate_stacks::serve_command(words)?;
                Ok(ExitCode::Done)
            }
            Command::SmoltcpServer { words } => {
                linerate_stacks::serve_smoltcp(words)?;
                Ok(ExitCode::Done)
            }
        }
    }
}

impl Command {
    /// Whether it goes on when who started it is gone: a board that is kept.
    const fn outlives_its_caller(&self) -> bool {
        matches!(self, Self::BoardSupervisor)
    }

    /// Whether it makes a run or report that its user can name.
    const fn takes_title(&self) -> bool {
        matches!(
            self,
            Self::Demo(_) | Self::Measure(_) | Self::Mesh(_) | Self::Run(_) | Self::Report(_)
        )
    }
}

/// The table of exit codes for `--help`.
fn exit_code_help() -> String {
    use std::fmt::Write as _;
    let mut text = String::from("Exit codes:\n");
    for (code, meaning) in ExitCode::ALL {
        let _ = writeln!(text, "  {}  {meaning}", *code as i32);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}

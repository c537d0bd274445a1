//! `linerate tcp`, `udp`, `latency` and `saturate`: a command for each kind of test, made of its options.

use crate::args::live::LiveArgs;
use crate::args::options::{given, with_options};
use crate::args::output::OutputArgs;
use crate::args::target::TargetArgs;
use crate::context::this_program;
use crate::outcome::{measured, measured_both};
use anyhow::Result;
use clap::error::ErrorKind;
use clap::{ArgMatches, Args as _, Command, Error, FromArgMatches, Subcommand};
use linerate_client::Target;
use linerate_model::exit::{ExitCode, Failure};
use linerate_studies::options::{Given, Request, Source, TestKind, request};
use linerate_studies::run::{self, Test};

/// A command that measures.
#[derive(Debug, Clone)]
pub(crate) struct Measure {
    kind: TestKind,
    target: TargetArgs,
    given: Vec<Given>,
    live: LiveArgs,
}

const fn about(kind: TestKind) -> &'static str {
    match kind {
        TestKind::Tcp => "Run one TCP transfer",
        TestKind::Udp => "Run one UDP datagram stream at an intended load",
        TestKind::Latency => "Measure request/response latency, message by message",
        TestKind::Saturate => "Search for the load at which loss or delay begins",
    }
}

/// For short help.
const fn examples(kind: TestKind) -> &'static str {
    match kind {
        TestKind::Tcp => {
            "Examples:
  linerate tcp board                  this end sends for 10 s
  linerate tcp board --both -t 5      one direction after the other
  linerate tcp board -R -P 4          the peer sends, four streams"
        }
        TestKind::Udp => {
            "Examples:
  linerate udp board --rate 100M      100 Mbit/s of payload for 10 s
  linerate udp board --rate max -R    the peer sends what it can"
        }
        TestKind::Latency => {
            "Examples:
  linerate latency board --sizes 32,1K    two sizes
  linerate latency board --load tcp       idle, and under load
  linerate latency board --curve          latency against load"
        }
        TestKind::Saturate => {
            "Examples:
  linerate saturate board --both          both directions
  linerate saturate board --loss-goal 0   without loss only"
        }
    }
}

fn command(kind: TestKind) -> Command {
    let command = TargetArgs::augment_args(Command::new(kind.as_str()));
    let command = LiveArgs::augment_args(with_options(kind, command));
    command.about(about(kind)).after_help(examples(kind))
}

impl Subcommand for Measure {
    fn augment_subcommands(program: Command) -> Command {
        program.subcommands(TestKind::ALL.map(command))
    }

    fn augment_subcommands_for_update(program: Command) -> Command {
        Self::augment_subcommands(program)
    }

    fn has_subcommand(name: &str) -> bool {
        TestKind::named(name).is_some()
    }
}

impl FromArgMatches for Measure {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let chosen = matches.subcommand();
        let chosen = chosen.and_then(|(name, own)| Some((TestKind::named(name)?, own)));
        let (kind, own) = chosen.ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        Ok(Self {
            kind,
            target: TargetArgs::from_arg_matches(own)?,
            given: given(kind, own),
            live: LiveArgs::from_arg_matches(own)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Measure {
    /// Measures.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        let output = &self.live.with(output)?;
        let target = self.target.target()?;
        let Request {
            test, after, both, ..
        } = self.request(&target)?;
        if both {
            return measured_both(output, |context, direction| {
                test.clone()
                    .turned(direction)
                    .measure(context, &target, after)
            });
        }
        measured(output, |context| test.measure(context, &target, after))
    }

    /// What is asked for.
    fn request(&self, target: &Target) -> Result<Request, Failure> {
        let usage = |message: String| Failure::new(ExitCode::Usage, message);
        let request = request(self.kind, Source::CommandLine, &self.given);
        let mut request = request.map_err(|refused| usage(refused.message))?;
        if let Test::Latency(plan) = &mut request.test {
            plan.measure_at(&target.far);
            plan.wrap_program(&this_program()?, self.target.key.as_deref());
        }
        let checked = request.check(self.kind, Source::CommandLine);
        checked.map_err(usage).map(|()| request)
    }
}

/// Makes the tests that the parent process asks for on standard input.
pub(crate) fn serve_turns() -> Result<ExitCode> {
    run::serve_turns(std::io::stdin().lock(), &mut std::io::stdout().lock())?;
    Ok(ExitCode::Done)
}

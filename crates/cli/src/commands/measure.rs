//! `linerate tcp`, `udp`, `latency`, `saturate` and `switch`: a command for each kind of test, made of its options.

use crate::args::live::LiveArgs;
use crate::args::options::{given, with_options};
use crate::args::output::OutputArgs;
use crate::args::target::{TargetArgs, key_in};
use crate::context::this_program;
use crate::outcome::{measured, measured_both};
use anyhow::Result;
use clap::builder::ValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args as _, Command, Error, FromArgMatches, Subcommand};
use linerate_client::Target;
use linerate_client::address::PeerAddress;
use linerate_model::exit::{ExitCode, Failure};
use linerate_studies::options::{OptionValue, Request, Source, TestKind, find, request};
use linerate_studies::run::{self, Test};
use std::path::PathBuf;

/// A command that measures.
#[derive(Debug, Clone)]
pub(crate) struct Measure {
    kind: TestKind,
    at: Location,
    given: Vec<OptionValue>,
    live: LiveArgs,
}

/// Where it is measured.
#[derive(Debug, Clone)]
enum Location {
    /// At a peer.
    Peer(Box<TargetArgs>),
    /// Between ports, which are among the options; the host of the second may ask for this key.
    Ports(Option<PathBuf>),
}

/// The two interfaces that a device is between, on the command line.
const PORTS: [(&str, &str); 2] = [
    (
        "A",
        "The interface of this host where frames enter the device",
    ),
    (
        "B",
        "The interface where they leave it, of this host or of --port-b",
    ),
];

/// Behind them, those of a mesh.
const MORE: (&str, &str) = (
    "MORE",
    "Further interfaces of this host: then each sends to all others (fully meshed)",
);

const fn about(kind: TestKind) -> &'static str {
    match kind {
        TestKind::Tcp => "Run one TCP transfer",
        TestKind::Udp => "Run one UDP datagram stream at an intended load",
        TestKind::Latency => "Measure request/response latency, message by message",
        TestKind::Saturate => "Search for the load at which loss or delay begins",
        TestKind::Switch => {
            "Measure a device between two ports: frames per second, delay, where it drops, and why"
        }
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
        TestKind::Switch => {
            "Examples:
  linerate switch eth1 eth2                NDR, PDR and delay of what is between them
  linerate switch eth1 eth2 --both         from A to B, then from B to A
  linerate switch eth1 eth2 --frame-size 64 --loss-goal 0
  linerate switch eth1 eth2 eth3 eth4      each sends to all others
  linerate switch eth1 eth2 --port-b ssh://root@lab2    eth2 is of that host
  linerate switch --dut bridge             a device that linerate starts
  linerate switch eth1 eth2 --dut p4runtime://192.0.2.1:9559    a P4 switch between them"
        }
    }
}

fn command(kind: TestKind) -> Command {
    let command = Command::new(kind.as_str());
    let command = match kind {
        TestKind::Switch => command
            .args(PORTS.map(|(id, help)| port(id, help)))
            .arg(Arg::new(MORE.0).num_args(0..).help(MORE.1))
            .arg(key()),
        _ => TargetArgs::augment_args(command),
    };
    let command = LiveArgs::augment_args(with_options(kind, command));
    command.about(about(kind)).after_help(examples(kind))
}

fn port(id: &'static str, help: &'static str) -> Arg {
    let arg = Arg::new(id).value_name(id).help(help);
    arg.required_unless_present("dut")
}

/// The key of the host of port B.
fn key() -> Arg {
    Arg::new("key")
        .long("key")
        .value_name("FILE")
        .value_parser(ValueParser::path_buf())
        .requires("port-b")
        .hide_short_help(true)
        .help("Show --port-b that this end holds the key in this file (its `serve --key`)")
}

/// The option that plans have for these arguments.
fn ports(matches: &ArgMatches) -> Option<OptionValue> {
    let [a, b] = PORTS.map(|(id, _)| matches.get_one::<String>(id));
    let more = matches.get_many::<String>(MORE.0).into_iter().flatten();
    let names: Vec<_> = [a?, b?].into_iter().chain(more).cloned().collect();
    Some((find(TestKind::Switch, "ports")?, names.join(",")))
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
        let mut given = given(kind, own);
        let at = match kind {
            TestKind::Switch => {
                given.extend(ports(own));
                Location::Ports(own.get_one("key").cloned())
            }
            _ => Location::Peer(Box::new(TargetArgs::from_arg_matches(own)?)),
        };
        Ok(Self {
            kind,
            at,
            given,
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
        let mut request = self.request()?;
        let target = match &self.at {
            Location::Ports(key) => Target {
                key: key.as_deref().map(key_in).transpose()?,
                ..Target::new(PeerAddress::parse("127.0.0.1")?)
            },
            Location::Peer(args) => {
                let target = args.target()?;
                if let Test::Latency(plan) = &mut request.test {
                    plan.measure_at(&target.far);
                    plan.wrap_program(&this_program()?, args.key.as_deref());
                }
                target
            }
        };
        let checked = request.check(self.kind, Source::CommandLine);
        checked.map_err(|why| Failure::new(ExitCode::Usage, why))?;
        let Request {
            test, after, both, ..
        } = request;
        // A device has both directions in one run.
        let both = both && self.kind != TestKind::Switch;
        if both {
            return measured_both(output, |context, direction| {
                test.clone()
                    .turned(direction)
                    .measure(context, &target, after)
            });
        }
        measured(output, |context| test.measure(context, &target, after))
    }

    /// What is asked for, not checked yet.
    fn request(&self) -> Result<Request, Failure> {
        let request = request(self.kind, Source::CommandLine, &self.given);
        request.map_err(|refused| Failure::new(ExitCode::Usage, refused.message))
    }
}

/// Makes the tests that the parent process asks for on standard input.
pub(crate) fn serve_turns() -> Result<ExitCode> {
    run::serve_turns(std::io::stdin().lock(), &mut std::io::stdout().lock())?;
    Ok(ExitCode::Done)
}

//! `linerate latency`, and the end of it that a wrapper starts.

use crate::args::closed_loop::ClosedLoopArgs;
use crate::args::live::LiveArgs;
use crate::args::open_loop::OpenLoopArgs;
use crate::args::output::OutputArgs;
use crate::args::target::TargetArgs;
use crate::args::traffic::{ObserveArgs, out_of_bounds};
use crate::args::values::{modes, pinning};
use crate::context::this_program;
use crate::outcome::measured;
use anyhow::Result;
use clap::{Args, ValueEnum};
use linerate_client::address::PeerAddress;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::spec::{Pinning, Transport, validate};
use linerate_model::units::parse_duration;
use linerate_studies::run::{self, LatencyPlan, Mode, Wrap, parse_stall, sizes};
use std::time::Duration;

/// For short help.
const EXAMPLES: &str = "Examples:
  linerate latency board --sizes 32,1K    two sizes
  linerate latency board --load tcp       idle, and under load
  linerate latency board --curve          latency against load";

/// Arguments of `latency`.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LatencyArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Transport of the messages.
    #[arg(long, default_value = "udp")]
    transport: TransportArg,
    /// Message sizes in bytes, each alone (`64`), with a step (`64-256+64`) or a factor (`1-1Kx2`), or `sfnt`: the
    /// list of sfnt-pingpong for the transport [default: 32; with sfnt:// that list].
    #[arg(long, value_delimiter = ',')]
    sizes: Vec<String>,
    /// How both ends wait; several are measured in turns, in random order.
    #[arg(long, default_value = "block", value_delimiter = ',', value_parser = modes())]
    wait: Vec<Mode>,
    /// Pin the traffic threads to these cores: LOCAL,REMOTE (either may be empty).
    #[arg(long, value_name = "LOCAL,REMOTE", value_parser = pinning, hide_short_help = true)]
    cpu: Option<Pinning>,
    /// Time per size and wait mode.
    #[arg(short = 't', long = "time", default_value = "2s", value_parser = parse_duration)]
    time: Duration,
    /// Ping-pong for this long first without counting.
    #[arg(long, default_value = "100ms", value_parser = parse_duration, hide_short_help = true)]
    warm_up: Duration,
    /// Measure again while traffic runs: `tcp`, `udp:RATE`, or either with `:reverse` at its end.
    #[arg(long)]
    load: Option<String>,
    #[command(flatten)]
    open_loop: OpenLoopArgs,
    #[command(flatten)]
    parts: PartsArgs,
    #[command(flatten)]
    turns: TurnArgs,
    #[command(flatten)]
    closed_loop: ClosedLoopArgs,
    #[command(flatten)]
    observe: ObserveArgs,
    #[command(flatten)]
    live: LiveArgs,
}

/// Whether round trips are taken apart.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct PartsArgs {
    /// Measure everything once more with the kernel's timestamps, and say where the time goes: applications,
    /// stacks, queues, wire, wake-up. The stamps cost time, which is told.
    #[arg(long, hide_short_help = true)]
    decompose: bool,
}

/// In which turns `latency` measures.
#[derive(Debug, Clone, Args)]
pub(crate) struct TurnArgs {
    /// Turns that each size and wait mode is measured in, in random order; they share its time
    /// [default: 5 where there is more than one, but none below 200 ms].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), hide_short_help = true)]
    rounds: Option<u32>,
    /// Seed of their order.
    #[arg(long, default_value_t = 1, hide_short_help = true)]
    seed: u64,
    /// Measure every wait mode also with this end started by a wrapper, such as
    /// "onload --profile=latency"; the run records what it loads.
    #[arg(long, value_name = "COMMAND", hide_short_help = true)]
    wrap: Option<String>,
}

/// Transports by name.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum TransportArg {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl From<TransportArg> for Transport {
    fn from(arg: TransportArg) -> Self {
        match arg {
            TransportArg::Tcp => Self::Tcp,
            TransportArg::Udp => Self::Udp,
        }
    }
}

impl LatencyArgs {
    /// Measures.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        let output = &self.live.with(output)?;
        let target = self.target.target()?;
        let plan = self.plan(&target.far)?;
        measured(output, |context| run::latency(context, &target, &plan))
    }

    /// What is measured at `far`.
    fn plan(&self, far: &PeerAddress) -> Result<LatencyPlan, Failure> {
        let transport = self.transport.into();
        let stall = self.open_loop.responder_stall.as_deref();
        let plan = LatencyPlan {
            transport,
            sizes: match self.sizes.as_slice() {
                [] => far.usual_sizes(transport),
                given => sizes(given, transport)?,
            },
            modes: self.wait.clone(),
            pinning: self.cpu.unwrap_or_default(),
            time: self.time,
            warm_up: self.warm_up,
            load: self.load.as_deref().map(str::parse).transpose()?,
            observe: self.observe.choice(),
            open: self.open_loop.choice(),
            rpm: self.open_loop.rpm,
            stall: stall.map(parse_stall).transpose()?,
            decompose: self.parts.decompose,
            rounds: self.turns.rounds,
            seed: self.turns.seed,
            wrap: self
                .turns
                .wrap
                .as_deref()
                .map(|text| self.wrap(text))
                .transpose()?,
            percentiles: self.closed_loop.percentile.clone(),
            transactions: self.closed_loop.bounds(),
        };
        for spec in plan.specs() {
            validate(&spec).map_err(|error| match error.setting() {
                // What is a payload elsewhere is one of several sizes here.
                "payload" => out_of_bounds("sizes", &error),
                other => out_of_bounds(other, &error),
            })?;
        }
        Ok(plan)
    }

    /// The wrapper, which is to start this very program.
    fn wrap(&self, text: &str) -> Result<Wrap, Failure> {
        let mut wrap = Wrap::parse(text, this_program()?)?;
        wrap.key_file.clone_from(&self.target.key);
        Ok(wrap)
    }
}

/// Makes the tests that the parent process asks for on standard input.
pub(crate) fn serve_turns() -> Result<ExitCode> {
    run::serve_turns(std::io::stdin().lock(), &mut std::io::stdout().lock())?;
    Ok(ExitCode::Done)
}

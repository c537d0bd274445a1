//! `linerate tcp`.

use crate::args::limits::LimitArgs;
use crate::args::live::LiveArgs;
use crate::args::output::OutputArgs;
use crate::args::target::TargetArgs;
use crate::args::traffic::{LengthArgs, StreamRateArgs, TrafficArgs, checked};
use crate::args::values::{rate, size};
use crate::outcome::{explained, measured, measured_both};
use anyhow::Result;
use clap::Args;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::spec::{Pace, TestSpec};
use linerate_model::{BitRate, ByteCount};
use linerate_studies::context::Context;
use linerate_studies::run;

/// For short help.
const EXAMPLES: &str = "Examples:
  linerate tcp board                  this end sends for 10 s
  linerate tcp board --both -t 5      one direction after the other
  linerate tcp board -R -P 4          the peer sends, four streams";

/// Arguments of `tcp`.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TcpArgs {
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    length: LengthArgs,
    #[command(flatten)]
    traffic: TrafficArgs,
    #[command(flatten)]
    limits: LimitArgs,
    /// Size of each write.
    #[arg(long, aliases = ["length", "len"], short_alias = 'l', default_value = "128K", value_parser = size)]
    payload: ByteCount,
    /// Intended load over all streams in bit/s of L4 payload; unpaced without it.
    #[arg(long, alias = "rate", value_name = "RATE", value_parser = rate, conflicts_with = "bitrate")]
    pace: Option<BitRate>,
    #[command(flatten)]
    each: StreamRateArgs,
    /// Congestion control algorithm.
    #[arg(short = 'C', long)]
    congestion: Option<String>,
    #[command(flatten)]
    live: LiveArgs,
}

impl TcpArgs {
    /// Runs the test.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        let output = &self.live.with(output)?;
        let (target, spec) = (self.target.target()?, self.spec()?);
        let each = |context: &mut Context<'_>, spec: &TestSpec| {
            let run = run::single(context, &target, spec)?;
            explained(context, &target, run, &self.limits)
        };
        if self.traffic.both {
            return measured_both(output, |context, direction| {
                let spec = TestSpec {
                    direction,
                    ..spec.clone()
                };
                each(context, &spec)
            });
        }
        measured(output, |context| each(context, &spec))
    }

    /// The test.
    fn spec(&self) -> Result<TestSpec, Failure> {
        let mut spec = TestSpec::tcp_bulk().with_payload(self.payload);
        let pace = self.pace.map(Pace::At);
        if let Some(pace) = pace.or_else(|| self.each.total(self.length.streams)) {
            spec.work.set_pace(pace);
        }
        self.traffic.apply(&mut spec);
        self.length.apply(&mut spec);
        spec.socket.congestion_control.clone_from(&self.congestion);
        checked(spec)
    }
}

//! `linerate udp`.

use crate::args::limits::LimitArgs;
use crate::args::live::LiveArgs;
use crate::args::output::OutputArgs;
use crate::args::target::TargetArgs;
use crate::args::traffic::{LengthArgs, StreamRateArgs, TrafficArgs, checked};
use crate::args::values::{pace, size};
use crate::outcome::{explained, measured, measured_both};
use anyhow::Result;
use clap::Args;
use linerate_model::ByteCount;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::spec::{Pace, TestSpec};
use linerate_studies::context::Context;
use linerate_studies::run;

/// For short help.
const EXAMPLES: &str = "Examples:
  linerate udp board --rate 100M      100 Mbit/s of payload for 10 s
  linerate udp board --rate max -R    the peer sends what it can";

/// Arguments of `udp`.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct UdpArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Intended load over all streams in bit/s of L4 payload (`10M`, `1G`), or `max` for unpaced.
    #[arg(long, alias = "pace", value_name = "RATE", value_parser = pace, required_unless_present = "bitrate", conflicts_with = "bitrate")]
    rate: Option<Pace>,
    #[command(flatten)]
    each: StreamRateArgs,
    /// For those who are used to it; this is UDP.
    #[arg(short = 'u', hide = true)]
    udp: bool,
    #[command(flatten)]
    length: LengthArgs,
    #[command(flatten)]
    traffic: TrafficArgs,
    #[command(flatten)]
    limits: LimitArgs,
    /// Payload of each datagram.
    #[arg(long, aliases = ["length", "len"], short_alias = 'l', default_value = "1448", value_parser = size)]
    payload: ByteCount,
    #[command(flatten)]
    live: LiveArgs,
}

impl UdpArgs {
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
        let pace = self.rate.or_else(|| self.each.total(self.length.streams));
        let mut spec = TestSpec::udp_datagrams(pace.unwrap_or_default()).with_payload(self.payload);
        self.traffic.apply(&mut spec);
        self.length.apply(&mut spec);
        checked(spec)
    }
}

//! `linerate saturate`.

use crate::args::limits::LimitArgs;
use crate::args::live::LiveArgs;
use crate::args::output::OutputArgs;
use crate::args::target::TargetArgs;
use crate::args::traffic::{TrafficArgs, checked};
use crate::args::values::{rate, share, size};
use crate::outcome::{explained, measured, measured_both};
use anyhow::Result;
use clap::Args;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::spec::{Direction, Observe, Pace, TestSpec};
use linerate_model::units::parse_duration;
use linerate_model::{BitRate, ByteCount, Ratio};
use linerate_studies::context::Context;
use linerate_studies::run::{self, SaturatePlan, parse_delay_goal};
use std::time::Duration;

/// For short help.
const EXAMPLES: &str = "Examples:
  linerate saturate board --both          both directions
  linerate saturate board --loss-goal 0   without loss only";

/// Arguments of `saturate`.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SaturateArgs {
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    traffic: TrafficArgs,
    #[command(flatten)]
    limits: LimitArgs,
    /// Loss ratios to search for, each a goal of its own.
    #[arg(long, default_value = "0,0.1%,0.5%", value_delimiter = ',', value_parser = share)]
    loss_goal: Vec<Ratio>,
    /// Delay that every goal must also meet: `p99<2ms` (delay above the smallest of the trial).
    #[arg(long, value_name = "QUANTILE<TIME")]
    delay_goal: Option<String>,
    /// Payload of each datagram.
    #[arg(long, default_value = "1448", value_parser = size)]
    payload: ByteCount,
    /// Lowest load to try, in bit/s of L4 payload.
    #[arg(long, default_value = "1M", value_parser = rate, hide_short_help = true)]
    min: BitRate,
    /// Highest load to try, in bit/s of L4 payload.
    #[arg(long, default_value = "10G", value_parser = rate)]
    max: BitRate,
    /// How close the bounds shall be, relative to the upper one.
    #[arg(long, default_value = "0.5%", value_parser = share, hide_short_help = true)]
    width: Ratio,
    /// Most trial time to use in each direction.
    #[arg(long, default_value = "60s", value_parser = parse_duration, hide_short_help = true)]
    budget: Duration,
    #[command(flatten)]
    live: LiveArgs,
}

impl SaturateArgs {
    /// Searches.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        let output = &self.live.with(output)?;
        let (target, plan) = (self.target.target()?, self.plan()?);
        let each = |context: &mut Context<'_>, plan: &SaturatePlan| {
            let run = run::saturate(context, &target, plan)?;
            explained(context, &target, run, &self.limits)
        };
        if self.traffic.both {
            return measured_both(output, |context, direction| {
                let mut plan = plan.clone();
                plan.spec.direction = direction;
                each(context, &plan)
            });
        }
        measured(output, |context| each(context, &plan))
    }

    /// The search.
    fn plan(&self) -> Result<SaturatePlan, Failure> {
        let mut spec = TestSpec::udp_datagrams(Pace::Unpaced).with_payload(self.payload);
        self.traffic.apply(&mut spec);
        let profile = spec.observe == Observe::All;
        // The trials of the search are as light as any other: the sampling is a trial of its own.
        spec.observe = spec.observe.min(Observe::Counters);
        if spec.direction == Direction::Duplex {
            let message = "saturate searches one direction at a time; leave out --duplex, or search both with --both";
            return Err(Failure::new(ExitCode::Usage, message));
        }
        Ok(SaturatePlan {
            loss_goals: self.loss_goal.clone(),
            delay_goal: self
                .delay_goal
                .as_deref()
                .map(parse_delay_goal)
                .transpose()?,
            min_load: self.min,
            max_load: self.max,
            width: self.width,
            budget: self.budget,
            profile,
            ..SaturatePlan::new(checked(spec)?)
        })
    }
}

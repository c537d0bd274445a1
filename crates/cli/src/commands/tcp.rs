//! `linerate tcp`.

use crate::args::output::OutputArgs;
use crate::args::target::TargetArgs;
use crate::args::traffic::{LengthArgs, TrafficArgs, checked};
use crate::args::values::{rate, size};
use crate::outcome::{measured, proved};
use anyhow::Result;
use clap::Args;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::spec::{Pace, TestSpec};
use linerate_model::units::parse_duration;
use linerate_model::{BitRate, ByteCount};
use linerate_studies::run;
use std::time::Duration;

/// Arguments of `tcp`.
#[derive(Debug, Clone, Args)]
pub(crate) struct TcpArgs {
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    length: LengthArgs,
    #[command(flatten)]
    traffic: TrafficArgs,
    /// Size of each write.
    #[arg(long, default_value = "128K", value_parser = size)]
    payload: ByteCount,
    /// Intended load over all streams in bit/s of L4 payload; unpaced without it.
    #[arg(long, alias = "rate", value_name = "RATE", value_parser = rate)]
    pace: Option<BitRate>,
    /// Congestion control algorithm.
    #[arg(short = 'C', long)]
    congestion: Option<String>,
    /// After the test, probe what limits it for at most this long: short trials with one thing changed each. 0s leaves
    /// it out. [default: 5s if the peer is linerate, else 0s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    diagnose: Option<Duration>,
}

/// Time for probing what limits, unless another is given.
const DIAGNOSIS: Duration = Duration::from_secs(5);

impl TcpArgs {
    /// Runs the test.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        let (target, spec) = (self.target.target()?, self.spec()?);
        // A server of another tool may be there for one test only.
        let is_foreign = target.far.kind().is_foreign();
        let usual = if is_foreign {
            Duration::ZERO
        } else {
            DIAGNOSIS
        };
        let diagnosis = self.diagnose.unwrap_or(usual);
        measured(output, |context| {
            let run = run::single(context, &target, &spec)?;
            let run = run::diagnose(context, &target, run, diagnosis);
            proved(context, &target, run, self.traffic.prove)
        })
    }

    /// The test.
    fn spec(&self) -> Result<TestSpec, Failure> {
        let mut spec = TestSpec::tcp_bulk().with_payload(self.payload);
        if let Some(rate) = self.pace {
            spec.work.set_pace(Pace::At(rate));
        }
        self.traffic.apply(&mut spec);
        self.length.apply(&mut spec);
        spec.socket.congestion_control.clone_from(&self.congestion);
        checked(spec)
    }
}

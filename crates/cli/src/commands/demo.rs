//! `linerate demo`.

use crate::args::output::OutputArgs;
use crate::args::values::rate;
use crate::outcome::measured;
use anyhow::Result;
use clap::Args;
use linerate_model::BitRate;
use linerate_model::exit::ExitCode;
use linerate_model::units::parse_duration;
use linerate_studies::run::{self, DemoPlan};
use std::time::Duration;

/// Arguments of `demo`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DemoArgs {
    /// Rate of the shaped link between the two hosts, at L1 (bit/s, SI prefixes).
    #[arg(long, default_value = "100M", value_parser = rate)]
    link_rate: BitRate,
    /// Delay of the link in each direction.
    #[arg(long, default_value = "500us", value_parser = parse_duration)]
    link_delay: Duration,
}

impl DemoArgs {
    /// Builds the two hosts and measures between them.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        // While this process has one thread: a user namespace cannot be entered later.
        linerate_studies::enter_user_namespace()?;
        let plan = DemoPlan {
            link_rate: self.link_rate,
            link_delay: self.link_delay,
        };
        measured(output, |context| run::demo(context, &plan))
    }
}

//! How far to look for what limits, once the test is over.

use clap::Args;
use linerate_model::units::parse_duration;
use std::time::Duration;

/// What follows a test of one direction.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "What limits")]
pub(crate) struct LimitArgs {
    /// After the test, probe what limits it for at most this long: short trials with one thing changed each. 0s leaves
    /// it out.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "10s", hide_short_help = true)]
    pub(crate) diagnose: Duration,
    /// Then run the experiment that the verdict proposes: only what it agrees with is confirmed.
    #[arg(long)]
    pub(crate) prove: bool,
}

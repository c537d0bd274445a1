//! How far to look for what limits, once the test is over.

use clap::Args;
use linerate_client::Target;
use linerate_model::units::parse_duration;
use std::time::Duration;

/// What follows a test of one direction.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "What limits")]
pub(crate) struct LimitArgs {
    /// After the test, probe what limits it for at most this long: short trials with one thing changed each. 0s leaves
    /// it out. [default: 5s if the peer is linerate, else 0s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    diagnose: Option<Duration>,
    /// Then run the experiment that the verdict proposes: only what it agrees with is confirmed.
    #[arg(long)]
    pub(crate) prove: bool,
}

/// Time for probing what limits, unless another is given.
const DIAGNOSIS: Duration = Duration::from_secs(5);

impl LimitArgs {
    /// How long to probe what limits a test against `target`.
    pub(crate) fn diagnosis(&self, target: &Target) -> Duration {
        // A server of another tool may be there for one test only.
        let is_foreign = target.far.kind().is_foreign();
        let usual = if is_foreign {
            Duration::ZERO
        } else {
            DIAGNOSIS
        };
        self.diagnose.unwrap_or(usual)
    }
}

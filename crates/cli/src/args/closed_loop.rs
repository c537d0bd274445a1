//! Options of `latency` that a closed loop has: what is shown, and when it ends.

use clap::Args;
use linerate_model::Quantile;
use linerate_model::spec::TransactionBounds;
use linerate_studies::run::{Iterations, parse_percentile};

/// Quantiles and bounds by number.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Closed loop")]
pub(crate) struct ClosedLoopArgs {
    /// Quantiles of delay to show beside minimum, median and maximum, in percent.
    #[arg(long, default_value = "99,99.9", value_delimiter = ',', value_name = "PERCENT", value_parser = parse_percentile, hide_short_help = true)]
    pub(crate) percentile: Vec<Quantile>,
    /// Messages to count per size and wait mode, beside the time: at most so many (`..100000`), at least so many
    /// even if the time is over (`10000..`, for up to 25 s more), both (`10000..100000`), or exactly so many (`10000`).
    #[arg(long, value_name = "MIN..MAX", hide_short_help = true)]
    pub(crate) iterations: Option<Iterations>,
    /// Count only what comes after so many messages, and after --warm-up.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) warm_up_iterations: Option<u64>,
}

impl ClosedLoopArgs {
    /// The bounds by number.
    pub(crate) fn bounds(&self) -> TransactionBounds {
        let iterations = self.iterations.unwrap_or_default();
        iterations.bounds(self.warm_up_iterations)
    }
}

//! How the commands that run tests show them while they go on.

use crate::args::output::OutputArgs;
use clap::Args;
use linerate_model::exit::{ExitCode, Failure};

/// The view of a test under way.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output and store")]
pub(crate) struct LiveArgs {
    /// Show the test on the whole terminal while it goes on; q ends it.
    #[arg(long)]
    live: bool,
}

impl LiveArgs {
    /// The other options of output, with this one.
    pub(crate) fn with(&self, output: &OutputArgs) -> Result<OutputArgs, Failure> {
        let others = [("--quiet", output.quiet), ("--stream", output.stream)];
        if let Some((other, _)) = others.iter().find(|(_, is_given)| self.live && *is_given) {
            let message =
                format!("--live shows the test and {other} does not: leave one of them out");
            return Err(Failure::new(ExitCode::Usage, message));
        }
        Ok(OutputArgs {
            live: self.live,
            ..output.clone()
        })
    }
}

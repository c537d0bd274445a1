//! `linerate import`.

use crate::args::output::OutputArgs;
use crate::args::stored::HintArgs;
use crate::args::values::rate;
use crate::context::in_context;
use crate::outcome::RunsInParts;
use crate::terminal;
use anyhow::Result;
use clap::Args;
use linerate_model::BitRate;
use linerate_model::exit::ExitCode;
use linerate_studies::archive::{self, Known};
use std::path::PathBuf;

/// Arguments of `import`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ImportArgs {
    /// Logs of iperf3 (text or JSON), iperf 2 (text or CSV), zperf, lwiperf, netperf, neper, sockperf and
    /// sfnt-pingpong, and HdrHistogram's percentile text; views of both ends of one test become one trial. A folder stands for all
    /// files below it.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Speed of the link that the tests crossed, at L2 (`1G`): logs do not tell, and verdicts need it.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    link_speed: Option<BitRate>,
    #[command(flatten)]
    hints: HintArgs,
}

impl ImportArgs {
    /// Reads the logs and stores the runs they make.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        let known = Known {
            link_speed: self.link_speed,
            hints: self.hints.hints(),
        };
        let mut shown = RunsInParts::new(output);
        let refused = in_context(output, |context| {
            archive::import_logs(context, &self.files, &known, &mut |runs| shown.add(runs))
        })?;
        shown.finish()?;
        for error in &refused {
            terminal::error(&format!("left out: {error}"));
        }
        Ok(if refused.is_empty() {
            ExitCode::Done
        } else {
            ExitCode::Plan
        })
    }
}

//! `linerate compare`: its arguments, and what it shows.

use crate::args::closed_loop::percentile;
use crate::args::output::OutputArgs;
use crate::args::stored::HintArgs;
use crate::args::values::share;
use crate::context::with_store;
use crate::terminal::{self, Layout};
use anyhow::Result;
use clap::Args;
use linerate_model::exit::ExitCode;
use linerate_model::{Quantile, Ratio};
use linerate_studies::archive::Known;
use linerate_studies::compare::{self, Options};

/// Arguments of `compare`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CompareArgs {
    /// The base: id or unique start of an id of a stored run, `last`, a path to one, or a log or published
    /// table of another tool, which is read as by `import`.
    #[arg(value_name = "A")]
    a: String,
    /// What is judged against it, likewise.
    #[arg(value_name = "B")]
    b: String,
    /// Smallest relative difference that matters.
    #[arg(long, default_value = "2%", value_name = "SHARE", value_parser = share)]
    threshold: Ratio,
    /// Smallest difference of two loss ratios that matters (`0.1%` is 0.1 percentage points).
    #[arg(long, default_value = "0.1%", value_name = "SHARE", value_parser = share)]
    loss_threshold: Ratio,
    /// Quantiles of delay to compare, in percent.
    #[arg(long, default_value = "50,99,99.9", value_delimiter = ',', value_name = "PERCENT", value_parser = percentile)]
    percentile: Vec<Quantile>,
    /// Compare only the metrics whose id begins so: `half_round_trip_p50`, `received_bps`, `loss_ratio`, `sender_cpu` …
    /// Fewer tests need less correction.
    #[arg(long, value_delimiter = ',', value_name = "ID")]
    metric: Vec<String>,
    #[command(flatten)]
    hints: HintArgs,
}

impl CompareArgs {
    /// Compares, shows the comparison, and says by the exit code whether B is worse.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        if let Some(path) = &output.output {
            compare::check_output(path)?;
        }
        let options = Options {
            threshold: self.threshold,
            loss_threshold: self.loss_threshold,
            quantiles: self.percentile.clone(),
            only: self.metric.clone(),
        };
        let known = Known {
            link_speed: None,
            hints: self.hints.hints(),
        };
        let comparison = with_store(output, |context| {
            compare::compare_named(context, (&self.a, &self.b), &known, &options)
        })?;
        if output.stream {
            terminal::print_line(&serde_json::to_string(&comparison)?)?;
        } else if output.json {
            terminal::print_line(&compare::document(&comparison)?)?;
        } else {
            let Layout { width, style } = terminal::layout();
            terminal::print_line(compare::text(&comparison, width, style).trim_end())?;
        }
        if let Some(path) = &output.output {
            compare::write(path, &comparison)?;
            if !(output.quiet || output.json || output.stream) {
                terminal::note(&format!("the comparison is in {}", path.display()));
            }
        }
        Ok(if comparison.regression {
            ExitCode::GoalMissed
        } else {
            ExitCode::Done
        })
    }
}

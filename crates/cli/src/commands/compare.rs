//! `linerate compare`: its arguments, and what it shows.

use crate::args::output::OutputArgs;
use crate::args::stored::HintArgs;
use crate::args::values::share;
use crate::context::with_store;
use crate::outcome::show_document;
use anyhow::{Context as _, Result};
use clap::Args;
use linerate_archive as archive;
use linerate_model::comparison::{CompareAnswer, Comparison};
use linerate_model::exit::ExitCode;
use linerate_model::{Quantile, Ratio};
use linerate_studies::compare::{self, Options};
use linerate_studies::interleave::{InterleavePlan, Side, compare_interleaved};
use linerate_studies::run::parse_percentile;

/// For short help.
const EXAMPLES: &str = "Examples:
  linerate compare last~1 last                      is the last run worse?
  linerate compare baseline last -o diff.md         for a pull request
  linerate compare --interleave 'tcp board' 'tcp board -C bbr'";

/// Arguments of `compare`.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompareArgs {
    /// Measure both sides anew, in random turns: A and B are then command lines of linerate that measure
    /// (`'tcp board'`), also with a wrapper or another environment before them (`'env X=1 linerate tcp board'`). A is
    /// measured twice, as the control.
    #[arg(long)]
    interleave: bool,
    /// Turns of each side, with --interleave.
    #[arg(long, default_value_t = 10, requires = "interleave", value_parser = clap::value_parser!(u32).range(2..=1000))]
    repetitions: u32,
    /// Seed of the order, with --interleave.
    #[arg(
        long,
        default_value_t = 1,
        requires = "interleave",
        hide_short_help = true
    )]
    seed: u64,
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
    #[arg(long, default_value = "0.1%", value_name = "SHARE", value_parser = share, hide_short_help = true)]
    loss_threshold: Ratio,
    /// Smallest relative regression that the comparison must be able to show; if its repetitions cannot, it ends with
    /// exit code 8 [default: 2.5 times --threshold].
    #[arg(long, value_name = "SHARE", value_parser = share)]
    sensitivity: Option<Ratio>,
    /// Smallest rise of a loss ratio that it must be able to show [default: 2.5 times --loss-threshold].
    #[arg(long, value_name = "SHARE", value_parser = share, hide_short_help = true)]
    loss_sensitivity: Option<Ratio>,
    /// Quantiles of delay to compare, in percent.
    #[arg(long, default_value = "50,99,99.9", value_delimiter = ',', value_name = "PERCENT", value_parser = parse_percentile)]
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
            archive::check_document::<Comparison>(path)?;
        }
        let options = Options {
            threshold: self.threshold,
            loss_threshold: self.loss_threshold,
            sensitivity: beyond(self.sensitivity, self.threshold),
            loss_sensitivity: beyond(self.loss_sensitivity, self.loss_threshold),
            quantiles: self.percentile.clone(),
            only: self.metric.clone(),
        };
        let hints = self.hints.hints();
        let comparison = if self.interleave {
            let plan = self.turns()?;
            with_store(output, |context| {
                compare_interleaved(context, &plan, &options)
            })?
        } else {
            with_store(output, |context| {
                compare::compare_named(context, &self.a, &self.b, &hints, &options)
            })?
        };
        show_document(output, &comparison)?;
        Ok(match comparison.answer {
            CompareAnswer::Regression => ExitCode::GoalMissed,
            CompareAnswer::CannotTell => ExitCode::CannotTell,
            CompareAnswer::NoRegression => ExitCode::Done,
        })
    }
}

impl CompareArgs {
    /// What is measured in turns.
    fn turns(&self) -> Result<InterleavePlan> {
        let program = std::env::current_exe().context("finding this program")?;
        Ok(InterleavePlan {
            program: program.to_string_lossy().into_owned(),
            a: Side::parse(&self.a)?,
            b: Side::parse(&self.b)?,
            repetitions: self.repetitions,
            seed: self.seed,
        })
    }
}

/// What must be shown, where it is not given: so much more than the threshold that a few repetitions show it.
fn beyond(given: Option<Ratio>, threshold: Ratio) -> Ratio {
    given.unwrap_or_else(|| Ratio::clamped(threshold.get() * 2.5))
}

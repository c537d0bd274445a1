//! `linerate run`.

use crate::args::output::OutputArgs;
use crate::args::target::{LoginArgs, key_in};
use crate::context::{open_store, this_program};
use crate::outcome::measured;
use crate::stacks::{allowed, ready};
use anyhow::Result;
use clap::Args;
use linerate_archive as archive;
use linerate_client::address::PeerAddress;
use linerate_model::consent::Consent;
use linerate_model::exit::ExitCode;
use linerate_model::units::parse_duration;
use linerate_studies::plan::StudyPlan;
use linerate_studies::run;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `run`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// The plan, a TOML file: `[study]`, `[defaults]`, `[factors]`.
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    /// Show the peer that this end holds the key in this file (its `serve --key`).
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    #[command(flatten)]
    login: LoginArgs,
    /// Run the plan's short form: what its `[quick]` section says.
    #[arg(long, conflicts_with = "time")]
    quick: bool,
    /// Measure at this host instead of the plan's.
    #[arg(long, value_name = "HOST", value_parser = PeerAddress::parse)]
    host: Option<PeerAddress>,
    /// Start the programs that the plan names (`wrap`, `run` of a stack, files of `ssh://`); they are shown first.
    #[arg(long)]
    run_programs: bool,
    /// Measure only these series of the plan.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    series: Vec<String>,
    /// Go on with an incomplete study of the same plan: its finished runs are taken over.
    #[arg(long, value_name = "RUN")]
    resume: Option<String>,
    /// Measure for so long in place of the plan's `repetitions`: each cell five times, then those that are known least.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    time: Option<Duration>,
}

impl RunArgs {
    /// Runs the study.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        let mut plan = StudyPlan::read(&self.plan)?;
        if self.quick {
            plan = plan.replace(StudyPlan::into_quick)?;
        }
        plan.change(|plan| self.complete(plan))?;
        let mut plan = allowed(plan, Consent::to_plan(self.run_programs))?;
        ready(plan.prepare().cells.iter_mut().map(|cell| &mut cell.far))?;
        let earlier = match &self.resume {
            Some(name) => Some(archive::load(&open_store(output)?, name)?),
            None => None,
        };
        measured(output, |context| run::study(context, &plan, earlier))
    }

    /// Puts what the options say into the plan.
    fn complete(&self, plan: &mut StudyPlan) -> Result<()> {
        plan.key = self.key.as_deref().map(key_in).transpose()?;
        plan.login = self.login.login()?;
        plan.wrapped = Some((this_program()?, self.key.clone()));
        plan.budget = self.time.or(plan.budget);
        plan.keep_series(&self.series)?;
        if let Some(host) = &self.host {
            plan.set_peer(host)?;
        }
        Ok(())
    }
}

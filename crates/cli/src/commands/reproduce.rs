//! `linerate reproduce`: its arguments, and what it shows.

use crate::args::output::OutputArgs;
use crate::args::target::{LoginArgs, key_in};
use crate::args::values::share;
use crate::context::{open_store, this_program, with_store};
use crate::outcome::{NOT_KEPT, show_document};
use crate::stacks::{allowed, ready};
use anyhow::{Error, Result};
use clap::Args;
use linerate_archive as archive;
use linerate_client::address::PeerAddress;
use linerate_model::Ratio;
use linerate_model::consent::{Allowed, Consent, Foreign};
use linerate_model::exit::{ExitCode, Failure};
use linerate_studies::plan::StudyPlan;
use linerate_studies::reproduce::{
    self, Answer, JudgeOptions, JudgedReproduction, Measurements, Package, PublishedTable,
    ReproducePlan, Texts, audit_table, read_table, reproduce, write_package,
};
use std::path::{Path, PathBuf};

/// For short help.
const EXAMPLES: &str = "Examples:
  linerate reproduce --audit table.csv                      does the table contradict itself?
  linerate reproduce plan.toml --published table.csv        measure, then judge cell by cell
  linerate reproduce plan.toml --published table.csv --runs last --package answer.tar
  linerate reproduce answer.tar --host board                repeats a package, compares with it";

/// Arguments of `reproduce`.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReproduceArgs {
    /// The plan to measure by; its `[published]` says which cells are those of the table. Or a package (.tar), which is
    /// repeated and compared with.
    #[arg(value_name = "PLAN", required_unless_present = "audit")]
    plan: Option<PathBuf>,
    /// The published table: CSV with a column for each factor, `value`, `unit`, and n, sd, min, max, p99 … where they are
    /// published.
    #[arg(long, value_name = "TABLE", requires = "plan")]
    published: Option<PathBuf>,
    /// Say what the figures of a published table contradict, and measure nothing. Exit code 7 if anything.
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["plan", "published"])]
    audit: Option<PathBuf>,
    /// Judge by these stored studies of the plan, and measure nothing.
    #[arg(long, value_name = "RUN", value_delimiter = ',', requires = "plan")]
    runs: Vec<String>,
    /// Largest relative difference at which a value counts as reproduced.
    #[arg(long, default_value = "10%", value_name = "SHARE", value_parser = share)]
    margin: Ratio,
    /// Relative difference that the repetitions must be able to show, or the cell cannot be told [default: 2.5 times
    /// --margin].
    #[arg(long, value_name = "SHARE", value_parser = share)]
    sensitivity: Option<Ratio>,
    /// Facts of the published set-up that may differ here (`cpu`, `kernel` …, or `all`); else values of another set-up
    /// are not compared, only claims.
    #[arg(long, value_name = "FACT", value_delimiter = ',')]
    accept: Vec<String>,
    /// Measure at this host instead of the plan's. A package is only repeated at a host that you name, or, with
    /// --run-programs, with stacks that are started here.
    #[arg(long, value_name = "HOST", requires = "plan", value_parser = PeerAddress::parse)]
    host: Option<PeerAddress>,
    /// Start the programs that the plan names, and of a package also linerate's own stacks; they are shown first.
    #[arg(long, requires = "plan")]
    run_programs: bool,
    /// Measure only these series of the plan.
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "plan")]
    series: Vec<String>,
    /// Write one archive (.tar) with plan, table, runs, facts, answer and report, by which others repeat it.
    #[arg(long, value_name = "FILE", requires = "plan")]
    package: Option<PathBuf>,
    /// Show the peer that this end holds the key in this file (its `serve --key`).
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    #[command(flatten)]
    login: LoginArgs,
    /// Go on with an incomplete study of the same plan: its finished runs are taken over.
    #[arg(long, value_name = "RUN", conflicts_with = "runs")]
    resume: Option<String>,
}

impl ReproduceArgs {
    /// Audits or measures, shows what is found, and says by the exit code whether the result holds.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        if let Some(path) = &output.output {
            archive::check_document::<Answer>(path)?;
        }
        if let Some(path) = &self.package {
            reproduce::check_package(path)?;
        }
        let (answer, unsaved) = match (&self.audit, &self.plan) {
            (Some(table), _) => (Answer::Audit(audit_table(table)?), None),
            (None, Some(plan)) => self.judge(self.source(plan)?, output)?,
            (None, None) => {
                return Err(usage("give PLAN --published TABLE, or --audit TABLE").into());
            }
        };
        show_document(output, &answer)?;
        match unsaved {
            Some(error) => Err(error),
            None => Ok(reproduce::exit_code(&answer)),
        }
    }

    /// The plan and the table that are asked for.
    fn source(&self, plan: &Path) -> Result<Source> {
        let is_package = plan.extension().is_some_and(|ending| ending == "tar");
        let name = plan.display().to_string();
        match &self.published {
            Some(_) if is_package => {
                Err(usage("a package has its table; leave out --published").into())
            }
            None if is_package => {
                let package = Package::read(plan)?;
                Ok(Source {
                    plan: package.plan.clone(),
                    consent: Consent::to_results(self.run_programs),
                    texts: package.texts.clone(),
                    table: Table::Packed(Box::new(package)),
                    name,
                })
            }
            Some(table) => Ok(Source {
                plan: StudyPlan::read(plan)?,
                consent: Consent::to_plan(self.run_programs),
                table: Table::Read(Box::new(read_table(table)?)),
                name: table.display().to_string(),
                texts: Texts::read(plan, table)?,
            }),
            None => {
                Err(usage("give --published TABLE, or a package (.tar) instead of a plan").into())
            }
        }
    }

    /// The answer, and why it is not all that was asked for: not in the store, or of a measurement that was interrupted.
    fn judge(&self, source: Source, output: &OutputArgs) -> Result<(Answer, Option<Error>)> {
        let mut plan = source.plan;
        if matches!(source.table, Table::Packed(_)) && self.runs.is_empty() {
            plan.check_hosts_of_package()?;
        }
        plan.change(|plan| self.complete(plan))?;
        let asked = StudyPlan::clone(&plan);
        // What the user must allow is said before what takes time and memory.
        let plan = match self.runs.as_slice() {
            [] => Some(allowed(plan, source.consent)?),
            _ => None,
        };
        let asked = ReproducePlan {
            plan: asked,
            table: match source.table {
                Table::Packed(package) => package.table()?,
                Table::Read(table) => *table,
            },
            name: source.name.clone(),
            options: JudgeOptions {
                margin: self.margin,
                sensitivity: self
                    .sensitivity
                    .unwrap_or_else(|| Ratio::clamped(self.margin.get() * 2.5)),
            },
            accepted: self.accept.clone(),
        };
        let from = self.measurements(plan, output)?;
        with_store(output, |context| {
            let judged = reproduce(context, &asked, from);
            let interrupted = context.interrupted();
            let (answer, studies) = match judged {
                Err(_) if interrupted => {
                    return Err(stopped("before a cell of the plan was measured").into());
                }
                judged => judged?,
            };
            let answer = Answer::Reproduction(Box::new(JudgedReproduction {
                of: answer,
                studies,
            }));
            let unsaved = context.unsaved.take();
            let unsaved = unsaved.map(|error| Error::new(error).context(NOT_KEPT));
            if interrupted {
                let why = stopped("the answer is about what was measured until then");
                return Ok((answer, unsaved.or(Some(why.into()))));
            }
            if let Some(path) = &self.package {
                write_package(path, &source.texts, &answer)?;
            }
            Ok((answer, unsaved))
        })
    }

    /// Puts what the options say into the plan.
    fn complete(&self, plan: &mut StudyPlan) -> Result<()> {
        plan.key = self.key.as_deref().map(key_in).transpose()?;
        plan.login = self.login.login()?;
        plan.wrapped = Some((this_program()?, self.key.clone()));
        plan.keep_series(&self.series)?;
        if let Some(host) = &self.host {
            plan.set_peer(host)?;
        }
        Ok(())
    }

    /// What is judged: measurements by `plan`, or the stored runs.
    fn measurements(
        &self,
        plan: Option<Allowed<StudyPlan>>,
        output: &OutputArgs,
    ) -> Result<Measurements> {
        let load = |name: &String| archive::load(&open_store(output)?, name);
        if let Some(mut plan) = plan {
            ready(plan.prepare().cells.iter_mut().map(|cell| &mut cell.far))?;
            let resumed = self.resume.as_ref().map(load).transpose()?;
            return Ok(Measurements::Now {
                plan: Box::new(plan),
                resumed: resumed.map(Box::new),
            });
        }
        let runs = self.runs.iter().map(load).collect::<Result<_>>()?;
        Ok(Measurements::Stored(runs))
    }
}

/// What is measured, and what it is held against.
struct Source {
    plan: Foreign<StudyPlan>,
    consent: Consent,
    table: Table,
    name: String,
    texts: Texts,
}

/// The table that is judged.
enum Table {
    /// Of a package, whose runs are read when the user has allowed what its plan does.
    Packed(Box<Package>),
    /// Of a file.
    Read(Box<PublishedTable>),
}

fn stopped(what: &str) -> Failure {
    Failure::new(ExitCode::Other, format!("interrupted: {what}"))
}

fn usage(message: impl Into<String>) -> Failure {
    Failure::new(ExitCode::Usage, message)
}

//! `linerate doctor`: its arguments, and what it calls.

use crate::args::output::OutputArgs;
use crate::context::interrupt_flag;
use crate::outcome::print_document;
use crate::terminal;
use anyhow::Result;
use clap::Args;
use linerate_doctor::{Action, DoctorPlan, FarPlan, UNDO_FILE, check_plan, exit_code, far_host};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::units::parse_duration;
use linerate_sys::ending;
use linerate_sys::host_files::HostFiles;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Arguments of `doctor`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = check_help())]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct DoctorArgs {
    /// Make the safe changes that the findings propose (root): each old value is written to the undo file first.
    #[arg(long, conflicts_with = "restore")]
    apply: bool,
    /// Take back what --apply changed, also after a crash.
    #[arg(long)]
    restore: bool,
    /// Change also what somebody else has changed since, or what was changed in another network namespace.
    #[arg(long)]
    force: bool,
    /// File that keeps the old values.
    #[arg(long, value_name = "FILE", default_value = UNDO_FILE)]
    undo: PathBuf,
    /// Make only these checks. With --apply, also the changes of theirs that cost something else (`rings`, `busy-poll`, `tracing`).
    #[arg(long, value_name = "CHECK", value_delimiter = ',')]
    only: Vec<String>,
    /// Interface that is to carry the traffic [default: that of the default route].
    #[arg(long)]
    interface: Option<String>,
    /// Core that measurements are to be pinned to.
    #[arg(long, value_name = "CORE")]
    cpu: Option<u32>,
    /// Measure for this long how a spinning thread is interrupted on each core (or the one of --cpu).
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    jitter: Option<Duration>,
    /// Exit with code 7 if anything is found.
    #[arg(long)]
    strict: bool,
    /// Look at a copy of a host's /proc, /sys and /etc below this directory.
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// Examine another host: `ssh://user@host`. linerate is copied there and removed again.
    #[arg(long, value_name = "URL", conflicts_with = "root")]
    host: Option<String>,
    /// The ssh program and its options.
    #[arg(long, value_name = "COMMAND", default_value = "ssh", requires = "host")]
    ssh: String,
    /// Most time for another host, beside --jitter.
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = parse_duration)]
    timeout: Duration,
}

impl DoctorArgs {
    /// Runs it.
    /// Examines the host, and changes what it is asked to.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        /// What only looks keeps nothing, so it is ended at once.
        static UNSET: AtomicBool = AtomicBool::new(false);
        let only_looks = !self.apply && !self.restore;
        let interrupt = if only_looks && self.jitter.is_none() && self.host.is_none() {
            &UNSET
        } else {
            interrupt_flag()?
        };
        if output.output.is_some() {
            let message =
                "`linerate doctor` writes no report; leave out -o, and keep what --json prints";
            return Err(Failure::new(ExitCode::Usage, message).into());
        }
        self.check_root()?;
        let plan = self.plan();
        check_plan(&plan)?;
        let examination = match &self.host {
            Some(host) => self.far(&plan, host)?.examine()?,
            None => linerate_doctor::doctor(&plan, interrupt)?,
        };
        ending::work_is_over();
        print_document(output, &examination)?;
        if self.jitter.is_some() && interrupt.load(Ordering::Relaxed) {
            terminal::error(
                "the measurement of jitter was interrupted; its figures are of the time until then",
            );
            return Ok(ExitCode::Other);
        }
        Ok(exit_code(&examination, self.strict))
    }

    /// Refuses a place in which there is nothing to examine.
    fn check_root(&self) -> Result<(), Failure> {
        let parts = ["proc", "sys", "etc"];
        if parts.iter().any(|part| self.root.join(part).is_dir()) {
            return Ok(());
        }
        let message = format!(
            "--root {}: it has none of {}; give one with a copy of a host's files",
            self.root.display(),
            parts.join(", ")
        );
        Err(Failure::new(ExitCode::Usage, message))
    }

    fn plan(&self) -> DoctorPlan {
        DoctorPlan {
            root: HostFiles::new(&self.root),
            interface: self.interface.clone(),
            core: self.cpu,
            only: self.only.clone(),
            action: match (self.apply, self.restore) {
                (true, _) => Action::Apply,
                (_, true) => Action::Restore,
                _ => Action::Look,
            },
            force: self.force,
            undo: self.undo.clone(),
            jitter: self.jitter,
        }
    }

    fn far(&self, plan: &DoctorPlan, host: &str) -> Result<FarPlan> {
        let mut words = Vec::new();
        for (flag, given) in [
            ("--apply", self.apply),
            ("--restore", self.restore),
            ("--force", self.force),
        ] {
            words.extend(given.then(|| flag.to_owned()));
        }
        let undo = plan.undo.to_str().ok_or_else(|| {
            Failure::new(
                ExitCode::Usage,
                "--undo: another host takes names in UTF-8 only",
            )
        })?;
        let jitter = plan.jitter.map(|time| format!("{}ns", time.as_nanos()));
        for (option, value) in [
            ("--undo", Some(undo.to_owned())),
            (
                "--only",
                (!plan.only.is_empty()).then(|| plan.only.join(",")),
            ),
            ("--interface", plan.interface.clone()),
            ("--cpu", plan.core.map(|core| core.to_string())),
            ("--jitter", jitter),
        ] {
            words.extend(value.map(|value| format!("{option}={value}")));
        }
        Ok(FarPlan {
            host: far_host(host, &self.ssh)?,
            arguments: words,
            timeout: self.timeout + plan.jitter.unwrap_or_default(),
        })
    }
}

/// The table of checks for `--help`.
fn check_help() -> String {
    use std::fmt::Write as _;
    let mut text = String::from("Checks:\n");
    for (id, summary) in linerate_doctor::checks() {
        let _ = writeln!(text, "  {id:<13} {summary}");
    }
    text
}

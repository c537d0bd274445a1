//! `linerate doctor`: what distorts measurements on a host, the changes that would help, and how to undo them.
#![forbid(unsafe_code)]

mod far;
pub mod fitness;
pub mod tuning;

pub use far::{FarPlan, far_host};

use anyhow::Result;
use linerate_model::doctor::{
    ChangeMade, ChangeResult, CheckOutcome, Checked, Examination, SCHEMA,
};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::knob::{Consent, Setting};
use linerate_model::run::Tool;
use linerate_observe::{Observer, Scope, check_interface};
use linerate_sys::clock::wall_now;
use linerate_sys::host_files::HostFiles;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tuning::{Foreign, HostSettings, Identity, UndoError};

/// Default path of the undo file.
pub const UNDO_FILE: &str = "/var/lib/linerate/undo.jsonl";

/// Maximum duration of the jitter measurement.
pub const JITTER_MAX: Duration = Duration::from_hours(1);

/// Action besides the examination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Apply the changes that the findings propose.
    Apply,
    /// None.
    Look,
    /// Undo the changes.
    Restore,
}

/// What to examine, and what to do.
#[derive(Debug, Clone)]
pub struct DoctorPlan {
    /// Those of this host, or a copy of a host's `proc`, `sys` and `etc`.
    pub root: HostFiles,
    /// Interface that is to carry the traffic; else that of the default route.
    pub interface: Option<String>,
    /// Core that measurements are to be pinned to.
    pub core: Option<u32>,
    /// Checks to make; all if empty. Changes that need consent are made only for checks that are named here.
    pub only: Vec<String>,
    /// Action.
    pub action: Action,
    /// Whether to overwrite settings that others have changed since.
    pub force: bool,
    /// The undo file.
    pub undo: PathBuf,
    /// Duration of the host's jitter measurement.
    pub jitter: Option<Duration>,
}

/// Name and summary of every check, in the order of the reference table.
pub fn checks() -> impl Iterator<Item = (&'static str, &'static str)> {
    fitness::ALL.iter().map(|check| (check.id, check.summary))
}

/// Refuses unknown check names, and durations that are too long.
pub fn check_plan(plan: &DoctorPlan) -> Result<(), Failure> {
    for name in &plan.only {
        if !checks().any(|(id, _)| id == name) {
            let all: Vec<_> = checks().map(|(id, _)| id).collect();
            let message = format!("--only {name}: no such check; there are {}", all.join(", "));
            return Err(Failure::new(ExitCode::Usage, message));
        }
    }
    match plan.jitter {
        Some(time) if time.is_zero() || time > JITTER_MAX => {
            let message = "--jitter must be above 0 and at most 1h";
            Err(Failure::new(ExitCode::Usage, message))
        }
        Some(_) if !plan.root.is_live() => {
            let message = "--jitter measures this host, not a copy of files; leave out --root";
            Err(Failure::new(ExitCode::Usage, message))
        }
        _ => Ok(()),
    }
}

/// Examines this host in the network namespace of the calling thread.
pub fn doctor(plan: &DoctorPlan, interrupt: &AtomicBool) -> Result<Examination> {
    check_plan(plan)?;
    let scope = scope(plan);
    check_interface(&scope).map_err(|why| Failure::new(ExitCode::HostLacks, why))?;
    let mut notes = Vec::new();
    let changes = match plan.action {
        Action::Look => Vec::new(),
        Action::Apply => apply(plan, &scope)?,
        Action::Restore => restore(plan, &mut notes)?,
    };
    let facts = Observer::new(scope.clone()).facts();
    let checks = look(plan, &scope);
    let cores = match plan.core {
        Some(core) => vec![core],
        None => linerate_sys::affinity::allowed_cores().map_err(|error| {
            Failure::new(
                ExitCode::HostLacks,
                format!("asking which cores this program may use: {error}"),
            )
        })?,
    };
    let jitter = plan
        .jitter
        .map(|time| linerate_observe::jitter(&scope, &cores, time, interrupt));
    let is_pending = plan.undo.exists();
    Ok(Examination {
        schema: SCHEMA.to_owned(),
        tool: Tool::linerate(env!("CARGO_PKG_VERSION")),
        made: wall_now(),
        host: facts.hostname.clone(),
        interface: scope.interface,
        core: plan.core,
        facts,
        checks,
        changes,
        undo_file: is_pending.then(|| plan.undo.display().to_string()),
        jitter,
        notes,
    })
}

fn scope(plan: &DoctorPlan) -> Scope {
    let mut scope = Scope {
        interface: plan.interface.clone(),
        beside: Vec::new(),
        root: plan.root.clone(),
    };
    if scope.interface.is_none() {
        scope.interface = linerate_observe::default_interface(&scope);
    }
    scope
}

fn look(plan: &DoctorPlan, scope: &Scope) -> Vec<Checked> {
    let condition = linerate_observe::condition(scope, plan.core);
    fitness::examine(&condition, &plan.only)
}

fn foreign(plan: &DoctorPlan) -> Foreign {
    if plan.force {
        Foreign::Overwrite
    } else {
        Foreign::Keep
    }
}

fn apply(plan: &DoctorPlan, scope: &Scope) -> Result<Vec<ChangeMade>> {
    let checks = look(plan, scope);
    let wanted: Vec<Setting> = checks
        .iter()
        .flat_map(|check| wanted(check, &plan.only))
        .cloned()
        .collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let identity = Identity::of_host(&plan.root);
    let mut settings = HostSettings::new(&plan.root);
    let made = tuning::apply(&mut settings, &plan.undo, &identity, &wanted, foreign(plan));
    Ok(made.map_err(with_remedy)?)
}

/// Changes of a finding that may be made.
fn wanted<'a>(check: &'a Checked, named: &[String]) -> impl Iterator<Item = &'a Setting> {
    let is_named = named.contains(&check.id);
    let settings = match &check.outcome {
        CheckOutcome::Found { finding } => finding.settings.as_slice(),
        CheckOutcome::Fine { .. } | CheckOutcome::NotChecked { .. } => &[],
    };
    settings
        .iter()
        .filter(move |setting| is_named || setting.consent == Consent::Safe)
}

fn restore(plan: &DoctorPlan, notes: &mut Vec<String>) -> Result<Vec<ChangeMade>> {
    let identity = Identity::of_host(&plan.root);
    let mut settings = HostSettings::new(&plan.root);
    let restored = tuning::restore(&mut settings, &plan.undo, &identity, foreign(plan));
    let mut restored = restored.map_err(with_remedy)?;
    notes.append(&mut restored.notes);
    if restored.is_left {
        notes.push(format!(
            "not all could be taken back: {} is kept, and --restore tries again",
            plan.undo.display()
        ));
    }
    Ok(restored.changes)
}

fn with_remedy(error: UndoError) -> Failure {
    let mut failure = Failure::from(error);
    if failure.code == ExitCode::HostLacks {
        failure
            .message
            .push_str("; run as root, or give a file that can be written with --undo");
    }
    failure
}

/// Exit code for an examination. `strict` makes findings count.
pub fn exit_code(examination: &Examination, strict: bool) -> ExitCode {
    let has = |result| {
        examination
            .changes
            .iter()
            .any(|change| change.result == result)
    };
    let found = |check: &Checked| matches!(check.outcome, CheckOutcome::Found { .. });
    if has(ChangeResult::Refused) {
        ExitCode::HostLacks
    } else if has(ChangeResult::Kept) {
        ExitCode::Other
    } else if strict && examination.checks.iter().any(found) {
        ExitCode::GoalMissed
    } else {
        ExitCode::Done
    }
}

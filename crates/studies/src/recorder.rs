//! A run in the making: trials go to the store as they happen, the verdict at the end.

use crate::context::Context;
use crate::watch::Event;
use anyhow::Result;
use linerate_client::Client;
use linerate_model::calibration::{HostCeiling, Platform};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{
    Config, Forwarding, Host, HostRole, Run, RunKind, RunRequest, RunStatus, RunWork, TargetConfig,
    Tool, Trial,
};
use linerate_model::{Clock as _, Quantile};
use linerate_store::{RunWriter, new_id};
use linerate_sys::clock::{MonoClock, wall_now};

/// What a run is about, before its first trial.
pub(crate) struct Header {
    pub(crate) kind: RunKind,
    pub(crate) title: String,
    pub(crate) target: Option<TargetConfig>,
    pub(crate) asked: RunRequest,
    pub(crate) hosts: Vec<Host>,
}

/// Ids that are tried before a store counts as one that has them all.
const MOST_IDS: usize = 1000;

/// A run in the making.
pub(crate) struct Recorder {
    run: Run,
    writer: Option<RunWriter>,
    /// Quantiles that each delay lists.
    quantiles: Vec<Quantile>,
}

impl Recorder {
    /// Begins a run: from here on it is in the store, as incomplete.
    pub(crate) fn begin(context: &mut Context<'_>, header: Header) -> Result<Self> {
        let started = wall_now();
        let salt = MonoClock.now().as_nanos();
        let kind = header.kind;
        let id = |salt| new_id(&started, kind, salt);
        let ceiling = ceiling(context, &header);
        let title = context.title.clone().unwrap_or(header.title);
        context.watcher.event(Event::Began {
            kind: header.kind,
            title: &title,
            hosts: &header.hosts,
        });
        let mut run = Run {
            title: Some(title),
            started: Some(started.clone()),
            status: RunStatus::Incomplete,
            config: Config {
                command: Some(context.command.clone()),
                target: header.target,
                asked: Some(header.asked),
                ceiling,
                ..Config::default()
            },
            hosts: header.hosts,
            ..Run::new(id(salt), kind, this_tool())
        };
        let writer = context
            .store
            .as_ref()
            .map(|store| store.create_new(&mut run, (salt..).take(MOST_IDS).map(id)))
            .transpose()?;
        Ok(Self {
            run,
            writer,
            quantiles: Vec::new(),
        })
    }

    /// The run so far.
    pub(crate) fn run_mut(&mut self) -> &mut Run {
        &mut self.run
    }

    /// Keeps what is to be known of the peer: which start of which program it is, and what it cannot tell.
    pub(crate) fn answered_by(&mut self, client: &Client) {
        self.run.instance = client.instance();
        self.run.notes.extend(client.caveats());
    }

    /// The index that the next trial gets.
    pub(crate) fn next_index(&self) -> u32 {
        u32::try_from(self.run.trials.len()).unwrap_or(u32::MAX)
    }

    /// Lets the delay of every trial from now on list these quantiles.
    pub(crate) fn list_quantiles(&mut self, quantiles: &[Quantile]) {
        self.quantiles = quantiles.to_vec();
    }

    /// Adds a trial. One that cannot be written yet is not lost: the whole run is written at the end.
    pub(crate) fn trial(&mut self, context: &mut Context<'_>, mut trial: Trial) {
        if let Some(delay) = trial.delay_mut() {
            delay.list_quantiles(&self.quantiles);
        }
        context.watcher.event(Event::Trial(&trial));
        if let Some(writer) = &mut self.writer
            && writer.trial(&trial).is_err()
        {
            let note = format!(
                "trial {} is in memory only, until the run is written at its end",
                trial.index
            );
            context.watcher.event(Event::Note(&note));
        }
        self.run.trials.push(trial);
    }

    /// Adds a run that this run is made of. As with trials, it is not lost if it cannot be written yet.
    pub(crate) fn part(&mut self, context: &mut Context<'_>, part: Run) {
        if let Some(writer) = &mut self.writer
            && writer.part(&part).is_err()
        {
            let note = format!(
                "run {} is in memory only, until the whole is written at its end",
                part.id
            );
            context.watcher.event(Event::Note(&note));
        }
        let parts = self.run.parts_mut();
        parts
            .expect("invariant: only demo, study and switch are made of runs")
            .push(part);
    }

    /// The rows of a run of `switch` so far.
    pub(crate) fn forwarding(&mut self) -> &mut Vec<Forwarding> {
        match &mut self.run.work {
            RunWork::Switch { forwarding, .. } => forwarding,
            other => unreachable!("invariant: only switch has rows, not {other:?}"),
        }
    }

    /// Ends a run that cannot go on: it stays incomplete and says why. Of one whose first test was refused nothing is
    /// kept, since nothing was measured.
    ///
    /// Nothing more is written to the store afterwards.
    pub(crate) fn give_up(&mut self, reason: &anyhow::Error) {
        let is_refused = Failure::of(reason.as_ref())
            .is_some_and(|why| matches!(why.code, ExitCode::Usage | ExitCode::HostLacks));
        if is_refused && self.run.trials.is_empty() && self.run.parts().is_empty() {
            // The error to report is that of the test.
            drop(self.writer.take().map(RunWriter::discard));
            return;
        }
        self.run
            .notes
            .push(format!("the run ended early: {reason:#}"));
        if let Some(writer) = self.writer.take() {
            // The reason is the error to report; without this note the run stays incomplete all the same.
            drop(writer.finish(&self.run));
        }
    }

    /// Ends the run: draws the verdict and writes the final document. A run that cannot be written comes back all
    /// the same, and [`Context::unsaved`] says why.
    pub(crate) fn finish(mut self, context: &mut Context<'_>) -> Run {
        self.run.status = status(&self.run, context.interrupted());
        if !matches!(
            self.run.kind(),
            RunKind::Demo | RunKind::Study | RunKind::Switch
        ) {
            linerate_analysis::conclude(&mut self.run);
        }
        if let Some(writer) = self.writer {
            context.unsaved = writer.finish(&self.run).err();
        }
        context.watcher.event(Event::Ended);
        self.run
    }
}

/// What linerate does at most in such a test, if this host was calibrated by this build, on this kernel and CPU.
fn ceiling(context: &Context<'_>, header: &Header) -> Option<HostCeiling> {
    let test = header.asked.test()?;
    let kept = context.store.as_ref()?.calibration()?;
    let here = header
        .hosts
        .iter()
        .find(|host| host.role == HostRole::Client)?;
    let holds = kept.platform == Platform::from_facts(&here.facts)
        && this_tool().version.as_ref() == Some(&kept.version);
    holds.then(|| kept.ceiling(test)).flatten()
}

/// This build.
pub(crate) fn this_tool() -> Tool {
    Tool::linerate(env!("CARGO_PKG_VERSION"))
}

/// A run is as good as its trials; a search tolerates invalid trials as long as it found its goals.
pub(crate) fn status(run: &Run, interrupted: bool) -> RunStatus {
    let trials_fail = match run.kind() {
        RunKind::Saturate => run.trials.iter().all(|trial| !trial.valid),
        // Each method counts what it can.
        RunKind::Switch => !run.trials.is_empty() && run.trials.iter().all(|trial| !trial.valid),
        _ => run.trials.iter().any(|trial| !trial.valid),
    };
    let parts_fail = run
        .parts()
        .iter()
        .any(|part| part.status == RunStatus::Invalid);
    // Some methods make no trials of numbered frames.
    let has_method = match &run.work {
        RunWork::Switch { forwarding, .. } => forwarding.iter().any(|row| !row.methods.is_empty()),
        _ => false,
    };
    let empty = run.trials.is_empty() && run.parts().is_empty() && !has_method;
    if interrupted || empty {
        RunStatus::Incomplete
    } else if trials_fail || parts_fail {
        RunStatus::Invalid
    } else {
        RunStatus::Complete
    }
}

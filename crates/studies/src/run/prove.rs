//! `--prove`: runs the experiment that the verdict proposes, pair by pair, and takes its answer.

use crate::context::Context;
use crate::run::bench::{Bench, NoTrial, Through};
use crate::watch::{Event, ScaledWatcher};
use anyhow::Result;
use linerate_analysis::experiment::{
    Design, MAX_PAIRS, Next, NotRun, describe, describe_relief, judge, may_help, next, relieved,
    repeatable,
};
use linerate_client::Target;
use linerate_client::address::PeerAddress;
use linerate_model::Ratio;
use linerate_model::consent::{Allowed, Consent, Foreign};
use linerate_model::dut::DutRelief;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::random::Random;
use linerate_model::run::{
    Answer, Change, Confidence, ExperimentOutcome, ExperimentRecord, ExperimentTrial, Finding,
    Limit, Part, Run, RunStatus, Trial, TrialEnd, Verdict,
};
use linerate_model::spec::TestSpec;
use linerate_store::Store;
use linerate_sys::clock::wall_now;
use linerate_testbed::duts::Dut;
use std::path::Path;

/// Experiments on one run: after this many refuted findings, people must look.
const MAX_EXPERIMENTS: usize = 3;

/// Runs the experiment on the verdict of a finished run against the peer that it measured.
///
/// Agreed: the verdict is confirmed. Disagreed: the next finding speaks, and is tried too. Undecided,
/// or not possible: the verdict stays and says why. The run is updated where `context` keeps it. A run
/// that was interrupted comes back as it is.
pub fn prove(context: &mut Context<'_>, target: &Target, run: Run) -> Result<Run> {
    prove_at(context, &mut Bench::new(target), run)
}

/// The same, by tests at `bench`.
pub(super) fn prove_at(
    context: &mut Context<'_>,
    bench: &mut Bench<'_>,
    mut run: Run,
) -> Result<Run> {
    if run.status == RunStatus::Incomplete || context.interrupted() {
        return Ok(run);
    }
    experiments(context, bench, &mut run)?;
    context.replace(&run);
    Ok(run)
}

/// Whom and what the proof of a stored run may use.
#[derive(Debug, Clone)]
pub struct ProofConsent {
    /// The peer that the run measured, named by the user again; needed where the run is of a file outside of the user's
    /// own store.
    pub host: Option<PeerAddress>,
    /// Whether the store is the one that the user's runs are kept in, and not one that was named for this command: that
    /// may be anybody's.
    pub is_own_store: bool,
    /// Whether programs are started, and files used, that the run's address names.
    pub programs: bool,
}

/// A stored run whose verdict is to be proved, at a peer that the user lets be used.
#[derive(Debug)]
pub struct Proof {
    run: Run,
    /// What the run is called where it is kept.
    kept: String,
    /// The peer that it measured.
    pub target: Allowed<Target>,
    /// What contact with the peer starts on this host, to be shown before.
    pub programs: Vec<String>,
}

/// What is to be proved of a stored run, named as for [`linerate_archive::load`]. A run that the user's own store keeps was
/// measured from here; the peer of any other is contacted only if the user names it.
pub fn to_prove(store: &Store, name: &str, consent: &ProofConsent) -> Result<Proof> {
    let run = linerate_archive::load(store, name)?;
    let refuse = |why: String| {
        let message = format!("cannot prove what limits {}: {why}", run.id);
        Failure::new(ExitCode::Usage, message)
    };
    if run.status == RunStatus::Incomplete {
        return Err(refuse("it did not come to its end; measure again".to_owned()).into());
    }
    repeatable(&run).map_err(|error| refuse(error.to_string()))?;
    let target = Target::from_run(&run.config).map_err(|error| refuse(error.to_string()))?;
    let programs = target.programs();
    let target = consent.allow(target, store.keeps(name)?)?;
    // While experiments go on, other runs may become the last, or share the beginning of an id.
    let kept = if Path::new(name).exists() {
        name
    } else {
        &run.id
    };
    Ok(Proof {
        kept: kept.to_owned(),
        run,
        target,
        programs,
    })
}

/// Runs the experiment on the verdict of a stored run against the peer that it measured.
pub fn prove_stored(context: &mut Context<'_>, store: &Store, proof: Proof) -> Result<Run> {
    let Proof {
        mut run,
        kept,
        target,
        ..
    } = proof;
    experiments(context, &mut Bench::new(&target), &mut run)?;
    if context.store.is_some() {
        store.replace(&kept, &run)?;
    }
    Ok(run)
}

impl ProofConsent {
    /// The target of a run, if the user lets it be used.
    fn allow(&self, target: Foreign<Target>, is_kept: bool) -> Result<Allowed<Target>, Failure> {
        let Some(host) = &self.host else {
            let consent = if is_kept && self.is_own_store {
                Consent::to_plan(self.programs)
            } else {
                Consent::to_results(self.programs)
            };
            return target.allow(consent);
        };
        if host.to_string() != target.far.to_string() {
            let message = format!(
                "--host {host}: the run measured {}, and an experiment at another peer proves nothing; name that one, or \
                 measure {host} with --prove",
                target.far
            );
            return Err(Failure::new(ExitCode::Usage, message));
        }
        // The user wrote the same address, with all that it uses.
        target.allow(Consent::to_results(true).and_host())
    }
}

fn experiments(context: &mut Context<'_>, bench: &mut Bench<'_>, run: &mut Run) -> Result<()> {
    run.experiments.clear();
    linerate_analysis::conclude(run);
    context.watcher.event(Event::Follows {
        kind: run.kind(),
        title: "proof of what limits",
    });
    while run.experiments.len() < MAX_EXPERIMENTS && !context.interrupted() {
        let Some(verdict) = to_try(run) else {
            break;
        };
        put_to_proof(context, bench, run, &verdict)?;
    }
    for relief in reliefs(context, run) {
        let verdict = run.verdict.clone().filter(|_| !context.interrupted());
        let Some(mut verdict) = verdict else {
            break;
        };
        verdict.experiment = Some(Box::new(relieved(relief).into()));
        put_to_proof(context, bench, run, &verdict)?;
    }
    context.watcher.event(Event::Ended);
    Ok(())
}

/// Makes the experiment that `verdict` proposes, and draws the run's verdict anew with its answer.
fn put_to_proof(
    context: &mut Context<'_>,
    bench: &mut Bench<'_>,
    run: &mut Run,
    verdict: &Verdict,
) -> Result<()> {
    let record = experiment(context, bench, run, verdict)?;
    run.experiments.push(record);
    linerate_analysis::conclude(run);
    Ok(())
}

/// What may relieve a device that was proved to limit.
fn reliefs(context: &Context<'_>, run: &Run) -> Vec<DutRelief> {
    let is_proved = run.verdict.as_ref().is_some_and(|verdict| {
        let test = verdict
            .experiment
            .as_ref()
            .and_then(|tried| tried.test.as_ref());
        let is_of_device = test.is_some_and(|test| test.change.is_of_device());
        is_of_device && verdict.confidence == Confidence::Confirmed
    });
    match (&context.device, run.config.test()) {
        (Some(device), Some(test)) if is_proved => {
            let mut reliefs = device.reliefs(test);
            reliefs.retain(|relief| may_help(run, *relief));
            reliefs
        }
        _ => Vec::new(),
    }
}

/// The claim to try next: the verdict, or where nothing was identified what a rule makes most of.
fn to_try(run: &Run) -> Option<Verdict> {
    let verdict = run.verdict.as_ref()?;
    if !verdict.limit.is_unknown() {
        return Some(verdict).filter(|verdict| is_open(verdict)).cloned();
    }
    let share = |found: &Verdict| found.share_ratio.map_or(0.0, Ratio::get);
    let found = run.findings.iter().filter_map(Finding::found);
    let open = found.filter(|found| is_open(found));
    open.max_by(|a, b| share(a).total_cmp(&share(b))).cloned()
}

/// Whether nothing was tried on it yet.
fn is_open(verdict: &Verdict) -> bool {
    let tried = verdict
        .experiment
        .as_ref()
        .is_some_and(|experiment| experiment.outcome.is_some() || experiment.not_run.is_some());
    verdict.experiment.is_some() && !tried
}

fn experiment(
    context: &mut Context<'_>,
    bench: &mut Bench<'_>,
    run: &Run,
    verdict: &Verdict,
) -> Result<ExperimentRecord> {
    let experiment = verdict.experiment.as_deref().cloned();
    let mut record = ExperimentRecord {
        limit: verdict.limit.clone(),
        side: verdict.side,
        started: Some(wall_now()),
        experiment: experiment.unwrap_or_default(),
        trials: Vec::new(),
    };
    match pairs(context, bench, run, &mut record, verdict) {
        Ok(outcome) => {
            let test = record.experiment.test.as_ref();
            let relief = test.and_then(|test| test.change.relief());
            let words = relief.map_or_else(|| describe(&outcome), |_| describe_relief(&outcome));
            record.experiment.result = Some(words);
            record.experiment.outcome = Some(outcome);
        }
        Err(NoTrial::NotRun(why)) => record.experiment.not_run = Some(why.to_string()),
        // Nobody is there: the user must know. One that is lost on the way takes no run with it.
        Err(NoTrial::Failed(error)) if record.trials.is_empty() => return Err(error),
        Err(NoTrial::Failed(error)) => {
            record.experiment.not_run = Some(format!("it broke off: {error:#}"));
        }
    }
    Ok(record)
}

/// The pilot, then pairs in random order within each, until they decide.
fn pairs(
    context: &mut Context<'_>,
    bench: &mut Bench<'_>,
    run: &Run,
    record: &mut ExperimentRecord,
    verdict: &Verdict,
) -> Result<ExperimentOutcome, NoTrial> {
    let design = Design::from_run(run, verdict)?;
    let mut log = Log::from_record(record, design.test.change);
    let pilot = log.measure(context, bench, &design.baseline, Part::Pilot)?;
    let Some(pilot) = pilot else {
        return Ok(cut(
            judge(&design.test, design.side, &[]),
            TrialEnd::BY_USER,
        ));
    };
    if !pilot.valid {
        let why = pilot
            .reasons
            .first()
            .map_or("no reason given", String::as_str);
        return Err(NotRun::Impossible(format!("its first trial was not valid: {why}")).into());
    }
    let (baseline, changed) = design.prepare(&pilot)?;
    let mut random = Random::new(
        design
            .baseline
            .seed
            .wrapping_add(wide(run.experiments.len())),
    );
    let mut pairs = Vec::new();
    loop {
        log.pair += 1;
        let parts = [(Part::Baseline, &baseline), (Part::Changed, &changed)];
        let first = random.below(2);
        let mut made: [Option<Trial>; 2] = [None, None];
        for index in [first, 1 - first] {
            let (part, spec) = parts[index];
            made[index] = log.measure(context, bench, spec, part)?;
        }
        let [Some(before), Some(after)] = made else {
            return Ok(cut(
                judge(&design.test, design.side, &pairs),
                TrialEnd::BY_USER,
            ));
        };
        design.took_effect(&pilot, &after)?;
        pairs.push((before, after));
        let outcome = judge(&design.test, design.side, &pairs);
        match next(&outcome, log.pair) {
            Next::Pair => {}
            Next::Done => return Ok(outcome),
            Next::TooFew => return Ok(cut(outcome, "too few pairs could be judged")),
        }
    }
}

fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Fewer pairs than planned decide nothing.
fn cut(mut outcome: ExperimentOutcome, why: &str) -> ExperimentOutcome {
    outcome.answer = Answer::Undecided;
    outcome.notes.push(why.to_owned());
    outcome
}

/// Where the trials of one experiment are kept.
struct Log<'a> {
    limit: Limit,
    change: Change,
    trials: &'a mut Vec<ExperimentTrial>,
    pair: u32,
}

impl<'a> Log<'a> {
    fn from_record(record: &'a mut ExperimentRecord, change: Change) -> Self {
        Self {
            limit: record.limit.clone(),
            change,
            trials: &mut record.trials,
            pair: 0,
        }
    }

    /// `experiment on receiver-window, pair 2, changed`.
    fn label(&self, part: Part) -> String {
        let limit = self.limit.id();
        match part {
            Part::Pilot => format!("experiment on {limit}, pilot"),
            Part::Baseline | Part::Changed => {
                format!(
                    "experiment on {limit}, pair {}, {}",
                    self.pair,
                    part.as_str()
                )
            }
        }
    }

    /// Share of an experiment of [`MAX_PAIRS`] that is done.
    fn done(&self) -> f64 {
        let made = u32::try_from(self.trials.len()).unwrap_or(u32::MAX);
        (f64::from(made) * Self::STEP).min(1.0)
    }

    /// Share of one trial.
    const STEP: f64 = 1.0 / (1.0 + 2.0 * MAX_PAIRS as f64);

    /// Runs one test and keeps its trial; `None` if the user stopped it.
    fn measure(
        &mut self,
        context: &mut Context<'_>,
        bench: &mut Bench<'_>,
        spec: &TestSpec,
        part: Part,
    ) -> Result<Option<Trial>, NoTrial> {
        let label = self.label(part);
        let mut watcher = ScaledWatcher {
            inner: &mut *context.watcher,
            name: &label,
            offset: self.done(),
            scale: Self::STEP,
        };
        let index = u32::try_from(self.trials.len()).unwrap_or(u32::MAX);
        let change = Some(self.change).filter(|_| part == Part::Changed);
        let through = match change {
            Some(Change::Wire) => Through::Wire,
            _ => Through::Path,
        };
        let relief = change.and_then(Change::relief);
        let mut relieved = relief.zip(context.device.as_deref_mut());
        if let Some((relief, device)) = &mut relieved {
            relieve(&mut **device, *relief)?;
        }
        let made = bench.measure(through, &mut watcher, context.interrupt, spec, index);
        if let Some((relief, device)) = relieved {
            let undone = device.relieve(relief, false);
            undone.map_err(|error| NoTrial::Failed(error.into()))?;
        }
        let made = made?;
        let Some(mut trial) = made else {
            return Ok(None);
        };
        trial.label = Some(label);
        context.watcher.event(Event::Trial(&trial));
        self.trials.push(ExperimentTrial {
            part,
            pair: self.pair,
            trial: trial.clone(),
        });
        Ok(Some(trial))
    }
}

/// Relieves the device under test, or leaves it as it was where this host does not let it.
fn relieve(device: &mut dyn Dut, relief: DutRelief) -> Result<(), NoTrial> {
    let Err(error) = device.relieve(relief, true) else {
        return Ok(());
    };
    // One of its ports may be relieved already; where this fails too, none is.
    drop(device.relieve(relief, false));
    let why = format!("{:#}", anyhow::Error::from(error));
    Err(NotRun::Impossible(why).into())
}

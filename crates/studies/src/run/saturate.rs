//! `linerate saturate`: the search for the load at which loss or delay begins.

use super::exchange::measure_between;
use super::{Measurement, PayloadChoice, is_of_peer};
use crate::context::Context;
use crate::recorder::{Header, Recorder};
use crate::run::stack::{TrafficScope, note_stack};
use crate::watch::{Event, Watcher};
use anyhow::Result;
use linerate_analysis::search::{
    DelayGoal, LoadUnit, MlrSearch, Search, SearchConfig, SearchGoal, SearchKind as _, Step,
    TrialOutcome,
};
use linerate_client::{Client, Target};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{
    DatagramsResult, DelayTrial, Run, RunKind, RunRequest, RunWork, SearchSettings, Trial,
};
use linerate_model::spec::{Direction, Observe, Pace, Stop, TestSpec};
use linerate_model::units::parse_duration;
use linerate_model::{BitRate, Quantile, Ratio};
use std::time::Duration;

/// What to search for.
#[derive(Debug, Clone)]
pub struct SaturatePlan {
    /// The datagram stream whose load is varied.
    pub spec: TestSpec,
    /// Loss ratios, each a goal of its own.
    pub loss_goals: Vec<Ratio>,
    /// Delay that every goal must also meet.
    pub delay_goal: Option<DelayGoal>,
    /// Lowest load to try.
    pub min_load: BitRate,
    /// Highest load to try.
    pub max_load: BitRate,
    /// How close the bounds shall be.
    pub width: Ratio,
    /// Most trial time to use.
    pub budget: Duration,
    /// Whether both ends are sampled in one more trial, once the bounds are known.
    pub profile: bool,
    /// Shares of the throughput with the largest loss goal at which delay is measured, once the bounds are known.
    pub delay_loads: Vec<Ratio>,
}

/// Length of the trial that is sampled: about 5000 samples of each core at work, so that a layer of
/// 10 % is known to a percent point.
const PROFILE_TIME: Duration = Duration::from_secs(5);
/// Length of a trial of delay: at the lowest load of 1000 frames/s, ten frames are above the 99 % quantile.
const DELAY_TIME: Duration = Duration::from_secs(1);

impl SaturatePlan {
    /// The default search with this datagram stream: loss goals 0, 0.1 % and 0.5 %, up to 10 Gbit/s.
    pub fn new(spec: TestSpec) -> Self {
        Self {
            spec,
            loss_goals: [0.0, 0.001, 0.005].map(Ratio::clamped).to_vec(),
            delay_goal: None,
            min_load: BitRate::from_bps(1_000_000),
            max_load: BitRate::from_bps(10_000_000_000),
            width: Ratio::clamped(0.005),
            budget: Duration::from_secs(45),
            profile: false,
            delay_loads: Vec::new(),
        }
    }

    /// What a run says was asked for.
    pub(crate) fn asked(&self) -> RunRequest {
        RunRequest::Search {
            test: self.spec.clone(),
            search: self.settings(),
        }
    }

    /// Where and how exactly it looks.
    pub(super) fn settings(&self) -> SearchSettings {
        SearchSettings {
            loss_goals: self.loss_goals.clone(),
            delay_goal: self.delay_goal.map(|goal| goal.to_string()),
            min_load: self.min_load,
            max_load: self.max_load,
            width: self.width,
            budget: self.budget,
            profile: self.profile,
        }
    }

    fn config(&self) -> SearchConfig {
        let goal = |loss: &Ratio| SearchGoal {
            delay_goal: self.delay_goal,
            width: self.width,
            ..SearchGoal::for_loss(*loss)
        };
        SearchConfig {
            goals: self.loss_goals.iter().map(goal).collect(),
            time_budget: self.budget,
            direction: self.spec.direction,
            load_unit: match self.spec.device_frames(self.min_load) {
                Some(_) => LoadUnit::Frames(self.spec.payload()),
                None => LoadUnit::PayloadBits,
            },
            seed: self.spec.seed,
            ..SearchConfig::between(self.min_load, self.max_load)
        }
    }
}

/// Reads `p99<2ms`.
pub fn parse_delay_goal(text: &str) -> Result<DelayGoal, Failure> {
    let wrong = || {
        let message = format!("\"{text}\" is not a delay goal such as p99<2ms or p99.9<500us");
        Failure::new(ExitCode::Usage, message)
    };
    let (quantile, limit) = text
        .strip_prefix('p')
        .and_then(|rest| rest.split_once('<'))
        .ok_or_else(wrong)?;
    let percent: f64 = quantile.trim().parse().map_err(|_| wrong())?;
    let share = Ratio::new(percent / 100.0).ok_or_else(wrong)?;
    let limit = parse_duration(limit.trim()).map_err(|_| wrong())?;
    Ok(DelayGoal {
        quantile: Quantile(share),
        limit,
    })
}

/// Searches against `target`.
pub fn saturate(context: &mut Context<'_>, target: &Target, plan: &SaturatePlan) -> Result<Run> {
    sized(context, target, plan, PayloadChoice::AsGiven)
}

/// Searches against `target` with datagrams as long as `payload` says.
pub(super) fn sized(
    context: &mut Context<'_>,
    target: &Target,
    plan: &SaturatePlan,
    payload: PayloadChoice,
) -> Result<Run> {
    let mut search = MlrSearch
        .start(plan.config())
        .map_err(|error| Failure::new(ExitCode::Usage, format!("cannot search: {error}")))?;
    let mut client = Client::connect(target)?;
    let mut plan = plan.clone();
    let fitted = payload.apply(context, &mut client, &mut plan.spec)?;
    let plan = &plan;
    let mut recorder = Recorder::begin(context, header(plan, target, &client))?;
    recorder.answered_by(&client);
    recorder.run_mut().notes.extend(fitted);
    let mut attempts = Attempts { broken: 0 };
    while let Step::Measure {
        intended_load,
        duration,
    } = search.next_step()
    {
        if context.interrupted() {
            break;
        }
        let spec = target.far.kind().fitted(TestSpec {
            stop: Stop::After(duration),
            ..plan.spec.clone().with_pace(Pace::At(intended_load))
        });
        let (done, doing) = search.progress();
        let mut progress = SearchProgress {
            inner: &mut *context.watcher,
            share: done.get(),
            doing: &doing,
        };
        let mut inner = Context {
            device: Context::lend(&mut context.device),
            ..Context::of_part("", context.interrupt, &mut progress)
        };
        let mut run = Measurement {
            context: &mut inner,
            recorder: &mut recorder,
            client: &mut client,
        };
        let trials = attempts.make(&mut run, &spec)?;
        if let Some(outcome) = worse(&trials, intended_load) {
            search.record(outcome);
        }
        if trials.is_empty() {
            break;
        }
    }
    keep(&*search, recorder.run_mut());
    if !context.interrupted() {
        let mut run = Measurement {
            context,
            recorder: &mut recorder,
            client: &mut client,
        };
        at_bounds(&mut run, plan)?;
    }
    note_stack(&mut recorder, &mut client, TrafficScope::Part)?;
    Ok(recorder.finish(context))
}

/// Keeps what a search found.
fn keep(search: &dyn Search, run: &mut Run) {
    run.work = RunWork::Saturate {
        goals: search.goals(),
        curve: Some(search.curve()),
        delay_trials: Vec::new(),
    };
    run.notes.extend(search.notes());
}

/// Tests in a row that a search may lose.
const MAX_BROKEN_IN_A_ROW: u32 = 2;

/// The trials of a search.
struct Attempts {
    /// How many in a row broke off.
    broken: u32,
}

impl Attempts {
    /// Makes one. One that breaks off at a peer of another tool says nothing of the load: it is kept as invalid,
    /// and the search goes on. Such servers crash between two tests, or stay away for a while.
    fn make(&mut self, run: &mut Measurement<'_, '_>, spec: &TestSpec) -> Result<Vec<Trial>> {
        let made = match run.attempt(spec, None) {
            Ok(made) => {
                self.broken = 0;
                made
            }
            // It may pass the next time.
            Err(error)
                if self.broken < MAX_BROKEN_IN_A_ROW
                    && run.client.is_foreign()
                    && is_of_peer(&error) =>
            {
                self.broken += 1;
                vec![broken(run.recorder.next_index(), spec, &error)]
            }
            Err(error) => {
                run.recorder.give_up(&error);
                return Err(error);
            }
        };
        for trial in &made {
            run.record(trial.clone());
        }
        Ok(made)
    }
}

/// What is kept of a test that broke off.
fn broken(index: u32, spec: &TestSpec, error: &anyhow::Error) -> Trial {
    let work = DatagramsResult::default();
    let mut trial = Trial::new(index, spec.transport(), spec.direction, work);
    trial.streams = Some(spec.streams);
    trial.payload_bytes = Some(spec.payload());
    trial.intended_load = spec.pace().intended_load();
    trial.valid = false;
    trial.reasons.push(format!("{error:#}"));
    trial
}

/// One more trial at saturation, with both ends sampled. It makes no bound.
fn profile(run: &mut Measurement<'_, '_>, plan: &SaturatePlan) {
    let Some(load) = saturation(run.recorder.run_mut()) else {
        let note = "not profiled: no load was found to carry anything".to_owned();
        run.recorder.run_mut().notes.push(note);
        return;
    };
    let spec = TestSpec {
        stop: Stop::After(PROFILE_TIME),
        observe: Observe::All,
        ..plan.spec.clone().with_pace(Pace::At(load))
    };
    // The search is complete: a peer that makes no profiles takes nothing from it.
    if let Err(error) = run.measure(&spec, Some("profile")) {
        let note = format!("not profiled: {error:#}");
        run.recorder.run_mut().notes.push(note);
    }
}

/// What is measured once the bounds are known, and makes none.
fn at_bounds(run: &mut Measurement<'_, '_>, plan: &SaturatePlan) -> Result<()> {
    let made = delays(run, plan)?;
    if let RunWork::Saturate { delay_trials, .. } = &mut run.recorder.run_mut().work {
        *delay_trials = made;
    }
    if plan.profile && !run.context.interrupted() {
        profile(run, plan);
    }
    Ok(())
}

/// Measures delay at shares of the throughput with the largest loss goal (RFC 2544 §26.2 at the loads of FD.io CSIT).
fn delays(run: &mut Measurement<'_, '_>, plan: &SaturatePlan) -> Result<Vec<DelayTrial>> {
    let goals = run.recorder.run_mut().goals().iter();
    let largest = goals.max_by(|a, b| a.loss_goal.get().total_cmp(&b.loss_goal.get()));
    let Some(throughput) = largest.and_then(|goal| goal.lower_bound) else {
        return Ok(Vec::new());
    };
    let mut made = Vec::new();
    for share in &plan.delay_loads {
        if run.context.interrupted() {
            break;
        }
        let load = if share.get() > 0.0 {
            BitRate::from_f64(throughput.as_f64() * share.get())
        } else {
            plan.min_load.min(throughput)
        };
        let spec = TestSpec {
            stop: Stop::After(DELAY_TIME),
            ..plan.spec.clone().with_pace(Pace::At(load))
        };
        let label = format!("delay at {share} of the throughput");
        let trial = run.recorder.next_index();
        measure_between(run, &spec, Some(&label))?;
        made.push(DelayTrial {
            load_ratio: *share,
            trial,
        });
    }
    Ok(made)
}

/// The lowest load that every goal calls too much, else the highest that one calls good.
fn saturation(run: &Run) -> Option<BitRate> {
    let goals = || run.goals().iter();
    let too_much = goals().filter_map(|goal| goal.upper_bound).max();
    let good = || goals().filter_map(|goal| goal.lower_bound).max();
    too_much.or_else(good)
}

fn header(plan: &SaturatePlan, target: &Target, client: &Client) -> Header {
    let way = match plan.spec.direction {
        Direction::Reverse => "from",
        Direction::Forward | Direction::Duplex => "to",
    };
    Header {
        kind: RunKind::Saturate,
        title: format!("UDP saturation {way} {}", target.far),
        target: Some(target.config()),
        asked: plan.asked(),
        hosts: client.hosts(),
    }
}

/// What the search needs of the trials of one test: of both ways at once the way that loses more.
fn worse(trials: &[Trial], intended_load: BitRate) -> Option<TrialOutcome> {
    let lost = |trial: &&Trial| trial.loss_ratio().map_or(f64::INFINITY, Ratio::get);
    let worse = trials.iter().max_by(|a, b| lost(a).total_cmp(&lost(b)))?;
    Some(outcome(worse, intended_load))
}

/// What the search needs of a trial; one without it says only that this load gave no answer.
fn outcome(trial: &Trial, intended_load: BitRate) -> TrialOutcome {
    TrialOutcome::from_trial(trial).unwrap_or_else(|| TrialOutcome::unmeasured(intended_load))
}

/// Replaces a trial's own progress by the search's.
struct SearchProgress<'a> {
    inner: &'a mut dyn Watcher,
    share: f64,
    doing: &'a str,
}

impl Watcher for SearchProgress<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Progress { elapsed, .. } => {
                self.inner.event(Event::Progress {
                    share: self.share,
                    text: self.doing,
                    elapsed,
                });
            }
            // A trial is one line.
            Event::Interval(_) => {}
            other => self.inner.event(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_goals_are_read() {
        let goal = parse_delay_goal("p99.9<500us").unwrap();
        assert_eq!(goal.limit, Duration::from_micros(500));
        assert!((goal.quantile.0.get() - 0.999).abs() < 1e-12);
        for text in ["p99", "99<2ms", "p101<2ms", "p99<fast"] {
            assert_eq!(
                parse_delay_goal(text).unwrap_err().code,
                ExitCode::Usage,
                "{text}"
            );
        }
    }
}

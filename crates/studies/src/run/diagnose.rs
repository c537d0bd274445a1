//! `--diagnose`: short trials after a run, each with one thing changed, that tell apart what may limit it.

use crate::context::Context;
use crate::run::bench::{Bench, NoTrial, Through};
use crate::watch::{Event, ScaledWatcher};
use linerate_analysis::{NextProbe, any_probe, next_probe};
use linerate_client::Target;
use linerate_model::Clock as _;
use linerate_model::run::{Change, Probe, Run, RunStatus};
use linerate_sys::clock::MonoClock;
use std::time::Duration;

/// Probes what limits a finished run for at most `time`, against the peer that it measured; the run's own trials are
/// over by then. The verdict is drawn anew, and the run updated where `context` keeps it.
///
/// What cannot be done (a peer that serves one test, a limit of the server) leaves the run as it is, with a note. A run
/// that was interrupted comes back as it is.
pub fn diagnose(context: &mut Context<'_>, target: &Target, run: Run, time: Duration) -> Run {
    probed(context, target, run, time, next_probe)
}

/// Makes every probe that can be made, whatever it may tell: to learn how often each answer is given.
pub fn probe_all(context: &mut Context<'_>, target: &Target, run: Run) -> Run {
    probed(context, target, run, ALL_PROBES_TIME, |run, _, refused| {
        any_probe(run, refused)
    })
}

/// More than all probes take.
const ALL_PROBES_TIME: Duration = Duration::from_mins(1);

/// What to try next, in the time that is left, but for what was refused.
type Choice = fn(&Run, Duration, &[Change]) -> Option<NextProbe>;

fn probed(
    context: &mut Context<'_>,
    target: &Target,
    mut run: Run,
    time: Duration,
    choice: Choice,
) -> Run {
    if run.status != RunStatus::Complete || context.interrupted() {
        return run;
    }
    probe(context, target, &mut run, time, choice);
    if !run.probes.is_empty() {
        linerate_analysis::conclude(&mut run);
        context.replace(&run);
    }
    run
}

fn probe(
    context: &mut Context<'_>,
    target: &Target,
    run: &mut Run,
    time: Duration,
    choice: Choice,
) {
    let mut bench = Bench::new(target);
    let mut refused: Vec<Change> = Vec::new();
    let mut has_failed = false;
    let mut spent = Duration::ZERO;
    while !context.interrupted() {
        let left = time.saturating_sub(spent);
        let Some(next) = choice(run, left, &refused) else {
            break;
        };
        if spent.is_zero() {
            let title = format!(
                "what limits (probes, at most {} s; --diagnose 0s: none)",
                time.as_secs_f64().ceil()
            );
            context.watcher.event(Event::Follows {
                kind: run.kind(),
                title: &title,
            });
        }
        let began = MonoClock.now();
        let label = format!("what limits: {}", next.change);
        let mut watcher = ScaledWatcher {
            inner: &mut *context.watcher,
            name: &label,
            offset: (spent.as_secs_f64() / time.as_secs_f64()).min(1.0),
            scale: 0.3,
        };
        let index = u32::try_from(run.probes.len()).unwrap_or(u32::MAX);
        match bench.measure(
            Through::Path,
            &mut watcher,
            context.interrupt,
            &next.test,
            index,
        ) {
            Ok(Some(mut trial)) => {
                trial.label = Some(label);
                context.watcher.event(Event::Trial(&trial));
                run.probes.push(Probe {
                    change: next.change,
                    trial,
                });
            }
            Ok(None) => break,
            Err(NoTrial::NotRun(_)) => refused.push(next.change),
            // A path that loses what opens one probe may let the next one through.
            Err(NoTrial::Failed(_)) if !has_failed => {
                has_failed = true;
                continue;
            }
            Err(NoTrial::Failed(error)) => {
                run.notes
                    .push(format!("what limits was not probed further: {error:#}"));
                break;
            }
        }
        spent += MonoClock.now().saturating_since(began);
    }
    if !spent.is_zero() {
        context.watcher.event(Event::Ended);
    }
}

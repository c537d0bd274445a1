//! What round trips took, idle and under load.

use crate::charts::trial_name;
use crate::figures::{BigFigure, clean, float, nanos};
use linerate_model::run::{Delay, Run, RunKind, Trial};

/// The delay part of a story.
pub(super) struct DelayStory {
    pub(super) clause: String,
    pub(super) figures: Vec<BigFigure>,
}

/// The fastest way to wait when idle, and the slowest under load; `None` where no round trip was timed.
pub(super) fn fastest_and_slowest(leaves: &[&Run]) -> Option<DelayStory> {
    let runs = leaves.iter().filter(|run| run.kind() == RunKind::Latency);
    let timed = runs.flat_map(|run| {
        let valid = run.trials.iter().filter(|trial| trial.valid);
        valid.filter_map(move |trial| Some((*run, trial, trial.delay()?)))
    });
    let timed: Vec<DelayTrial<'_>> = timed
        .filter(|(.., delay)| typical(delay).is_some())
        .collect();
    let key = |timed: &&DelayTrial<'_>| typical(timed.2).map(f64::to_bits);
    let best = timed.iter().filter(|one| !is_loaded(one.1)).min_by_key(key);
    let best = best.or_else(|| timed.iter().min_by_key(key))?;
    let worst = timed.iter().filter(|one| is_loaded(one.1)).max_by_key(key);
    let several = timed.len() > 1;
    let mut clause = said(best, several);
    if let Some(worst) = worst {
        clause.push_str(", ");
        clause.push_str(&nanos(typical(worst.2).unwrap_or_default()));
        clause.push_str(" under load");
    }
    let figures = [Some(best), worst]
        .into_iter()
        .flatten()
        .map(|one| figure(one, several));
    Some(DelayStory {
        clause,
        figures: figures.collect(),
    })
}

type DelayTrial<'a> = (&'a Run, &'a Trial, &'a Delay);

/// Whether something else of the run went over the path. Imported logs tell it in their labels only.
fn is_loaded(trial: &Trial) -> bool {
    trial
        .conditions()
        .is_some_and(|conditions| conditions.load.is_some())
}

/// The median; of logs that tell no more, the mean.
fn typical(delay: &Delay) -> Option<f64> {
    delay.p50_ns.map(float).or(delay.mean_ns)
}

fn name(delay: &Delay) -> &'static str {
    if delay.p50_ns.is_some() {
        "median"
    } else {
        "mean"
    }
}

fn said((run, trial, delay): &DelayTrial<'_>, several: bool) -> String {
    let what = delay.of.as_str();
    let which = if several {
        format!(" with {}", clean(&trial_name(run, trial)))
    } else {
        String::new()
    };
    format!(
        "the {} {what} is {}{which}",
        name(delay),
        nanos(typical(delay).unwrap_or_default())
    )
}

fn figure((run, trial, delay): &DelayTrial<'_>, several: bool) -> BigFigure {
    let which = if several {
        format!(" ({})", clean(&trial_name(run, trial)))
    } else {
        String::new()
    };
    let tail = delay.p99_ns.map(|p99| format!("p99 {}", nanos(float(p99))));
    let count = delay
        .count
        .map(|n| format!("n = {}", crate::path::grouped(n)));
    let interval: Vec<String> = tail.into_iter().chain(count).collect();
    BigFigure {
        value: nanos(typical(delay).unwrap_or_default()),
        interval: (!interval.is_empty()).then(|| interval.join(", ")),
        about: format!("{} {}{which}", name(delay), delay.of),
    }
}

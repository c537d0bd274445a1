//! What the probes of TCP have in common: the run's own test with one change, and whether its rate fell, stayed or rose.

use super::Compared;
use super::suspects::Suspect;
use crate::experiment::{Design, NotRun};
use crate::statistics::{USUAL_CONFIDENCE, mean};
use linerate_model::run::{Change, Run, Trial};
use linerate_model::spec::TestSpec;
use std::time::Duration;

/// The answers of a probe that changes what TCP may use: the rate fell, stayed, or rose.
#[derive(Debug, Clone, Copy)]
pub(super) enum RateAnswer {
    Fell,
    Stayed,
    Rose,
}

pub(super) const RATE_ANSWERS: usize = 3;

/// A rate this much higher has risen: twice what two trials of one path differ by.
const RISEN: f64 = 1.25;
/// And this much lower has fallen.
const FALLEN: f64 = 0.8;

/// Whether the rate rose, stayed or fell.
pub(super) fn read_rate(compared: &Compared<'_>) -> Vec<usize> {
    if !compared.changed.valid {
        return Vec::new();
    }
    let Some(ratio) = compared.rate_ratio() else {
        return Vec::new();
    };
    // What the rate may be beside what chance made it: answers that both agree with are not told apart.
    let chance = (2.0 * spread(compared.baseline).hypot(spread(compared.changed))).exp();
    let answer = |ratio: f64| match ratio {
        ratio if ratio >= RISEN => RateAnswer::Rose,
        ratio if ratio <= FALLEN => RateAnswer::Fell,
        _ => RateAnswer::Stayed,
    };
    let (lowest, highest) = (
        answer(ratio / chance) as usize,
        answer(ratio * chance) as usize,
    );
    (lowest..=highest).collect()
}

/// Standard error of the logarithm of a trial's rate, from its intervals.
fn spread(trial: &Trial) -> f64 {
    let rates = trial
        .intervals
        .iter()
        .filter_map(|interval| interval.received_rate);
    let logs: Vec<f64> = rates
        .filter(|rate| rate.bps() > 0)
        .map(|rate| rate.as_f64().ln())
        .collect();
    mean(&logs, USUAL_CONFIDENCE)
        .ok()
        .and_then(|mean| mean.interval)
        .map_or(0.0, |interval| {
            // Half a 95 % interval is about two standard errors.
            (interval.high - interval.low) / 4.0
        })
}

/// `With four times the streams, 94.1 Mbit/s arrived in place of 94.0 Mbit/s.`
pub(super) fn describe_rate(change: &str, compared: &Compared<'_>) -> String {
    let shown = |trial: &Trial| {
        trial
            .received_rate
            .map_or_else(|| "an unknown rate".to_owned(), |rate| rate.to_string())
    };
    format!(
        "{change}, {} arrived in place of {}.",
        shown(compared.changed),
        shown(compared.baseline)
    )
}

/// A trial of TCP with its warm-up on a path of ordinary length.
pub(super) const TCP_COST: Duration = Duration::from_secs(2);

/// The run's own test, short, with one change.
pub(super) fn changed_test(
    run: &Run,
    baseline: &Trial,
    change: Change,
) -> Result<TestSpec, NotRun> {
    let design = Design::of_change(run, change)?;
    design.prepare(baseline).map(|(_, changed)| changed)
}

/// The one that is relieved rises; the others stay.
pub(super) fn relieved(suspect: Suspect, limit: Suspect, chance: f64) -> [f64; RATE_ANSWERS] {
    if suspect == limit {
        [0.02, 0.98 - chance, chance]
    } else {
        [0.05, 0.91, 0.04]
    }
}

//! What pairs of trials say to predictions.

use super::observe::{observe, observe_positive};
use super::{FIRST_LOOK, MAX_PAIRS, MAX_TRIES, VAIN_TRIES};
use crate::statistics::{USUAL_CONFIDENCE, mean, paired_ratio};
use linerate_model::run::{Answer, ExperimentOutcome, ExperimentTest, Observed, Prediction, Trial};
use linerate_model::spec::Side;
use linerate_model::{Estimate, Interval};

/// A sender that offered this much less than intended did not make the changed test…
const SHORT_RATIO: f64 = 0.02;
/// …unless this share of what it offered was lost, so that something after it set what arrived.
const LOSSY_RATIO: f64 = 0.01;

/// Judges the pairs (baseline, changed) of an experiment on a claim about `side`.
///
/// A pair with an invalid trial is left out, and so is one whose sender offered so little that it set
/// what arrived (it was not the test that was meant), unless the claim is about the sender, or about a device
/// whose work may run on the core that sends.
pub fn judge(
    test: &ExperimentTest,
    side: Option<Side>,
    pairs: &[(Trial, Trial)],
) -> ExperimentOutcome {
    let valid = pairs
        .iter()
        .filter(|(baseline, changed)| baseline.valid && changed.valid);
    let is_of_sender = side == Some(Side::Sender) || test.change.is_of_device();
    let (short, used): (Vec<_>, Vec<_>) = valid.partition(|(baseline, changed)| {
        !is_of_sender && (fell_short(baseline) || fell_short(changed))
    });
    let observed: Vec<Observed> = test
        .predictions
        .iter()
        .filter_map(|prediction| seen(prediction, &used))
        .collect();
    let all_seen = observed.len() == test.predictions.len() && !observed.is_empty();
    let answer = if observed.iter().any(|seen| seen.came_true == Some(false)) {
        Answer::Disagreed
    } else if all_seen && observed.iter().all(|seen| seen.came_true == Some(true)) {
        Answer::Agreed
    } else {
        Answer::Undecided
    };
    let mut notes = Vec::new();
    let invalid = pairs.len() - used.len() - short.len();
    if invalid > 0 {
        notes.push(format!(
            "left out: {} with an invalid trial",
            counted(number(invalid))
        ));
    }
    if !short.is_empty() {
        notes.push(format!(
            "left out: {} in which the sender could not offer the intended load",
            counted(number(short.len()))
        ));
    }
    if !used.is_empty() {
        notes.extend(unseen(test, &observed));
    }
    ExperimentOutcome {
        answer,
        pairs: number(used.len()),
        observed,
        notes,
    }
}

/// What follows a pair of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Another pair.
    Pair,
    /// Nothing: what the pairs say stands.
    Done,
    /// Nothing: too many pairs were left out for an answer.
    TooFew,
}

/// What follows after `tries` pairs, those included that were left out, of which the others say `outcome`.
pub fn next(outcome: &ExperimentOutcome, tries: u32) -> Next {
    let is_answered = outcome.answer != Answer::Undecided || outcome.pairs >= MAX_PAIRS;
    if outcome.pairs >= FIRST_LOOK && is_answered {
        Next::Done
    } else if tries >= MAX_TRIES || (outcome.pairs == 0 && tries >= VAIN_TRIES) {
        Next::TooFew
    } else {
        Next::Pair
    }
}

fn number(pairs: usize) -> u32 {
    u32::try_from(pairs).unwrap_or(u32::MAX)
}

fn unseen(test: &ExperimentTest, observed: &[Observed]) -> Vec<String> {
    let known = |prediction| observed.iter().any(|seen| seen.prediction == prediction);
    let missing = test.predictions.iter().filter(|p| !known(**p));
    missing
        .map(|prediction| format!("the {} was not recorded", prediction.quantity))
        .collect()
}

/// Whether the sender set what arrived: it offered less than intended, and next to nothing of that was lost.
fn fell_short(trial: &Trial) -> bool {
    let rates = trial.intended_load.zip(trial.offered_load);
    let short = rates.is_some_and(|(intended, offered)| {
        offered.as_f64() < intended.as_f64() * (1.0 - SHORT_RATIO)
    });
    short
        && trial
            .loss_ratio()
            .is_none_or(|loss| loss.get() < LOSSY_RATIO)
}

fn seen(prediction: &Prediction, pairs: &[&(Trial, Trial)]) -> Option<Observed> {
    let quantity = prediction.quantity;
    let estimate = if prediction.relative {
        let ratios: Vec<(f64, f64)> = pairs
            .iter()
            .filter_map(|(baseline, changed)| {
                Some((
                    observe_positive(baseline, quantity)?,
                    observe_positive(changed, quantity)?,
                ))
            })
            .collect();
        paired_ratio(&ratios, USUAL_CONFIDENCE).ok()?
    } else {
        let values: Vec<f64> = pairs
            .iter()
            .filter_map(|(_, changed)| observe(changed, quantity))
            .collect();
        mean(&values, USUAL_CONFIDENCE).ok()?
    };
    Some(Observed {
        prediction: *prediction,
        estimate,
        came_true: estimate
            .interval
            .and_then(|interval| came_true(prediction, interval)),
    })
}

/// True or false when the whole interval is inside or outside the bounds.
fn came_true(prediction: &Prediction, interval: Interval) -> Option<bool> {
    let low = prediction.at_least.unwrap_or(f64::NEG_INFINITY);
    let high = prediction.at_most.unwrap_or(f64::INFINITY);
    if low <= interval.low && interval.high <= high {
        Some(true)
    } else if interval.high < low || high < interval.low {
        Some(false)
    } else {
        None
    }
}

/// The outcome in words with figures: `agreed over 5 pairs: the received rate was 1.93 times the
/// baseline's (95 % interval 1.85 to 2.01)`.
pub fn describe(outcome: &ExperimentOutcome) -> String {
    described(outcome.answer.as_str(), outcome)
}

/// The same of a relief, which is no claim that could be refuted: whether it helps.
pub fn describe_relief(outcome: &ExperimentOutcome) -> String {
    let answer = match outcome.answer {
        Answer::Agreed => "helps",
        Answer::Disagreed => "does not help",
        Answer::Undecided => Answer::Undecided.as_str(),
    };
    described(answer, outcome)
}

fn described(answer: &str, outcome: &ExperimentOutcome) -> String {
    let pairs = counted(outcome.pairs);
    match figures(outcome) {
        figures if figures.is_empty() => format!("{answer} over {pairs}"),
        figures => format!("{answer} over {pairs}: {figures}"),
    }
}

/// What was seen, and what else decided the answer.
pub(crate) fn figures(outcome: &ExperimentOutcome) -> String {
    let mut parts: Vec<String> = outcome.observed.iter().map(figure).collect();
    parts.extend(outcome.notes.iter().cloned());
    parts.join("; ")
}

fn counted(pairs: u32) -> String {
    match pairs {
        1 => "1 pair".to_owned(),
        n => format!("{n} pairs"),
    }
}

fn figure(seen: &Observed) -> String {
    let Prediction { quantity, .. } = seen.prediction;
    let Estimate {
        point, interval, ..
    } = seen.estimate;
    let shown = seen.prediction.shown(point);
    let range = interval.map_or_else(
        || "no interval from one pair".to_owned(),
        |interval| {
            format!(
                "95 % interval {} to {}",
                seen.prediction.bound(interval.low),
                seen.prediction.bound(interval.high)
            )
        },
    );
    format!("the {quantity} was {shown} ({range})")
}

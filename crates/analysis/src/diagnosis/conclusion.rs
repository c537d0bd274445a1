//! From weights to a verdict.

use super::contention::{self, contention};
use super::made::compared;
use super::weights::{Suspect, Suspects};
use super::{
    Counts, Observation, candidate, carried_more, delivered, line_rate, lost, next_limit, paused,
    shown_by, unproved,
};
use crate::causes::{self, Cause, is_whole_story};
use linerate_model::Ratio;
use linerate_model::run::{Answer, Confidence, Finding, Run, Trial, Verdict, Weighed};

/// A suspect with this share of the weight is supported.
const SUPPORTED: f64 = 0.9;
/// One with less is no answer.
const LIKELY: f64 = 0.5;

/// The suspects of `run`, by its signs, and after every probe that was made.
pub(super) fn weigh(run: &Run, limited: &Trial, counts: &Counts) -> Suspects {
    let mut suspects = Suspects::unweighed(limited.transport);
    Observation::of(run, limited).update(&mut suspects, counts);
    let (shown, seen) = (shown_by(run, limited), seen(run, limited, &suspects));
    suspects.retain(|suspect| {
        delivered::may_limit(suspect, run, shown)
            && lost::may_limit(suspect, shown)
            && paused::may_limit(suspect, shown)
            && line_rate::may_limit(suspect, run, shown)
            && carried_more::may_limit(suspect, run, limited)
            && !is_refuted(&seen, suspect)
    });
    suspects
}

/// What a probe showed, in a sentence, and the causes that this speaks against.
struct Sighting {
    sentence: String,
    against: Vec<Suspect>,
}

/// What every probe of `run` showed, of these suspects.
fn seen(run: &Run, limited: &Trial, suspects: &Suspects) -> Vec<Sighting> {
    let made = compared(run, limited).map(|(probe, compared)| Sighting {
        sentence: probe.describe(&compared),
        against: suspects
            .all()
            .filter(|suspect| probe.speaks_against(&compared, suspect))
            .collect(),
    });
    made.collect()
}

fn is_refuted(seen: &[Sighting], suspect: Suspect) -> bool {
    seen.iter().any(|seen| seen.against.contains(&suspect))
}

/// What signs and probes make of a verdict.
pub(crate) struct Conclusion {
    pub(crate) verdict: Verdict,
    /// The causes that its evidence speaks against.
    pub(crate) refuted: Vec<&'static Cause>,
}

/// The verdict on what limits `run`, by its signs, its probes and its experiments; `None` where nothing limits by what
/// single trials show, or where what they show is all there is: imported runs, transactions, traffic both ways.
///
/// `by_trials` is what single trials make of it.
pub(crate) fn conclude(run: &Run, findings: &[Finding], by_trials: &Verdict) -> Option<Conclusion> {
    let limited = candidate(run).filter(|_| !is_whole_story(by_trials))?;
    let seen = seen(run, limited, &Suspects::unweighed(limited.transport));
    let refuted = seen.iter().flat_map(|seen| seen.against.iter().copied());
    let refuted = refuted.collect();
    let sentences = seen.into_iter().map(|seen| seen.sentence).collect();
    let verdict = Weighing {
        run,
        limited,
        shown: shown_by(run, limited),
        findings,
    }
    .verdict(sentences);
    Some(Conclusion { verdict, refuted })
}

/// A run whose suspects are weighed.
struct Weighing<'a> {
    run: &'a Run,
    limited: &'a Trial,
    shown: &'a Trial,
    findings: &'a [Finding],
}

impl Weighing<'_> {
    /// The verdict, with what probes showed first.
    fn verdict(&self, mut seen: Vec<String>) -> Verdict {
        let mut suspects = weigh(self.run, self.limited, Counts::built_in());
        suspects.retain(|suspect| self.answer(suspect) != Some(Answer::Disagreed));
        let is_confirmed = |suspect| self.answer(suspect) == Some(Answer::Agreed);
        let confirmed = suspects.weightiest_of(is_confirmed);
        let (best, weight) = confirmed.unwrap_or_else(|| suspects.best());
        let is_undecided = confirmed.is_none() && weight < LIKELY;
        let others = contention(self.run, self.shown)
            .filter(|_| is_undecided || confirmed.is_none() && contention::concerns(best));
        seen.extend(others.map(contention::describe));
        if is_undecided {
            let (first, second) = (best.subject, suspects.second().0.subject);
            let claim =
                format!("Bottleneck not identified: most likely {first}, or else {second}.");
            return causes::undecided(claim, seen);
        }
        let found = self.found(best).cloned();
        let mut verdict = found.unwrap_or_else(|| self.unfound(best));
        let passing = lost::in_passing(self.shown, 1.0 - SUPPORTED);
        let is_shown = passing.is_none()
            && others.is_none()
            && unproved(self.run, self.limited, best).is_none();
        verdict.confidence = match confirmed {
            Some(_) => Confidence::Confirmed,
            None if weight >= SUPPORTED && is_shown => Confidence::Supported,
            None => Confidence::Weak,
        };
        if let Some((missed, all)) = passing {
            seen.push(format!(
                "Datagrams were lost, or not sent, in {missed} of {all} intervals only: of another test all may arrive."
            ));
        }
        if let Some(alone) = delivered::describe(self.run, self.shown) {
            seen.push(alone);
        } else if confirmed.is_none() && others.is_none() {
            seen.push(format!(
                "By scenes whose limit was measured, this is the limit with probability {}.",
                Ratio::clamped(weight)
            ));
        }
        let next = next_limit::next(self.run, self.limited, best);
        seen.extend(
            next.as_ref()
                .map(|next| next_limit::describe(next, self.limited)),
        );
        verdict.weighed = Some(Box::new(Weighed {
            probability_ratio: Ratio::clamped(weight),
            next,
        }));
        verdict.evidence.splice(0..0, seen);
        verdict
    }

    /// What a single trial showed of it.
    fn found(&self, suspect: Suspect) -> Option<&Verdict> {
        let mut found = self.findings.iter().filter_map(Finding::found);
        found.find(|verdict| suspect.is_in(verdict))
    }

    /// What an experiment on it answered.
    fn answer(&self, suspect: Suspect) -> Option<Answer> {
        let experiment = self.found(suspect)?.experiment.as_ref()?;
        Some(experiment.outcome.as_ref()?.answer)
    }

    /// The verdict where no single trial showed it.
    fn unfound(&self, suspect: Suspect) -> Verdict {
        suspect.weighed(&causes::Weighed {
            run: self.run,
            limited: self.limited,
            is_sender_alone: delivered::describe(self.run, self.limited).is_some(),
        })
    }
}

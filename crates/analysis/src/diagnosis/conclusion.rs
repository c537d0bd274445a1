//! From weights to a verdict.

use super::contention::{self, contention};
use super::explained::LimitedTrials;
use super::made::compared;
use super::short_queue::ShortQueue;
use super::weights::{Suspect, Suspects};
use super::{
    Counts, Observation, bursts, candidate, carried_load, carried_more, delivered, falls,
    line_rate, lost, lost_behind, next_limit, off_path, paused, shaper, shown_by, starved,
    unproved, window,
};
use crate::causes::{self, Cause, is_whole_story, link};
use crate::thresholds::weight::{LIKELY, SUPPORTED};
use linerate_model::Ratio;
use linerate_model::run::{Answer, Confidence, Finding, Run, Trial, Verdict, Weighed};

fn explained<'a>(run: &'a Run, limited: &'a Trial) -> LimitedTrials<'a> {
    LimitedTrials {
        run,
        limited,
        shown: shown_by(run, limited),
    }
}

/// What a run's own trials rule out, however much else speaks for it. A new one: its file, its entry here.
static EXCLUSIONS: &[fn(&LimitedTrials<'_>, Suspect) -> bool] = &[
    delivered::speaks_against,
    lost::speaks_against,
    lost_behind::speaks_against,
    paused::speaks_against,
    line_rate::speaks_against,
    bursts::speaks_against,
    carried_more::speaks_against,
    falls::speaks_against,
    off_path::speaks_against,
    shaper::speaks_against,
    starved::speaks_against,
    window::speaks_against,
];

/// The suspects of `run`, by its signs, and after every probe that was made.
pub(super) fn weigh(run: &Run, limited: &Trial, counts: &Counts) -> Suspects {
    let mut suspects = Suspects::unweighed(limited.transport);
    Observation::of(run, limited).update(&mut suspects, counts);
    let refuted = refuted(&explained(run, limited), &suspects);
    suspects.retain(|suspect| !refuted.contains(&suspect));
    suspects
}

/// Those of `suspects` that the run's own trials or its probes speak against.
fn refuted(explained: &LimitedTrials<'_>, suspects: &Suspects) -> Vec<Suspect> {
    let probes: Vec<_> = compared(explained.run, explained.limited).collect();
    let is_refuted = |suspect: &Suspect| {
        let mut by_trials = EXCLUSIONS.iter();
        let mut by_probes = probes.iter();
        by_trials.any(|speaks_against| speaks_against(explained, suspect))
            || by_probes.any(|(probe, compared)| probe.speaks_against(compared, suspect))
    };
    suspects.all().filter(is_refuted).collect()
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
    if let Some(verdict) = carried_load::conclude(run, limited, findings) {
        return Some(Conclusion {
            verdict,
            refuted: Vec::new(),
        });
    }
    let explained = explained(run, limited);
    let probes = compared(run, limited).map(|(probe, compared)| probe.describe(&compared));
    Some(Conclusion {
        verdict: Weighing {
            explained,
            findings,
        }
        .verdict(probes.collect()),
        refuted: refuted(&explained, &Suspects::unweighed(limited.transport)),
    })
}

/// A run whose suspects are weighed.
struct Weighing<'a> {
    explained: LimitedTrials<'a>,
    findings: &'a [Finding],
}

impl Weighing<'_> {
    /// The verdict, with what probes showed first.
    fn verdict(&self, mut seen: Vec<String>) -> Verdict {
        let LimitedTrials {
            run,
            limited,
            shown,
        } = self.explained;
        let mut suspects = weigh(run, limited, Counts::built_in());
        suspects.retain(|suspect| self.answer(suspect) != Some(Answer::Disagreed));
        let is_confirmed = |suspect| self.answer(suspect) == Some(Answer::Agreed);
        let confirmed = suspects.weightiest_of(is_confirmed);
        let (best, weight) = confirmed.unwrap_or_else(|| suspects.best());
        let is_proven = weight >= SUPPORTED && unproved(run, limited, best).is_none();
        // Of a host without idle time any loss may be its own.
        let is_open =
            weight < LIKELY || !is_proven && best.is_on_path() && contention::is_full(shown);
        let is_undecided = confirmed.is_none() && is_open;
        let others = contention(run, shown)
            .filter(|_| is_undecided || confirmed.is_none() && contention::concerns(best));
        seen.extend(others.map(|_| contention::NOTE.to_owned()));
        let short = ShortQueue::find(run, limited);
        seen.extend(short.as_ref().map(ShortQueue::describe));
        if is_undecided {
            let short = short.filter(|_| others.is_none());
            return self.left_open(&suspects, best, short, seen);
        }
        let found = self.found(best).cloned();
        let mut verdict = found.unwrap_or_else(|| self.unfound(best));
        let passing = lost::in_passing(shown, 1.0 - SUPPORTED);
        let is_shown = is_proven && passing.is_none() && others.is_none();
        verdict.confidence = match confirmed {
            Some(_) => Confidence::Confirmed,
            None if is_shown => Confidence::Supported,
            None => Confidence::Weak,
        };
        seen.extend(bursts::describe(run, limited));
        if let Some((missed, all)) = passing {
            seen.push(format!(
                "Datagrams were lost, or not sent, in {missed} of {all} intervals only: another test may lose none."
            ));
        }
        if let Some(alone) = delivered::describe(run, shown) {
            seen.push(alone);
        } else if confirmed.is_none() && others.is_none() {
            seen.push(format!(
                "Probability {}, calibrated on measured bottlenecks.",
                Ratio::clamped(weight)
            ));
        }
        let next = next_limit::next(run, limited, best);
        seen.extend(
            next.as_ref()
                .map(|next| next_limit::describe(next, limited)),
        );
        verdict.weighed = Some(Box::new(Weighed {
            probability_ratio: Ratio::clamped(weight),
            next,
        }));
        verdict.evidence.splice(0..0, seen);
        verdict
    }

    /// What is said where no suspect is likely enough: the link, where its short queue alone makes the rate, though others
    /// may make the same.
    fn left_open(
        &self,
        suspects: &Suspects,
        best: Suspect,
        short: Option<ShortQueue>,
        seen: Vec<String>,
    ) -> Verdict {
        let is_left = suspects.all().any(|suspect| *suspect == link::CAUSE);
        if !is_left || !short.is_some_and(|short| short.explains()) {
            let (first, second) = (best.subject, suspects.second().0.subject);
            let claim =
                format!("Bottleneck not identified: most likely {first}, or else {second}.");
            return causes::undecided(claim, seen);
        }
        let found = self.found(&link::CAUSE).cloned();
        let mut verdict = found.unwrap_or_else(|| self.unfound(&link::CAUSE));
        verdict.confidence = Confidence::Weak;
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
        let LimitedTrials { run, limited, .. } = self.explained;
        suspect.weighed(&causes::Weighed {
            run,
            limited,
            is_sender_alone: delivered::describe(run, limited).is_some(),
            is_shaper_below: shaper::is_below(run, limited),
            is_shaper_waited_for: shaper::holds_up_sender(limited),
        })
    }
}

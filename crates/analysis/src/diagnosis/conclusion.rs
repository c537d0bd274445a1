//! From weights to a verdict.

use super::contention::{self, contention};
use super::made::compared;
use super::suspects::Suspect;
use super::weights::Suspects;
use super::{
    Counts, Observation, candidate, carried_more, delivered, explains, line_rate, lost, next_limit,
    paused, shown_by, unproved,
};
use linerate_model::Ratio;
use linerate_model::run::{Answer, Confidence, Finding, Limit, Run, Trial, Verdict, Weighed};
use linerate_model::spec::{Side, Transport};

/// A suspect with this share of the weight is supported.
const SUPPORTED: f64 = 0.9;
/// One with less is no answer.
const LIKELY: f64 = 0.5;

/// The suspects of `run`, by its signs, and after every probe that was made.
pub(super) fn weigh(run: &Run, limited: &Trial, counts: &Counts) -> Suspects {
    let mut suspects = Suspects::unweighed(limited.transport);
    Observation::of(run, limited).update(&mut suspects, counts);
    let shown = shown_by(run, limited);
    suspects.retain(|suspect| {
        delivered::may_limit(suspect, shown)
            && lost::may_limit(suspect, shown)
            && paused::may_limit(suspect, shown)
            && line_rate::may_limit(suspect, run, shown)
            && carried_more::may_limit(suspect, run, limited)
    });
    suspects
}

/// The verdict on what limits `run`, by its signs, its probes and its experiments; `None` where nothing limits by what the
/// rules say, or where what they see is all there is: imported runs, transactions, traffic both ways.
///
/// `by_rules` is what the rules make of it.
pub(crate) fn conclude(run: &Run, findings: &[Finding], by_rules: &Verdict) -> Option<Verdict> {
    let limited = candidate(run).filter(|_| !explains(by_rules))?;
    let mut suspects = weigh(run, limited, Counts::built_in());
    let found = |suspect: Suspect| found(findings, suspect);
    let answer = |suspect: Suspect| {
        let experiment = found(suspect)?.experiment.as_ref()?;
        Some(experiment.outcome.as_ref()?.answer)
    };
    suspects.retain(|suspect| answer(suspect) != Some(Answer::Disagreed));
    let confirmed = suspects.weightiest_of(|suspect| answer(suspect) == Some(Answer::Agreed));
    let (best, weight) = confirmed.unwrap_or_else(|| suspects.best());
    let seen = compared(run, limited).map(|(probe, compared)| probe.describe(&compared));
    let mut seen: Vec<String> = seen.collect();
    let shown = shown_by(run, limited);
    let is_undecided = confirmed.is_none() && weight < LIKELY;
    let others = contention(run, shown)
        .filter(|_| is_undecided || confirmed.is_none() && contention::concerns(best));
    seen.extend(others.map(contention::describe));
    if is_undecided {
        return Some(undecided([best, suspects.second().0], seen));
    }
    let mut verdict = found(best)
        .cloned()
        .unwrap_or_else(|| unfound(best, run, limited));
    let passing = lost::in_passing(shown, 1.0 - SUPPORTED);
    let is_shown = passing.is_none() && others.is_none() && unproved(run, limited, best).is_none();
    verdict.confidence = if confirmed.is_some() {
        Confidence::Confirmed
    } else if weight >= SUPPORTED && is_shown {
        Confidence::Supported
    } else {
        Confidence::Weak
    };
    if let Some((missed, all)) = passing {
        seen.push(format!(
            "Datagrams were lost, or not sent, in {missed} of {all} intervals only: of another test all may arrive."
        ));
    }
    let next = next_limit::next(run, limited, best);
    if let Some(alone) = delivered::describe(shown) {
        seen.push(alone);
    } else if confirmed.is_none() && others.is_none() {
        seen.push(format!(
            "By scenes whose limit was measured, this is the limit with probability {}.",
            Ratio::clamped(weight)
        ));
    }
    seen.extend(
        next.as_ref()
            .map(|next| next_limit::describe(next, limited)),
    );
    verdict.weighed = Some(Box::new(Weighed {
        probability_ratio: Ratio::clamped(weight),
        next,
    }));
    verdict.evidence.splice(0..0, seen);
    Some(verdict)
}

/// The verdict where no rule found the limit, and has words for it.
fn unfound(suspect: Suspect, run: &Run, limited: &Trial) -> Verdict {
    Verdict {
        limit: suspect.limit(),
        side: suspect.side(),
        share_ratio: None,
        confidence: Confidence::Weak,
        claim: claim(suspect, run, limited),
        evidence: Vec::new(),
        experiment: None,
        weighed: None,
    }
}

/// What a rule found of the same limit.
fn found(findings: &[Finding], suspect: Suspect) -> Option<&Verdict> {
    let mut found = findings.iter().filter_map(Finding::found);
    found.find(|verdict| suspect.is_in(verdict))
}

fn undecided(suspects: [Suspect; 2], evidence: Vec<String>) -> Verdict {
    let [first, second] = suspects.map(Suspect::subject);
    Verdict {
        limit: Limit::unknown(),
        side: None,
        share_ratio: None,
        confidence: Confidence::Weak,
        claim: format!("Bottleneck not identified: most likely {first}, or else {second}."),
        evidence,
        experiment: None,
        weighed: None,
    }
}

fn claim(suspect: Suspect, run: &Run, limited: &Trial) -> String {
    let rate = limited.received_rate.unwrap_or_default();
    let mut subject = suspect.subject().to_owned();
    if let Some(first) = subject.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    let because = match suspect {
        Suspect::OwnShaper => return own_shaper(run, limited),
        Suspect::Link => "at a higher load no more gets through",
        Suspect::Policer => "what exceeds its rate is dropped without queueing",
        Suspect::PathLoss if limited.transport == Transport::Tcp => {
            "datagrams get through faster, but for a loss that TCP takes for congestion"
        }
        Suspect::PathLoss => "packets are lost whatever the load",
        Suspect::ReturnPath => {
            "acknowledgements come back no faster, while datagrams find the way of the data free"
        }
        Suspect::SenderCpu if delivered::describe(limited).is_some() => {
            "everything that it sent arrived, and it sent no more"
        }
        Suspect::Congestion => "more fits through the path than its window lets be in flight",
        _ => "of all that may limit, it fits best with what the probes showed",
    };
    let what = match limited.transport {
        Transport::Tcp => "TCP",
        Transport::Udp => "datagrams",
    };
    format!("{subject} limits {what} at {rate} of L4 payload: {because}.")
}

/// Of the sender's own queueing discipline, with its kind and rate where they are known.
fn own_shaper(run: &Run, limited: &Trial) -> String {
    let facts = run
        .host_of(limited.direction, Side::Sender)
        .map(|host| &host.facts);
    let kind = facts.and_then(|facts| facts.queueing_discipline.as_deref());
    let shaped = facts.and_then(|facts| facts.queueing_discipline_rate_bps);
    let kind = kind.map_or_else(String::new, |kind| format!(" ({kind})"));
    let its = shaped.map_or_else(
        || "its rate".to_owned(),
        |rate| format!("its rate of {rate} of L2 frames"),
    );
    format!(
        "The sender's own queueing discipline{kind} limits at {} of L4 payload: it holds packets back to keep {its}.",
        limited.received_rate.unwrap_or_default()
    )
}

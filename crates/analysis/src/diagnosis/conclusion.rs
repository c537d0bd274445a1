//! From weights to a verdict.

use super::datagrams::Datagrams;
use super::suspects::{Suspect, Suspects};
use super::{ALL, Compared, baseline, prior};
use linerate_model::run::{
    Confidence, Finding, Limit, Probe as Made, RuleOutcome, Run, Trial, Verdict,
};

/// A suspect with this share of the weight is supported.
const SUPPORTED: f64 = 0.9;
/// One with less is no answer.
const LIKELY: f64 = 0.5;

/// The suspects of `run`, of which the rules found `findings`, after every probe that was made.
pub(super) fn weigh(run: &Run, findings: &[Finding], baseline: &Trial) -> Suspects {
    let mut suspects = prior::prior(baseline, findings);
    for (probe, compared) in compared(run, baseline) {
        suspects.update(probe, &probe.read(&compared));
    }
    suspects
}

fn compared<'a>(
    run: &'a Run,
    baseline: &'a Trial,
) -> impl Iterator<Item = (&'static dyn super::Probe, Compared<'a>)> {
    run.probes.iter().filter_map(move |Made { change, trial }| {
        let probe = ALL.iter().find(|probe| probe.change() == *change)?;
        Some((
            *probe,
            Compared {
                baseline,
                changed: trial,
            },
        ))
    })
}

/// The verdict that follows from the run's probes; `None` where none was made.
pub(crate) fn conclude(run: &Run, findings: &[Finding]) -> Option<Verdict> {
    if run.probes.is_empty() {
        return None;
    }
    let baseline = baseline(run)?;
    let suspects = weigh(run, findings, baseline);
    let (best, weight) = suspects.best();
    let seen = compared(run, baseline).map(|(probe, compared)| probe.describe(&compared));
    let seen: Vec<String> = seen.collect();
    if weight < LIKELY {
        return Some(undecided([best, suspects.second().0], seen));
    }
    let mut verdict = found(findings, best).unwrap_or_else(|| Verdict {
        limit: best.limit(),
        side: best.side(),
        share_ratio: None,
        confidence: Confidence::Weak,
        claim: claim(best, baseline),
        evidence: Vec::new(),
        experiment: None,
    });
    let is_shown = !best.is_on_path() || spoke(run, baseline, &Datagrams);
    verdict.confidence = if weight >= SUPPORTED && is_shown {
        Confidence::Supported
    } else {
        Confidence::Weak
    };
    verdict.evidence.splice(0..0, seen);
    Some(verdict)
}

/// Whether a probe said something.
pub(super) fn spoke(run: &Run, baseline: &Trial, probe: &dyn super::Probe) -> bool {
    compared(run, baseline)
        .any(|(made, compared)| made.change() == probe.change() && !made.read(&compared).is_empty())
}

/// What a rule found of the same limit.
fn found(findings: &[Finding], suspect: Suspect) -> Option<Verdict> {
    findings.iter().find_map(|finding| match &finding.outcome {
        RuleOutcome::Found { verdict } if suspect.is_in(verdict) => Some((**verdict).clone()),
        _ => None,
    })
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
    }
}

/// What no rule has words for.
fn claim(suspect: Suspect, baseline: &Trial) -> String {
    let rate = baseline.received_rate.unwrap_or_default();
    let mut subject = suspect.subject().to_owned();
    if let Some(first) = subject.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    let because = match suspect {
        Suspect::OwnShaper => "it holds packets back to keep its rate",
        Suspect::Link => "at a higher load no more gets through, and a queue stands",
        Suspect::Policer => "what exceeds its rate is dropped without queueing",
        Suspect::PathLoss => {
            "datagrams get through faster, but for a loss that TCP takes for congestion"
        }
        Suspect::Congestion => "more fits through the path than its window lets be in flight",
        _ => "of all that may limit, it fits best with what the probes showed",
    };
    format!("{subject} limits TCP at {rate} of L4 payload: {because}.")
}

//! What is known before the first probe: how often each limit occurs, the rules' findings, and what both hosts counted.

use super::datagrams::push_back_factor;
use super::suspects::{Suspect, Suspects};
use linerate_model::Ratio;
use linerate_model::run::{Confidence, Finding, RuleOutcome, Trial};
use linerate_model::signals::CGROUP_THROTTLED_NS;
use linerate_model::spec::Side;
use std::time::Duration;

/// What a finding that explains all of the time adds to the odds: one that is supported is right more often than not,
/// but not by far, since its thresholds know a few faults only.
const SUPPORTED: f64 = 5.0;
const WEAK: f64 = 1.5;
/// A rule that saw its evidence and ruled its limit out: by the kernel's own account of TCP's time, or by other signs.
const CLEAR_BY_TIME: f64 = 0.2;
const CLEAR: f64 = 0.35;
/// A thread that waited this share of the time for a core was slowed down by it.
const WAITED: f64 = 0.2;
const WAITED_FACTOR: f64 = 4.0;
/// A control group that was stopped this share of the time had no CPU then.
const THROTTLED: f64 = 0.1;
const THROTTLED_FACTOR: f64 = 12.0;

pub(super) fn prior(baseline: &Trial, findings: &[Finding]) -> Suspects {
    let mut suspects = Suspects::unweighed(baseline.transport);
    suspects.scale(|suspect| by_rules(findings, suspect));
    suspects.scale(|suspect| push_back_factor(baseline, suspect));
    suspects.scale(|suspect| cpu_factor(baseline, suspect));
    suspects
}

fn by_rules(findings: &[Finding], suspect: Suspect) -> f64 {
    let mut factor = 1.0;
    for finding in findings {
        match &finding.outcome {
            // A full socket is what a reader that is too slow leaves behind.
            RuleOutcome::Found { .. }
                if suspect == Suspect::ReceiverSocket && has_reader_fallen_behind(findings) => {}
            RuleOutcome::Found { verdict } if suspect.is_in(verdict) => {
                let most = match verdict.confidence {
                    Confidence::Weak => WEAK,
                    Confidence::Supported | Confidence::Confirmed => SUPPORTED,
                };
                factor *= most.mul_add(verdict.share_ratio.map_or(0.5, Ratio::get), 1.0);
            }
            RuleOutcome::Clear { .. } if finding.rule == suspect.rule() => {
                factor *= match suspect {
                    Suspect::ReceiverWindow | Suspect::SenderBuffer | Suspect::SenderApp => {
                        CLEAR_BY_TIME
                    }
                    _ => CLEAR,
                };
            }
            _ => {}
        }
    }
    factor
}

/// Whether a rule found why the receiver did not read in time.
fn has_reader_fallen_behind(findings: &[Finding]) -> bool {
    let is_cause = |rule: &str| {
        [Suspect::ReceiverApp, Suspect::ReceiverCpu]
            .map(Suspect::rule)
            .contains(&rule)
    };
    findings.iter().any(|finding| {
        is_cause(&finding.rule) && matches!(finding.outcome, RuleOutcome::Found { .. })
    })
}

/// What a side's CPU was kept from: by a quota, or by others on its core.
fn cpu_factor(baseline: &Trial, suspect: Suspect) -> f64 {
    let side = match suspect {
        Suspect::SenderCpu => Side::Sender,
        Suspect::ReceiverCpu => Side::Receiver,
        _ => return 1.0,
    };
    let stopped = baseline
        .counters(side)
        .and_then(|counters| counters.get(CGROUP_THROTTLED_NS));
    let share = stopped
        .zip(baseline.duration)
        .map(|(nanos, whole)| Duration::from_nanos(*nanos).as_secs_f64() / whole.as_secs_f64());
    let waited = baseline.cpu.as_ref().and_then(|cpu| match side {
        Side::Sender => cpu.sender.as_ref(),
        Side::Receiver => cpu.receiver.as_ref(),
    });
    let waited = waited
        .and_then(|cpu| cpu.run_delay_ratio)
        .map_or(0.0, Ratio::get);
    if share.is_some_and(|share| share >= THROTTLED) {
        THROTTLED_FACTOR
    } else if waited >= WAITED {
        WAITED_FACTOR
    } else {
        1.0
    }
}

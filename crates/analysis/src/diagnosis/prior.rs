//! What the rules found, for suspects that few scenes were counted of.
//!
//! A rule's thresholds know a few faults only, so its word counts for less the more scenes with that limit were counted.

use super::counts::Counts;
use super::suspects::Suspect;
use linerate_model::Ratio;
use linerate_model::run::{Confidence, Finding, RuleOutcome};
use linerate_model::spec::Transport;

/// What a finding that explains all of the time adds to the odds: one that is supported is right more often than not.
const SUPPORTED: f64 = 5.0;
const WEAK: f64 = 1.5;
/// A rule that saw its evidence and ruled its limit out: by the kernel's own account of TCP's time, or by other signs.
const CLEAR_BY_TIME: f64 = 0.2;
const CLEAR: f64 = 0.35;
/// A rule's word is worth as much as so many scenes.
const RULE: f64 = 10.0;

/// By how much `findings` make `suspect` likelier than `counts` alone.
pub(super) fn by_rules(
    findings: &[Finding],
    transport: Transport,
    counts: &Counts,
    suspect: Suspect,
) -> f64 {
    let outcomes = findings.iter();
    let factor: f64 = outcomes
        .map(|finding| by_rule(finding, findings, suspect))
        .product();
    factor.powf(RULE / (RULE + counts.scenes(transport, suspect)))
}

fn by_rule(finding: &Finding, findings: &[Finding], suspect: Suspect) -> f64 {
    match &finding.outcome {
        // A full socket is what a reader that is too slow leaves behind.
        RuleOutcome::Found { .. }
            if suspect == Suspect::ReceiverSocket && has_reader_fallen_behind(findings) =>
        {
            1.0
        }
        RuleOutcome::Found { verdict } if suspect.is_in(verdict) => {
            let most = match verdict.confidence {
                Confidence::Weak => WEAK,
                Confidence::Supported | Confidence::Confirmed => SUPPORTED,
            };
            most.mul_add(verdict.share_ratio.map_or(0.5, Ratio::get), 1.0)
        }
        RuleOutcome::Clear { .. } if finding.rule == suspect.rule() => match suspect {
            Suspect::ReceiverWindow | Suspect::SenderBuffer | Suspect::SenderApp => CLEAR_BY_TIME,
            _ => CLEAR,
        },
        _ => 1.0,
    }
}

/// Whether a rule found why the receiver did not read in time.
fn has_reader_fallen_behind(findings: &[Finding]) -> bool {
    let causes = [Suspect::ReceiverApp, Suspect::ReceiverCpu].map(Suspect::rule);
    findings.iter().any(|finding| {
        causes.contains(&finding.rule.as_str())
            && matches!(finding.outcome, RuleOutcome::Found { .. })
    })
}

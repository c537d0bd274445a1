//! Checks of a host: what distorts measurements on it, its cost, and the remedy.
//!
//! A check reads a [`Condition`] and nothing else. It reports a finding, that all is well with the values seen, or why
//! it could not be made, which never counts as well. Figures are those of this host (an exit latency that the kernel
//! states, a buffer against the speed of the link) or of the source that is named.

mod boost;
mod buffers;
mod busy_poll;
mod c_states;
mod clock_source;
mod coalescing;
mod firewall;
mod governor;
mod irq_affinity;
mod irqbalance;
mod isolation;
mod load;
mod mtu;
mod numa;
mod offloads;
mod qdisc;
mod rings;
mod smt;
mod steal;
mod tracing;
mod tuned;
mod words;

use linerate_model::condition::{Condition, ReadResult};
use linerate_model::doctor::{CheckOutcome, Checked, Finding, Severity};
use linerate_model::knob::{Consent, Knob, Setting};
use std::ops::Range;

/// Every check. A new one: its file, its `mod` line above, its entry here.
pub static ALL: &[&FitnessCheck] = &[
    &steal::CHECK,
    &load::CHECK,
    &clock_source::CHECK,
    &governor::CHECK,
    &boost::CHECK,
    &c_states::CHECK,
    &isolation::CHECK,
    &smt::CHECK,
    &numa::CHECK,
    &irq_affinity::CHECK,
    &irqbalance::CHECK,
    &coalescing::CHECK,
    &rings::CHECK,
    &offloads::CHECK,
    &qdisc::CHECK,
    &firewall::CHECK,
    &buffers::CHECK,
    &busy_poll::CHECK,
    &mtu::CHECK,
    &tuned::CHECK,
    &tracing::CHECK,
];

/// One property of a host that affects measurements.
pub struct FitnessCheck {
    /// The check's kebab-case name on the command line, in documents and docs.
    pub id: &'static str,
    /// What it checks, one sentence for help and the reference table.
    pub summary: &'static str,
    /// Its outcome; the error says why the check could not be made.
    pub examine: fn(&Condition) -> ReadResult<CheckOutcome>,
}

/// Makes the checks named in `only`, or all if that is empty; the worst outcome first.
pub fn examine(condition: &Condition, only: &[String]) -> Vec<Checked> {
    let asked =
        |check: &&&FitnessCheck| only.is_empty() || only.iter().any(|name| name == check.id);
    let mut checked: Vec<_> = ALL
        .iter()
        .filter(asked)
        .map(|check| Checked {
            id: check.id.to_owned(),
            summary: check.summary.to_owned(),
            outcome: (check.examine)(condition)
                .unwrap_or_else(|missing| CheckOutcome::NotChecked { missing }),
        })
        .collect();
    checked.sort_by_key(|check| rank(&check.outcome));
    checked
}

/// Order: findings by severity, then failed checks, then passed ones.
fn rank(outcome: &CheckOutcome) -> (u8, Option<Severity>) {
    match outcome {
        CheckOutcome::Found { finding } => (0, Some(finding.severity)),
        CheckOutcome::NotChecked { .. } => (1, None),
        CheckOutcome::Fine { .. } => (2, None),
    }
}

fn fine(now: impl Into<String>) -> CheckOutcome {
    CheckOutcome::Fine { now: now.into() }
}

/// How severe it is to lose this share of the cores' time: nothing below `medium`, high from its end on.
fn severity_of(share: f64, medium: Range<f64>) -> Option<Severity> {
    match share {
        share if share < medium.start => None,
        share if share < medium.end => Some(Severity::Medium),
        _ => Some(Severity::High),
    }
}

fn found(finding: Finding) -> CheckOutcome {
    CheckOutcome::Found { finding }
}

fn setting(consent: Consent, knob: Knob, value: impl Into<String>) -> Setting {
    Setting {
        knob,
        value: value.into(),
        consent,
    }
}

#[cfg(test)]
mod tests;

//! CPU frequency governor.

use super::{FitnessCheck, fine, found, setting, words};
use linerate_model::condition::{ClockPolicy, CoreSet};
use linerate_model::doctor::{Finding, Severity};
use linerate_model::knob::{Consent, Knob};

const WANTED: &str = "performance";

pub(super) static CHECK: FitnessCheck = FitnessCheck {
    id: "governor",
    summary: "The governor that chooses the cores' clock frequency.",
    examine: |condition| {
        let all = condition.clocks.as_ref().map_err(Clone::clone)?;
        let slow: Vec<&ClockPolicy> = all.iter().filter(|p| p.governor != WANTED).collect();
        let Some(first) = slow.first() else {
            return Ok(fine(format!("{WANTED} on all {} policies", all.len())));
        };
        let numbers: CoreSet = slow.iter().map(|policy| policy.number).collect();
        let slowest = slow
            .iter()
            .filter_map(|policy| share(policy))
            .reduce(f64::min);
        let can = |policy: &ClockPolicy| {
            policy.offered.is_empty() || policy.offered.iter().any(|name| name == WANTED)
        };
        Ok(found(Finding {
            severity: Severity::Medium,
            now: format!("{} on cpufreq policies {numbers}, of {}", first.governor, all.len()),
            cost: match slowest.filter(|share| *share < 0.99) {
                Some(share) => format!(
                    "a core that idled between packets is slow when the next one comes: one is at {:.0} % of its highest frequency now, where the same code takes {:.1} times as long",
                    share * 100.0,
                    1.0 / share
                ),
                None => "a core that idled between packets is slow when the next one comes, and runs differ by what ran before".to_owned(),
            },
            source: Some("Documentation/admin-guide/pm/cpufreq.rst".to_owned()),
            set: "cpupower frequency-set -g performance".to_owned(),
            settings: slow
                .iter()
                .filter(|policy| can(policy))
                .map(|policy| {
                    let knob = Knob::Governor { policy: policy.number };
                    setting(Consent::Safe, knob, WANTED)
                })
                .collect(),
        }))
    },
};

/// Present frequency as a share of the maximum.
fn share(policy: &ClockPolicy) -> Option<f64> {
    let highest = policy.max_hz.filter(|hertz| *hertz > 0)?;
    Some(words::float(policy.now_hz?) / words::float(highest))
}

//! CPU boost: frequencies above the nominal one.

use super::{FitnessCheck, fine, found};
use linerate_model::doctor::{Finding, Severity};

pub(super) static CHECK: FitnessCheck = FitnessCheck {
    id: "boost",
    summary: "Whether cores may run above their nominal frequency for a while.",
    examine: |condition| {
        if !condition.boost.clone()? {
            return Ok(fine("off: every run has the same highest frequency"));
        }
        Ok(found(Finding {
            severity: Severity::Low,
            now: "on".to_owned(),
            cost: "the highest frequency depends on temperature and on how many cores are busy: the first run may be faster than the tenth"
                .to_owned(),
            source: Some("Documentation/admin-guide/pm/cpufreq.rst, Frequency Boost Support".to_owned()),
            set: "to compare runs: echo 0 > /sys/devices/system/cpu/cpufreq/boost (or 1 > …/intel_pstate/no_turbo); for the lowest latency leave it on"
                .to_owned(),
            settings: Vec::new(),
        }))
    },
};

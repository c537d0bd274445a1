//! Active profile of tuned.

use super::{FitnessCheck, fine, found};
use linerate_model::doctor::{Finding, Severity};

/// Profiles for throughput or latency.
const GOOD: &[&str] = &[
    "accelerator-performance",
    "cpu-partitioning",
    "hpc-compute",
    "latency-performance",
    "network-latency",
    "network-throughput",
    "realtime",
    "throughput-performance",
];

pub(super) static CHECK: FitnessCheck = FitnessCheck {
    id: "tuned",
    summary: "The active profile of tuned.",
    examine: |condition| {
        let Some(profile) = condition.tuned.clone()? else {
            return Ok(fine("tuned has no active profile here"));
        };
        if GOOD.iter().any(|good| profile.starts_with(good)) {
            return Ok(fine(profile));
        }
        Ok(found(Finding {
            severity: Severity::Low,
            now: profile,
            cost: "it sets governor, idle states and sysctls for other aims, and sets them again over what was set by hand when it starts"
                .to_owned(),
            source: Some("tuned-profiles(7)".to_owned()),
            set: "tuned-adm profile network-latency (or network-throughput)".to_owned(),
            settings: Vec::new(),
        }))
    },
};

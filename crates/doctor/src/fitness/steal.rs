//! Steal time: CPU time that the hypervisor takes.

use super::{FitnessCheck, fine, found, severity_of};
use linerate_model::doctor::Finding;

/// Share above which one run in a few is affected.
const PROBLEM_SHARE: f64 = 0.01;
/// Share below the resolution of the timer ticks in which it is counted.
const NEGLIGIBLE_SHARE: f64 = 0.0001;

pub(super) static CHECK: FitnessCheck = FitnessCheck {
    id: "steal",
    summary: "Share of the cores' time that the hypervisor gave to others, since boot.",
    examine: |condition| {
        let share = condition.stolen.clone()?.get();
        let now = format!("{:.3} % of all cores' time since boot", share * 100.0);
        let Some(severity) = severity_of(share, NEGLIGIBLE_SHARE..PROBLEM_SHARE) else {
            return Ok(fine(now));
        };
        Ok(found(Finding {
            severity,
            now,
            cost: "in that time this host stood still; nothing that runs on it can tell this from a slow network. \
                   `--jitter` shows how long at once"
                .to_owned(),
            source: Some("proc_stat(5), steal".to_owned()),
            set: "give this machine cores of its own (pinned and not overcommitted), or measure on a machine that is not virtual"
                .to_owned(),
            settings: Vec::new(),
        }))
    },
};

//! Load: what other programs use of the host now.

use super::{FitnessCheck, fine, found, severity_of};
use linerate_model::doctor::Finding;

/// Share of all cores from which a traffic thread hardly finds one that is free.
const PROBLEM_SHARE: f64 = 0.5;
/// Share below which the kernel's own work and a shell are.
const NEGLIGIBLE_SHARE: f64 = 0.1;

pub(super) static CHECK: FitnessCheck = FitnessCheck {
    id: "load",
    summary: "Share of the cores' time that other programs use now.",
    examine: |condition| {
        let share = condition.busy.clone()?.get();
        let now = format!("other programs use {:.0} % of this host", share * 100.0);
        let Some(severity) = severity_of(share, NEGLIGIBLE_SHARE..PROBLEM_SHARE) else {
            return Ok(fine(now));
        };
        Ok(found(Finding {
            severity,
            now,
            cost: "traffic threads wait for a core: rates fall, delays and losses grow, and from run to run they differ"
                .to_owned(),
            source: Some("proc_stat(5), over a quarter of a second".to_owned()),
            set: "stop what runs beside the measurement (`top` shows it), or leave the traffic a core of its own with --cpu"
                .to_owned(),
            settings: Vec::new(),
        }))
    },
};

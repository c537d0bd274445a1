//! Applications whose threads hardly ever rest: without their pauses they would do no more.

use super::explained::LimitedTrials;
use super::weights::Suspect;
use crate::causes::{receiver_app, sender_app};
use crate::thresholds::exclusion::LEAST_GAIN;
use linerate_model::Ratio;
use linerate_model::spec::{Side, Transport};

/// Whether `suspect` is an application known to have paused for too little. Datagrams are left out: what comes in a pause
/// may be lost, however short it is.
pub(super) fn speaks_against(seen: &LimitedTrials<'_>, suspect: Suspect) -> bool {
    let trial = seen.shown;
    let is_app = *suspect == sender_app::CAUSE || *suspect == receiver_app::CAUSE;
    let side: Option<Side> = suspect.side.filter(|_| is_app);
    let idle = || {
        let cpu = trial.cpu_of(side?)?;
        // A thread that pauses gives its core away, and waits for one longer than it paused.
        Some(cpu.paused_ratio?.get() + cpu.run_delay_ratio.map_or(0.0, Ratio::get))
    };
    trial.transport == Transport::Tcp && idle().is_some_and(|idle| (1.0 - idle) * LEAST_GAIN > 1.0)
}

//! Applications whose threads hardly ever rest, or only where others hold them up: without their pauses they would do no
//! more.

use super::explained::LimitedTrials;
use super::weights::Suspect;
use crate::causes::{receiver_app, sender_app};
use crate::thresholds::exclusion::LEAST_GAIN;
use linerate_model::Ratio;
use linerate_model::run::Trial;
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
    let is_busy = || idle().is_some_and(|idle| (1.0 - idle) * LEAST_GAIN > 1.0);
    trial.transport == Transport::Tcp
        && is_app
        && (is_busy() || suspect.side == Some(Side::Sender) && is_pushed_back(trial))
}

/// Whether a sender with a load to keep slept in its calls for as long as it is behind: its socket had no room, and what
/// fills that is behind it.
fn is_pushed_back(trial: &Trial) -> bool {
    let rates = trial.offered_load.zip(trial.intended_load);
    let behind = rates.map(|(offered, intended)| 1.0 - offered.as_f64() / intended.as_f64());
    let blocked = trial.cpu_of(Side::Sender).and_then(|cpu| cpu.blocked_ratio);
    let both = behind.zip(blocked.map(Ratio::get));
    both.is_some_and(|(behind, blocked)| behind > 0.0 && blocked >= behind)
}

//! Datagrams of which many were lost: had their sender sent more, more would have been lost.

use super::explained::LimitedTrials;
use super::half_load;
use super::last_of;
use super::weights::Suspect;
use crate::thresholds::outcome::{LOSSY, SAME};
use linerate_model::Ratio;
use linerate_model::run::Trial;
use linerate_model::spec::Transport;

/// Whether the loss rules out `suspect`, which holds back what is sent: only where something else gave way last would more
/// arrive if more were sent. Loss that is as large at half the load comes at any, and leaves that open.
pub(super) fn speaks_against(seen: &LimitedTrials<'_>, suspect: Suspect) -> bool {
    let loss = lost(seen.shown);
    let half = || last_of(seen.run, half_load::CHANGE);
    let is_at_any_load = || half().is_some_and(|half| lost(half) * SAME >= loss);
    suspect.is_of_a_sender_that_falls_short()
        && seen.shown.transport == Transport::Udp
        && loss >= LOSSY
        && !is_at_any_load()
}

fn lost(trial: &Trial) -> f64 {
    trial.loss_ratio().map_or(0.0, Ratio::get)
}

//! Datagrams that were sent as intended and lost: what their places rule out, and whether that would come again.

use super::delivered::{is_as_intended, is_sent};
use super::explained::LimitedTrials;
use super::outcome::loss_on_path;
use super::shaper;
use super::weights::Suspect;
use crate::causes::own_shaper;
use crate::readings::whole_intervals;
use crate::thresholds::exclusion::UNPLACED;
use linerate_model::run::{Trial, TrialInterval};
use linerate_model::spec::{Side, Transport};
use linerate_model::{PacketCount, Ratio};

/// Whether the place of the loss rules `suspect` out.
///
/// A datagram that the receiver's host dropped had passed its sender and the path. Where that host dropped all that was
/// lost, and as many were sent as were intended, it is what limits, unless a shaper of the sender that held packets back
/// leaves next to nothing to gain from a receiver that drops none.
pub(super) fn speaks_against(seen: &LimitedTrials<'_>, suspect: Suspect) -> bool {
    let is_shaped = || {
        *suspect == own_shaper::CAUSE
            && shaper::is_held_back(seen.shown)
            && shaper::leaves_no_room(seen.run, seen.limited)
    };
    suspect.side != Some(Side::Receiver) && is_at_receiver(seen.shown) && !is_shaped()
}

fn is_at_receiver(trial: &Trial) -> bool {
    let lost = trial.loss_ratio().map_or(0.0, Ratio::get);
    let is_lossy = trial.transport == Transport::Udp && lost > 0.0;
    is_lossy && is_sent(trial) && loss_on_path(trial) <= lost * UNPLACED
}

/// In how many of its intervals datagrams of `trial` were lost or not sent, and of how many, where all of another test of the
/// same may well arrive; `None` where they hardly would, or where that is not known.
///
/// What comes one interval at a time, independently, in `k` of `n` intervals spares all `n` of another test with
/// probability (1 − k/n)ⁿ: 0.34 for one of eight, 0.10 for two. `likely` is what of that probability is too much.
pub(super) fn in_passing(trial: &Trial, likely: f64) -> Option<(usize, usize)> {
    let intended = trial.intended_load?;
    let is_missed = |interval: &TrialInterval| {
        let is_lossy = interval.lost_packets? > PacketCount::default();
        Some(is_lossy || !is_as_intended(interval.offered_load?, intended))
    };
    let missed: Vec<bool> = whole_intervals(trial)
        .map(is_missed)
        .collect::<Option<_>>()?;
    let (k, n) = (missed.iter().filter(|is| **is).count(), missed.len());
    let whole = 1.0 - Ratio::from_parts(k as u64, n as u64).get();
    let spared = whole.powi(i32::try_from(n).unwrap_or(i32::MAX));
    (k > 0 && spared >= likely).then_some((k, n))
}

//! An interface that is full: whatever else were relieved, hardly more would fit through it.

use super::explained::LimitedTrials;
use super::outcome::greatest_place;
use super::shaper;
use super::weights::Suspect;
use crate::causes::{BEFORE_RECEIVER, FULL_LINK, link, link_speed, own_shaper};
use crate::readings::{is_within_veth, packet};
use linerate_model::run::{Run, Trial};
use linerate_model::spec::Transport;
use linerate_model::{Layer, Ratio};

/// Whether the speed of the interfaces leaves nothing for `suspect` to limit: a limit is what gains a tenth when it is
/// relieved, and of a full interface there is half of that to gain. A veth keeps to no rate, so it is never the link's.
pub(super) fn speaks_against(seen: &LimitedTrials<'_>, suspect: Suspect) -> bool {
    let (run, trial) = (seen.run, seen.shown);
    // A shaper may be set to just below.
    let is_shaped = || *suspect == own_shaper::CAUSE && shaper::payload_rate(run, trial).is_some();
    if *suspect == link::CAUSE {
        return is_within_veth(trial);
    }
    !is_shaped() && is_reached(run, trial)
}

/// Whether `trial` carried all that the slowest known interface, or the link element, can.
pub(super) fn is_reached(run: &Run, trial: &Trial) -> bool {
    let share = || {
        let (overhead, payload) = packet(trial)?;
        let wire = overhead.rate_at(Layer::L1, trial.received_rate?, payload)?;
        Some(wire.as_f64() / link_speed(run)?)
    };
    let is_full = share().is_some_and(|share| FULL_LINK.contains(&share));
    is_full && (trial.transport == Transport::Tcp || !is_lost_elsewhere(trial))
}

/// Whether datagrams were lost that had passed the link, or may have.
fn is_lost_elsewhere(trial: &Trial) -> bool {
    let is_lossy = trial.loss_ratio().is_some_and(|loss| loss > Ratio::ZERO);
    is_lossy && !greatest_place(trial).is_some_and(|place| BEFORE_RECEIVER.contains(&place))
}

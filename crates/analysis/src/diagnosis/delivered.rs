//! Datagrams that all arrived, and were fewer than intended: what kept them from being sent is what limited.

use super::explained::LimitedTrials;
use super::shaper;
use super::thread::is_paused;
use super::weights::Suspect;
use crate::causes::{link, own_shaper, sender_cpu};
use crate::thresholds::exclusion::SENT;
use linerate_model::run::{Run, Trial};
use linerate_model::spec::{Side, Transport};
use linerate_model::{BitRate, PacketCount};

/// Whether what became of the datagrams rules `suspect` out.
///
/// A sender of datagrams learns of nothing behind its own host. Where none is lost and yet fewer are sent than were
/// intended, the sender limits, or what takes packets from it; and not that either where its thread waited for its own
/// schedule, and hardly ever for room, unless what takes them may have been full: a thread that keeps a
/// schedule waits for little room where that is hardly above what goes through.
pub(super) fn speaks_against(seen: &LimitedTrials<'_>, suspect: Suspect) -> bool {
    if *suspect == link::CAUSE || *suspect == own_shaper::CAUSE {
        return is_sender_alone(seen.run, seen.shown);
    }
    *suspect != sender_cpu::CAUSE && is_short_and_whole(seen.shown)
}

/// The sentence that says that only the sender is left; `None` where others are.
pub(super) fn describe(run: &Run, trial: &Trial) -> Option<String> {
    let intended = trial
        .intended_load
        .filter(|_| is_sender_alone(run, trial))?;
    Some(format!(
        "Every datagram that was sent arrived and no queue of its host held the sender back, yet it sent only {} of {intended}.",
        trial.offered_load.unwrap_or_default()
    ))
}

/// Whether all that was sent arrived, and nothing held the sender back.
pub(super) fn is_sender_alone(run: &Run, trial: &Trial) -> bool {
    is_short_and_whole(trial) && is_paused(trial, Side::Sender) && !shaper::may_be_full(run, trial)
}

/// Whether as much was sent as was intended, where that was some rate.
pub(super) fn is_sent(trial: &Trial) -> bool {
    let loads = trial.offered_load.zip(trial.intended_load);
    loads.is_some_and(|(offered, intended)| is_as_intended(offered, intended))
}

pub(super) fn is_as_intended(offered: BitRate, intended: BitRate) -> bool {
    offered.as_f64() >= intended.as_f64() * SENT
}

fn is_short_and_whole(trial: &Trial) -> bool {
    let is_known = trial.intended_load.is_none() || trial.offered_load.is_some();
    let is_whole = trial.packets().is_some_and(|packets| {
        let sent = packets.sent.map_or(0, PacketCount::get);
        sent > 0 && packets.lost.map(PacketCount::get) == Some(0)
    });
    trial.transport == Transport::Udp && is_known && !is_sent(trial) && is_whole
}

//! Datagrams that are known to be lost in the hosts: the path between them lost none.

use super::explained::LimitedTrials;
use super::weights::Suspect;
use crate::causes::{link_speed, return_path};
use crate::readings::packet;
use crate::thresholds::exclusion::{FULL_AT, UNPLACED};
use linerate_model::run::{Place, Run, Trial};
use linerate_model::spec::Transport;
use linerate_model::{Layer, PacketCount};

/// Whether `suspect` is on the path, and every lost datagram has a place in a host.
pub(super) fn speaks_against(seen: &LimitedTrials<'_>, suspect: Suspect) -> bool {
    let is_way_there = suspect.is_on_path() && *suspect != return_path::CAUSE;
    is_way_there && is_lost_in_hosts(seen.run, seen.shown)
}

fn is_lost_in_hosts(run: &Run, trial: &Trial) -> bool {
    let lost = trial.packets().and_then(|packets| packets.lost);
    let lost = lost.map_or(0.0, PacketCount::as_f64);
    let in_hosts = trial.ledger().iter().filter(|entry| match entry.place {
        Place::ReceiverNic | Place::ReceiverBacklog | Place::ReceiverSocket => true,
        // An interface drops what a full link, or a slow device behind it, does not take.
        Place::SenderNic => is_far_from_full(run, trial),
        Place::SenderSocket
        | Place::SenderQdisc
        | Place::Network
        | Place::Device
        | Place::Unknown => false,
    });
    let placed: f64 = in_hosts.map(|entry| entry.packets.as_f64()).sum();
    trial.transport == Transport::Udp && lost > 0.0 && placed >= lost * (1.0 - UNPLACED)
}

/// Whether what was sent takes little of the speed that the slowest interface is known to keep.
fn is_far_from_full(run: &Run, trial: &Trial) -> bool {
    let share = || {
        let (overhead, payload) = packet(trial)?;
        let sent = overhead.rate_at(Layer::L1, trial.offered_load?, payload)?;
        Some(sent.as_f64() / link_speed(run)?)
    };
    share().is_some_and(|share| share < FULL_AT)
}

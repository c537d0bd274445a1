//! A reader without CPU time: the socket that fills before it is a symptom.

use super::explained::LimitedTrials;
use super::outcome::greatest_place;
use super::thread::{Thread, thread};
use super::weights::Suspect;
use crate::causes::{receiver_app, receiver_socket};
use linerate_model::run::Place;
use linerate_model::spec::{Side, Transport};

/// Whether `suspect` is the socket or the application of a receiver whose thread was short of CPU time, where the datagrams
/// were lost before it.
pub(super) fn speaks_against(seen: &LimitedTrials<'_>, suspect: Suspect) -> bool {
    let trial = seen.shown;
    let is_symptom = *suspect == receiver_socket::CAUSE || *suspect == receiver_app::CAUSE;
    is_symptom
        && trial.transport == Transport::Udp
        && greatest_place(trial) == Some(Place::ReceiverSocket)
        && thread(trial, Side::Receiver) == Some(Thread::Starved)
}

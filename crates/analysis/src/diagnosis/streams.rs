//! Four times the streams: what holds each stream back, and not all of them together, carries more.

use super::rate::{RATE_ANSWERS, RateProbe};
use super::suspects::Suspect;
use linerate_model::run::Change;

pub(super) const STREAMS: RateProbe = RateProbe {
    id: "streams",
    change: Change::Streams { factor: 4 },
    said: "With four times the streams",
    likelihoods,
};

const fn likelihoods(suspect: Suspect) -> [f64; RATE_ANSWERS] {
    match suspect {
        Suspect::PathLoss | Suspect::SenderBuffer | Suspect::ReceiverWindow => [0.02, 0.13, 0.85],
        Suspect::Congestion => [0.03, 0.22, 0.75],
        Suspect::SenderApp => [0.05, 0.35, 0.60],
        Suspect::ReceiverApp => [0.20, 0.45, 0.35],
        Suspect::SenderCpu | Suspect::ReceiverCpu => [0.25, 0.43, 0.32],
        Suspect::Policer => [0.13, 0.74, 0.13],
        _ => [0.06, 0.90, 0.04],
    }
}

//! Half the payload at the same load: twice the packets, for which hosts pay, and a path by their headers only.

use super::rate::{RATE_ANSWERS, RateProbe};
use super::suspects::Suspect;
use linerate_model::run::Change;

pub(super) const HALF: RateProbe = RateProbe {
    id: "payload",
    change: Change::Payload { factor: 0.5 },
    said: "With twice as many packets of half the payload",
    likelihoods,
};

const fn likelihoods(suspect: Suspect) -> [f64; RATE_ANSWERS] {
    match suspect {
        Suspect::SenderCpu => [0.85, 0.13, 0.02],
        Suspect::ReceiverCpu | Suspect::ReceiverBacklog => [0.80, 0.18, 0.02],
        // A socket's buffer holds packets rather than bytes; a reader may be slow by either.
        Suspect::ReceiverSocket | Suspect::ReceiverApp => [0.55, 0.42, 0.03],
        _ => [0.06, 0.92, 0.02],
    }
}

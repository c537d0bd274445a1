//! Many datagrams per system call: each costs both hosts less, and the path carries what it carried.

use super::rate::{RATE_ANSWERS, RateProbe};
use super::suspects::Suspect;
use linerate_model::run::Change;

pub(super) const ON: RateProbe = RateProbe {
    id: "aggregation",
    change: Change::Aggregation { on: true },
    said: "With many datagrams per system call",
    likelihoods,
};

const fn likelihoods(suspect: Suspect) -> [f64; RATE_ANSWERS] {
    match suspect {
        Suspect::SenderCpu => [0.05, 0.20, 0.75],
        Suspect::ReceiverCpu | Suspect::ReceiverBacklog => [0.15, 0.30, 0.55],
        Suspect::ReceiverSocket | Suspect::ReceiverApp => [0.15, 0.50, 0.35],
        // Bursts of a whole call overflow a short queue.
        _ => [0.10, 0.86, 0.04],
    }
}

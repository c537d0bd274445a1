//! A traffic thread on the core that was least busy: one that shared its core with others runs freely there.

use super::rate::{RateProbe, relieved};
use super::suspects::Suspect;
use linerate_model::run::Change;
use linerate_model::spec::Side;

pub(super) const SENDER: RateProbe = RateProbe {
    id: "sender-core",
    change: Change::OtherCore { side: Side::Sender },
    said: "With the sender's thread on another core",
    likelihoods: |suspect| relieved(suspect, Suspect::SenderCpu, FOLLOWS),
};

pub(super) const RECEIVER: RateProbe = RateProbe {
    id: "receiver-core",
    change: Change::OtherCore {
        side: Side::Receiver,
    },
    said: "With the receiver's thread on another core",
    likelihoods: |suspect| relieved(suspect, Suspect::ReceiverCpu, FOLLOWS),
};

/// A CPU limits for other reasons than a neighbour on its core too: a quota, or its own speed.
const FOLLOWS: f64 = 0.35;

//! Twice a socket's buffer: where the window or the buffer limits, the rate follows it.

use super::rate::{RateProbe, relieved};
use super::suspects::Suspect;
use linerate_model::run::Change;

pub(super) const RECEIVE_BUFFER: RateProbe = RateProbe {
    id: "receive-buffer",
    change: Change::ReceiveBuffer { factor: 2.0 },
    said: "With twice the receive buffer",
    likelihoods: |suspect| relieved(suspect, Suspect::ReceiverWindow, FOLLOWS),
};

pub(super) const SEND_BUFFER: RateProbe = RateProbe {
    id: "send-buffer",
    change: Change::SendBuffer { factor: 2.0 },
    said: "With twice the send buffer",
    likelihoods: |suspect| relieved(suspect, Suspect::SenderBuffer, FOLLOWS),
};

/// Room for bursts, and for a reader's pauses; a reader that is too slow for good fills any buffer.
pub(super) const DATAGRAM_BUFFER: RateProbe = RateProbe {
    id: "receive-buffer",
    change: Change::ReceiveBuffer { factor: 8.0 },
    said: "With eight times the receive buffer",
    likelihoods: |suspect| relieved(suspect, Suspect::ReceiverSocket, FOLLOWS),
};

/// How often twice the buffer carries a quarter more, if the buffer is what limits: the system may not give it, or the
/// next limit be near.
const FOLLOWS: f64 = 0.85;

//! A larger socket buffer: where the window or the buffer limits, the rate follows it.

use super::class::Class;
use super::class::Often::{Hardly, Rarely, Usually};
use super::rate::RateProbe;
use super::suspects::Suspect::{
    ReceiverApp, ReceiverCpu, ReceiverSocket, ReceiverWindow, SenderBuffer,
};
use linerate_model::run::Change;

pub(super) const RECEIVE_BUFFER: RateProbe = RateProbe {
    id: "receive-buffer",
    change: Change::ReceiveBuffer { factor: 4.0 },
    said: "With four times the receive buffer",
    classes: OF_RECEIVER,
};

/// Room for bursts, and for a reader's pauses; a reader that is too slow for good fills any buffer.
pub(super) const DATAGRAM_BUFFER: RateProbe = RateProbe {
    id: "receive-buffer",
    change: Change::ReceiveBuffer { factor: 8.0 },
    said: "With eight times the receive buffer",
    classes: OF_RECEIVER,
};

const OF_RECEIVER: &[Class] = &[
    Class::new("fell", Rarely),
    Class::new("stayed", Usually).hardly(&[ReceiverWindow, ReceiverSocket]),
    Class::new("rose", Rarely).usually(&[ReceiverWindow]),
    Class::new("lost-less", Hardly)
        .usually(&[ReceiverSocket])
        .possibly(&[ReceiverCpu, ReceiverApp]),
];

pub(super) const SEND_BUFFER: RateProbe = RateProbe {
    id: "send-buffer",
    change: Change::SendBuffer { factor: 4.0 },
    said: "With four times the send buffer",
    classes: &[
        Class::new("fell", Rarely),
        Class::new("stayed", Usually).hardly(&[SenderBuffer]),
        Class::new("rose", Rarely).usually(&[SenderBuffer]),
        Class::new("lost-less", Hardly),
    ],
};

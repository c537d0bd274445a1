//! Half the payload at the same load: twice the packets, for which hosts pay, and a path by their headers only.

use super::class::Class;
use super::class::Often::{Rarely, Usually};
use super::rate::RateProbe;
use super::suspects::Suspect::{
    ReceiverApp, ReceiverBacklog, ReceiverCpu, ReceiverSocket, SenderCpu,
};
use linerate_model::run::Change;

pub(super) const HALF: RateProbe = RateProbe {
    id: "payload",
    change: Change::Payload { factor: 0.5 },
    said: "With twice as many packets of half the payload",
    classes: &[
        // A socket's buffer holds packets rather than bytes; a reader may be slow by either.
        Class::new("fell", Rarely)
            .usually(&[SenderCpu, ReceiverCpu, ReceiverBacklog])
            .possibly(&[ReceiverSocket, ReceiverApp]),
        Class::new("stayed", Usually).possibly(&[SenderCpu, ReceiverCpu, ReceiverBacklog]),
        Class::new("rose", Rarely),
        Class::new("lost-less", Rarely),
    ],
};

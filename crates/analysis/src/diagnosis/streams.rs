//! Four times the streams: what holds each stream back, and not all of them together, carries more.

use super::class::Class;
use super::class::Often::{Hardly, Rarely};
use super::rate::RateProbe;
use super::suspects::Suspect::{
    Congestion, Link, OwnShaper, PathLoss, Policer, ReceiverApp, ReceiverCpu, ReceiverWindow,
    ReturnPath, SenderApp, SenderBuffer, SenderCpu,
};
use linerate_model::run::Change;

pub(super) const STREAMS: RateProbe = RateProbe {
    id: "streams",
    change: Change::Streams { factor: 4 },
    said: "With four times the streams",
    classes: &[
        Class::new("fell", Rarely),
        Class::new("stayed", Hardly)
            .usually(&[Link, OwnShaper, Policer, ReturnPath, ReceiverApp])
            .possibly(&[SenderCpu, ReceiverCpu, Congestion])
            .rarely(&[PathLoss, SenderBuffer, ReceiverWindow, SenderApp]),
        Class::new("rose", Hardly)
            .usually(&[PathLoss, SenderBuffer, ReceiverWindow])
            .possibly(&[Congestion, SenderCpu, ReceiverCpu, SenderApp, ReceiverApp])
            .rarely(&[Link, OwnShaper, Policer]),
        Class::new("lost-less", Hardly),
    ],
};

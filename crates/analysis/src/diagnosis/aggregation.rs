//! Many datagrams per system call: each costs both hosts less, and the path carries what it carried.

use super::class::Class;
use super::class::Often::{Rarely, Usually};
use super::rate::RateProbe;
use super::suspects::Suspect::{
    ReceiverApp, ReceiverBacklog, ReceiverCpu, ReceiverSocket, SenderCpu,
};
use linerate_model::run::Change;

pub(super) const ON: RateProbe = RateProbe {
    id: "aggregation",
    change: Change::Aggregation { on: true },
    said: "With many datagrams per system call",
    classes: &[
        // Bursts of a whole call overflow a short queue.
        Class::new("fell", Rarely).possibly(&[ReceiverSocket]),
        Class::new("stayed", Usually).possibly(&[SenderCpu, ReceiverCpu, ReceiverBacklog]),
        Class::new("rose", Rarely).usually(&[SenderCpu]).possibly(&[
            ReceiverCpu,
            ReceiverBacklog,
            ReceiverSocket,
            ReceiverApp,
        ]),
        Class::new("lost-less", Rarely).possibly(&[
            ReceiverCpu,
            ReceiverBacklog,
            ReceiverSocket,
            ReceiverApp,
        ]),
    ],
};

//! A traffic thread on the core that was least busy: one that shared its core with others runs freely there.
//!
//! A CPU limits for other reasons than a neighbour on its core too: a quota, or its own speed.

use super::class::Class;
use super::class::Often::{Hardly, Rarely, Usually};
use super::rate::RateProbe;
use super::suspects::Suspect::{ReceiverCpu, SenderCpu};
use linerate_model::run::Change;
use linerate_model::spec::Side;

pub(super) const SENDER: RateProbe = RateProbe {
    id: "sender-core",
    change: Change::OtherCore { side: Side::Sender },
    said: "With the sender's thread on another core",
    classes: &[
        Class::new("fell", Rarely),
        Class::new("stayed", Usually).possibly(&[SenderCpu]),
        Class::new("rose", Rarely).usually(&[SenderCpu]),
        Class::new("lost-less", Rarely),
    ],
};

pub(super) const RECEIVER: RateProbe = RateProbe {
    id: "receiver-core",
    change: Change::OtherCore {
        side: Side::Receiver,
    },
    said: "With the receiver's thread on another core",
    classes: &[
        Class::new("fell", Rarely),
        Class::new("stayed", Usually).possibly(&[ReceiverCpu]),
        Class::new("rose", Rarely).usually(&[ReceiverCpu]),
        Class::new("lost-less", Hardly).usually(&[ReceiverCpu]),
    ],
};

//! Signs: what the run's own trial shows, in classes.
//!
//! A sign takes figures together that say something only together: an application that TCP waits for rests, unless its
//! thread waited for a core. It decides nothing by itself; [`Counts`](super::Counts) say what a class speaks for.

mod datagrams;
mod tcp;

use super::shaper;
use super::thread::{Spent, spent};
use linerate_model::run::{GoalResult, Run, Trial};
use linerate_model::spec::{Side, Transport};

/// What a trial shows, in classes.
pub(super) struct Sign {
    /// Its key in the table of counts.
    pub(super) id: &'static str,
    /// The ids of its classes.
    pub(super) classes: &'static [&'static str],
    /// The class, by its position; `None` where the trial does not tell.
    pub(super) read: fn(&SignInput<'_>) -> Option<usize>,
}

/// A sign by its key, its classes and the class that a trial shows, if it shows one.
macro_rules! sign {
    ($id:literal, $classes:ty, $shown:ident => $class:expr) => {
        $crate::diagnosis::signs::Sign {
            id: $id,
            classes: <$classes>::IDS,
            read: |$shown| Some($class? as usize),
        }
    };
}
use sign;

/// The trials that signs are read from.
pub(super) struct SignInput<'a> {
    pub(super) run: &'a Run,
    /// The run's own, which is to be explained; of a search one above the bound that it found, since what is carried whole
    /// shows no limit.
    pub(super) trial: &'a Trial,
    /// Of a search: the goal that let most through.
    pub(super) goal: Option<&'a GoalResult>,
    /// The probe at half the rate, if it was made.
    pub(super) half: Option<&'a Trial>,
    /// What a shaper at the sender's interface lets pass, in bit/s of L4 payload.
    pub(super) shaped: Option<f64>,
}

/// Signs of what `transport` carried. A new one is an entry in one of these files.
pub(super) const fn of(transport: Transport) -> &'static [Sign] {
    match transport {
        Transport::Tcp => tcp::SIGNS,
        Transport::Udp => datagrams::SIGNS,
    }
}

/// Where the receiving thread's time went, whatever is carried: one that waits for something to read is not what limits.
const RECEIVER_THREAD: Sign =
    sign!("receiver-thread", Spent, shown => spent(shown.trial, Side::Receiver));

/// A shaper at the sender's interface, whatever is carried.
const SHAPER: Sign =
    sign!("shaper", shaper::Rate, shown => shaper::rate(shown.trial, shown.shaped?));

//! Signs of datagrams: what became of those that were to be sent.

use super::{RECEIVER_THREAD, SHAPER, Shown, Sign};
use crate::diagnosis::class::Class;
use crate::diagnosis::class::Often::{Hardly, Possibly, Rarely, Usually};
use crate::diagnosis::outcome::{self, Around, OF_DATAGRAMS};
use crate::diagnosis::queue::{Queue, queue};
use crate::diagnosis::suspects::Suspect::{Link, OwnShaper, PathLoss, Policer, SenderCpu};
use crate::diagnosis::thread::spent;
use crate::rules;
use linerate_model::BitRate;
use linerate_model::run::{BoundedBy, GoalResult};
use linerate_model::spec::Side;

pub(super) const SIGNS: &[Sign] = &[
    Sign {
        id: "sender-thread",
        classes: SENDER_THREAD,
        read: |shown| spent(shown.trial, Side::Sender),
    },
    RECEIVER_THREAD,
    SHAPER,
    Sign {
        id: "missing",
        classes: OF_DATAGRAMS,
        read: outcome_of,
    },
    Sign {
        id: "bounded-by",
        classes: BOUNDED_BY,
        read: |shown| bounded_by(shown.goal?),
    },
    Sign {
        id: "bucket",
        classes: BUCKET,
        read: bucket,
    },
];

/// Where the sending thread's time went: one that has time to wait for its schedule is not what limits.
const SENDER_THREAD: &[Class] = &[
    Class::new("blocked", Rarely).usually(&[Link, OwnShaper]),
    Class::new("partly-blocked", Rarely).usually(&[Link, OwnShaper]),
    Class::new("partly-paused", Rarely).usually(&[Link, OwnShaper]),
    Class::new("paused", Usually).rarely(&[SenderCpu]),
    Class::new("running", Possibly).usually(&[SenderCpu]),
    // Beside other programs one that keeps its schedule waits too.
    Class::new("waiting", Possibly).usually(&[SenderCpu]),
];

/// What kept the next higher load from meeting a search's goal.
const BOUNDED_BY: &[Class] = &[
    Class::new("delay", Possibly).usually(&[Link, OwnShaper]),
    Class::new("loss", Usually).rarely(&[SenderCpu]),
    // All that was sent arrived: only what takes packets from the sender can be beside it.
    Class::new("sender", Hardly)
        .usually(&[SenderCpu, OwnShaper])
        .rarely(&[Link]),
];

/// Whether a search emptied a bucket of tokens: what passes for a while, and is lost then without a queue, is counted.
const BUCKET: &[Class] = &[
    Class::new("none", Usually).possibly(&[Policer]),
    // Outages come between short tests.
    Class::new("emptied", Hardly)
        .usually(&[Policer])
        .rarely(&[PathLoss]),
];

fn bucket(shown: &Shown<'_>) -> Option<&'static str> {
    shown.goal?;
    let is_queued = || queue(shown.trial, shown.half) == Queue::Standing;
    let has_bucket = rules::has_bucket(shown.run, shown.trial.direction);
    Some(if has_bucket && !is_queued() {
        "emptied"
    } else {
        "none"
    })
}

fn bounded_by(goal: &GoalResult) -> Option<&'static str> {
    match goal.bounded_by? {
        BoundedBy::Delay => Some("delay"),
        BoundedBy::Loss => Some("loss"),
        BoundedBy::Sender => Some("sender"),
        BoundedBy::Limit => None,
    }
}

fn outcome_of(shown: &Shown<'_>) -> Option<&'static str> {
    let around = Around {
        limited: None,
        half: shown.half,
    };
    let intended = shown.trial.intended_load.map(BitRate::as_f64);
    let outcome = outcome::read(shown.trial, intended, &around)?;
    Some(OF_DATAGRAMS.get(outcome as usize)?.id)
}

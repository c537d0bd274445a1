//! Signs of datagrams: what became of those that were to be sent.

use super::{RECEIVER_THREAD, SHAPER, Sign, SignInput, sign};
use crate::causes;
use crate::diagnosis::class::classes;
use crate::diagnosis::outcome::{self, Outcome, ReferenceTrials};
use crate::diagnosis::queue::{Queue, queue};
use crate::diagnosis::thread::{Spent, spent};
use linerate_model::BitRate;
use linerate_model::run::{BoundedBy, GoalResult};
use linerate_model::spec::Side;

pub(super) const SIGNS: &[Sign] = &[
    sign!("sender-thread", Spent, shown => spent(shown.trial, Side::Sender)),
    RECEIVER_THREAD,
    SHAPER,
    Sign {
        id: "missing",
        classes: Outcome::IDS,
        read: outcome_of,
    },
    sign!("bounded-by", Bound, shown => bounded_by(shown.goal?)),
    sign!("bucket", BucketState, shown => bucket(shown)),
];

classes! {
    /// What kept the next higher load from meeting a search's goal.
    Bound {
        Delay "delay", Loss "loss",
        /// All that was sent arrived: only what takes packets from the sender can be beside it.
        Sender "sender",
    }
}

classes! {
    /// Whether a search emptied a bucket of tokens: what passes for a while, and is lost then without a queue, is counted.
    BucketState {
        None "none",
        /// Outages come between short tests.
        Emptied "emptied",
    }
}

fn bucket(shown: &SignInput<'_>) -> Option<BucketState> {
    shown.goal?;
    let is_queued = || queue(shown.trial, shown.half) == Queue::Standing;
    let has_bucket = causes::has_bucket(shown.run, shown.trial.direction);
    Some(if has_bucket && !is_queued() {
        BucketState::Emptied
    } else {
        BucketState::None
    })
}

fn bounded_by(goal: &GoalResult) -> Option<Bound> {
    match goal.bounded_by? {
        BoundedBy::Delay => Some(Bound::Delay),
        BoundedBy::Loss => Some(Bound::Loss),
        BoundedBy::Sender => Some(Bound::Sender),
        BoundedBy::Limit => None,
    }
}

fn outcome_of(shown: &SignInput<'_>) -> Option<usize> {
    let around = ReferenceTrials {
        limited: None,
        half: shown.half,
    };
    let intended = shown.trial.intended_load.map(BitRate::as_f64);
    Some(outcome::read(shown.trial, intended, &around)? as usize)
}

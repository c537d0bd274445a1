//! Signs of datagrams: what became of those that were to be sent.

use super::Sign;
use crate::diagnosis::outcome::{self, Around, OF_DATAGRAMS};
use linerate_model::BitRate;
use linerate_model::run::Trial;

pub(super) const SIGNS: &[Sign] = &[
    Sign {
        id: "missing",
        classes: OF_DATAGRAMS,
        read: |trial, around| outcome_of(trial, around),
    },
    // Of a search, whose own trial may have lost nothing.
    Sign {
        id: "overloaded",
        classes: OF_DATAGRAMS,
        read: |_, around| outcome_of(around.overloaded?, around),
    },
];

fn outcome_of(trial: &Trial, around: &Around<'_>) -> Option<usize> {
    let intended = trial.intended_load.map(BitRate::as_f64);
    outcome::read(trial, intended, around).map(|outcome| outcome as usize)
}

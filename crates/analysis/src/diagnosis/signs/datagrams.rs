//! Signs of datagrams: what became of those that were to be sent.

use super::{Shown, Sign};
use crate::diagnosis::outcome::{self, Around, OF_DATAGRAMS};
use linerate_model::BitRate;
use linerate_model::run::Trial;

pub(super) const SIGNS: &[Sign] = &[
    Sign {
        id: "missing",
        classes: OF_DATAGRAMS,
        read: |shown| outcome_of(shown.trial, shown),
    },
    // Of a search, whose own trial may have lost nothing.
    Sign {
        id: "overloaded",
        classes: OF_DATAGRAMS,
        read: |shown| outcome_of(shown.overloaded?, shown),
    },
];

fn outcome_of(trial: &Trial, shown: &Shown<'_>) -> Option<usize> {
    let around = Around {
        limited: None,
        half: shown.half,
    };
    let intended = trial.intended_load.map(BitRate::as_f64);
    outcome::read(trial, intended, &around).map(|outcome| outcome as usize)
}

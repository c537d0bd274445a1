//! Signs of datagrams: what became of those that were to be sent.

use super::Sign;
use crate::diagnosis::outcome::{self, OF_DATAGRAMS};
use linerate_model::BitRate;

pub(super) const SIGNS: &[Sign] = &[Sign {
    id: "missing",
    classes: OF_DATAGRAMS,
    read: |trial, around| {
        let intended = trial.intended_load.map(BitRate::as_f64);
        outcome::read(trial, intended, around).map(|outcome| outcome as usize)
    },
}];

//! Signs of datagrams: what became of those that were to be sent.

use super::{RECEIVER_THREAD, SHAPER, Shown, Sign};
use crate::diagnosis::class::Class;
use crate::diagnosis::class::Often::{Possibly, Rarely, Usually};
use crate::diagnosis::outcome::{self, Around, OF_DATAGRAMS};
use crate::diagnosis::suspects::Suspect::{Link, OwnShaper, SenderCpu};
use crate::diagnosis::thread::spent;
use linerate_model::BitRate;
use linerate_model::run::Trial;
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
        read: |shown| outcome_of(shown.trial, shown),
    },
    // Of a search, whose own trial may have lost nothing.
    Sign {
        id: "overloaded",
        classes: OF_DATAGRAMS,
        read: |shown| outcome_of(shown.overloaded?, shown),
    },
];

/// Where the sending thread's time went: one that has time to wait for its schedule is not what limits.
const SENDER_THREAD: &[Class] = &[
    Class::new("blocked", Rarely).usually(&[Link, OwnShaper]),
    Class::new("partly-blocked", Rarely).usually(&[Link, OwnShaper]),
    Class::new("paused", Usually).rarely(&[SenderCpu]),
    Class::new("running", Possibly).usually(&[SenderCpu]),
    // Beside other programs one that keeps its schedule waits too.
    Class::new("waiting", Possibly).usually(&[SenderCpu]),
];

fn outcome_of(trial: &Trial, shown: &Shown<'_>) -> Option<&'static str> {
    let around = Around {
        limited: None,
        half: shown.half,
    };
    let intended = trial.intended_load.map(BitRate::as_f64);
    let outcome = outcome::read(trial, intended, &around)?;
    Some(OF_DATAGRAMS.get(outcome as usize)?.id)
}

//! A link that let far more pass in a probe than the run ever carried: its rate is not what limited.

use super::explained::LimitedTrials;
use super::weights::Suspect;
use crate::causes::{link, own_shaper};
use crate::readings::whole_intervals;
use crate::thresholds::exclusion::FAR_MORE;
use linerate_model::run::{Run, Trial};

/// Whether `suspect` is a rate that a probe exceeded. A policer is left out: what its bucket gathers while little is sent
/// may let any probe pass.
pub(super) fn speaks_against(seen: &LimitedTrials<'_>, suspect: Suspect) -> bool {
    let is_rate = *suspect == link::CAUSE || *suspect == own_shaper::CAUSE;
    is_rate && is_exceeded(seen.run, seen.limited)
}

fn is_exceeded(run: &Run, limited: &Trial) -> bool {
    let within = whole_intervals(limited).filter_map(|interval| interval.received_rate);
    let Some(most) = within.chain(limited.received_rate).max() else {
        return false;
    };
    let probes = run.probes.iter().map(|made| &made.trial);
    let mut alike = probes.filter(|trial| trial.valid && trial.direction == limited.direction);
    alike.any(|trial| {
        let received = trial.received_rate;
        received.is_some_and(|rate| rate.as_f64() >= most.as_f64() * FAR_MORE)
    })
}

//! A rate that falls as more is sent: a link or a policer keeps its rate, a host that drops what it has worked on does not.

use super::explained::LimitedTrials;
use super::weights::Suspect;
use crate::causes::{self, link, policer};
use crate::thresholds::bucket::LONGER;
use crate::thresholds::exclusion::FALLS;
use crate::thresholds::plateau::SPAN_RATIO;
use linerate_model::BitRate;
use linerate_model::run::{Run, Trial};
use linerate_model::spec::Transport;

/// Whether `suspect` is a rate of the path, and far less arrived of a higher load than of a lower one. A policer is left
/// where a bucket of tokens was seen, which lets more pass at first; a shaper of the sender's own host has one too.
pub(super) fn speaks_against(seen: &LimitedTrials<'_>, suspect: Suspect) -> bool {
    let keeps_rate = *suspect == link::CAUSE || *suspect == policer::CAUSE;
    keeps_rate
        && seen.limited.transport == Transport::Udp
        && falls(seen.run, seen.limited)
        && (*suspect == link::CAUSE || !causes::has_bucket(seen.run, seen.limited.direction))
}

fn falls(run: &Run, limited: &Trial) -> bool {
    let rates = |trial: &Trial| Some((trial.offered_load?.as_f64(), trial.received_rate?.as_f64()));
    let Some((load, rate)) = rates(limited) else {
        return false;
    };
    // A queue or a bucket adds less to the rate of a longer test.
    let most = limited.duration.map(|time| time.mul_f64(LONGER));
    let alike = |trial: &&Trial| {
        trial.valid
            && trial.transport == Transport::Udp
            && trial.direction == limited.direction
            && trial.payload_bytes == limited.payload_bytes
            && trial
                .duration
                .zip(most)
                .is_none_or(|(time, most)| time <= most)
    };
    let probes = run.probes.iter().map(|made| &made.trial);
    let beyond = run.trials.iter().chain(probes).filter(alike);
    beyond.filter_map(rates).any(|(more, arrived)| {
        more >= load * SPAN_RATIO && arrived <= rate * FALLS && rate > BitRate::default().as_f64()
    })
}

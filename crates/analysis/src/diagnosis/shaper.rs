//! A shaper at the sender's own interface, and whether its rate was reached.

use super::class::classes;
use super::explained::LimitedTrials;
use super::weights::Suspect;
use crate::causes::own_shaper;
pub(super) use crate::causes::own_shaper::{is_held_back, payload_rate};
use crate::readings::{carried_rate, cross_traffic};
use crate::thresholds::exclusion::LEAST_GAIN;
use crate::thresholds::outcome::BLOCKED;
use crate::thresholds::shaper::REACHED;
use linerate_model::run::{Run, Trial};
use linerate_model::signals::QDISC_DROPPED;
use linerate_model::spec::Side;
use linerate_model::{BitRate, Ratio};

classes! {
    /// Whether a shaper's rate was reached: below it, it only delays.
    Rate {
        Below "below", Reached "reached",
    }
}

/// The class of `trial` beside a shaper that lets pass `payload_rate` bit/s.
pub(super) fn rate(trial: &Trial, payload_rate: f64) -> Option<Rate> {
    let carried = trial.received_rate.map(BitRate::as_f64)?;
    Some(if carried >= payload_rate * REACHED {
        Rate::Reached
    } else {
        Rate::Below
    })
}

/// Whether `suspect` is a shaper where there is no queue, or one whose rate is known, and was reached in no test, with what
/// others sent through it, and which dropped nothing, nor made the sender wait for room: it only delayed.
pub(super) fn speaks_against(seen: &LimitedTrials<'_>, suspect: Suspect) -> bool {
    let (run, limited) = (seen.run, seen.limited);
    let alike = |trial: &&Trial| trial.valid && trial.direction == limited.direction;
    let probes = run.probes.iter().map(|made| &made.trial).filter(alike);
    let mut all = [limited, seen.shown].into_iter().chain(probes);
    let only_delays =
        |trial| is_below(run, trial) && dropped_none(trial) && !holds_up_sender(trial);
    *suspect == own_shaper::CAUSE && (has_no_queue(run, limited) || all.all(only_delays))
}

/// Whether the sender's interface is known to have no queue, in which nothing can be held back.
fn has_no_queue(run: &Run, trial: &Trial) -> bool {
    let host = run.host_of(trial.direction, Side::Sender);
    let kind = host.and_then(|host| host.facts.queueing_discipline.as_deref());
    kind == Some("noqueue") && !is_held_back(trial)
}

/// Whether it made a sender of datagrams wait for room in its socket: its queue was never empty, whatever rate it kept. A
/// busy host serves the timers of a shaper late, which then lets less pass than its rate.
pub(super) fn holds_up_sender(trial: &Trial) -> bool {
    let waited = trial.send_blocked_ratio().map_or(0.0, Ratio::get);
    is_held_back(trial) && waited >= BLOCKED
}

/// Whether a shaper's rate is known, and was not reached by `trial` and what others sent beside it.
pub(super) fn is_below(run: &Run, trial: &Trial) -> bool {
    let Some(shaped) = payload_rate(run, trial) else {
        return false;
    };
    let others = cross_traffic(trial, Side::Sender).map_or(0.0, |others| others.rate);
    rate(trial, shaped - others) == Some(Rate::Below)
}

/// Whether the queueing disciplines of the sender's host are known to have dropped nothing.
fn dropped_none(trial: &Trial) -> bool {
    let counted = trial.counters(Side::Sender);
    counted.and_then(|counters| counters.get(QDISC_DROPPED)) == Some(&0)
}

/// Whether it, and not the thread that sends, kept `trial` at its rate.
pub(super) fn is_full(run: &Run, trial: &Trial) -> bool {
    is_held_back(trial) && rate_of(run, trial) == Some(Rate::Reached)
}

/// Whether the shaper may have kept `trial` at its rate, also where that rate is not known: of `htb` it may depend on the
/// packet.
pub(super) fn may_be_full(run: &Run, trial: &Trial) -> bool {
    is_held_back(trial) && rate_of(run, trial) != Some(Rate::Below)
}

fn rate_of(run: &Run, trial: &Trial) -> Option<Rate> {
    rate(trial, payload_rate(run, trial)?)
}

/// Whether it leaves what `limited` carried no room for the gain that relieving another limit would bring.
pub(super) fn leaves_no_room(run: &Run, limited: &Trial) -> bool {
    let rates = payload_rate(run, limited).zip(carried_rate(limited));
    rates.is_some_and(|(shaped, carried)| shaped < carried.as_f64() * LEAST_GAIN)
}

//! A shaper at the sender's own interface, and whether its rate was reached.

use super::class::classes;
use crate::readings::{carried_rate, counted_packet};
use crate::thresholds::exclusion::LEAST_GAIN;
use crate::thresholds::shaper::REACHED;
use linerate_model::run::{Run, Trial};
use linerate_model::signals::QDISC_OVERLIMITS;
use linerate_model::spec::Side;
use linerate_model::{BitRate, Layer};

/// What a shaper at the sender's interface lets pass, in bit/s of L4 payload in packets as large as those of `trial`;
/// `None` where there is none, or its rate is not known.
pub(super) fn payload_rate(run: &Run, trial: &Trial) -> Option<f64> {
    let sender = run.host_of(trial.direction, Side::Sender)?;
    let frames = sender.facts.queueing_discipline_rate_bps?;
    let (overhead, payload) = counted_packet(trial)?;
    let rate = overhead.payload_rate(Layer::L2, frames, payload);
    Some(rate.as_f64()).filter(|rate| *rate > 0.0)
}

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

/// Whether a queueing discipline of the sender's host held packets back.
pub(super) fn is_held_back(trial: &Trial) -> bool {
    let held = trial.counters(Side::Sender);
    held.and_then(|counters| counters.get(QDISC_OVERLIMITS))
        .is_some_and(|held| *held > 0)
}

/// Whether it, and not the thread that sends, kept `trial` at its rate.
pub(super) fn is_full(run: &Run, trial: &Trial) -> bool {
    is_held_back(trial) && rate_of(run, trial) == Some(Rate::Reached)
}

/// The same where its rate may not be known: that of `htb` stands in its classes.
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

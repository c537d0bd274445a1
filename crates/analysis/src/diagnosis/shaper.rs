//! A shaper at the sender's own interface, and whether its rate was reached.

use super::class::Class;
use super::class::Often::{Rarely, Usually};
use super::suspects::Suspect::OwnShaper;
use crate::readings::counted_packet;
use linerate_model::run::{Run, Trial};
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

/// Whether a shaper's rate was reached: below it, it only delays.
pub(super) const CLASSES: &[Class] = &[
    Class::new("below", Usually).hardly(&[OwnShaper]),
    Class::new("reached", Rarely).usually(&[OwnShaper]),
];

/// A byte stream takes this share of a rate that limits it, and more.
const REACHED: f64 = 0.93;

/// The class of `trial` beside a shaper that lets pass `payload_rate` bit/s.
pub(super) fn class(trial: &Trial, payload_rate: f64) -> Option<&'static str> {
    let carried = trial.received_rate.map(BitRate::as_f64)?;
    Some(if carried >= payload_rate * REACHED {
        "reached"
    } else {
        "below"
    })
}

//! A shaper among the queueing disciplines of the sender's own host.

use super::{Cause, Weighed};
use crate::readings::{carried_rate, counted_packet};
use crate::thresholds::shaper::REACHED;
use linerate_model::run::{Run, Trial};
use linerate_model::signals::QDISC_OVERLIMITS;
use linerate_model::spec::Side;
use linerate_model::{BitRate, Layer};

/// The sender's own queueing discipline holds packets back to keep its rate.
///
/// Who reads "the link" would look for it in the wrong place; yet to every other tool it is a link's rate.
pub(crate) static CAUSE: Cause = Cause {
    id: "own-shaper",
    reported_as: Some("link"),
    name: "the sender's own queueing discipline",
    side: Some(Side::Sender),
    subject: "the sender's own queueing discipline",
    summary: "A shaper on the sender's own interface held packets back, and its rate was reached.",
    claim: Some(claim),
    ..Cause::BASE
};

/// With its kind and rate where they are known.
fn claim(weighed: &Weighed<'_>) -> String {
    let limited = weighed.limited;
    let host = weighed.run.host_of(limited.direction, Side::Sender);
    let facts = host.map(|host| &host.facts);
    let kind = facts.and_then(|facts| facts.queueing_discipline.as_deref());
    let shaped = facts.and_then(|facts| facts.queueing_discipline_rate_bps);
    let kind = kind.map_or_else(String::new, |kind| format!(" ({kind})"));
    let its = shaped.map_or_else(
        || "its rate".to_owned(),
        |rate| format!("its rate of {rate} of L2 frames"),
    );
    let how = if weighed.is_shaper_below && weighed.is_shaper_waited_for {
        format!("the sender waited for room in its queue, which a busy host serves below {its}")
    } else if weighed.is_shaper_below {
        format!("it drops what its queue has no room for, below {its}")
    } else {
        format!("it holds packets back to keep {its}")
    };
    format!(
        "The sender's own queueing discipline{kind} limits at {} of L4 payload: {how}.",
        limited.received_rate.unwrap_or_default()
    )
}

/// What a shaper at the sender's interface lets pass, in bit/s of L4 payload in packets as large as those of `trial`;
/// `None` where there is none, or its rate is not known.
pub(crate) fn payload_rate(run: &Run, trial: &Trial) -> Option<f64> {
    let sender = run.host_of(trial.direction, Side::Sender)?;
    let frames = sender.facts.queueing_discipline_rate_bps?;
    let (overhead, payload) = counted_packet(trial)?;
    let rate = overhead.payload_rate(Layer::L2, frames, payload);
    Some(rate.as_f64()).filter(|rate| *rate > 0.0)
}

/// Whether a queueing discipline of the sender's host held packets back.
pub(crate) fn is_held_back(trial: &Trial) -> bool {
    let held = trial.counters(Side::Sender);
    held.and_then(|counters| counters.get(QDISC_OVERLIMITS))
        .is_some_and(|held| *held > 0)
}

/// Whether a shaper of the sender's host held packets back at the rate that it is known to keep.
pub(crate) fn is_full(run: &Run, trial: &Trial) -> bool {
    let rates = payload_rate(run, trial).zip(carried_rate(trial).map(BitRate::as_f64));
    is_held_back(trial) && rates.is_some_and(|(shaped, carried)| carried >= shaped * REACHED)
}

//! A shaper among the queueing disciplines of the sender's own host.

use super::{Cause, Weighed};
use linerate_model::spec::Side;

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
    let how = if weighed.is_shaper_below {
        format!("it drops what its queue has no room for, below {its}")
    } else {
        format!("it holds packets back to keep {its}")
    };
    format!(
        "The sender's own queueing discipline{kind} limits at {} of L4 payload: {how}.",
        limited.received_rate.unwrap_or_default()
    )
}

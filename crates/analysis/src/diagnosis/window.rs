//! A stream that carried more than a window or a buffer allows: that is not what limits it.

use super::explained::LimitedTrials;
use super::weights::Suspect;
use crate::causes::{receiver_window, sender_buffer};
use crate::readings::{WindowRate, receive_window, send_buffer};

/// Whether `suspect` would have allowed less than arrived.
pub(super) fn speaks_against(seen: &LimitedTrials<'_>, suspect: Suspect) -> bool {
    let bytes = if *suspect == receiver_window::CAUSE {
        receive_window(seen.limited)
    } else if *suspect == sender_buffer::CAUSE {
        send_buffer(seen.limited)
    } else {
        None
    };
    let allowed = bytes.and_then(|bytes| WindowRate::by(bytes, seen.limited));
    let arrived = seen.limited.received_rate;
    allowed
        .zip(arrived)
        .is_some_and(|(allowed, rate)| allowed.is_exceeded_by(rate.as_f64()))
}

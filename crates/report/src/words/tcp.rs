//! What a TCP transfer does to the delay of its path, in one sentence.

use crate::figures::{float, nanos};
use linerate_model::tcp::{BLOAT_FACTOR, BLOAT_RISE, TcpQueueing};

/// `Bufferbloat: RTT 310 ms under load, 10 ms at best, …`, with the threshold.
pub(crate) fn bufferbloat(queueing: &TcpQueueing) -> String {
    let time = |ns: u64| nanos(float(ns));
    let verdict = if queueing.bloated {
        "Bufferbloat"
    } else {
        "No bufferbloat"
    };
    let rise = queueing.loaded_ns.saturating_sub(queueing.idle_ns);
    format!(
        "{verdict}: RTT {} under load, {} at best, {:.1} times and {} longer (threshold: {BLOAT_FACTOR:.0} times and {} ms).",
        time(queueing.loaded_ns),
        time(queueing.idle_ns),
        queueing.factor,
        time(rise),
        BLOAT_RISE.as_millis()
    )
}

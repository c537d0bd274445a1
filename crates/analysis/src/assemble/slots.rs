//! Where the reporting intervals of streams stand, so that those of the same time are counted together.

use linerate_model::sample::{IntervalCount, StreamReport};
use linerate_model::{ByteCount, PacketCount};
use std::time::Duration;

/// The intervals of a stream, with a stub at the end added to the one before it: the rate of a few
/// microseconds is an artefact of where the clock was read.
pub(super) fn whole(stream: &StreamReport, length: Duration) -> Vec<IntervalCount> {
    let mut intervals = stream.intervals.clone();
    let stub = |last: &mut IntervalCount| last.end.saturating_sub(last.start) < length / 10;
    if intervals.len() > 1
        && let Some(last) = intervals.pop_if(stub)
        && let Some(before) = intervals.last_mut()
    {
        before.end = before.end.max(last.end);
        before.bytes = ByteCount::new(before.bytes.get().saturating_add(last.bytes.get()));
        before.packets = PacketCount::new(before.packets.get().saturating_add(last.packets.get()));
        before.next_expected = last.next_expected.or(before.next_expected);
    }
    intervals
}

/// Which interval of the test this is: by where its middle is, or by its position if intervals have no length.
pub(super) fn slot(position: usize, interval: &IntervalCount, length: Duration) -> u128 {
    let start = interval.start.as_nanos() + length.as_nanos() / 2;
    start
        .checked_div(length.as_nanos())
        .unwrap_or(position as u128)
}

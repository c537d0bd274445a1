//! What the watcher is told while a test goes on.

use crate::watch::{Event, Watcher};
use linerate_client::Pulse;
use linerate_model::{BitRate, ByteCount};
use std::time::Duration;

/// Tells the watcher how a test goes on.
pub(crate) fn tell(
    watcher: &mut dyn Watcher,
    pulse: &Pulse,
    planned: Option<Duration>,
    label: Option<&str>,
) {
    let share = planned
        .filter(|time| !time.is_zero())
        .map_or(0.0, |time| pulse.elapsed.as_secs_f64() / time.as_secs_f64());
    let (bytes, time) = match pulse.received() {
        Some(received) => (received.bytes, received.elapsed),
        None => (ByteCount::new(pulse.bytes), pulse.elapsed),
    };
    let rate = BitRate::from_bytes(bytes, time).unwrap_or_default();
    let there = pulse.peer.as_ref().map_or(&[][..], |peer| &peer.cores);
    watcher.event(Event::Cores {
        here: &pulse.own.cores,
        there,
    });
    let text = linerate_report::progress(label, rate);
    watcher.event(Event::Progress {
        share: share.min(1.0),
        text: &text,
        elapsed: pulse.elapsed,
    });
}

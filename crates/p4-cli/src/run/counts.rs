//! What a switch has counted, for people and for programs.

use linerate_model::dut::DutCounters;
use linerate_model::exit::{ExitCode, Failure};
use std::fmt::Write as _;

/// One line of JSON.
pub(super) fn json(counts: &DutCounters) -> Result<String, Failure> {
    let text = serde_json::to_string(counts);
    let text = text.map_err(|error| Failure::new(ExitCode::Other, error.to_string()))?;
    Ok(text + "\n")
}

/// A line for each port, place of drops and further counter.
pub(super) fn words(counts: &DutCounters) -> String {
    let mut text = String::new();
    for port in &counts.ports {
        let (name, received, sent) = (&port.name, port.received, port.sent);
        let _ = writeln!(text, "{name}: received {received}, sent {sent}");
    }
    for drop in counts.drops.iter().filter(|drop| drop.packets.get() > 0) {
        let (packets, place, at) = (drop.packets, drop.place.in_words(), &drop.at);
        let _ = writeln!(text, "dropped {packets}: {place}, {at}");
    }
    for (what, count) in &counts.counters {
        let _ = writeln!(text, "{what}: {count}");
    }
    text
}

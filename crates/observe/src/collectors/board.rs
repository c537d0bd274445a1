//! Properties of a board besides its network: device tree, LEDs, and the kernel's tracers.

use super::Collector;
use crate::host_view::HostView;
use crate::text::tidy;

const LEDS: &str = "sys/class/leds";

/// Maximum LEDs reported: a board has a few, a switch some for each port.
const MAX_LEDS: usize = 16;

/// Files in which the kernel lists its tracers, since and before 4.1.
const TRACERS: &[&str] = &[
    "sys/kernel/tracing/available_tracers",
    "sys/kernel/debug/tracing/available_tracers",
];

pub(super) static COLLECTOR: Collector = Collector {
    facts: |host, into| {
        into.device_tree = list(
            host.read("sys/firmware/devicetree/base/compatible")
                .ok()
                .as_deref(),
            '\0',
        );
        let mut leds = host.names(LEDS);
        leds.truncate(MAX_LEDS);
        let leds: Vec<_> = leds.iter().filter_map(|name| led(host, name)).collect();
        into.leds = (!leds.is_empty()).then_some(leds);
        let tracers = TRACERS.iter().find_map(|path| host.read(path).ok());
        into.kernel_tracers = list(tracers.as_deref(), ' ');
    },
    ..Collector::new("board", "Device tree, LEDs, and tracers of the kernel.")
};

fn list(text: Option<&str>, separator: char) -> Option<Vec<String>> {
    let words = text?.split(separator).filter_map(tidy);
    let words: Vec<_> = words.collect();
    (!words.is_empty()).then_some(words)
}

/// An LED with its trigger and state: `d1: heartbeat, on`. The active trigger is in brackets.
fn led(host: &HostView<'_>, name: &str) -> Option<String> {
    let read = |file: &str| host.read(&format!("{LEDS}/{name}/{file}")).ok();
    let brightness: u32 = read("brightness")?.trim().parse().ok()?;
    let triggers = read("trigger").unwrap_or_default();
    let trigger = triggers
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    let trigger = trigger.map_or("none", |(trigger, _)| trigger);
    let state = if brightness > 0 { "on" } else { "off" };
    tidy(&format!("{name}: {trigger}, {state}"))
}

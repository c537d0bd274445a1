//! Ping-pong while other traffic runs.

use super::turns::Bench;
use super::{LatencyPlan, Load, sweep};
use crate::context::Context;
use crate::recorder::Recorder;
use anyhow::{Context as _, Result};
use linerate_client::{Client, Pulse};
use linerate_model::{BitRate, ByteCount, Clock as _};
use linerate_sys::clock::{MonoClock, sleep_until};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Runs the sweep while `load` runs on a connection of its own.
pub(super) fn under_load(
    context: &mut Context<'_>,
    recorder: &mut Recorder,
    bench: &mut Bench<'_>,
    plan: &LatencyPlan,
    load: Load,
) -> Result<()> {
    let mut loader = Client::connect(bench.target)?;
    let running = AtomicBool::new(true);
    let spec = load.spec();
    std::thread::scope(|scope| {
        let keep = &running;
        let traffic = scope.spawn(move || {
            let mut last = None;
            let ended = loader.run(&spec, &mut |pulse| {
                last = Some(pulse.clone());
                keep.load(Ordering::Relaxed)
            });
            ended.map(|_| last)
        });
        sleep_until(MonoClock.now().after(LOAD_LEAD));
        let measured = sweep(context, recorder, bench, plan, Some(load));
        let ended_early = traffic.is_finished();
        running.store(false, Ordering::Relaxed);
        let joined = traffic
            .join()
            .expect("invariant: the load thread does not panic");
        let last = joined.context("the load beside the ping-pong failed")?;
        if ended_early {
            recorder
                .run_mut()
                .notes
                .push("the load ended before the last measurement".to_owned());
        }
        let notes = &mut recorder.run_mut().notes;
        notes.extend(last.as_ref().and_then(load_note));
        measured
    })
}

/// Head start of the load: slow start and a filled queue come before the first message.
const LOAD_LEAD: Duration = Duration::from_millis(500);

/// What the load carried: it is stopped rather than ended, so the last word of its progress counts.
fn load_note(last: &Pulse) -> Option<String> {
    let (bytes, time, side) = match last.received() {
        Some(received) => (received.bytes, received.elapsed, "receiver's"),
        None => (ByteCount::new(last.bytes), last.elapsed, "sender's"),
    };
    let rate = BitRate::from_bytes(bytes, time)?;
    Some(format!(
        "the load carried {rate} of L4 payload, counted at the {side} end"
    ))
}

//! An observer that no contender knows of: it sees each packet as host B's interface gets it.

use crate::activity::PACED_PAYLOAD;
use crate::process::pause;
use anyhow::{Result, ensure};
use linerate_model::MonoInstant;
use linerate_sys::affinity::pin_current_thread;
use linerate_sys::netlink::{InterfaceName, Netlink};
use linerate_sys::packet::{PacketRing, ReceivedFrame, RingLayout};
use linerate_testbed::Host;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

/// A running recording. The kernel stamps each packet as it reaches the interface, so it does not
/// matter when the recorder reads it; it sleeps in between and takes next to no time from others.
pub(crate) struct Recorder {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Vec<MonoInstant>>>,
}

impl Recorder {
    /// Records the packets of paced tests from now on.
    pub(crate) fn start(host: &Host, core: u32) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let (ready, is_ready) = channel();
        let interface = host.interface().to_owned();
        let thread = host.spawn("recorder", move || {
            pin_current_thread(core)?;
            let mut ring = open(&interface)?;
            // Fails only if nobody waits any more.
            let _ = ready.send(());
            let mut arrivals = Vec::with_capacity(1 << 18);
            while !stopped.load(Ordering::Relaxed) {
                pause(LOOK_EVERY);
                drain(&mut ring, &mut arrivals);
            }
            drain(&mut ring, &mut arrivals);
            let dropped = ring.dropped()?.get();
            ensure!(dropped == 0, "the recorder missed {dropped} packets");
            Ok(arrivals)
        })?;
        // Fails only if the thread ended, and then `finish` says why.
        let _ = is_ready.recv();
        Ok(Self { stop, thread })
    }

    /// When each packet of the test came.
    pub(crate) fn finish(self) -> Result<Vec<MonoInstant>> {
        self.stop.store(true, Ordering::Relaxed);
        let joined = self.thread.join();
        joined.expect("invariant: the recorder returns errors")
    }
}

/// How far a recording was from its intended pace.
pub(crate) struct PaceError {
    /// 99th percentile of |gap − intended gap|, in µs.
    pub(crate) p99_us: f64,
    /// Rate over the intended one.
    pub(crate) rate_ratio: f64,
}

/// Judges what came later than `settle` after the first packet.
pub(crate) fn judge(arrivals: &[MonoInstant], pace: u32, settle: Duration) -> Result<PaceError> {
    let first = arrivals.first().copied();
    let from = first.map_or(MonoInstant::from_nanos(0), |first| first.after(settle));
    let steady: Vec<f64> = arrivals
        .iter()
        .filter(|at| **at >= from)
        .map(|at| micros(at.saturating_since(from)))
        .collect();
    let gaps = steady.len().saturating_sub(1);
    ensure!(gaps >= FEWEST_GAPS, "only {gaps} gaps seen");
    let intended = 1e6 / f64::from(pace);
    let mut errors: Vec<f64> = steady
        .windows(2)
        .map(|pair| (pair[1] - pair[0] - intended).abs())
        .collect();
    errors.sort_by(f64::total_cmp);
    let lasted = steady[gaps] - steady[0];
    let count = f64::from(u32::try_from(gaps)?);
    Ok(PaceError {
        p99_us: errors[gaps * 99 / 100],
        rate_ratio: count * intended / lasted,
    })
}

fn open(interface: &str) -> Result<PacketRing> {
    let name = InterfaceName::new(interface).expect("invariant: a host's interface has a name");
    let index = Netlink::new()?.link_named(&name)?.index;
    let layout = RingLayout::new(FRAME_BYTES, RING_BYTES).expect("invariant: these fit a block");
    Ok(PacketRing::open(index, layout)?)
}

fn drain(ring: &mut PacketRing, arrivals: &mut Vec<MonoInstant>) {
    while ring.drain(usize::MAX, |frame| {
        if is_of_test(&frame) {
            arrivals.push(frame.arrived);
        }
    }) > 0
    {}
}

/// The tests' datagrams are the only frames of that length.
fn is_of_test(frame: &ReceivedFrame<'_>) -> bool {
    const PROTOCOL: usize = 14 + 9;
    const UDP: u8 = 17;
    frame.length == FRAME_BYTES && frame.bytes.get(PROTOCOL) == Some(&UDP)
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Ethernet, IPv4 and UDP headers and the payload.
const FRAME_BYTES: u32 = 14 + 20 + 8 + PACED_PAYLOAD;
/// 40 ms of the highest pace and more.
const RING_BYTES: u32 = 8 << 20;
const LOOK_EVERY: Duration = Duration::from_millis(20);
const FEWEST_GAPS: usize = 100;

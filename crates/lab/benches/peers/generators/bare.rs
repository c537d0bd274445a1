//! Bare loops that do nothing but send: what the ways themselves allow.

use super::ours::lateness_values;
use super::{BARE, Bench, FLOOR, Generator, Pair};
use crate::activity::{Activity, Values};
use anyhow::{Context as _, Result, bail};
use linerate_model::{Clock as _, Histogram};
use linerate_sys::affinity::pin_current_thread;
use linerate_sys::bpf::{
    Assembler, Condition, DeviceMap, MAX_LIVE_BATCH, XdpLink, XdpMode, XdpProgram,
};
use linerate_sys::clock::MonoClock;
use linerate_sys::netlink::{InterfaceIndex, InterfaceName, Netlink};
use linerate_sys::xsk::{Copying, Segments, Xsk, XskLayout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A ring of AF_XDP, filled and sent again and again.
pub(super) struct Ring;

/// Frames of the kernel, redirected as they are.
pub(super) struct LiveFrames;

/// Bytes without FCS.
const FRAME: usize = 60;
const BATCH: usize = 64;
/// Batch of `xdp-trafficgen`.
const LIVE_BATCH: u32 = MAX_LIVE_BATCH / 4;
/// Frames of one call.
const LIVE_RUNS: u32 = 1 << 18;
const PACED_TIME: Duration = Duration::from_secs(1);

const XDP_DROP: i32 = 1;

impl Generator for Ring {
    fn name(&self) -> &'static str {
        BARE
    }

    fn offers(&self, activity: Activity) -> Result<(), String> {
        one_flow(activity)
    }

    fn start(&self, bench: &Bench<'_>, activity: Activity) -> Result<Box<dyn Pair>> {
        let ports = Ports::of(bench)?;
        Threads::start(bench, activity, move |stop| {
            let _receiver = ports.drop_at_receiver()?;
            let layout = XskLayout {
                receive_frames: 64,
                send_frames: 2048,
                frame_bytes: 2048,
                segments: Segments::One,
            };
            let mut ring = Xsk::open(ports.sender, 0, layout, Copying::IfNeeded)?;
            let frame = ports.frame;
            let mut send = |count| -> Result<()> {
                ring.queue(count, |_, room| {
                    room[..FRAME].copy_from_slice(&frame);
                    FRAME
                });
                ring.flush()?;
                Ok(())
            };
            let Activity::FramesPaced(pace) = activity else {
                while !stop.load(Ordering::Relaxed) {
                    send(BATCH)?;
                }
                return Ok(Values::new());
            };
            let gap = Duration::from_secs(1) / pace;
            let (mut lateness, mut due) =
                (Histogram::new(), MonoClock.now().after(PACED_TIME / 10));
            let end = due.after(PACED_TIME);
            while due < end {
                let now = MonoClock.now();
                if now >= due {
                    lateness.record_duration(now.saturating_since(due));
                    send(1)?;
                    due = due.after(gap);
                }
            }
            Ok(lateness_values(pace, &lateness))
        })
    }
}

impl Generator for LiveFrames {
    fn name(&self) -> &'static str {
        FLOOR
    }

    fn offers(&self, activity: Activity) -> Result<(), String> {
        match activity {
            Activity::Frames(_) => one_flow(activity),
            _ => Err("it has no pace".to_owned()),
        }
    }

    fn start(&self, bench: &Bench<'_>, activity: Activity) -> Result<Box<dyn Pair>> {
        let ports = Ports::of(bench)?;
        Threads::start(bench, activity, move |stop| {
            let _receiver = ports.drop_at_receiver()?;
            let devices = DeviceMap::new(1)?;
            devices.set(0, ports.sender)?;
            let mut code = Assembler::default();
            code.set(1, 0);
            // Never taken: the end of a program must be reachable.
            let end = code.label();
            code.jump_if(Condition::NotEqual, 1, 0, end);
            code.redirect(devices.descriptor(), 1, XDP_DROP);
            code.place(end);
            let program = XdpProgram::load(&code.finish_with(XDP_DROP))?;
            // The kernel prepares jumps to a program at each call, unless it is attached somewhere.
            let _attached = program.attach(ports.sender, XdpMode::Native)?;
            while !stop.load(Ordering::Relaxed) {
                program.run_live(&ports.frame, LIVE_RUNS, LIVE_BATCH)?;
            }
            Ok(Values::new())
        })
    }
}

fn one_flow(activity: Activity) -> Result<(), String> {
    match activity {
        Activity::Frames(1) | Activity::FramesPaced(_) => Ok(()),
        _ => Err("its frames are all alike".to_owned()),
    }
}

/// Both interfaces by number, and the frame from one to the other.
struct Ports {
    sender: InterfaceIndex,
    receiver: InterfaceIndex,
    frame: [u8; FRAME],
}

impl Ports {
    fn of(bench: &Bench<'_>) -> Result<Self> {
        let names = bench.ports().clone().map(|port| port.interface);
        let find = move || -> Result<[InterfaceIndex; 2]> {
            let mut netlink = Netlink::new()?;
            let mut index = |name: &str| -> Result<InterfaceIndex> {
                let name = InterfaceName::new(name).context("a name of an interface")?;
                Ok(netlink.link_named(&name)?.index)
            };
            Ok([index(&names[0])?, index(&names[1])?])
        };
        let found = bench.device.tester().spawn("ports", find)?.join();
        let [sender, receiver] = found.map_err(|_| anyhow::anyhow!("a thread panicked"))??;
        let mut frame = [0; FRAME];
        for (place, mac) in frame
            .chunks_exact_mut(6)
            .zip([&bench.ports()[1].mac, &bench.ports()[0].mac])
        {
            for (byte, text) in place.iter_mut().zip(mac.split(':')) {
                *byte = u8::from_str_radix(text, 16)?;
            }
        }
        // A type of Ethernet that no stack takes.
        frame[12..14].copy_from_slice(&[0x88, 0xb5]);
        Ok(Self {
            sender,
            receiver,
            frame,
        })
    }

    fn drop_at_receiver(&self) -> Result<XdpLink> {
        let dropping = XdpProgram::load(&Assembler::default().finish_with(XDP_DROP))?;
        Ok(dropping.attach(self.receiver, XdpMode::Native)?)
    }
}

/// A thread of this process that sends.
struct Threads {
    stop: Arc<AtomicBool>,
    sender: JoinHandle<Result<Values>>,
}

impl Threads {
    fn start(
        bench: &Bench<'_>,
        activity: Activity,
        work: impl FnOnce(&AtomicBool) -> Result<Values> + Send + 'static,
    ) -> Result<Box<dyn Pair>> {
        if !matches!(activity, Activity::Frames(_) | Activity::FramesPaced(_)) {
            bail!("there is no such activity of generators");
        }
        let (stop, core) = (Arc::new(AtomicBool::new(false)), bench.cores[0]);
        let stopped = Arc::clone(&stop);
        let sender = bench.device.tester().spawn("bare", move || {
            pin_current_thread(core)?;
            work(&stopped)
        })?;
        Ok(Box::new(Self { stop, sender }))
    }
}

impl Pair for Threads {
    fn processes(&self) -> Vec<u32> {
        Vec::new()
    }

    fn end(self: Box<Self>) -> Result<Values> {
        // A paced loop ends by itself.
        self.stop.store(true, Ordering::Relaxed);
        let joined = self.sender.join();
        joined.map_err(|_| anyhow::anyhow!("the bare loop panicked"))?
    }
}

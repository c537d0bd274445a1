//! Thread that carries frames between two interfaces according to two [`Shaper`]s.
//!
//! I/O only: every decision is the shaper's. Frames are dated by the kernel's receive timestamp, so a thread that wakes
//! late changes neither rate nor queue, only the moment at which a frame is passed on.

use super::filter::{TAG_BYTES, is_membership_report, is_tagged};
use super::pool::FramePool;
use super::shaper::{Copies, Departure, Frame, FrameClass, Shaper, Verdict};
use super::{DirectionCounters, Faults, LinkConfig, LinkCounters};
use crate::HostId;
use linerate_model::{Clock, MonoInstant, PacketCount};
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_sys::netns::set_timer_slack;
use linerate_sys::packet::{BATCH, FrameSender, PacketRing, ReceivedFrame};
use linerate_sys::wake::{Waker, wait};
use std::io::{self, IoSlice};
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

/// Commands from the owner to the running element.
#[derive(Debug)]
pub(super) enum Command {
    /// Report the counters.
    Count(Sender<io::Result<LinkCounters>>),
    /// Apply a configuration to frames from this host.
    Reconfigure(HostId, Box<LinkConfig>, Sender<()>),
    /// Reset the counters.
    Reset(Sender<io::Result<()>>),
    /// Stop.
    Stop,
}

/// Both directions, with their sockets.
#[derive(Debug)]
pub(super) struct Element {
    pub(super) lanes: [Lane; 2],
    pub(super) commands: Receiver<Command>,
    pub(super) waker: Arc<Waker>,
}

impl Element {
    /// Carries frames until told to stop.
    pub(super) fn run(mut self) -> io::Result<()> {
        set_timer_slack(NonZeroU64::MIN)?;
        loop {
            let moved = self.step();
            if self.obey() == Next::Stop {
                return Ok(());
            }
            self.pause(moved)?;
        }
    }

    /// Takes received frames and sends those that are due.
    fn step(&mut self) -> Moved {
        let [a, b] = &mut self.lanes;
        let (a, b) = (a.step(), b.step());
        Moved {
            taken: a.taken.max(b.taken),
            sent: a.sent.max(b.sent),
        }
    }

    /// Waits for work. After a pass with several frames of one direction it naps without listening, so that the next
    /// pass has several too: under load a wake-up per frame would cost sender and element more than the frame.
    fn pause(&mut self, moved: Moved) -> io::Result<()> {
        let now = MonoClock.now();
        let most = moved.taken.max(moved.sent);
        if most >= BATCH {
            return Ok(());
        }
        if most > 1 {
            sleep_until(now.after(NAP));
            return Ok(());
        }
        let due = self.lanes.iter().filter_map(Lane::next_departure).min();
        if due.is_some_and(|due| due <= now) {
            return Ok(());
        }
        let [a, b] = &self.lanes;
        wait([a.ring.as_fd(), b.ring.as_fd(), self.waker.as_fd()], due)
    }

    fn obey(&mut self) -> Next {
        while let Ok(command) = self.commands.try_recv() {
            self.waker.clear();
            self.settle();
            match command {
                // An error means that the caller has gone away.
                Command::Count(answer) => {
                    let _ = answer.send(self.counters());
                }
                Command::Reconfigure(from, config, done) => {
                    self.lane(from).shaper.reconfigure(*config);
                    let _ = done.send(());
                }
                Command::Reset(done) => {
                    drop(done.send(self.lanes.iter_mut().try_for_each(Lane::reset)));
                }
                Command::Stop => return Next::Stop,
            }
        }
        Next::Continue
    }

    /// Processes the frames received before now, up to the rings' capacity: under a flood there would always be more.
    fn settle(&mut self) {
        for _ in 0..RING_SLOTS.div_ceil(PASS) {
            if self.step() == Moved::default() {
                return;
            }
        }
    }

    fn lane(&mut self, from: HostId) -> &mut Lane {
        let [a, b] = &mut self.lanes;
        match from {
            HostId::A => a,
            HostId::B => b,
        }
    }

    fn counters(&mut self) -> io::Result<LinkCounters> {
        let [a, b] = &mut self.lanes;
        Ok(LinkCounters {
            a_to_b: a.counters()?,
            b_to_a: b.counters()?,
        })
    }
}

/// How many frames a pass moved in one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Moved {
    taken: usize,
    sent: usize,
}

/// Whether the element goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Continue,
    Stop,
}

/// One direction: where frames come from, what happens to them, where they go.
#[derive(Debug)]
pub(super) struct Lane {
    shaper: Shaper,
    ring: PacketRing,
    sender: FrameSender,
    pool: FramePool,
    longest: u32,
    memory_drops: u64,
    send_errors: u64,
    /// The ring's drop count when the counters were reset.
    ring_drops_before: u64,
}

impl Lane {
    pub(super) fn new(shaper: Shaper, ring: PacketRing, sender: FrameSender, longest: u32) -> Self {
        Self {
            shaper,
            ring,
            sender,
            pool: FramePool::new(longest + TAG_BYTES),
            longest,
            memory_drops: 0,
            send_errors: 0,
            ring_drops_before: 0,
        }
    }

    fn next_departure(&self) -> Option<MonoInstant> {
        self.shaper.next_departure()
    }

    fn step(&mut self) -> Moved {
        let (shaper, pool, longest) = (&mut self.shaper, &mut self.pool, self.longest);
        let mut no_memory = 0;
        let taken = self.ring.drain(PASS, |received| {
            // There is no router to receive it, and the line's time is for the measured traffic.
            if !is_membership_report(received.bytes) {
                no_memory += u64::from(take(shaper, pool, longest, &received).is_none());
            }
        });
        self.memory_drops += no_memory;
        let sent = self.send_due();
        Moved { taken, sent }
    }

    /// Sends the frames that are due, at most [`PASS`].
    fn send_due(&mut self) -> usize {
        let now = MonoClock.now();
        let mut sent = 0;
        let mut batch = [EMPTY; BATCH];
        while sent < PASS {
            let mut due = 0;
            while due < BATCH {
                let Some(departure) = self.shaper.depart(now) else {
                    break;
                };
                batch[due] = departure;
                due += 1;
            }
            self.send(&batch[..due]);
            sent += due;
            if due < BATCH {
                break;
            }
        }
        sent
    }

    fn send(&mut self, batch: &[Departure]) {
        let mut slices = [IoSlice::new(&[]); BATCH];
        for (slice, departure) in slices.iter_mut().zip(batch) {
            *slice = IoSlice::new(self.pool.frame(departure.handle));
        }
        let mut rest = &slices[..batch.len()];
        while !rest.is_empty() {
            // An error concerns the first frame: it is lost, and counted.
            let gone = self.sender.send(rest).unwrap_or_else(|_| {
                self.send_errors += 1;
                1
            });
            rest = &rest[gone.max(1)..];
        }
        for departure in batch {
            if departure.last == Copies::Last {
                self.pool.give_back(departure.handle);
            }
        }
    }

    fn counters(&mut self) -> io::Result<DirectionCounters> {
        let ring_drops = self.ring.dropped()?.get() - self.ring_drops_before;
        Ok(DirectionCounters {
            faults: Faults {
                ring_drops: PacketCount::new(ring_drops),
                memory_drops: PacketCount::new(self.memory_drops),
                send_errors: PacketCount::new(self.send_errors),
            },
            ..self.shaper.counters()
        })
    }

    fn reset(&mut self) -> io::Result<()> {
        self.ring_drops_before = self.ring.dropped()?.get();
        (self.memory_drops, self.send_errors) = (0, 0);
        self.shaper.reset();
        Ok(())
    }
}

/// Passes a received frame to the shaper; `None` if there is no memory for it.
fn take(
    shaper: &mut Shaper,
    pool: &mut FramePool,
    longest: u32,
    received: &ReceivedFrame<'_>,
) -> Option<()> {
    let handle = pool.take()?;
    let class = if shaper.config().filter.matches(received.bytes) {
        FrameClass::Data
    } else {
        FrameClass::Other
    };
    let cut = u32::try_from(received.bytes.len()).is_ok_and(|length| length < received.length);
    let tag = if is_tagged(received.bytes) {
        TAG_BYTES
    } else {
        0
    };
    let frame = Frame {
        handle,
        // A truncated frame is longer than any frame of this link.
        length: if cut {
            longest + tag + 1
        } else {
            received.length
        },
        tag,
        class,
    };
    match shaper.arrive(received.arrived, frame) {
        Verdict::Dropped => pool.give_back(handle),
        Verdict::Taken => pool.fill(handle, received.bytes),
    }
    Some(())
}

/// Bytes of each port's receive ring: 48 ms of full frames at 2 Gbit/s, longer than the element's thread waits for a
/// core beside two busy loops on two cores.
pub(crate) const RING_BYTES: u32 = 16 << 20;

/// Maximum slots of such a ring: an MTU of 1280 needs slots of 2 KiB.
const RING_SLOTS: usize = (RING_BYTES >> 11) as usize;

/// Maximum frames taken, and sent, in one pass over a direction.
const PASS: usize = 2 * BATCH;

/// A place for a departure.
const EMPTY: Departure = Departure {
    handle: 0,
    last: Copies::Last,
    at: MonoInstant::from_nanos(0),
};

/// Nap under load: two full frames at 1 Gbit/s; the delay that it adds to a frame.
const NAP: Duration = Duration::from_micros(20);

//! The receiving side where the kernel has the loop: reads its counts now and then, and reports them.

use super::RECEIVER_IDLE_TIMEOUT;
use crate::control::{Received, StreamControl};
use crate::datapaths::DatagramPath;
use crate::datapaths::in_kernel::{Event, FrameCounts};
use crate::delay_floor::DelayFloor;
use crate::pdv::above_least;
use crate::plan::StreamPlan;
use crate::tally::{FailureCounts, StreamProgress, Tally};
use crate::transit::Transit;
use crate::workloads::{Step, Work};
use linerate_model::sample::{
    DatagramReceiver, MessageTimes, PathReport, ReceiveSocket, SequenceCount, StreamReport,
};
use linerate_model::{MonoInstant, PacketCount};
use linerate_sys::failure::Failure;
use std::sync::Arc;
use std::time::Duration;

/// Interval between readings: bounds how far a count is attributed to a wrong interval, and how late an end is noticed.
const READ_INTERVAL: Duration = Duration::from_millis(4);

pub(super) struct Receiver {
    path: Box<dyn DatagramPath>,
    plan: StreamPlan,
    progress: Arc<StreamProgress>,
    /// Created with the first counted datagram.
    tally: Option<Tally>,
    floor: DelayFloor,
    transit: Transit,
    /// Smallest transit time, warm-up included, less that of the first datagram.
    least: i64,
    /// Of each port to which its frames go.
    extents: Vec<Extents>,
    failures: FailureCounts,
    seen: FrameCounts,
    started: MonoInstant,
    reads: u64,
}

/// Reordering extents: how many datagrams came since the first with a larger number (RFC 4737 §4.2.1).
#[derive(Debug, Default)]
struct Extents {
    /// Numbers from which on some were skipped, and how many datagrams had come before; both rise.
    jumps: Vec<(u64, u64)>,
    longest: u64,
}

/// Jumps that are remembered: the latest.
const MAX_JUMPS: usize = 1 << 18;

impl Extents {
    fn take(&mut self, event: Event) {
        match event {
            Event::Jump {
                first_missing,
                arrival,
            } => {
                if self.jumps.len() == MAX_JUMPS {
                    self.jumps.drain(..MAX_JUMPS / 2);
                }
                self.jumps.push((first_missing, arrival));
            }
            Event::Late { sequence, arrival } => {
                let after = self.jumps.partition_point(|(first, _)| *first <= sequence);
                if let Some((_, before)) = after.checked_sub(1).map(|last| self.jumps[last]) {
                    self.longest = self.longest.max(arrival.saturating_sub(before));
                }
            }
        }
    }
}

impl Receiver {
    /// For a path that counts by itself.
    pub(super) fn new(
        path: Box<dyn DatagramPath>,
        plan: StreamPlan,
        progress: Arc<StreamProgress>,
    ) -> Self {
        Self {
            path,
            floor: DelayFloor::over(plan.counted_time()),
            plan,
            progress,
            tally: None,
            transit: Transit::new(),
            least: 0,
            extents: Vec::new(),
            failures: FailureCounts::default(),
            seen: FrameCounts::default(),
            started: MonoInstant::default(),
            reads: 0,
        }
    }

    /// Takes over what was counted until `now`; at the end whatever is there.
    fn read(&mut self, now: MonoInstant) {
        let Some(counter) = self.path.counter() else {
            return;
        };
        let seen = counter.seen();
        let Some(first) = counter.first() else {
            return;
        };
        self.reads += 1;
        if self.reads == 1 {
            self.progress.hear();
        }
        let (transit, floor, least) = (&mut self.transit, &mut self.floor, &mut self.least);
        transit.begin(first.sent, first.transit);
        counter.fastest(now, &mut |frame| {
            transit.record_fastest(frame.sent, frame.transit);
            *least = (*least).min(linerate_peers::distance_48(frame.transit, first.transit));
            floor.record(frame.sent, frame.transit);
        });
        counter.samples(&mut |frame| transit.offer(frame.key, frame.sent, frame.transit));
        let extents = &mut self.extents;
        counter.events(&mut |port, event| {
            if extents.len() <= port {
                extents.resize_with(port + 1, Extents::default);
            }
            extents[port].take(event);
        });
        self.count(seen);
    }

    /// Adds what came since the last reading to the intervals.
    fn count(&mut self, seen: FrameCounts) {
        let packets = seen.received - self.seen.received;
        self.seen = seen;
        let (Some(first), Some(last)) = (seen.first, seen.last) else {
            return;
        };
        let fresh = || Tally::new(first, self.plan.interval, Arc::clone(&self.progress));
        let tally = self.tally.get_or_insert_with(fresh);
        if packets > 0 {
            tally.count(last, packets * self.plan.payload as u64, packets);
        }
        tally.expect(seen.next_expected);
    }
}

impl Work for Receiver {
    fn begin(&mut self, start: MonoInstant) {
        self.started = start;
    }

    fn turn(&mut self, now: MonoInstant, control: &StreamControl) -> Step {
        self.read(now);
        let last = self
            .seen
            .last_of_all
            .unwrap_or(self.started)
            .max(self.started);
        let received = Received::Packets(PacketCount::new(self.seen.received));
        if control.is_over(usize::from(self.plan.index), received, last, now) {
            return Step::Done;
        }
        if now.saturating_since(last) > RECEIVER_IDLE_TIMEOUT {
            self.failures.count(Failure::timed_out("recvmmsg"), now);
            return Step::Done;
        }
        Step::Poll(now.after(READ_INTERVAL.min(self.plan.interval.length)))
    }

    fn finish(mut self: Box<Self>, now: MonoInstant) -> StreamReport {
        // The stretch that is not over yet ends now.
        self.read(now.after(Duration::from_millis(5)));
        let xdp = self.path.xdp();
        let seen = self.seen;
        let (pdv, ipdv, by_place, by_port) = match self.path.counter() {
            Some(counter) => (
                above_least(&counter.transits(), self.least),
                counter.ipdv(),
                counter.by_place(),
                counter.by_port(),
            ),
            None => Default::default(),
        };
        let extents = self.extents.iter().map(|extents| extents.longest);
        let count = PacketCount::new;
        let work = DatagramReceiver {
            socket: ReceiveSocket {
                reads: self.reads,
                emptying_reads: self.reads,
                socket_overflows: Some(count(0)),
                dropped_runs: None,
            },
            sequence: SequenceCount {
                received: count(seen.received),
                duplicated: count(seen.duplicated),
                reordered: count(seen.reordered),
                reorder_extent_max: count(extents.max().unwrap_or(0)),
                next_expected: seen.next_expected,
                too_old: count(seen.too_old),
                foreign: count(0),
            },
            rtp_jitter_ns: seen.jitter_ns,
            warm_up: Some(count(seen.warm_up)),
            times: MessageTimes {
                pdv,
                transits: self.transit.finish(),
            },
            ipdv: (!ipdv.is_empty()).then_some(ipdv),
            delay_floor_ns: self.floor.finish(),
            longest_gap: seen.gap,
            by_place,
            by_port,
            ..DatagramReceiver::default()
        };
        StreamReport {
            errors: self.failures.into_counts(),
            path: PathReport {
                xdp,
                ..self.path.buffers().into()
            },
            ..Tally::active_report(self.tally, self.plan.index, work)
        }
    }
}

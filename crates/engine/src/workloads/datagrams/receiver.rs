//! The receiving side of a datagram stream.

use super::dropped::Dropped;
use super::sender_clock::SenderClock;
use super::sequences::Sequences;
use crate::control::{Received, StreamControl};
use crate::datapaths::{Arrivals, DatagramPath, Run};
use crate::delay_floor::DelayFloor;
use crate::departures::Departures;
use crate::error::Result;
use crate::ipdv::Ipdv;
use crate::pdv::DelayVariation;
use crate::plan::StreamPlan;
use crate::sequence::reported;
use crate::tally::{FailureCounts, StreamProgress, Tally};
use crate::transit::Transit;
use crate::workloads::{Step, StreamSetup, Work};
use linerate_model::sample::{
    DatagramReceiver, MessageTimes, Omitted, PathReport, ReceiveSocket, SequenceCount,
    StreamReport, StreamWork, UnnumberedDatagramReceiver,
};
use linerate_model::spec::Side;
use linerate_model::{Clock, MonoInstant, PacketCount};
use linerate_peers::{DatagramFormat, Numbers, Reading, Stamp};
use linerate_sys::failure::{Failure, FailureClass};
use linerate_wire::sequence::Arrival;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Idle timeout of a receiver that is never told to end: its sender is gone.
pub(crate) const RECEIVER_IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Interval of the datagrams without payload by which a receiver keeps its way open. NATs forget streams of datagrams
/// after 30 s and less, and many count only what leaves (RFC 4787, REQ-5 and REQ-6).
const KEEP_OPEN: Duration = Duration::from_secs(2);

pub(super) struct Receiver {
    path: Box<dyn DatagramPath>,
    counts: Counts,
    /// When to send the next datagram that keeps the way open.
    keep_open: Option<MonoInstant>,
    clock: &'static dyn Clock,
    failures: FailureCounts,
    /// When the last datagram arrived, or traffic started.
    last: MonoInstant,
    overflows_before: Option<u64>,
}

/// What a batch contained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Batch {
    /// The first counted datagrams.
    FirstCounted,
    Other,
}

/// State changed by arrivals; separate from the path that owns their memory.
struct Counts {
    format: Box<dyn DatagramFormat>,
    numbers: Numbers,
    /// Parsed headers of the present batch.
    readings: Vec<Reading>,
    plan: StreamPlan,
    progress: Arc<StreamProgress>,
    /// Created with the first counted datagram.
    tally: Option<Tally>,
    sequences: Sequences,
    pdv: DelayVariation,
    floor: DelayFloor,
    /// Only where the sender reports how many it sent, but not in which time.
    departures: Option<Departures>,
    foreign: u64,
    reads: u64,
    emptying_reads: u64,
    /// Maximum datagrams per read.
    most: usize,
    ipdv: Ipdv,
    dropped: Dropped,
    /// Only where send times are on a clock that can be compared.
    transit: Option<Transit>,
    sender_clock: SenderClock,
    /// End of a warm-up that datagrams do not mark.
    counted_from: MonoInstant,
    omitted: Option<Omitted>,
    /// Datagrams that came and are marked as those of the warm-up.
    warm_up: u64,
    /// When the sender's first end datagram arrived, with the number sent if it states it.
    end: Option<(Option<u64>, MonoInstant)>,
    /// When the last datagram of traffic arrived.
    last: MonoInstant,
    /// Distinct datagrams at each place of a mix of lengths; empty without one.
    by_place: Vec<u64>,
}

/// Silence after a stream's end for which reordered datagrams are awaited. The sender repeats the end for 2 s or more
/// until it is answered.
const REORDERING_TIMEOUT: Duration = Duration::from_millis(100);

impl Receiver {
    pub(super) fn new(setup: StreamSetup) -> Result<Self> {
        let mut path = setup.path.datagrams()?;
        let by_place = vec![0; path.places()];
        let format = setup.plan.datagrams()?;
        let tells_its_end = setup.plan.format.tells_its_end();
        Ok(Self {
            overflows_before: path.overflows(),
            path,
            counts: Counts {
                most: super::most_per_call(Side::Receiver, &setup.plan),
                sequences: Sequences::new(setup.plan.in_turns.as_ref().map(Range::len)),
                numbers: format.numbers(),
                transit: format.shows_clock().then(Transit::new),
                sender_clock: SenderClock::default(),
                departures: tells_its_end.then(Departures::default),
                format,
                readings: Vec::new(),
                floor: DelayFloor::over(setup.plan.counted_time()),
                plan: setup.plan,
                progress: setup.progress,
                tally: None,
                pdv: DelayVariation::default(),
                foreign: 0,
                reads: 0,
                emptying_reads: 0,
                ipdv: Ipdv::new(),
                dropped: Dropped::default(),
                counted_from: MonoInstant::default(),
                omitted: None,
                warm_up: 0,
                end: None,
                last: MonoInstant::default(),
                by_place,
            },
            clock: setup.clock,
            failures: FailureCounts::default(),
            keep_open: None,
            last: MonoInstant::default(),
        })
    }

    /// Sends what keeps the way open, if it is time.
    fn keep_way_open(&mut self, now: MonoInstant) {
        if self.keep_open.is_some_and(|at| at <= now) {
            self.keep_open = Some(now.after(KEEP_OPEN));
            // One that does not get through is of no consequence.
            let _ = self.path.send_empty();
        }
    }

    /// Nothing arrived: checks whether the stream is over.
    fn idle(&mut self, failure: Failure, now: MonoInstant) -> Step {
        match failure.class() {
            FailureClass::WouldBlock | FailureClass::Interrupted => {}
            // One of many sockets, of which the others go on.
            class if class.is_of_one_socket() && self.path.sockets() > 1 => {
                self.failures.note(failure);
            }
            _ => match self.failures.step(failure, now) {
                Step::Again => {}
                step => return step,
            },
        }
        if now.saturating_since(self.last) > RECEIVER_IDLE_TIMEOUT {
            self.failures.count(Failure::timed_out("recvmmsg"), now);
            return Step::Done;
        }
        Step::Again
    }
}

impl Counts {
    /// Whether arrivals at `now` count, where only time separates the warm-up. The first call after the warm-up stores
    /// its counts.
    fn is_counted(&mut self, now: MonoInstant) -> bool {
        if self.numbers == Numbers::PerPart || self.plan.warm_up.is_zero() {
            return true;
        }
        if now < self.counted_from {
            return false;
        }
        if self.omitted.is_none() {
            let highest = self.sequences.next_expected();
            self.omitted = Some(Omitted {
                packets: PacketCount::new(highest),
                missing: PacketCount::new(highest.saturating_sub(self.sequences.received())),
            });
            self.sequences.restart_jitter();
        }
        true
    }

    /// Whether this sequence number is a late one of the warm-up; it is then no longer missing there.
    fn was_omitted(&mut self, sequence: u64) -> bool {
        let late = |omitted: &&mut Omitted| sequence < omitted.packets.get();
        let Some(omitted) = self.omitted.as_mut().filter(late) else {
            return false;
        };
        omitted.missing = PacketCount::new(omitted.missing.get().saturating_sub(1));
        true
    }

    /// Records a datagram; returns whether it is a new one that counts.
    #[inline]
    fn numbered(&mut self, sequence: u64, sent: Stamp, taken: BatchArrival) -> bool {
        let BatchArrival { at: now, counts } = taken;
        self.last = now;
        let transit = sent.transit_to(now);
        self.sender_clock.record(transit);
        if counts {
            self.pdv.record(transit);
            self.floor.record(sent, transit);
            if let Some(departures) = &mut self.departures {
                departures.record(sequence, sent);
            }
        } else {
            self.pdv.refer_to(transit);
        }
        if let Some(times) = &mut self.transit {
            times.record(sent, now, counts);
        }
        let ipdv = counts.then_some(&mut self.ipdv);
        let is_first = self.sequences.record(sequence, transit, ipdv) == Arrival::Distinct;
        let is_new = is_first && counts && !self.was_omitted(sequence);
        if is_new && !self.by_place.is_empty() {
            let place = sequence % self.by_place.len() as u64;
            self.by_place[usize::try_from(place).unwrap_or(0)] += 1;
        }
        is_new
    }

    /// Records one batch with a single arrival time `now`: when an application could have used it.
    fn take(&mut self, arrivals: Arrivals<'_>, now: MonoInstant) -> Batch {
        self.reads += 1;
        self.emptying_reads += u64::from(arrivals.spans.len() < self.most);
        let taken = BatchArrival {
            at: now,
            counts: self.is_counted(now),
        };
        if self.reads == 1 {
            self.progress.hear();
        }
        let mut sum = Sum::default();
        let mut readings = std::mem::take(&mut self.readings);
        readings.clear();
        let expected = self.sequences.next_expected();
        self.format
            .read(arrivals.datagrams(), expected, &mut readings);
        let lengths = arrivals.spans.iter().map(|span| u64::from(span.length));
        let mut datagrams = lengths.zip(readings.iter().copied());
        for run in arrivals.runs {
            let own = datagrams.by_ref().take(run.datagrams);
            self.take_run(*run, own, taken, &mut sum);
        }
        for (length, reading) in datagrams {
            self.take_one(length, reading, taken, &mut sum);
        }
        self.readings = readings;
        let Sum {
            bytes,
            packets,
            counted,
        } = sum;
        let first = self.tally.is_none();
        if counted {
            let fresh = || Tally::new(now, self.plan.interval, Arc::clone(&self.progress));
            let tally = self.tally.get_or_insert_with(fresh);
            tally.count(now, bytes, packets);
            if self.numbers != Numbers::None {
                let before = self.omitted.map_or(0, |omitted| omitted.packets.get());
                tally.expect(self.sequences.next_expected().saturating_sub(before));
            }
        }
        if counted && first {
            Batch::FirstCounted
        } else {
            Batch::Other
        }
    }
}

/// When a batch was received, and whether arrivals count then.
#[derive(Clone, Copy)]
struct BatchArrival {
    at: MonoInstant,
    counts: bool,
}

/// Counted part of a batch.
#[derive(Default)]
struct Sum {
    bytes: u64,
    packets: u64,
    counted: bool,
}

impl Counts {
    /// Records datagrams that arrived as one run.
    fn take_run(
        &mut self,
        run: Run,
        mut datagrams: impl Iterator<Item = (u64, Reading)>,
        taken: BatchArrival,
        sum: &mut Sum,
    ) {
        let expected = self.sequences.next_expected();
        let Some((length, reading)) = datagrams.next() else {
            return;
        };
        if self.take_one(length, reading, taken, sum) {
            let next = self.sequences.next_expected();
            self.dropped.came(run, next.checked_sub(expected + 1));
        } else if self.tally.is_none() && !sum.counted {
            self.dropped.skip(run);
        }
        for (length, reading) in datagrams {
            self.take_one(length, reading, taken, sum);
        }
    }

    /// Records one datagram. Returns whether it counts.
    #[inline]
    fn take_one(
        &mut self,
        length: u64,
        reading: Reading,
        taken: BatchArrival,
        sum: &mut Sum,
    ) -> bool {
        let BatchArrival { at: now, counts } = taken;
        match reading {
            Reading::Numbered { sequence, sent } => {
                if self.numbered(sequence, sent, taken) {
                    sum.bytes += length;
                    sum.packets += 1;
                }
            }
            // What arrives after the end was reordered.
            Reading::Unnumbered => {
                sum.bytes += if counts { length } else { 0 };
                sum.packets += u64::from(counts);
            }
            Reading::End { sent } => {
                // Repeated ends may carry higher numbers: keep the first.
                self.end.get_or_insert((sent, now));
                return false;
            }
            // Warm-up datagrams set the minimum delay, so that a queue that builds up before counting is seen.
            Reading::Other(sent) => {
                if let Some(sent) = sent {
                    self.warm_up += 1;
                    self.pdv.refer_to(sent.transit_to(now));
                    if let Some(times) = &mut self.transit {
                        times.record(sent, now, false);
                    }
                }
                return false;
            }
            Reading::Foreign => {
                self.foreign += 1;
                return false;
            }
        }
        sum.counted |= counts;
        counts
    }
}

impl Counts {
    /// Whether the sender's end ends the stream now: all that it sent has arrived, or no more does.
    fn has_ended(&self, now: MonoInstant) -> bool {
        self.end.is_some_and(|(sent, at)| {
            // Without sequence numbers the datagrams still under way are unknown.
            let is_all = sent.is_none_or(|sent| self.sequences.received() >= sent);
            is_all || now.saturating_since(self.last.max(at)) >= REORDERING_TIMEOUT
        })
    }

    /// Sequence counts after the warm-up. Datagrams sent after the last one received are missing like any other.
    fn sequence(&self) -> SequenceCount {
        let mut sequence = reported(self.sequences.counts(), self.foreign);
        let sent = self.end.and_then(|(sent, _)| sent).unwrap_or(0);
        sequence.next_expected = sequence.next_expected.max(sent);
        self.omitted
            .map_or(sequence, |omitted| after_warm_up(sequence, omitted))
    }
}

impl Counts {
    /// The datagram part of the report.
    fn finish(mut self, socket: ReceiveSocket) -> StreamWork {
        if self.numbers == Numbers::None {
            return UnnumberedDatagramReceiver { socket }.into();
        }
        // If nothing arrived after the warm-up, everything belongs to it.
        self.is_counted(self.counted_from);
        let sequence = self.sequence();
        let time_of_all = |departures: Departures| departures.time_of(sequence.next_expected);
        let is_sender_clock_set = self.sender_clock.is_set();
        let work = DatagramReceiver {
            is_sender_clock_set,
            longest_gap: None,
            socket,
            sent_there: self.end.and_then(|(sent, _)| sent).map(PacketCount::new),
            sent_in: self.departures.and_then(time_of_all),
            sequence,
            rtp_jitter_ns: self.sequences.jitter_ns(),
            warm_up: (self.numbers == Numbers::PerPart).then(|| PacketCount::new(self.warm_up)),
            omitted: self.omitted,
            times: MessageTimes {
                pdv: self.pdv.finish(),
                transits: self.transit.and_then(Transit::finish),
            },
            ipdv: self.ipdv.finish(),
            delay_floor_ns: self.floor.finish(),
            by_place: self.by_place.into_iter().map(PacketCount::new).collect(),
            by_port: Vec::new(),
        };
        if is_sender_clock_set {
            return work.without_send_times().into();
        }
        work.into()
    }
}

impl Work for Receiver {
    fn begin(&mut self, start: MonoInstant) {
        self.last = start;
        self.counts.counted_from = start.after(self.counts.plan.warm_up);
        let is_needed = self.counts.plan.keeps_way_open;
        self.keep_open = is_needed.then(|| start.after(KEEP_OPEN));
        let refusals = self.counts.plan.format.refusals(Side::Receiver);
        self.failures.take_refusals(refusals, start);
    }

    fn turn(&mut self, _now: MonoInstant, control: &StreamControl) -> Step {
        let received = self.path.receive();
        let now = self.clock.now();
        let step = match received {
            Ok(arrivals) => {
                self.last = now;
                self.failures.success();
                let came = arrivals.came.unwrap_or(now);
                let drops = arrivals.overflows.map(u64::from);
                if self.counts.take(arrivals, came) == Batch::FirstCounted
                    && !self.counts.plan.warm_up.is_zero()
                {
                    // Drops before this batch was queued belong to the warm-up. Of many sockets only one tells them.
                    let drops = match self.path.sockets() {
                        1 => drops,
                        _ => self.path.overflows(),
                    };
                    self.overflows_before = drops.or(self.overflows_before);
                }
                let pause = self.counts.plan.receiver_pause();
                pause.map_or(Step::Again, |pause| Step::Until(now.after(pause)))
            }
            Err(failure) => self.idle(failure, now),
        };
        self.keep_way_open(now);
        let index = usize::from(self.counts.plan.index);
        let is_numbered = self.counts.numbers != Numbers::None;
        let received = if is_numbered {
            Received::Packets(PacketCount::new(self.counts.sequences.received()))
        } else {
            Received::Unknown
        };
        if control.is_over(index, received, self.last, now) || self.counts.has_ended(now) {
            return Step::Done;
        }
        step
    }

    fn finish(mut self: Box<Self>, _now: MonoInstant) -> StreamReport {
        let overflows = self.path.overflows();
        let alone = overflows
            .zip(self.overflows_before)
            .map(|(after, before)| after.saturating_sub(before));
        let dropped_runs = self.path.dropped_runs();
        let in_runs = dropped_runs.and_then(|last| self.counts.dropped.finish(last));
        let socket = ReceiveSocket {
            reads: self.counts.reads,
            emptying_reads: self.counts.emptying_reads,
            socket_overflows: alone
                .or_else(|| in_runs.map(|(_, datagrams)| datagrams))
                .map(PacketCount::new),
            dropped_runs: in_runs.map(|(runs, _)| runs),
        };
        let (index, tally) = (self.counts.plan.index, self.counts.tally.take());
        StreamReport {
            flows: self.counts.sequences.by_stream(),
            errors: self.failures.into_counts(),
            path: PathReport {
                xdp: self.path.xdp(),
                ..self.path.buffers().into()
            },
            ..Tally::active_report(tally, index, self.counts.finish(socket))
        }
    }
}

/// Sequence counts without the warm-up, where the numbers continue through it.
fn after_warm_up(sequence: SequenceCount, omitted: Omitted) -> SequenceCount {
    let before = omitted.packets.get();
    let taken_before = before.saturating_sub(omitted.missing.get());
    let received = sequence.received.get().saturating_sub(taken_before);
    SequenceCount {
        received: PacketCount::new(received),
        next_expected: sequence.next_expected.saturating_sub(before),
        ..sequence
    }
}

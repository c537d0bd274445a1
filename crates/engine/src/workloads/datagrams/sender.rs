//! The sending side of a datagram stream.

use super::end_datagrams::EndDatagrams;
use super::sequences::PassedOver;
use crate::control::StreamControl;
use crate::datapaths::DatagramPath;
use crate::error::Result;
use crate::plan::{Limit, StreamPlan};
use crate::tally::{FailureCounts, StreamProgress, Tally};
use crate::workloads::{Step, StreamSetup, Work};
use linerate_model::sample::{DatagramSender, Omitted, PathReport, StreamReport};
use linerate_model::spec::{Side, WaitMode};
use linerate_model::{Histogram, MonoInstant, PacketCount};
use linerate_peers::{Batch, DatagramFormat, Numbers, Part, SendTime};
use linerate_sys::clock::MonotonicOffset;
use linerate_sys::failure::{Failure, FailureClass};
use linerate_wire::schedule::{Due, Schedule};
use std::sync::Arc;
use std::time::Duration;

/// Maximum time of the intended load per batch where waiting sleeps: a timer wakes a thread not much more precisely on
/// a virtual machine, so shorter gaps would waste CPU.
const BLOCK_WINDOW: Duration = Duration::from_micros(100);

/// Maximum time of the intended load per batch where waiting spins: one call costs 1 to 3 µs, so up to some 200 000
/// packets/s each packet has its own time.
const SPIN_WINDOW: Duration = Duration::from_micros(5);

/// Datagrams sent singly after a short batch. `sendmmsg` that fails after its first datagram returns how many went and
/// loses the error, also an asynchronous one ("port unreachable"). Single calls reveal a lasting error, often enough to
/// end the stream.
const SINGLES_AFTER_SHORT_BATCH: u64 = 32;

pub(super) struct Sender {
    pub(super) path: Box<dyn DatagramPath>,
    pub(super) plan: StreamPlan,
    progress: Arc<StreamProgress>,
    format: Box<dyn DatagramFormat>,
    numbers: Numbers,
    wall: MonotonicOffset,
    pub(super) part: Part,
    /// Number of the next datagram.
    pub(super) sequence: u64,
    /// Datagrams of a warm-up through which the sequence numbers continue.
    omitted: u64,
    /// Datagrams sent that do not count.
    pub(super) warm_up: u64,
    pub(super) phase: Phase,
    pub(super) schedule: Option<Schedule>,
    pub(super) limit: Limit,
    pub(super) tally: Tally,
    pub(super) failures: FailureCounts,
    pub(super) lateness: Option<Histogram>,
    pub(super) refused: u64,
    /// Of streams that take turns.
    passed_over: PassedOver,
    /// Datagrams that had been sent when a router answered that they are too long.
    before_path_mtu: Option<u64>,
    pub(super) burst_max: u64,
    /// Datagrams still to be sent singly, to see an error that a batch hides.
    cautious: u64,
    /// When the last sending call returned.
    sent_by: MonoInstant,
    ended: Option<MonoInstant>,
    /// Start of the sending call whose return has not been recorded yet.
    sending: Option<MonoInstant>,
    /// Time in sending calls.
    in_calls: Duration,
    /// End datagrams, where the stream itself signals its end.
    end_datagrams: Option<EndDatagrams>,
}

/// Whether traffic counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    WarmUp { until: MonoInstant },
    Counted,
}

impl Sender {
    pub(super) fn new(setup: StreamSetup) -> Result<Self> {
        let start = MonoInstant::default();
        let format = setup.plan.datagrams()?;
        Ok(Self {
            path: setup.path.datagrams()?,
            numbers: format.numbers(),
            format,
            wall: MonotonicOffset::measure(),
            part: Part::WarmUp,
            sequence: 0,
            omitted: 0,
            warm_up: 0,
            phase: Phase::WarmUp { until: start },
            schedule: None,
            limit: Limit::new(setup.plan.stop, setup.plan.payload, start),
            tally: Tally::new(start, setup.plan.interval, Arc::clone(&setup.progress)),
            failures: FailureCounts::default(),
            lateness: setup.plan.rate.map(|_| Histogram::new()),
            refused: 0,
            passed_over: PassedOver::default(),
            before_path_mtu: None,
            burst_max: 0,
            cautious: 0,
            sent_by: start,
            ended: None,
            sending: None,
            in_calls: Duration::ZERO,
            end_datagrams: None,
            plan: setup.plan,
            progress: setup.progress,
        })
    }

    fn schedule_from(&self, start: MonoInstant) -> Option<Schedule> {
        let window = match self.plan.wait {
            WaitMode::Block | WaitMode::BusyPoll => BLOCK_WINDOW,
            WaitMode::Spin => SPIN_WINDOW,
        };
        let batch = self.path.batch();
        let rate = self.plan.rate?.bps();
        let schedule = Schedule::new(start, rate, self.plan.payload, window, batch)?;
        Some(schedule.catching_up(self.plan.catch_up.longest()))
    }

    /// Ends the warm-up when it is due: numbers, schedule and counts start afresh.
    fn enter_counted(&mut self, now: MonoInstant) {
        if let Phase::WarmUp { until } = self.phase
            && now >= until
        {
            self.phase = Phase::Counted;
            self.part = Part::Counted;
            if self.numbers == Numbers::PerPart {
                self.sequence = 0;
            } else {
                self.omitted = self.sequence;
            }
            self.schedule = self.schedule.map(|schedule| schedule.restarted(until));
            if let Some(generator) = self.path.generator() {
                generator.forget_lateness();
            }
        }
    }

    /// Datagrams to send now, or when to come back.
    fn due(&mut self, now: MonoInstant) -> Result<u64, Step> {
        let most = self.limit.left().min(self.path.batch() as u64);
        let Some(schedule) = &mut self.schedule else {
            return Ok(most);
        };
        let mut most = most;
        if let Some(end) = self.limit.end() {
            let slots = schedule
                .slots_before(end)
                .saturating_sub(schedule.next_slot());
            if slots == 0 && self.phase == Phase::Counted {
                return Err(Step::Until(end));
            }
            most = most.min(slots.max(1));
        }
        match schedule.due(now) {
            Due::Wait(until) => Err(Step::Until(until)),
            Due::Now { count, late } => {
                if let (Phase::Counted, Some(lateness)) = (self.phase, &mut self.lateness) {
                    lateness.record_duration(late);
                }
                Ok(count.min(most))
            }
        }
    }

    /// Writes the headers of the next `count` datagrams.
    fn fill(&mut self, count: u64, now: MonoInstant) {
        let payload = self.plan.payload;
        let slots = self.path.slots();
        let end = usize::try_from(count).map_or(slots.len(), |count| count * payload);
        let batch = Batch {
            part: self.part,
            first: self.sequence,
            sent: SendTime {
                monotonic: now,
                wall_ns: self.wall.real(now),
            },
        };
        let end = end.min(slots.len());
        self.format.write(&mut slots[..end], payload, batch);
    }

    fn accepted(&mut self, now: MonoInstant, wanted: u64, count: u64) {
        self.failures.success();
        self.passed_over.success();
        self.cautious = if count < wanted {
            SINGLES_AFTER_SHORT_BATCH
        } else {
            self.cautious.saturating_sub(1)
        };
        self.sequence += count;
        self.burst_max = self.burst_max.max(count);
        if let Some(schedule) = &mut self.schedule {
            schedule.served(now, count);
        }
        if self.phase == Phase::Counted {
            self.limit.spend(count);
            self.tally
                .count(now, count * self.plan.payload as u64, count);
        } else {
            self.warm_up += count;
        }
    }

    pub(super) fn failed(&mut self, now: MonoInstant, failure: Failure) -> Step {
        if failure.class() == FailureClass::WouldBlock {
            self.cautious = 0;
        }
        if failure.class() == FailureClass::NoBuffers {
            // The datagram is given up: its slot passes, its number is reused.
            if self.phase == Phase::Counted {
                self.refused += 1;
                self.limit.spend(1);
            }
            if let Some(schedule) = &mut self.schedule {
                schedule.served(now, 1);
            }
        }
        if failure.class() == FailureClass::TooLong && self.phase == Phase::Counted {
            self.before_path_mtu
                .get_or_insert_with(|| self.tally.packets());
        }
        if self.passes_over(failure, now) {
            self.failures.note(failure);
            return Step::Again;
        }
        self.failures.step(failure, now)
    }

    /// Gives up the turn of a stream whose own socket takes nothing, such as behind a packet filter, for the streams after
    /// it; `false` if nothing is sent of any, or what failed is not one stream's.
    fn passes_over(&mut self, failure: Failure, now: MonoInstant) -> bool {
        let is_of_one = failure.class().is_of_one_socket();
        let streams = self.plan.in_turns.as_ref().filter(|_| is_of_one);
        let Some(streams) = streams.map(ExactSizeIterator::len) else {
            return false;
        };
        if self.passed_over.are_all(streams) {
            return false;
        }
        let counts = self.phase == Phase::Counted;
        self.passed_over.pass(self.sequence, streams, counts);
        self.sequence += 1;
        if counts {
            self.refused += 1;
            self.limit.spend(1);
        }
        if let Some(schedule) = &mut self.schedule {
            schedule.served(now, 1);
        }
        true
    }

    /// All is sent: signals the end in the stream where nothing else does.
    fn part(&mut self, ended: MonoInstant, now: MonoInstant) -> Step {
        if self.numbers != Numbers::None {
            return Step::Done;
        }
        let end_datagrams = self
            .end_datagrams
            .get_or_insert_with(|| EndDatagrams::after(ended));
        end_datagrams.say(now, self.path.as_mut())
    }

    /// Unused slots of the schedule up to `end`.
    fn unsent(&self, end: MonoInstant) -> u64 {
        let Some(schedule) = self
            .schedule
            .as_ref()
            .filter(|_| self.phase == Phase::Counted)
        else {
            return 0;
        };
        let due = match self.limit.end() {
            Some(limit) => schedule.slots_before(limit.min(end)),
            None => 0,
        };
        schedule.skipped() + due.saturating_sub(schedule.next_slot())
    }

    /// End of the counted time: the end of the last slot that began within the time limit, or the return of the last
    /// call if later.
    fn counted_end(&self, now: MonoInstant) -> MonoInstant {
        let Some(ended) = self.ended else {
            return now;
        };
        let planned = match (self.limit.end(), self.schedule.as_ref()) {
            // The last slot began within the limit and counts in full: n datagrams fill n slots.
            (Some(limit), Some(schedule)) => {
                Some(schedule.deadline(schedule.slots_before(limit)).max(limit))
            }
            (limit, None) => limit,
            (None, Some(schedule)) => Some(schedule.deadline(schedule.next_slot())),
        };
        planned.map_or(ended, |planned| planned.max(self.sent_by))
    }
}

impl Work for Sender {
    fn begin(&mut self, start: MonoInstant) {
        let counted = start.after(self.plan.warm_up);
        self.phase = Phase::WarmUp { until: counted };
        self.schedule = self.schedule_from(start);
        self.limit = Limit::new(self.plan.stop, self.plan.payload, counted);
        self.tally = Tally::new(counted, self.plan.interval, Arc::clone(&self.progress));
        self.sent_by = start;
        let refusals = self.plan.format.refusals(Side::Sender);
        self.failures.take_refusals(refusals, start);
    }

    fn turn(&mut self, now: MonoInstant, _control: &StreamControl) -> Step {
        if let Some(called) = self.sending.take() {
            self.sent_by = now;
            self.in_calls += now.saturating_since(called);
        }
        self.enter_counted(now);
        if self.limit.is_over(now) {
            let ended = *self.ended.get_or_insert(now);
            return self.part(ended, now);
        }
        if self.path.generator().is_some() {
            self.sending = Some(now);
            return self.generate(now);
        }
        let count = match self.due(now) {
            Ok(count) if self.cautious > 0 => count.min(1),
            Ok(count) => count,
            Err(step) => return step,
        };
        self.fill(count, now);
        let want = usize::try_from(count).unwrap_or(usize::MAX);
        self.sending = Some(now);
        match self.path.send(want) {
            Ok(accepted) => {
                self.accepted(now, count, accepted as u64);
                Step::Again
            }
            Err(failure) => self.failed(now, failure),
        }
    }

    fn finish(mut self: Box<Self>, now: MonoInstant) -> StreamReport {
        if self.numbers == Numbers::None && self.end_datagrams.is_none() {
            EndDatagrams::at_once(self.path.as_mut());
        }
        if let (Some(lateness), Some(generator)) = (&mut self.lateness, self.path.generator()) {
            *lateness = generator.lateness();
        }
        let tried = self.path.generator().map_or(0, |path| path.tried());
        let end = self.counted_end(now);
        let duration = end.saturating_since(self.tally.start());
        let work = DatagramSender {
            refused: PacketCount::new(self.refused),
            unsent: PacketCount::new(self.unsent(end)),
            pacing: self.lateness.into(),
            burst_max: PacketCount::new(self.burst_max),
            sending: Some(self.in_calls),
            before_path_mtu: self.before_path_mtu.map(PacketCount::new),
            warm_up: (self.numbers == Numbers::PerPart)
                .then(|| PacketCount::new(self.warm_up + tried)),
            omitted: (self.omitted > 0).then(|| Omitted {
                packets: PacketCount::new(self.omitted),
                missing: PacketCount::new(0),
            }),
        };
        let streams = self.plan.in_turns.as_ref();
        StreamReport {
            flows: streams.map(|all| self.passed_over.sent(self.tally.packets(), all.len())),
            errors: self.failures.into_counts(),
            path: PathReport {
                xdp: self.path.xdp(),
                notes: self.path.diagnostics().notes,
                ..self.path.buffers().into()
            },
            ..self.tally.report(self.plan.index, duration, work)
        }
    }
}

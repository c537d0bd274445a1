//! Bulk transfer: a TCP byte stream, one way, as fast as it goes or at an intended load.
//!
//! Sender: bytes count when the system takes them. Receiver: bytes count when the application
//! reads them (goodput); every byte is copied to it, as to any application. Both drop the first
//! `warm_up` of their own time. `TCP_INFO` is read at the start, the end, and at each interval.

use super::byte_counts::ByteCounts;
use super::datagrams::RECEIVER_IDLE_TIMEOUT;
use super::{Path, Step, StreamPath, StreamSetup, Work, WorkloadKind, multiplexed};
use crate::control::{Received, StreamControl};
use crate::datapaths::Calls;
use crate::error::{EngineError, Result};
use crate::plan::{Limit, StreamPlan};
use crate::tally::Tally;
use linerate_model::sample::{
    ByteStreamReceiver, ByteStreamSender, StreamReport, StreamWork, TcpSocketReport,
};
use linerate_model::spec::{Side, Stop, TestSpec, TestWork};
use linerate_model::{BitRate, ByteCount, Histogram, MonoInstant};
use linerate_peers::StreamFormat;
use linerate_sys::failure::{Failure, FailureClass};
use linerate_sys::memory::PageBuffer;
use linerate_wire::schedule::{Due, Schedule};
use std::time::Duration;

/// The bulk transfer.
pub(super) struct Bulk;

/// Bytes of one read: large enough that the call's cost vanishes, small enough for a level-2 cache.
pub(super) const READ_BYTES: usize = 128 << 10;

/// Maximum time of the intended load that one paced write covers.
const WRITE_WINDOW: Duration = Duration::from_millis(1);

/// Minimum bytes of one paced write.
const MIN_WRITE: usize = 1024;

impl WorkloadKind for Bulk {
    fn id(&self) -> &'static str {
        "bulk"
    }

    fn summary(&self) -> &'static str {
        "A TCP byte stream, one way, as fast as it goes or at an intended load."
    }

    fn example(&self) -> TestSpec {
        TestSpec {
            stop: Stop::Bytes(ByteCount::new(3_000_001)),
            ..TestSpec::tcp_bulk()
        }
    }

    fn check(&self, spec: &TestSpec, _: &dyn StreamFormat) -> Result<()> {
        let TestWork::ByteStream(stream) = &spec.work else {
            let why = "it needs TCP; UDP carries datagrams and ping-pong";
            return Err(EngineError::plan("workload", &self.id(), why));
        };
        if stream.write.get() == 0 {
            return Err(EngineError::plan(
                "payload",
                &0,
                "a write takes at least 1 byte",
            ));
        }
        if let Stop::Transactions(count) = spec.stop {
            let why = "a byte stream has no transactions; stop after a time or bytes";
            return Err(EngineError::plan("transactions", &count, why));
        }
        Ok(())
    }

    fn calls(&self, _side: Side, _plan: &StreamPlan) -> Calls {
        Calls::Single
    }

    fn work(&self, side: Side, setup: StreamSetup) -> Result<Box<dyn Work>> {
        if matches!(setup.path, Path::Streams(_)) {
            return multiplexed::byte_streams(side, setup);
        }
        let stream = Stream::new(setup)?;
        Ok(match side {
            Side::Sender => Box::new(Sender::new(stream)),
            Side::Receiver => Box::new(Receiver::new(stream)),
        })
    }
}

/// State of both sides.
struct Stream {
    path: Box<dyn StreamPath>,
    counts: ByteCounts,
}

impl Stream {
    fn new(setup: StreamSetup) -> Result<Self> {
        Ok(Self {
            path: setup.path.stream()?,
            counts: ByteCounts::new(setup.plan, setup.progress, setup.clock),
        })
    }

    fn begin(&mut self, start: MonoInstant) {
        self.counts.begin(start, |at| self.path.info(at));
    }

    /// Records `bytes` moved at `now`; zero only advances the time.
    fn moved(&mut self, now: MonoInstant, bytes: usize) {
        let counts = &mut self.counts;
        if bytes > 0 {
            counts.last = now;
            counts.failures.success();
        }
        let Some(tally) = &mut counts.tally else {
            return;
        };
        // Time in which nothing moved does not extend the active time.
        let rolled = match bytes {
            _ if now < tally.start() => false,
            0 => tally.roll(now),
            _ => tally.count(now, bytes as u64, 0),
        };
        if rolled {
            counts.sample(now, |at| self.path.info(at));
        }
    }

    /// How to go on after a failed call.
    fn failed(&mut self, failure: Failure, now: MonoInstant) -> Step {
        self.moved(now, 0);
        let failures = &mut self.counts.failures;
        if failure.class() == FailureClass::WouldBlock {
            if now.saturating_since(self.counts.last) <= RECEIVER_IDLE_TIMEOUT {
                return Step::Again;
            }
            failures.count(Failure::timed_out(failure.operation()), now);
            return Step::Done;
        }
        failures.step_of_connection(failure, now)
    }

    /// TCP readings of the socket, with a last one.
    fn tcp(&mut self, now: MonoInstant) -> TcpSocketReport {
        let congestion_control = self.path.congestion_control();
        self.counts
            .tcp(now, congestion_control, |at| self.path.info(at))
    }

    fn report(self, duration: Duration, work: impl Into<StreamWork>) -> StreamReport {
        StreamReport {
            path: self.path.buffers().into(),
            ..self.counts.report(duration, work)
        }
    }
}

struct Sender {
    stream: Stream,
    limit: Limit,
    schedule: Option<Schedule>,
    lateness: Option<Histogram>,
    data: PageBuffer,
    /// Bytes of one write.
    chunk: usize,
    /// Bytes of the present chunk still to be written.
    pending: usize,
    /// End of the pause after a write.
    rest: MonoInstant,
    /// When all bytes were written.
    ended: Option<MonoInstant>,
    /// Bytes written, warm-up included.
    written: u64,
}

/// How long a sender waits for its bytes to be acknowledged where the peer reports nothing, or only what it has by
/// then. Far below the time that peers wait for the test's end (40 s).
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval of checking the unacknowledged bytes.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

impl Sender {
    fn new(stream: Stream) -> Self {
        let plan = &stream.counts.plan;
        let chunk = plan
            .rate
            .map_or(plan.payload, |rate| paced_write(rate, plan.payload));
        Self {
            limit: Limit::new(plan.stop, 1, MonoInstant::default()),
            schedule: None,
            lateness: plan.rate.map(|_| Histogram::new()),
            data: PageBuffer::new(chunk, 0x5a),
            chunk,
            pending: 0,
            rest: MonoInstant::default(),
            ended: None,
            written: 0,
            stream,
        }
    }

    /// Bytes to write now, or when to come back.
    fn due(&mut self, now: MonoInstant) -> Result<usize, Step> {
        let left = usize::try_from(self.limit.left()).unwrap_or(usize::MAX);
        if self.pending > 0 {
            return Ok(self.pending.min(left));
        }
        if now < self.rest {
            return Err(self.until(self.rest));
        }
        let Some(schedule) = &mut self.schedule else {
            return Ok(self.chunk.min(left));
        };
        match schedule.due(now) {
            Due::Wait(until) => Err(self.until(until)),
            Due::Now { late, .. } => {
                if let Some(lateness) = &mut self.lateness {
                    lateness.record_duration(late);
                }
                schedule.served(now, 1);
                Ok(self.chunk.min(left))
            }
        }
    }

    /// Waits until `instant`, or until the end if that is sooner.
    fn until(&self, instant: MonoInstant) -> Step {
        Step::Until(self.limit.end().map_or(instant, |e| e.min(instant)))
    }

    /// All bytes are written. Where the end of the stream tells the peer nothing, waits for their acknowledgement.
    fn deliver(&mut self, now: MonoInstant) -> Step {
        let ended = *self.ended.get_or_insert(now);
        let is_late = now.saturating_since(ended) >= DELIVERY_TIMEOUT;
        let rest = self.rest_of_block();
        if rest > 0 && self.stream.counts.plan.format.stays_open() && !is_late {
            return self.complete(rest);
        }
        let left = self.stream.path.unacknowledged().unwrap_or(0);
        if is_late || left == 0 || !self.stream.counts.plan.format.waits_for_delivery() {
            return Step::Done;
        }
        Step::Poll(now.after(POLL_INTERVAL))
    }

    /// Bytes that complete the last block, where the test ends by time.
    fn rest_of_block(&self) -> usize {
        let block = self.stream.counts.plan.payload as u64;
        let begun = self.written % block.max(1);
        if begun == 0 || self.limit.end().is_none() {
            return 0;
        }
        usize::try_from(block - begun).unwrap_or(0)
    }

    /// Writes the rest of the last block: iperf3 from 3.16 on counts whole blocks only.
    fn complete(&mut self, rest: usize) -> Step {
        let part = &self.data.bytes()[..rest.min(self.chunk)];
        let written = self.stream.path.write(part);
        let now = self.stream.counts.clock.now();
        match written {
            Ok(written) => {
                self.written += written as u64;
                self.stream.moved(now, written);
                Step::Again
            }
            Err(failure) => self.stream.failed(failure, now),
        }
    }

    /// Limits the write timeout near the end of the test.
    fn mind_the_end(&mut self, now: MonoInstant) {
        if let Some(end) = self.limit.end() {
            let left = end.saturating_since(now);
            if left < Duration::from_millis(20) {
                self.stream.path.limit_write(left);
            }
        }
    }
}

/// Bytes of one write at an intended load.
pub(super) fn paced_write(rate: BitRate, payload: usize) -> usize {
    let window = rate.bytes_in(WRITE_WINDOW).as_usize();
    window.max(MIN_WRITE).min(payload)
}

impl Work for Sender {
    fn begin(&mut self, start: MonoInstant) {
        self.stream.begin(start);
        let counted = self.stream.counts.counted_from();
        self.stream.counts.count_from(counted);
        self.limit = Limit::new(self.stream.counts.plan.stop, 1, counted);
        self.schedule = self
            .stream
            .counts
            .plan
            .rate
            .and_then(|rate| Schedule::new(start, rate.bps(), self.chunk, Duration::ZERO, 1));
    }

    fn turn(&mut self, now: MonoInstant, _control: &StreamControl) -> Step {
        if self.limit.is_over(now) {
            return self.deliver(now);
        }
        let length = match self.due(now) {
            Ok(length) => length,
            Err(step) => {
                self.stream.moved(now, 0);
                return step;
            }
        };
        self.mind_the_end(now);
        match self.stream.path.write(&self.data.bytes()[..length]) {
            Ok(written) => {
                self.pending = length - written;
                self.written += written as u64;
                let after = self.stream.counts.clock.now();
                self.stream.moved(after, written);
                if self.pending == 0
                    && let Some(pause) = self.stream.counts.plan.sender_pause()
                {
                    self.rest = after.after(pause);
                }
                if after >= self.stream.counts.counted_from() {
                    self.limit.spend(written as u64);
                }
                Step::Again
            }
            Err(failure) => {
                self.pending = length;
                self.stream.failed(failure, self.stream.counts.clock.now())
            }
        }
    }

    fn finish(mut self: Box<Self>, now: MonoInstant) -> StreamReport {
        if !self.stream.counts.plan.format.stays_open()
            && let Err(failure) = self.stream.path.shutdown()
        {
            self.stream.counts.failures.count(failure, now);
        }
        let counted = self.stream.counts.counted_from();
        let ended = self.ended.unwrap_or(now);
        let work = ByteStreamSender {
            tcp: self.stream.tcp(now),
            pacing: self.lateness.into(),
        };
        self.stream.report(ended.saturating_since(counted), work)
    }
}

struct Receiver {
    stream: Stream,
    room: PageBuffer,
    ended: bool,
    /// Bytes read, warm-up included.
    taken: u64,
}

impl Receiver {
    fn new(stream: Stream) -> Self {
        let plan = &stream.counts.plan;
        // A slow reader is defined by its pause per read, so the read size must be known.
        let size = plan.receiver_pause().map_or(READ_BYTES, |_| plan.payload);
        Self {
            room: PageBuffer::new(size, 0),
            ended: false,
            taken: 0,
            stream,
        }
    }
}

impl Work for Receiver {
    fn begin(&mut self, start: MonoInstant) {
        self.stream.begin(start);
    }

    fn turn(&mut self, _now: MonoInstant, control: &StreamControl) -> Step {
        let read = self.stream.path.read(self.room.bytes_mut());
        let now = self.stream.counts.clock.now();
        let step = match read {
            Ok(0) => {
                self.ended = true;
                Step::Done
            }
            Ok(length) => {
                if self.stream.counts.tally.is_none() {
                    self.stream.counts.progress.hear();
                    self.stream
                        .counts
                        .count_from(now.after(self.stream.counts.plan.warm_up));
                }
                self.taken += length as u64;
                self.stream.moved(now, length);
                let pause = self.stream.counts.plan.receiver_pause();
                pause.map_or(Step::Again, |pause| Step::Until(now.after(pause)))
            }
            Err(failure) => self.stream.failed(failure, now),
        };
        let index = usize::from(self.stream.counts.plan.index);
        if control.is_over(
            index,
            Received::Bytes(ByteCount::new(self.taken)),
            self.stream.counts.last,
            now,
        ) {
            return Step::Done;
        }
        step
    }

    fn finish(mut self: Box<Self>, now: MonoInstant) -> StreamReport {
        let active = self.stream.counts.tally.as_ref().map(Tally::active);
        let tcp = self.stream.tcp(now);
        self.stream
            .report(active.unwrap_or_default(), ByteStreamReceiver { tcp })
    }
}

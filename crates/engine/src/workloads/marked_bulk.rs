//! Bulk transfer with marks: a TCP byte stream, one way, in which marks go along that the peer sends back.
//!
//! A mark waits in the sender's buffer, in the queues of the path and in the receiver's buffer like the data
//! around it, and comes back on the same connection against the stream: the delay that anything else on a
//! connection under load has (the "self" probes of draft-ietf-ippm-responsiveness). It is timed from when
//! the sender gave its first byte to the system to when the mark came back, sender's clock.
//!
//! The stream consists of blocks of the write's size. Each begins with the header of a datagram, whose kind
//! says whether it is a mark; marks come back as those headers.

use super::datagrams::RECEIVER_IDLE_TIMEOUT;
use super::{Step, StreamSetup, Work, WorkloadKind};
use crate::control::{Received, StreamControl};
use crate::datapaths::{Calls, Nagle, StreamPath};
use crate::error::{EngineError, Result};
use crate::plan::{Limit, StreamPlan, no_datagrams};
use crate::tally::{FailureCounts, StreamProgress, Tally};
use linerate_model::sample::{
    ByteStreamReceiver, MarkedByteStreamSender, StreamReport, StreamWork, TcpSample,
    TcpSocketReport,
};
use linerate_model::spec::{Pace, Side, Stop, TestSpec, TestWork, WaitMode};
use linerate_model::{ByteCount, Clock, Histogram, MonoInstant};
use linerate_peers::{Batch, DatagramFormat, Part, Reading, SendTime, StreamFormat};
use linerate_sys::failure::{Failure, FailureClass};
use linerate_sys::memory::PageBuffer;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Workload of the marked bulk transfer.
pub(super) struct MarkedBulk;

/// Interval between marks of a stream.
const MARK_INTERVAL: Duration = Duration::from_millis(100);

/// Maximum marks under way: a path that delays them by more than six seconds gets no more.
const MAX_MARKS: usize = 64;

/// How long marks under way are awaited after the last byte was written.
const MARK_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum wait for room in the send buffer: bounds how long the stream stands still after the buffer ran empty.
const MAX_WRITE_WAIT: Duration = Duration::from_micros(500);

/// Bytes of one read.
const READ_BYTES: usize = 128 << 10;

impl WorkloadKind for MarkedBulk {
    fn id(&self) -> &'static str {
        "marked-bulk"
    }

    fn summary(&self) -> &'static str {
        "A TCP byte stream, one way, with marks in it that the peer sends back: delay on a connection under load."
    }

    fn example(&self) -> TestSpec {
        TestSpec {
            stop: Stop::After(Duration::from_millis(100)),
            ..TestSpec::marked_bulk().with_payload(ByteCount::new(5000))
        }
    }

    fn check(&self, spec: &TestSpec, format: &dyn StreamFormat) -> Result<()> {
        if !format.identifies_test() {
            let why = "marks need `linerate serve` at the peer";
            return Err(EngineError::plan("workload", &self.id(), why));
        }
        let TestWork::ByteStream(stream) = &spec.work else {
            return Err(EngineError::plan("workload", &self.id(), "it needs TCP"));
        };
        if stream.pace != Pace::Unpaced || !matches!(spec.stop, Stop::After(_)) {
            let why = "it is unpaced and ends by time";
            return Err(EngineError::plan("workload", &self.id(), why));
        }
        let header = format.datagrams(0, stream.write.as_usize());
        let header = header.ok_or_else(no_datagrams)?.header_len();
        if stream.write.get() < header as u64 {
            let why = format!("a block takes at least {header} bytes");
            return Err(EngineError::plan("payload", &stream.write, why));
        }
        Ok(())
    }

    fn calls(&self, _side: Side, _plan: &StreamPlan) -> Calls {
        Calls::Single
    }

    fn nagle(&self) -> Nagle {
        Nagle::Off
    }

    /// The sender writes and listens, so neither call may sleep.
    fn waiting(&self, side: Side, plan: &StreamPlan) -> WaitMode {
        match side {
            Side::Sender => WaitMode::Spin,
            Side::Receiver => plan.wait,
        }
    }

    fn work(&self, side: Side, setup: StreamSetup) -> Result<Box<dyn Work>> {
        let common = Common::new(setup)?;
        Ok(match side {
            Side::Sender => Box::new(Sender::new(common)),
            Side::Receiver => Box::new(Receiver::new(common)),
        })
    }
}

/// State of both sides.
struct Common {
    path: Box<dyn StreamPath>,
    /// Format of the header of each block.
    format: Box<dyn DatagramFormat>,
    plan: StreamPlan,
    progress: Arc<StreamProgress>,
    clock: &'static dyn Clock,
    tally: Tally,
    failures: FailureCounts,
    /// When bytes last moved.
    last: MonoInstant,
}

impl Common {
    fn new(setup: StreamSetup) -> Result<Self> {
        let start = MonoInstant::default();
        Ok(Self {
            path: setup.path.stream()?,
            format: setup.plan.datagrams()?,
            tally: Tally::new(start, setup.plan.interval, Arc::clone(&setup.progress)),
            plan: setup.plan,
            progress: setup.progress,
            clock: setup.clock,
            failures: FailureCounts::default(),
            last: start,
        })
    }

    /// Sequence number, if this header is of a mark.
    fn mark(&self, header: &[u8]) -> Option<u64> {
        match self.format.read_one(header, 0) {
            Reading::Numbered { sequence, .. } => Some(sequence),
            _ => None,
        }
    }

    fn begin(&mut self, start: MonoInstant) {
        let counted = start.after(self.plan.warm_up);
        self.tally = Tally::new(counted, self.plan.interval, Arc::clone(&self.progress));
        self.last = start;
    }

    fn moved(&mut self, now: MonoInstant, bytes: usize) {
        self.last = now;
        self.failures.success();
        if now >= self.tally.start() {
            self.tally.count(now, bytes as u64, 0);
        }
    }

    /// How to go on after a permanent failure.
    fn failed(&mut self, failure: Failure, now: MonoInstant) -> Step {
        self.failures.step_of_connection(failure, now)
    }

    fn sample(&mut self, now: MonoInstant) -> Option<TcpSample> {
        let at = now.saturating_since(self.tally.start()).as_nanos();
        self.path.info(u64::try_from(at).unwrap_or(u64::MAX))
    }

    fn report(self, duration: Duration, work: impl Into<StreamWork>) -> StreamReport {
        StreamReport {
            errors: self.failures.into_counts(),
            path: self.path.buffers().into(),
            ..self.tally.report(self.plan.index, duration, work)
        }
    }
}

fn is_passing(failure: Failure) -> bool {
    matches!(
        failure.class(),
        FailureClass::WouldBlock | FailureClass::Interrupted
    )
}

struct Sender {
    common: Common,
    limit: Limit,
    block: PageBuffer,
    /// Bytes of the present block already written.
    written: usize,
    number: u64,
    next_mark: MonoInstant,
    /// Sequence number and send time of marks under way.
    marks: VecDeque<(u64, MonoInstant)>,
    /// Whether the present block is a mark that has not begun.
    is_mark: bool,
    echo: Vec<u8>,
    echoed: usize,
    in_band: Histogram,
    samples: Vec<TcpSample>,
    ended: Option<MonoInstant>,
}

impl Sender {
    fn new(common: Common) -> Self {
        let start = MonoInstant::default();
        Self {
            limit: Limit::new(common.plan.stop, 1, start),
            block: PageBuffer::new(common.plan.payload, 0x5a),
            echo: vec![0; common.format.header_len()],
            common,
            written: 0,
            number: 0,
            next_mark: start,
            marks: VecDeque::with_capacity(MAX_MARKS),
            is_mark: false,
            echoed: 0,
            in_band: Histogram::new(),
            samples: Vec::new(),
            ended: None,
        }
    }

    /// Writes the header of the next block.
    fn next_block(&mut self, now: MonoInstant) {
        self.is_mark = now >= self.next_mark && self.marks.len() < MAX_MARKS;
        let batch = Batch {
            part: if self.is_mark {
                Part::Counted
            } else {
                Part::WarmUp
            },
            first: self.number,
            // Only formats that show the monotonic clock identify a test.
            sent: SendTime {
                monotonic: now,
                wall_ns: 0,
            },
        };
        let block = self.block.bytes_mut();
        let length = block.len();
        self.common.format.write(block, length, batch);
    }

    /// Writes bytes. `Err` ends the turn; `false`: no room.
    fn write(&mut self, now: MonoInstant) -> Result<bool, Step> {
        if self.written == 0 {
            self.next_block(now);
        }
        let rest = &self.block.bytes()[self.written..];
        match self.common.path.write(rest) {
            Ok(taken) => {
                if std::mem::take(&mut self.is_mark) {
                    self.marks.push_back((self.number, now));
                    self.next_mark = now.after(MARK_INTERVAL);
                }
                self.common.moved(now, taken);
                self.written += taken;
                if self.written == self.block.bytes().len() {
                    self.written = 0;
                    self.number += 1;
                }
                Ok(true)
            }
            Err(failure) if is_passing(failure) => Ok(false),
            Err(failure) => Err(self.common.failed(failure, now)),
        }
    }

    /// Receives returned marks.
    fn listen(&mut self) -> Result<(), Step> {
        loop {
            let read = self.common.path.read(&mut self.echo[self.echoed..]);
            let now = self.common.clock.now();
            match read {
                Ok(0) => {
                    let gone = Failure::peer_gone("recv");
                    return Err(self.common.failed(gone, now));
                }
                Ok(length) => self.echoed += length,
                Err(failure) if is_passing(failure) => return Ok(()),
                Err(failure) => return Err(self.common.failed(failure, now)),
            }
            if self.echoed == self.echo.len() {
                self.echoed = 0;
                self.came_back(now);
            }
        }
    }

    fn came_back(&mut self, now: MonoInstant) {
        let number = self.common.mark(&self.echo);
        let Some(&(mark, sent)) = self.marks.front() else {
            return;
        };
        if number == Some(mark) {
            self.marks.pop_front();
            if sent >= self.common.tally.start() {
                self.in_band.record_duration(now.saturating_since(sent));
            }
        }
    }
}

impl Work for Sender {
    fn begin(&mut self, start: MonoInstant) {
        self.common.begin(start);
        let counted = self.common.tally.start();
        self.limit = Limit::new(self.common.plan.stop, 1, counted);
        self.next_mark = start;
        let sample = self.common.sample(start);
        self.samples.extend(sample);
    }

    fn turn(&mut self, now: MonoInstant, _control: &StreamControl) -> Step {
        if let Err(step) = self.listen() {
            return step;
        }
        if self.limit.is_over(now) {
            let ended = *self.ended.get_or_insert(now);
            if self.marks.is_empty() || now.saturating_since(ended) >= MARK_TIMEOUT {
                return Step::Done;
            }
            self.common.path.await_arrival(MAX_WRITE_WAIT);
            return Step::Again;
        }
        match self.write(now) {
            Ok(true) => Step::Again,
            Ok(false) => {
                if now.saturating_since(self.common.last) > RECEIVER_IDLE_TIMEOUT {
                    return self.common.failed(Failure::timed_out("send"), now);
                }
                self.common.path.await_arrival(MAX_WRITE_WAIT);
                Step::Again
            }
            Err(step) => step,
        }
    }

    fn finish(mut self: Box<Self>, now: MonoInstant) -> StreamReport {
        if let Err(failure) = self.common.path.shutdown() {
            self.common.failures.count(failure, now);
        }
        let sample = self.common.sample(now);
        self.samples.extend(sample);
        let ended = self.ended.unwrap_or(now);
        let duration = ended.saturating_since(self.common.tally.start());
        let tcp = TcpSocketReport {
            samples: self.samples,
            congestion_control: self.common.path.congestion_control(),
        };
        let in_band = self.in_band;
        self.common
            .report(duration, MarkedByteStreamSender { tcp, in_band })
    }
}

struct Receiver {
    common: Common,
    room: PageBuffer,
    /// Position in the present block.
    place: usize,
    header: Vec<u8>,
    /// Marks to send back.
    out: VecDeque<u8>,
    heard: bool,
}

/// Maximum bytes of marks queued to send back: a sender that does not read them gets no more.
const MAX_WAITING_MARKS: usize = 16 * MAX_MARKS;

impl Receiver {
    fn new(common: Common) -> Self {
        Self {
            header: vec![0; common.format.header_len()],
            common,
            room: PageBuffer::new(READ_BYTES, 0),
            place: 0,
            out: VecDeque::new(),
            heard: false,
        }
    }

    /// Finds the marks in the first `length` bytes of the room.
    fn find(&mut self, length: usize) {
        let block = self.common.plan.payload;
        let header = self.header.len();
        let mut at = 0;
        while at < length {
            let bytes = &self.room.bytes()[at..length];
            if self.place < header {
                let part = (header - self.place).min(bytes.len());
                self.header[self.place..self.place + part].copy_from_slice(&bytes[..part]);
                self.place += part;
                at += part;
                if self.place == header {
                    self.mark();
                }
            } else {
                let part = (block - self.place).min(bytes.len());
                self.place += part;
                at += part;
            }
            if self.place == block {
                self.place = 0;
            }
        }
    }

    fn mark(&mut self) {
        let is_mark = self.common.mark(&self.header).is_some();
        if is_mark && self.out.len() < MAX_WAITING_MARKS * self.header.len() {
            self.out.extend(&self.header);
        }
    }

    /// Sends back the marks found.
    fn answer(&mut self, now: MonoInstant) -> Option<Step> {
        while !self.out.is_empty() {
            let (bytes, _) = self.out.as_slices();
            match self.common.path.write(bytes) {
                Ok(taken) => drop(self.out.drain(..taken)),
                Err(failure) if is_passing(failure) => return None,
                Err(failure) => return Some(self.common.failed(failure, now)),
            }
        }
        None
    }
}

impl Work for Receiver {
    fn begin(&mut self, start: MonoInstant) {
        self.common.begin(start);
    }

    fn turn(&mut self, _now: MonoInstant, control: &StreamControl) -> Step {
        let read = self.common.path.read(self.room.bytes_mut());
        let now = self.common.clock.now();
        match read {
            Ok(0) => return Step::Done,
            Ok(length) => {
                if !std::mem::replace(&mut self.heard, true) {
                    self.common.progress.hear();
                    self.common.begin(now);
                }
                self.common.moved(now, length);
                self.find(length);
                if let Some(step) = self.answer(now) {
                    return step;
                }
            }
            Err(failure) if is_passing(failure) => {
                if let Some(step) = self.answer(now) {
                    return step;
                }
                if now.saturating_since(self.common.last) > RECEIVER_IDLE_TIMEOUT {
                    self.common.failures.count(Failure::timed_out("recv"), now);
                    return Step::Done;
                }
            }
            Err(failure) => return self.common.failed(failure, now),
        }
        let index = usize::from(self.common.plan.index);
        if control.is_over(index, Received::Unknown, self.common.last, now) {
            return Step::Done;
        }
        Step::Again
    }

    fn finish(self: Box<Self>, _now: MonoInstant) -> StreamReport {
        let duration = self.common.tally.active();
        let tcp = TcpSocketReport {
            samples: Vec::new(),
            congestion_control: self.common.path.congestion_control(),
        };
        self.common.report(duration, ByteStreamReceiver { tcp })
    }
}

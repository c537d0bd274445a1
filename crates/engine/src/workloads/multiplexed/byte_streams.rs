//! TCP byte streams of one thread.

use super::readings;
use crate::control::{Received, StreamControl};
use crate::datapaths::Buffers;
use crate::error::{EngineError, Result};
use crate::plan::Limit;
use crate::tally::Tally;
use crate::workloads::bulk::{READ_BYTES, paced_write};
use crate::workloads::byte_counts::ByteCounts;
use crate::workloads::datagrams::RECEIVER_IDLE_TIMEOUT;
use crate::workloads::{Path, Step, StreamSetup, Work};
use linerate_model::sample::{
    ByteStreamReceiver, ByteStreamSender, FlowCounts, PathReport, StreamReport, StreamWork,
    TcpSample,
};
use linerate_model::spec::WaitMode;
use linerate_model::{BitRate, ByteCount, Histogram, MonoInstant};
use linerate_sys::epoll::{Interest, Readiness};
use linerate_sys::failure::{Failure, FailureClass};
use linerate_sys::memory::PageBuffer;
use linerate_sys::udp::Blocking;
use linerate_sys::{sockopt, tcp, tcp_info};
use linerate_wire::schedule::{Due, Schedule};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// Maximum wait for readiness: bounds the delay of a stop.
const MAX_WAIT: Duration = Duration::from_millis(20);

/// Shortest time between two readings of `TCP_INFO` of all streams: those of 10 000 take some 10 ms.
const MIN_READING_GAP: Duration = Duration::from_millis(900);

/// Time of the intended load whose slots are served at once: a sleeping thread wakes not much more precisely.
const SLOT_WINDOW: Duration = Duration::from_micros(100);

/// Maximum slots served at once.
const MAX_SLOTS: usize = 64;

/// One of the streams.
struct Stream {
    socket: TcpStream,
    /// Bytes moved that count.
    counted: u64,
    /// Bytes still to be written of what the schedule gave it.
    owed: usize,
    is_open: bool,
}

/// State of both sides.
struct Streams {
    all: Vec<Stream>,
    open: usize,
    readiness: Readiness,
    /// Streams that were ready at the last wait.
    ready: Vec<usize>,
    counts: ByteCounts,
    /// When `TCP_INFO` of all streams was last read.
    sampled: MonoInstant,
    /// Bytes moved, warm-up included.
    moved: u64,
}

impl Streams {
    fn new(setup: StreamSetup) -> Result<Self> {
        let Path::Streams(sockets) = setup.path else {
            return Err(EngineError::wrong_path("byte streams"));
        };
        let failed = |error| EngineError::io("wait for", &"data connections", error);
        let stream = |socket| Stream {
            socket,
            counted: 0,
            owed: 0,
            is_open: true,
        };
        Ok(Self {
            open: sockets.len(),
            all: sockets.into_iter().map(stream).collect(),
            readiness: Readiness::new().map_err(failed)?,
            ready: Vec::new(),
            counts: ByteCounts::new(setup.plan, setup.progress, setup.clock),
            sampled: MonoInstant::default(),
            moved: 0,
        })
    }

    fn watch(self, interest: Interest) -> Result<Self> {
        for (index, stream) in self.all.iter().enumerate() {
            let added = self.readiness.add(&stream.socket, index, interest);
            added.map_err(|error| EngineError::io("watch", &"a data connection", error))?;
        }
        Ok(self)
    }

    fn begin(&mut self, start: MonoInstant) {
        self.sampled = start;
        self.counts.begin(start, |at| reading(&self.all, at));
    }

    /// Waits until streams are ready, at most `limit`, and returns their numbers.
    fn wait(&mut self, limit: Duration, now: MonoInstant) -> Vec<usize> {
        let mut ready = std::mem::take(&mut self.ready);
        ready.clear();
        let most = match self.counts.plan.wait {
            WaitMode::Spin => Duration::ZERO,
            WaitMode::Block | WaitMode::BusyPoll => MAX_WAIT,
        };
        if let Err(error) = self.readiness.wait(limit.min(most), &mut ready) {
            self.counts
                .failures
                .count(Failure::from_io("epoll_wait", &error), now);
        }
        ready
    }

    /// Records `bytes` moved on stream `index` at `now`.
    fn moved(&mut self, index: usize, now: MonoInstant, bytes: usize) {
        self.moved += bytes as u64;
        let counts = &mut self.counts;
        counts.last = now;
        counts.failures.success();
        let Some(tally) = &mut counts.tally else {
            return;
        };
        if now < tally.start() {
            return;
        }
        self.all[index].counted += bytes as u64;
        let rolled = tally.count(now, bytes as u64, 0);
        if rolled && now.saturating_since(self.sampled) >= MIN_READING_GAP {
            self.sampled = now;
            counts.sample(now, |at| reading(&self.all, at));
        }
    }

    /// Advances the intervals where nothing moved.
    fn pass(&mut self, now: MonoInstant) {
        if let Some(tally) = self
            .counts
            .tally
            .as_mut()
            .filter(|tally| now >= tally.start())
        {
            tally.roll(now);
        }
    }

    /// Counts a failed call of stream `index`; one that will not work again ends that stream alone.
    fn failed(&mut self, index: usize, failure: Failure, now: MonoInstant) {
        match failure.class() {
            FailureClass::WouldBlock | FailureClass::Interrupted => {}
            FailureClass::NoBuffers => {
                self.counts.failures.count(failure, now);
            }
            _ => {
                self.counts.failures.count(failure, now);
                self.close(index);
            }
        }
    }

    /// Ends stream `index`: nothing more is awaited of it.
    fn close(&mut self, index: usize) {
        let stream = &mut self.all[index];
        if std::mem::take(&mut stream.is_open) {
            self.open -= 1;
            // One that is not watched now needs no removal.
            drop(self.readiness.remove(&stream.socket));
        }
    }

    fn report(mut self, now: MonoInstant, duration: Duration, work: WorkOf) -> StreamReport {
        let first = self.all.first().map(|stream| &stream.socket);
        let congestion = first.and_then(|socket| sockopt::congestion_control(socket).ok());
        let tcp = self
            .counts
            .tcp(now, congestion, |at| reading(&self.all, at));
        let buffers = first.map(Buffers::of).unwrap_or_default();
        let of_all = |bytes: Option<u64>| {
            bytes.map(|bytes| ByteCount::new(bytes.saturating_mul(self.all.len() as u64)))
        };
        let path = PathReport {
            receive_buffer_bytes: of_all(buffers.receive),
            send_buffer_bytes: of_all(buffers.send),
            ..PathReport::default()
        };
        let counts: FlowCounts = self.all.iter().map(|stream| stream.counted).collect();
        let work: StreamWork = match work {
            WorkOf::Sender { lateness } => {
                let pacing = lateness.into();
                ByteStreamSender { tcp, pacing }.into()
            }
            WorkOf::Receiver => ByteStreamReceiver { tcp }.into(),
        };
        StreamReport {
            flows: Some(counts),
            path,
            ..self.counts.report(duration, work)
        }
    }
}

/// What a report says of its side only.
enum WorkOf {
    Sender { lateness: Option<Histogram> },
    Receiver,
}

/// One reading of all streams.
fn reading(streams: &[Stream], at_ns: u64) -> Option<TcpSample> {
    let readings = streams
        .iter()
        .map(|stream| tcp_info::read(&stream.socket, at_ns));
    readings::sum(at_ns, &readings.filter_map(Result::ok).collect::<Vec<_>>())
}

/// Writes to the streams in turns: unpaced to those that have room, at an intended load to each its share.
pub(super) struct Sender {
    streams: Streams,
    limit: Limit,
    /// Of all streams together: slots go to them in turns.
    schedule: Option<Schedule>,
    lateness: Option<Histogram>,
    data: PageBuffer,
    /// Bytes of one write.
    chunk: usize,
    /// Stream of the next slot.
    next: usize,
    ended: Option<MonoInstant>,
}

impl Sender {
    pub(super) fn new(setup: StreamSetup) -> Result<Self> {
        let streams = Streams::new(setup)?;
        let plan = &streams.counts.plan;
        let each = |rate: BitRate| BitRate::from_bps(rate.bps() / u64::from(plan.streams.max(1)));
        let chunk = plan
            .rate
            .map_or(plan.payload, |rate| paced_write(each(rate), plan.payload));
        Ok(Self {
            limit: Limit::new(plan.stop, 1, MonoInstant::default()),
            schedule: None,
            lateness: plan.rate.map(|_| Histogram::new()),
            data: PageBuffer::new(chunk, 0x5a),
            chunk,
            next: 0,
            ended: None,
            streams: match plan.rate {
                None => streams.watch(Interest::Write)?,
                // Those that are full are watched until they have room.
                Some(_) => streams,
            },
        })
    }

    /// Writes up to `length` bytes to stream `index`; returns how many were taken.
    fn write(&mut self, index: usize, length: usize) -> usize {
        let left = usize::try_from(self.limit.left()).unwrap_or(usize::MAX);
        let bytes = &self.data.bytes()[..length.min(self.chunk).min(left)];
        let socket = &self.streams.all[index].socket;
        let written = tcp::send(socket, bytes, Blocking::No);
        let now = self.streams.counts.clock.now();
        match written {
            Ok(written) => {
                self.streams.moved(index, now, written);
                if now >= self.streams.counts.counted_from() {
                    self.limit.spend(written as u64);
                }
                written
            }
            Err(failure) => {
                self.streams.failed(index, failure, now);
                0
            }
        }
    }

    /// Gives the streams the slots that are due; returns when the next one is.
    fn serve(&mut self, now: MonoInstant) -> Option<MonoInstant> {
        loop {
            let schedule = self.schedule.as_mut()?;
            let slots = match schedule.due(now) {
                Due::Wait(until) => return Some(until),
                Due::Now { late, count } => {
                    if let Some(lateness) = &mut self.lateness {
                        lateness.record_duration(late);
                    }
                    schedule.served(now, count);
                    count
                }
            };
            for _ in 0..slots {
                let index = self.next;
                self.next = (index + 1) % self.streams.all.len().max(1);
                self.give(index);
                if self.limit.left() == 0 {
                    return None;
                }
            }
        }
    }

    /// Gives stream `index` one slot. What a full stream could not take of earlier ones is kept up to one write.
    fn give(&mut self, index: usize) {
        let stream = &mut self.streams.all[index];
        if !stream.is_open {
            return;
        }
        let waits = stream.owed > 0;
        stream.owed =
            (stream.owed + self.chunk).min(self.chunk.max(self.streams.counts.plan.payload));
        if waits {
            return;
        }
        let owed = stream.owed;
        let written = self.write(index, owed);
        let stream = &mut self.streams.all[index];
        stream.owed = owed - written;
        if stream.owed > 0 && stream.is_open {
            let watched = self
                .streams
                .readiness
                .add(&stream.socket, index, Interest::Write);
            if let Err(error) = watched {
                let now = self.streams.counts.clock.now();
                self.streams
                    .failed(index, Failure::from_io("epoll_ctl", &error), now);
            }
        }
    }

    /// Writes to stream `index`, which has room.
    fn continue_with(&mut self, index: usize) {
        if self.schedule.is_none() {
            self.write(index, self.chunk);
            return;
        }
        let owed = self.streams.all[index].owed;
        let written = self.write(index, owed);
        let stream = &mut self.streams.all[index];
        stream.owed = owed - written;
        if stream.owed == 0 {
            drop(self.streams.readiness.remove(&stream.socket));
        }
    }
}

impl Work for Sender {
    fn begin(&mut self, start: MonoInstant) {
        self.streams.begin(start);
        let counted = self.streams.counts.counted_from();
        self.streams.counts.count_from(counted);
        self.limit = Limit::new(self.streams.counts.plan.stop, 1, counted);
        let rate = self.streams.counts.plan.rate;
        self.schedule = rate
            .and_then(|rate| Schedule::new(start, rate.bps(), self.chunk, SLOT_WINDOW, MAX_SLOTS));
    }

    fn turn(&mut self, now: MonoInstant, control: &StreamControl) -> Step {
        if self.limit.is_over(now) || self.streams.open == 0 {
            self.ended.get_or_insert(now);
            return Step::Done;
        }
        let next = self.serve(now);
        let now = self.streams.counts.clock.now();
        // Slots are met by the loop's timer, which is finer than that of epoll.
        let limit = match (next, self.limit.end()) {
            (Some(_), _) => Duration::ZERO,
            (None, Some(end)) => end.saturating_since(now),
            (None, None) => MAX_WAIT,
        };
        let ready = self.streams.wait(limit, now);
        if ready.is_empty() {
            self.streams.pass(self.streams.counts.clock.now());
        }
        for index in &ready {
            let is_over = self
                .limit
                .end()
                .is_some_and(|end| self.streams.counts.last >= end);
            if is_over || self.limit.left() == 0 || control.is_stopped() {
                break;
            }
            if self.streams.all[*index].is_open {
                self.continue_with(*index);
            }
        }
        self.streams.ready = ready;
        let soon = now.after(MAX_WAIT);
        let soon = self.limit.end().map_or(soon, |end| end.min(soon));
        next.map_or(Step::Again, |next| Step::Until(next.min(soon)))
    }

    fn finish(mut self: Box<Self>, now: MonoInstant) -> StreamReport {
        for stream in self.streams.all.iter().filter(|stream| stream.is_open) {
            if let Err(error) = stream.socket.shutdown(Shutdown::Write) {
                let failure = Failure::from_io("shutdown", &error);
                self.streams.counts.failures.count(failure, now);
            }
        }
        let counted = self.streams.counts.counted_from();
        let duration = self.ended.unwrap_or(now).saturating_since(counted);
        let lateness = self.lateness;
        self.streams
            .report(now, duration, WorkOf::Sender { lateness })
    }
}

/// Reads from the streams that have something.
pub(super) struct Receiver {
    streams: Streams,
    room: PageBuffer,
}

impl Receiver {
    pub(super) fn new(setup: StreamSetup) -> Result<Self> {
        Ok(Self {
            streams: Streams::new(setup)?.watch(Interest::Read)?,
            room: PageBuffer::new(READ_BYTES, 0),
        })
    }

    fn read(&mut self, index: usize) {
        let socket = &self.streams.all[index].socket;
        let read = tcp::receive(socket, self.room.bytes_mut(), Blocking::No);
        let now = self.streams.counts.clock.now();
        match read {
            Ok(0) => self.streams.close(index),
            Ok(length) => {
                if self.streams.counts.tally.is_none() {
                    self.streams.counts.progress.hear();
                    self.streams
                        .counts
                        .count_from(now.after(self.streams.counts.plan.warm_up));
                }
                self.streams.moved(index, now, length);
            }
            Err(failure) => self.streams.failed(index, failure, now),
        }
    }
}

impl Work for Receiver {
    fn begin(&mut self, start: MonoInstant) {
        self.streams.begin(start);
    }

    fn turn(&mut self, now: MonoInstant, control: &StreamControl) -> Step {
        let ready = self.streams.wait(MAX_WAIT, now);
        for index in &ready {
            self.read(*index);
        }
        self.streams.ready = ready;
        let now = self.streams.counts.clock.now();
        self.streams.pass(now);
        let index = usize::from(self.streams.counts.plan.index);
        let received = Received::Bytes(ByteCount::new(self.streams.moved));
        if self.streams.open == 0 || control.is_over(index, received, self.streams.counts.last, now)
        {
            return Step::Done;
        }
        if now.saturating_since(self.streams.counts.last) > RECEIVER_IDLE_TIMEOUT {
            self.streams
                .counts
                .failures
                .count(Failure::timed_out("recv"), now);
            return Step::Done;
        }
        Step::Again
    }

    fn finish(self: Box<Self>, now: MonoInstant) -> StreamReport {
        let active = self.streams.counts.tally.as_ref().map(Tally::active);
        self.streams
            .report(now, active.unwrap_or_default(), WorkOf::Receiver)
    }
}

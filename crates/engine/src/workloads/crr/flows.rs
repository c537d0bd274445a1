//! The client of flows of given sizes: each begins at its time, whatever is still under way (open loop).
//!
//! A flow is a connection that begins with the test's token and its size; the server confirms how many bytes came, and
//! closes. Its completion time counts from when it was meant to begin, so what a late sender adds is in it.

use super::client::{opener, outcome_of};
use super::{Common, FILLING, MAX_WAIT, Transfer, TransferProgress};
use crate::control::StreamControl;
use crate::workloads::{Step, Work};
use linerate_model::random::Random;
use linerate_model::sample::{
    ConnectionCounts, ConnectionOpener, FlowClass, FlowReport, StreamReport,
};
use linerate_model::spec::FlowLoad;
use linerate_model::{ByteCount, Histogram, MonoInstant, PacketCount};
use linerate_sys::epoll::Interest;
use linerate_sys::failure::Failure;
use linerate_sys::tcp;
use std::collections::VecDeque;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Bytes of the number with which the server confirms a flow.
pub(super) const CONFIRMATION: usize = 8;

/// A flow that is due.
#[derive(Clone, Copy)]
struct Due {
    at: MonoInstant,
    bytes: u64,
}

/// Endless flows: when each begins, and its size.
struct Arrivals {
    flows: FlowLoad,
    start: MonoInstant,
    /// Mean seconds between two.
    gap: f64,
    offset: f64,
    times: Random,
    sizes: Random,
}

impl Arrivals {
    /// Those of a thread with `rate` bits per second of the load.
    fn new(flows: FlowLoad, rate: f64, seed: u64) -> Self {
        let gap = flows.sizes.mean() * 8.0 / rate.max(1.0);
        let mut times = Random::new(seed);
        Self {
            start: MonoInstant::default(),
            gap,
            offset: times.exponential(gap),
            times,
            // Another sequence, so that a change of the load leaves the sizes as they were.
            sizes: Random::new(!seed),
            flows,
        }
    }

    /// When the next begins.
    fn next(&self) -> MonoInstant {
        let offset = Duration::try_from_secs_f64(self.offset).unwrap_or(Duration::MAX);
        self.start.after(offset)
    }

    fn take(&mut self) -> Due {
        let at = self.next();
        self.offset += self.times.exponential(self.gap);
        let bytes = self.flows.sizes.size_at(self.sizes.unit()).get();
        Due { at, bytes }
    }
}

/// Where a flow stands.
enum Stage {
    Opening,
    Sending(Transfer),
    /// Sent; the confirmation is awaited.
    Confirming(Transfer, [u8; CONFIRMATION]),
}

struct Flow {
    socket: TcpStream,
    stage: Stage,
    due: Due,
    number: u64,
    began: MonoInstant,
}

pub(super) struct FlowClient {
    common: Common,
    remote: SocketAddr,
    arrivals: Arrivals,
    end: MonoInstant,
    places: Vec<Option<Flow>>,
    free: Vec<usize>,
    /// Flows that are due and have not begun.
    waiting: VecDeque<Due>,
    /// When which flow is late, in order.
    deadlines: VecDeque<(MonoInstant, usize, u64)>,
    counts: ConnectionCounts,
    handshake: Histogram,
    base: Option<Duration>,
    lateness: Histogram,
    /// Sizes and completion times of finished flows.
    finished: Vec<(u64, Duration)>,
    report: FlowReport,
    filling: Vec<u8>,
    ended: Option<MonoInstant>,
}

impl FlowClient {
    pub(super) fn new(common: Common, remote: SocketAddr, flows: FlowLoad) -> Self {
        let places = usize::try_from(common.plan.connections).unwrap_or(usize::MAX);
        let rate = flows.load.as_f64() * common.plan.share;
        let seed = common.plan.seed.wrapping_add(u64::from(common.plan.index));
        Self {
            arrivals: Arrivals::new(flows, rate, seed),
            end: MonoInstant::default(),
            places: (0..places).map(|_| None).collect(),
            free: (0..places).rev().collect(),
            waiting: VecDeque::new(),
            deadlines: VecDeque::new(),
            counts: ConnectionCounts::default(),
            handshake: Histogram::new(),
            base: None,
            lateness: Histogram::new(),
            finished: Vec::new(),
            report: FlowReport::default(),
            filling: vec![FILLING; common.room.len()],
            ended: None,
            common,
            remote,
        }
    }

    /// Takes the flows that are due by `now`.
    fn schedule(&mut self, now: MonoInstant) {
        while self.arrivals.next() <= now.min(self.end) {
            let due = self.arrivals.take();
            let class = FlowClass::of(due.bytes) as usize;
            self.report.classes[class].scheduled.grow(1);
            self.waiting.push_back(due);
        }
    }

    /// Begins those that are due and have a place.
    fn begin_due(&mut self) {
        while let Some(index) = self.free.pop() {
            let Some(due) = self.waiting.pop_front() else {
                self.free.push(index);
                return;
            };
            if !self.open(index, due) {
                return;
            }
        }
    }

    /// Opens the connection of a flow; `false` if the system has no port for it now.
    fn open(&mut self, index: usize, due: Due) -> bool {
        let now = self.common.clock.now();
        let socket = match tcp::begin_connect(self.remote, &self.common.plan.socket) {
            Ok(socket) => socket,
            Err(error) => {
                let failure = Failure::from_io("connect", &error);
                self.common.fail(failure, now);
                self.free.push(index);
                if failure.is_without_address() {
                    self.counts.without_port.grow(1);
                    self.waiting.push_front(due);
                    return false;
                }
                self.counts.attempted.grow(1);
                outcome_of(&mut self.counts, failure, false).grow(1);
                return true;
            }
        };
        self.counts.attempted.grow(1);
        self.lateness.record_duration(now.saturating_since(due.at));
        // What is offered is what begins; the last may begin a moment after the time.
        self.common.tally.count(now.min(self.end), due.bytes, 0);
        let number = self.counts.attempted.get();
        self.places[index] = Some(Flow {
            socket,
            stage: Stage::Opening,
            due,
            number,
            began: now,
        });
        let open = self.places.len() - self.free.len();
        let most = self.counts.most_open.get().max(open as u64);
        self.counts.most_open = PacketCount::new(most);
        let late = now.after(self.common.work.timeout);
        self.deadlines.push_back((late, index, number));
        self.go_on(index);
        let watched = self.places[index].as_ref().map(|flow| {
            let readiness = &self.common.readiness;
            readiness.add(&flow.socket, index, Interest::Changes)
        });
        if let Some(Err(error)) = watched {
            self.end_by(index, Failure::from_io("epoll_ctl", &error));
        }
        true
    }

    /// Moves the flow at `index` as far as it goes.
    fn go_on(&mut self, index: usize) {
        loop {
            let now = self.common.clock.now();
            let Some(flow) = &mut self.places[index] else {
                return;
            };
            let head = [&self.common.opening[..], &flow.due.bytes.to_be_bytes()].concat();
            let moved = match &mut flow.stage {
                Stage::Opening => {
                    let size = usize::try_from(flow.due.bytes).unwrap_or(usize::MAX);
                    let mut transfer = Transfer::new(size);
                    let moved = transfer.send(&flow.socket, &head, &self.filling);
                    if transfer.done > 0 {
                        let took = now.saturating_since(flow.began);
                        flow.stage = Stage::Sending(transfer);
                        self.handshake.record_duration(took);
                        self.base = Some(self.base.map_or(took, |base| base.min(took)));
                        self.counts.opened.grow(1);
                    }
                    moved
                }
                Stage::Sending(transfer) => transfer.send(&flow.socket, &head, &self.filling),
                Stage::Confirming(transfer, number) => {
                    let room = &mut self.common.room;
                    transfer.receive(&flow.socket, room, |at, bytes| {
                        number[at..at + bytes.len()].copy_from_slice(bytes);
                    })
                }
            };
            let Some(flow) = &mut self.places[index] else {
                return;
            };
            match (moved, &flow.stage) {
                (TransferProgress::Blocked, _) => return,
                (TransferProgress::Whole, Stage::Confirming(_, number)) => {
                    let confirmed = u64::from_be_bytes(*number);
                    let due = flow.due;
                    self.finish_flow(due, confirmed);
                    self.leave(index);
                    return;
                }
                (TransferProgress::Whole, _) => {
                    let transfer = Transfer::new(CONFIRMATION);
                    flow.stage = Stage::Confirming(transfer, [0; CONFIRMATION]);
                }
                (TransferProgress::Failed(failure), _) => {
                    self.end_by(index, failure);
                    return;
                }
                (TransferProgress::Ended, _) => {
                    self.counts.reset.grow(1);
                    self.leave(index);
                    return;
                }
            }
        }
    }

    fn finish_flow(&mut self, due: Due, confirmed: u64) {
        let now = self.common.clock.now();
        self.counts.answered.grow(1);
        if confirmed != due.bytes {
            self.report.miscounted.grow(1);
            return;
        }
        self.finished
            .push((due.bytes, now.saturating_since(due.at)));
        // The rate is that of the counted time, as of other connections.
        if now <= self.end {
            self.common.tally.count(now, 0, 1);
        }
    }

    fn end_by(&mut self, index: usize, failure: Failure) {
        let now = self.common.clock.now();
        self.common.fail(failure, now);
        let was_open = self.places[index]
            .as_ref()
            .is_some_and(|flow| !matches!(flow.stage, Stage::Opening));
        outcome_of(&mut self.counts, failure, was_open).grow(1);
        self.leave(index);
    }

    fn leave(&mut self, index: usize) {
        self.places[index] = None;
        self.free.push(index);
    }

    /// Ends what is late by `now`.
    fn expire(&mut self, now: MonoInstant) {
        while let Some((late, index, number)) = self.deadlines.front().copied() {
            let awaited = self.places[index].as_ref();
            let awaited = awaited.filter(|flow| flow.number == number);
            let was_open = awaited.map(|flow| !matches!(flow.stage, Stage::Opening));
            if was_open.is_some() && now < late {
                return;
            }
            self.deadlines.pop_front();
            match was_open {
                None => continue,
                Some(true) => self.counts.unanswered.grow(1),
                Some(false) => self.counts.timed_out.grow(1),
            }
            self.leave(index);
        }
    }

    const fn under_way(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Time of a flow of `bytes` on an ideal path: two round trips, handshake and confirmation, and its bytes at the rate.
    fn ideal(&self, bytes: u64) -> f64 {
        let base = self.base.unwrap_or_default().as_secs_f64();
        let rate = self.arrivals.flows.ideal.as_f64().max(1.0);
        2.0f64.mul_add(base, ByteCount::new(bytes).as_f64() * 8.0 / rate)
    }
}

impl Work for FlowClient {
    fn begin(&mut self, start: MonoInstant) {
        self.common.begin(start);
        let counted = self.common.tally.start();
        self.arrivals.start = counted;
        let time = self.common.plan.counted_time().unwrap_or_default();
        self.end = counted.after(time);
    }

    fn turn(&mut self, now: MonoInstant, control: &StreamControl) -> Step {
        self.expire(now);
        self.schedule(now);
        self.begin_due();
        let is_over = now >= self.end;
        if is_over {
            // Those that found no place in time never begin, or they would extend the load beyond its time.
            self.waiting.clear();
        }
        let now = self.common.clock.now();
        let is_late = now >= self.end.after(self.common.work.timeout);
        if is_late || is_over && self.under_way() == 0 {
            self.ended = Some(now);
            return Step::Done;
        }
        let next = [
            self.deadlines.front().map(|(late, ..)| *late),
            Some(self.arrivals.next()).filter(|_| !is_over),
        ];
        let next = next.into_iter().flatten().min();
        let limit = next.map_or(MAX_WAIT, |next| next.saturating_since(now));
        let ready = self.common.wait(limit, now);
        for index in &ready {
            if control.is_stopped() {
                break;
            }
            self.go_on(*index);
        }
        self.common.ready = ready;
        Step::Again
    }

    fn finish(mut self: Box<Self>, now: MonoInstant) -> StreamReport {
        let under_way = self.under_way() as u64;
        self.counts.unfinished.grow(under_way);
        for (bytes, took) in std::mem::take(&mut self.finished) {
            let slowdown = took.as_secs_f64() / self.ideal(bytes).max(f64::MIN_POSITIVE);
            let class = &mut self.report.classes[FlowClass::of(bytes) as usize];
            class.finished.grow(1);
            class.bytes = ByteCount::new(class.bytes.get().saturating_add(bytes));
            class.completion.record_duration(took);
            class.slowdown.record(thousandths(slowdown));
        }
        let end = self.ended.unwrap_or(now).min(self.end);
        let duration = end.saturating_since(self.common.tally.start());
        let base = self
            .base
            .map(|base| u64::try_from(base.as_nanos()).unwrap_or(u64::MAX));
        let work = ConnectionOpener {
            handshake: self.handshake,
            flows: Some(Box::new(FlowReport {
                base_rtt_ns: base,
                lateness: self.lateness,
                ..self.report
            })),
            ..opener(self.counts)
        };
        self.common.report(duration, work)
    }
}

/// A ratio in thousandths, rounded.
fn thousandths(ratio: f64) -> u64 {
    ByteCount::from_f64(ratio * 1000.0).get()
}

//! Two ends and the path between them in virtual time, in one thread.
//!
//! Whatever the asking end waits in moves the time on: to the next arrival, or to the end of its patience,
//! with the answering end's turns in between at their own times.

use crate::Role;
use crate::control::StreamControl;
use crate::datapaths::{Arrivals, Buffers, DatagramPath, Span};
use crate::plan::EndpointPlan;
use crate::workloads::{Path, Step, StreamSetup, Work, find};
use linerate_model::sample::StreamReport;
use linerate_model::spec::{Side, TestSpec};
use linerate_model::{Clock, MonoInstant};
use linerate_peers::native;
use linerate_sys::failure::Failure;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(super) const START: MonoInstant = MonoInstant::from_nanos(1_000_000_000);

/// What the path does.
pub(super) struct PathModel {
    /// One way, both ways.
    pub(super) delay: Duration,
    /// Of each answer, by its place in the row: how much later it comes, once per entry.
    pub(super) copies: fn(u64) -> Vec<Duration>,
    /// Time after the start in which the requester's system takes nothing.
    pub(super) refuses: Range<Duration>,
    /// How long a receiving call of the requester waits.
    pub(super) patience: Duration,
}

impl PathModel {
    /// 50 µs each way; a requester whose calls do not wait needs 1 µs for one.
    pub(super) fn plain() -> Self {
        Self {
            delay: Duration::from_micros(50),
            copies: |_| vec![Duration::ZERO],
            refuses: Duration::ZERO..Duration::ZERO,
            patience: Duration::from_micros(1),
        }
    }
}

/// What a turn of the responder that answers takes.
const SERVICE: Duration = Duration::from_micros(5);

/// A clock that is moved.
#[derive(Default)]
struct Standing(AtomicU64);

impl Standing {
    fn set(&self, instant: MonoInstant) {
        self.0.store(instant.as_nanos(), Ordering::Relaxed);
    }
}

impl Clock for Standing {
    fn now(&self) -> MonoInstant {
        MonoInstant::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

/// A datagram and when it arrives.
type Flight = (MonoInstant, Vec<u8>);

#[derive(Default)]
struct Wires {
    requests: VecDeque<Flight>,
    /// In order of arrival.
    answers: Vec<Flight>,
    answered: u64,
    /// The responder found nothing to take in its last turn.
    idle: bool,
}

struct Far {
    work: Box<dyn Work>,
    wake: MonoInstant,
}

struct World {
    model: PathModel,
    clock: &'static Standing,
    wires: Mutex<Wires>,
    far: Mutex<Option<Far>>,
}

impl World {
    /// Lets time pass until `until`, or until something has come for the requester.
    fn pass(&self, until: MonoInstant) {
        let mut far = self.far.lock().unwrap();
        let far = far.as_mut().expect("the peer is set");
        loop {
            let (arrival, request, idle) = {
                let wires = self.wires.lock().unwrap();
                let request = wires.requests.front().map(|(at, _)| *at);
                (
                    wires.answers.first().map(|(at, _)| *at),
                    request,
                    wires.idle,
                )
            };
            let target = arrival.map_or(until, |arrival| arrival.min(until));
            let turn = match request {
                Some(at) => Some(at.max(far.wake)),
                None => (!idle).then_some(far.wake),
            };
            let Some(turn) = turn.filter(|turn| *turn <= target) else {
                self.clock.set(target.max(self.clock.now()));
                return;
            };
            let now = self.clock.now();
            self.clock.set(turn);
            self.wires.lock().unwrap().idle = false;
            far.wake = match far.work.turn(turn, &StreamControl::default()) {
                Step::Until(later) | Step::Poll(later) => later,
                Step::Again | Step::Done => turn.after(SERVICE),
            };
            self.clock.set(now);
        }
    }
}

/// One end's path.
struct VirtualPath {
    world: Arc<World>,
    side: Side,
    slot: Vec<u8>,
    incoming: Vec<u8>,
    span: Span,
}

impl VirtualPath {
    fn open(world: &Arc<World>, side: Side, payload: usize) -> Path {
        Path::Datagrams(Box::new(Self {
            world: Arc::clone(world),
            side,
            slot: vec![0; payload],
            incoming: Vec::new(),
            span: Span::default(),
        }))
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        let now = self.world.clock.now();
        let mut wires = self.world.wires.lock().unwrap();
        let has_come = |flight: Option<&Flight>| flight.is_some_and(|(at, _)| *at <= now);
        match self.side {
            Side::Sender if has_come(wires.answers.first()) => Some(wires.answers.remove(0).1),
            Side::Receiver if has_come(wires.requests.front()) => {
                wires.requests.pop_front().map(|(_, bytes)| bytes)
            }
            Side::Receiver => {
                wires.idle = true;
                None
            }
            Side::Sender => None,
        }
    }
}

impl DatagramPath for VirtualPath {
    fn batch(&self) -> usize {
        1
    }

    fn slots(&mut self) -> &mut [u8] {
        &mut self.slot
    }

    fn send(&mut self, count: usize) -> Result<usize, Failure> {
        let now = self.world.clock.now();
        let model = &self.world.model;
        let mut wires = self.world.wires.lock().unwrap();
        match self.side {
            Side::Sender => {
                if model.refuses.contains(&now.saturating_since(START)) {
                    return Err(Failure::would_block("send"));
                }
                let flight = (now.after(model.delay), self.slot.clone());
                wires.requests.push_back(flight);
            }
            Side::Receiver => {
                for extra in (model.copies)(wires.answered) {
                    let at = now.after(model.delay).after(extra);
                    let place = wires.answers.partition_point(|(other, _)| *other <= at);
                    wires.answers.insert(place, (at, self.slot.clone()));
                }
                wires.answered += 1;
            }
        }
        Ok(count)
    }

    fn send_empty(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn receive(&mut self) -> Result<Arrivals<'_>, Failure> {
        if self.side == Side::Sender {
            let patience = self.world.model.patience;
            self.await_arrival(patience);
        }
        self.incoming = self.take().ok_or(Failure::would_block("recv"))?;
        self.span.length = u32::try_from(self.incoming.len()).unwrap();
        Ok(Arrivals {
            bytes: &self.incoming,
            spans: std::slice::from_ref(&self.span),
            overflows: None,
            runs: &[],
            came: None,
        })
    }

    fn await_arrival(&mut self, limit: Duration) {
        self.world.pass(self.world.clock.now().after(limit));
    }

    fn overflows(&mut self) -> Option<u64> {
        Some(0)
    }

    fn buffers(&self) -> Buffers {
        Buffers::default()
    }
}

/// What the requester of `spec` reports from a world with these model.
pub(super) fn requester(spec: &TestSpec, model: PathModel) -> StreamReport {
    let clock: &'static Standing = Box::leak(Box::default());
    clock.set(START);
    let world = Arc::new(World {
        model,
        clock,
        wires: Mutex::default(),
        far: Mutex::default(),
    });
    let work = |side| {
        let plan = EndpointPlan {
            side,
            role: Role::Client,
            spec: spec.clone(),
            format: Arc::new(native::Streams { token: 7 }),
        };
        let setup = StreamSetup {
            path: VirtualPath::open(&world, side, spec.payload().as_usize()),
            plan: plan.stream(0),
            progress: Arc::default(),
            clock,
        };
        let mut work = find(&spec.workload).unwrap().work(side, setup).unwrap();
        work.begin(START);
        work
    };
    *world.far.lock().unwrap() = Some(Far {
        work: work(Side::Receiver),
        wake: START,
    });
    let mut near = work(Side::Sender);
    let control = StreamControl::default();
    loop {
        match near.turn(clock.now(), &control) {
            Step::Again => {}
            Step::Until(later) | Step::Poll(later) => {
                world.pass(later);
                clock.set(later.max(clock.now()));
            }
            Step::Done => return near.finish(clock.now()),
        }
    }
}

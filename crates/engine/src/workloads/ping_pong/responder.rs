//! The responder of a ping-pong.

use super::allowance::Allowance;
use super::messenger::{Incoming, Message, Messenger, Number};
use super::stages::{Stages, Times};
use crate::control::{Received, StreamControl};
use crate::error::Result;
use crate::pdv::DelayVariation;
use crate::plan::StreamPlan;
use crate::tally::{FailureCounts, StreamProgress, Tally};
use crate::transit::Transit;
use crate::workloads::datagrams::RECEIVER_IDLE_TIMEOUT;
use crate::workloads::{Step, StreamSetup, Work};
use linerate_model::sample::{self, MessageTimes, StreamReport};
use linerate_model::{Clock, MonoInstant, PacketCount};
use linerate_peers::Stamp;
use linerate_sys::failure::{Failure, FailureClass};
use std::sync::Arc;

pub(super) struct Responder {
    messenger: Messenger,
    plan: StreamPlan,
    progress: Arc<StreamProgress>,
    clock: &'static dyn Clock,
    tally: Option<Tally>,
    failures: FailureCounts,
    /// When traffic started.
    start: MonoInstant,
    /// When the last message arrived, or traffic started.
    last: MonoInstant,
    /// Whether an answer is only partly sent.
    answering: bool,
    /// Agreed messages, where the protocol grants them in advance.
    allowance: Option<Allowance>,
    /// Present payload of messages, bytes.
    length: usize,
    /// One-way delay from the peer, where messages carry its clock.
    way: Option<(Transit, DelayVariation)>,
    /// Stages from kernel timestamps, if requested.
    stages: Option<Stages>,
    /// Message being answered.
    current: Option<Current>,
    /// Answers left in the warm-up.
    warming: u64,
}

/// A message, from its arrival to its answer.
#[derive(Debug, Clone, Copy)]
struct Current {
    number: Number,
    /// Send time on the peer's clock.
    left: Option<Stamp>,
    arrived: MonoInstant,
    /// Just before the sending call.
    called: MonoInstant,
    /// Whether its answer is prepared: after a pause it is not.
    is_written: bool,
}

impl Responder {
    pub(super) fn new(setup: StreamSetup) -> Result<Self> {
        let mut messenger = Messenger::new(setup.path, &setup.plan)?;
        let clock = messenger.shows_clock(setup.plan.payload);
        Ok(Self {
            way: clock.then(|| (Transit::new(), DelayVariation::default())),
            stages: messenger.stamps().map(|_| Stages::new()),
            current: None,
            messenger,
            allowance: setup.plan.format.is_granted().then(Allowance::default),
            length: setup.plan.payload,
            warming: setup.plan.work.transactions().warm_up.unwrap_or(0),
            plan: setup.plan,
            progress: setup.progress,
            clock: setup.clock,
            tally: None,
            failures: FailureCounts::default(),
            start: MonoInstant::default(),
            last: MonoInstant::default(),
            answering: false,
        })
    }

    /// Prepares the answer to the received message, with the present time if it carries one.
    fn write(&mut self) {
        let Some(current) = self.current.as_mut().filter(|message| !message.is_written) else {
            return;
        };
        // The answer carries the arrival time, unless a pause lies between.
        let plan = &self.plan;
        let rests = plan.receiver_pause().is_some() || plan.stall().is_some();
        let waits = rests || self.stages.is_some();
        let now = if waits {
            self.clock.now()
        } else {
            current.arrived
        };
        self.messenger.echo(current.number, now);
        current.called = now;
        current.is_written = true;
    }

    fn answer(&mut self, control: &StreamControl) -> Step {
        self.write();
        match self.messenger.send() {
            Ok(whole) => {
                self.answering = !whole;
                if whole {
                    self.answered();
                    if let Some(allowance) = &mut self.allowance {
                        allowance.spend(control);
                    }
                }
                Step::Again
            }
            Err(failure) => self.failed(failure),
        }
    }

    /// An answer is sent. Answers of the warm-up, by this side's time and by number, do not count.
    fn answered(&mut self) {
        let now = self.clock.now();
        self.last = now;
        self.failures.success();
        let plan = &self.plan;
        let progress = &self.progress;
        let fresh = || Tally::new(now.after(plan.warm_up), plan.interval, Arc::clone(progress));
        let tally = self.tally.get_or_insert_with(fresh);
        let counts = self.warming == 0 && now >= tally.start();
        if self.warming > 0 {
            self.warming -= 1;
            if self.warming == 0 && now > tally.start() {
                *tally = Tally::new(now, plan.interval, Arc::clone(progress));
            }
        } else if counts {
            tally.count(now, self.length as u64, 1);
        }
        if let Some(message) = self.current.take() {
            self.note(message, counts);
        }
    }

    /// Records the residence time of a message, and the kernel timestamps of its answer.
    fn note(&mut self, message: Current, counts: bool) {
        if let (Some((transit, pdv)), Some(left)) = (&mut self.way, message.left) {
            transit.record(left, message.arrived, counts);
            if counts {
                pdv.record(left.transit_to(message.arrived));
            } else {
                pdv.refer_to(left.transit_to(message.arrived));
            }
        }
        if let (Some(stages), Some(stamps)) = (&mut self.stages, self.messenger.stamps()) {
            let times = Times {
                first: message.arrived,
                called: message.called,
                last: message.called,
            };
            stages.answered(stamps, message.number.get(), times, counts);
        }
    }

    fn failed(&mut self, failure: Failure) -> Step {
        let now = self.clock.now();
        match failure.class() {
            FailureClass::WouldBlock | FailureClass::Interrupted => {
                if now.saturating_since(self.last) <= RECEIVER_IDLE_TIMEOUT {
                    return Step::Again;
                }
                self.failures.count(Failure::timed_out("recv"), now);
                Step::Done
            }
            _ if self.messenger.is_lossy() => self.failures.step(failure, now),
            _ => self.failures.step_of_connection(failure, now),
        }
    }

    fn listen(&mut self, now: MonoInstant, control: &StreamControl) -> Step {
        // Only where messages carry the clock: reading it takes some 25 ns of the round trip.
        let (shows, clock) = (self.way.is_some(), self.clock);
        let arrival = || if shows { clock.now() } else { now };
        match self.messenger.receive(arrival) {
            Ok(Incoming::Message(Message { number, left, at })) => {
                self.current = Some(Current {
                    number,
                    left,
                    arrived: at,
                    called: at,
                    is_written: false,
                });
                self.answering = true;
                self.rest(at)
                    .map_or_else(|| self.answer(control), Step::Until)
            }
            Ok(Incoming::Nothing) => Step::Again,
            Ok(Incoming::End) => Step::Done,
            Err(failure) => self.failed(failure),
        }
    }

    /// Until when the received message is held back, after a turn that began at `now`.
    fn rest(&self, now: MonoInstant) -> Option<MonoInstant> {
        let stalled = self.plan.stall().and_then(|stall| {
            let end = stall.end(self.clock.now().saturating_since(self.start))?;
            Some(self.start.after(end))
        });
        let paused = self.plan.receiver_pause().map(|pause| now.after(pause));
        stalled.max(paused)
    }

    /// Whether another message is granted; its length is then set.
    fn may_listen(&mut self, control: &StreamControl) -> bool {
        let Some(allowance) = &mut self.allowance else {
            return true;
        };
        let (messenger, length) = (&mut self.messenger, &mut self.length);
        allowance.is_open(control, |grant| {
            *length = grant.size.as_usize();
            messenger.resize(*length)
        })
    }

    /// Nothing is granted: the peer is between two announcements, or done.
    fn idle(&mut self, now: MonoInstant, control: &StreamControl) -> Step {
        if control.is_ending() {
            return Step::Done;
        }
        // A peer without a grant may be silent; the session monitors it.
        self.last = now;
        Step::Again
    }

    fn answers(&self) -> u64 {
        self.tally.as_ref().map_or(0, Tally::packets)
    }
}

impl Work for Responder {
    fn begin(&mut self, start: MonoInstant) {
        (self.start, self.last) = (start, start);
    }

    fn turn(&mut self, now: MonoInstant, control: &StreamControl) -> Step {
        // Transactions that timed out were sent too, so only silence shows the end of datagrams.
        let over = self.messenger.is_lossy()
            && self.allowance.is_none()
            && control.is_over(
                usize::from(self.plan.index),
                Received::Packets(PacketCount::new(self.answers())),
                self.last,
                now,
            );
        if over {
            return Step::Done;
        }
        if self.answering {
            self.answer(control)
        } else if self.may_listen(control) {
            self.listen(now, control)
        } else {
            self.idle(now, control)
        }
    }

    fn finish(mut self: Box<Self>, _now: MonoInstant) -> StreamReport {
        let times = self.way.map(|(transit, pdv)| MessageTimes {
            pdv: pdv.finish(),
            transits: transit.finish(),
        });
        let work = sample::Responder {
            socket_overflows: self.messenger.carrier.overflows().map(PacketCount::new),
            times: times.unwrap_or_default(),
            stages: self.stages.map(Stages::finish_answering),
            connections: None,
        };
        StreamReport {
            errors: self.failures.into_counts(),
            path: self.messenger.carrier.report(),
            ..Tally::active_report(self.tally, self.plan.index, work)
        }
    }
}

//! The requester of a ping-pong.

use super::allowance::Allowance;
use super::messenger::{Incoming, Message, Messenger, Number};
use super::stages::{Stages, Times};
use super::stalls::Stalls;
use crate::control::StreamControl;
use crate::error::Result;
use crate::moments::Sums;
use crate::pdv::DelayVariation;
use crate::plan::{Limit, StreamPlan};
use crate::tally::{FailureCounts, StreamProgress, Tally};
use crate::transit::Transit;
use crate::workloads::{Step, StreamSetup, Work};
use linerate_model::sample::{self, MessageTimes, StreamReport, TcpSocketReport};
use linerate_model::spec::MAX_OVERTIME;
use linerate_model::{Clock, Histogram, MonoInstant, PacketCount};
use linerate_sys::failure::{Failure, FailureClass};
use std::sync::Arc;
use std::time::Duration;

/// Timeout of an answer over UDP while the path's round trip is unknown.
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);

/// Minimum timeout of an answer over UDP once the round trip is known; else three times the longest so far.
const MIN_TIMEOUT: Duration = Duration::from_millis(100);

/// Timeout of an answer where a loss ends the exchange: long, so that a busy peer is not taken for a loss.
const FATAL_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout of an answer over TCP, after which the peer counts as gone.
const STREAM_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) struct Requester {
    messenger: Messenger,
    plan: StreamPlan,
    progress: Arc<StreamProgress>,
    clock: &'static dyn Clock,
    limit: Limit,
    tally: Tally,
    failures: FailureCounts,
    rtt: Histogram,
    /// Exact moments of the histogram's values.
    exact: Sums,
    /// Transactions left in the warm-up.
    warming: u64,
    longest: Option<Duration>,
    timeouts: u64,
    next: u64,
    /// Agreed messages, where the protocol grants them in advance.
    allowance: Option<Allowance>,
    stalls: Stalls,
    /// Until when an arrival is a late answer.
    silent_until: MonoInstant,
    /// One-way delay from the peer, where answers carry its clock.
    back: Option<(Transit, DelayVariation)>,
    /// Stages from kernel timestamps, if requested, with the time of the last send.
    stages: Option<Stages>,
    called: MonoInstant,
}

/// How a transaction ended.
enum Outcome {
    Answered(Message),
    Failed(Failure, MonoInstant),
    Stopped,
    Timeout,
}

impl Requester {
    pub(super) fn new(setup: StreamSetup) -> Result<Self> {
        let start = MonoInstant::default();
        let mut messenger = Messenger::new(setup.path, &setup.plan)?;
        let clock = messenger.shows_clock(setup.plan.payload);
        Ok(Self {
            back: clock.then(|| (Transit::new(), DelayVariation::default())),
            stages: messenger.stamps().map(|_| Stages::new()),
            called: start,
            messenger,
            allowance: setup.plan.format.is_granted().then(Allowance::default),
            stalls: Stalls::default(),
            limit: Limit::new(setup.plan.stop, setup.plan.payload, start),
            tally: Tally::new(start, setup.plan.interval, Arc::clone(&setup.progress)),
            plan: setup.plan,
            progress: setup.progress,
            clock: setup.clock,
            failures: FailureCounts::default(),
            rtt: Histogram::new(),
            exact: Sums::default(),
            warming: 0,
            longest: None,
            timeouts: 0,
            next: 0,
            silent_until: start,
        })
    }

    fn timeout(&self) -> Duration {
        if !self.messenger.is_lossy() {
            return STREAM_TIMEOUT;
        }
        if self.allowance.is_some() {
            return FATAL_TIMEOUT;
        }
        self.longest.map_or(FIRST_TIMEOUT, |longest| {
            (longest * 3).clamp(MIN_TIMEOUT, FIRST_TIMEOUT.max(longest * 3))
        })
    }

    /// One round trip, prepared at `now`; returns the send time and how it ended. Nothing happens between reading the
    /// clock and the sending call.
    fn transact(&mut self, now: MonoInstant, control: &StreamControl) -> (MonoInstant, Outcome) {
        let number = self.messenger.write(self.next, now);
        self.next += 1;
        let deadline = now.after(self.timeout());
        let sent = self.clock.now();
        if self.stages.is_some() {
            self.called = sent;
        }
        loop {
            match self.messenger.send() {
                Ok(true) => break,
                Ok(false) => {}
                Err(failure) => {
                    if let Some(outcome) = self.waiting(failure, deadline, control) {
                        return (sent, outcome);
                    }
                }
            }
        }
        (sent, self.await_answer(number, deadline, control))
    }

    fn await_answer(
        &mut self,
        number: Number,
        deadline: MonoInstant,
        control: &StreamControl,
    ) -> Outcome {
        loop {
            let clock = self.clock;
            let failure = match self.messenger.receive(|| clock.now()) {
                Ok(Incoming::Message(answer)) if answer.number == number => {
                    return Outcome::Answered(answer);
                }
                Ok(Incoming::End) => {
                    return Outcome::Failed(Failure::peer_gone("recv"), self.clock.now());
                }
                Ok(Incoming::Message(_) | Incoming::Nothing) => continue,
                Err(failure) => failure,
            };
            if let Some(outcome) = self.waiting(failure, deadline, control) {
                return outcome;
            }
        }
    }

    /// Handles a failed call: how the transaction ends, if it does.
    fn waiting(
        &self,
        failure: Failure,
        deadline: MonoInstant,
        control: &StreamControl,
    ) -> Option<Outcome> {
        let now = self.clock.now();
        if control.is_stopped() {
            return Some(Outcome::Stopped);
        }
        match failure.class() {
            FailureClass::WouldBlock | FailureClass::Interrupted => {
                (now >= deadline).then_some(Outcome::Timeout)
            }
            _ => Some(Outcome::Failed(failure, now)),
        }
    }

    fn answered(
        &mut self,
        sent: MonoInstant,
        Message { at, left, .. }: Message,
        control: &StreamControl,
    ) {
        let rtt = at.saturating_since(sent);
        self.failures.success();
        if self.longest.is_none() {
            self.progress.hear();
        }
        self.longest = Some(self.longest.map_or(rtt, |longest| longest.max(rtt)));
        let warming = self.is_warming(at);
        let counts = self.allowance.as_mut().is_none_or(|allowance| {
            let timed = allowance.is_timed();
            allowance.spend(control);
            timed && !self.limit.is_over(sent)
        });
        let counts = counts && !warming && sent >= self.tally.start();
        if counts {
            self.rtt.record_duration(rtt);
            self.exact.add(rtt);
            self.limit.spend(1);
            self.tally.count(at, self.plan.payload as u64, 1);
        }
        if let (Some((transit, pdv)), Some(left)) = (&mut self.back, left) {
            transit.record(left, at, counts);
            if counts {
                pdv.record(left.transit_to(at));
            } else {
                pdv.refer_to(left.transit_to(at));
            }
        }
        self.take_apart(sent, at, counts);
    }

    /// Records the stages of the returned message from its kernel timestamps.
    fn take_apart(&mut self, sent: MonoInstant, at: MonoInstant, counts: bool) {
        if let (Some(stages), Some(stamps)) = (&mut self.stages, self.messenger.stamps()) {
            let times = Times {
                first: sent,
                called: self.called,
                last: at,
            };
            stages.asked(stamps, self.next - 1, times, counts);
        }
    }

    /// Whether the transaction that ended at `at` belongs to the warm-up. After its last one counting begins.
    fn is_warming(&mut self, at: MonoInstant) -> bool {
        if self.warming == 0 {
            return false;
        }
        let counted = self.tally.start();
        self.warming = if at < counted.after(MAX_OVERTIME) {
            self.warming - 1
        } else {
            0
        };
        if self.warming == 0 && at > counted {
            self.count_from(at);
        }
        true
    }

    fn count_from(&mut self, counted: MonoInstant) {
        let plan = &self.plan;
        self.limit = Limit::new(plan.stop, plan.payload, counted).bounded(plan.work.transactions());
        self.tally = Tally::new(counted, plan.interval, Arc::clone(&self.progress));
    }

    fn timed_out(&mut self, sent: MonoInstant) -> Step {
        if !self.messenger.is_lossy() {
            self.failures.count(Failure::timed_out("recv"), sent);
            return Step::Done;
        }
        // Read its timestamps, so that they do not fill the socket's error queue.
        self.take_apart(sent, sent, false);
        let now = self.clock.now();
        if !self.is_warming(now) && sent >= self.tally.start() {
            self.timeouts += 1;
            self.limit.spend(1);
        }
        // The granted messages can no longer be exchanged completely.
        if self.allowance.is_some() {
            return Step::Done;
        }
        if self.messenger.is_ambiguous() {
            self.silent_until = now.after(FIRST_TIMEOUT);
        }
        Step::Again
    }

    fn failed(&mut self, failure: Failure, now: MonoInstant) -> Step {
        let step = if self.messenger.is_lossy() {
            self.failures.step(failure, now)
        } else {
            self.failures.step_of_connection(failure, now)
        };
        // The granted messages can no longer be exchanged completely.
        self.allowance.as_ref().map_or(step, |_| Step::Done)
    }
}

impl Work for Requester {
    fn begin(&mut self, start: MonoInstant) {
        self.warming = self.plan.work.transactions().warm_up.unwrap_or(0);
        self.count_from(start.after(self.plan.warm_up));
    }

    fn turn(&mut self, now: MonoInstant, control: &StreamControl) -> Step {
        match &mut self.allowance {
            None if self.warming == 0 && self.limit.is_over(now) => return Step::Done,
            // A new grant has been awaited: read the clock again.
            Some(allowance) if !allowance.is_used() => {
                self.stalls.wait(now);
                if allowance.is_open(control, |_| true) {
                    self.stalls.end(self.clock.now(), self.tally.start());
                }
                return Step::Again;
            }
            None | Some(_) => {}
        }
        if now < self.silent_until {
            let _ = self.messenger.receive(|| now);
            return Step::Again;
        }
        let (sent, outcome) = self.transact(now, control);
        match outcome {
            Outcome::Answered(answer) => {
                self.answered(sent, answer, control);
                Step::Again
            }
            Outcome::Failed(failure, at) => self.failed(failure, at),
            Outcome::Stopped => Step::Done,
            Outcome::Timeout => self.timed_out(sent),
        }
    }

    fn finish(mut self: Box<Self>, now: MonoInstant) -> StreamReport {
        if !self.plan.format.stays_open()
            && let Err(failure) = self.messenger.carrier.shutdown()
        {
            self.failures.count(failure, now);
        }
        // Waiting for the last grant is not part of the exchange.
        let active = match self.allowance {
            None => now.saturating_since(self.tally.start()),
            Some(_) => self.tally.active(),
        };
        let at = u64::try_from(active.as_nanos()).unwrap_or(u64::MAX);
        let times = self.back.map(|(transit, pdv)| MessageTimes {
            pdv: pdv.finish(),
            transits: transit.finish(),
        });
        let work = sample::Requester {
            rtt: self.rtt,
            rtt_moments: self.exact.moments(),
            timeouts: PacketCount::new(self.timeouts),
            times: times.unwrap_or_default(),
            stages: self.stages.map(Stages::finish_asking),
            tcp: TcpSocketReport {
                samples: self.messenger.carrier.info(at).into_iter().collect(),
                congestion_control: None,
            },
        };
        let mut path = self.messenger.carrier.report();
        path.notes.extend(self.stalls.note(active));
        StreamReport {
            errors: self.failures.into_counts(),
            path,
            ..self.tally.report(self.plan.index, active, work)
        }
    }
}

//! The requester of an open loop.

use super::arrivals::Arrivals;
use super::exchange::{Exchange, Incoming};
use super::pending::{Answer, Pending, Request};
use crate::control::StreamControl;
use crate::error::Result;
use crate::plan::{Limit, StreamPlan};
use crate::tally::{AfterFailure, FailureCounts, StreamProgress, Tally};
use crate::workloads::{Step, StreamSetup, Work};
use linerate_model::sample::{OpenLoopRequester, RequestCount, StreamReport, TcpSocketReport};
use linerate_model::spec::{Arrival, WaitMode};
use linerate_model::{Clock, Histogram, MonoInstant, PacketCount};
use linerate_sys::failure::{Failure, FailureClass};
use std::sync::Arc;
use std::time::Duration;

/// Maximum requests per turn: answers are read at least as often.
const MAX_REQUESTS_PER_TURN: u64 = 16;

/// Maximum receiving calls per turn.
const MAX_READS_PER_TURN: u32 = 64;

/// Time before a request is due that is polled, not slept: a virtual machine's timer is up to that late (see the engine
/// loop).
const POLL_BEFORE_DUE: Duration = Duration::from_micros(50);

/// Maximum single sleep: bounds the delay of a stop.
const MAX_SLEEP: Duration = Duration::from_millis(20);

/// Maximum sleep while the system accepts no more: there is no event for it.
const BLOCKED_SLEEP: Duration = Duration::from_millis(1);

pub(super) struct Requester {
    exchange: Exchange,
    plan: StreamPlan,
    progress: Arc<StreamProgress>,
    clock: &'static dyn Clock,
    arrival: Arrival,
    arrivals: Option<Arrivals>,
    pending: Pending,
    timeout: Duration,
    limit: Limit,
    counted_from: MonoInstant,
    /// Number of the first request that counts.
    first: Option<u64>,
    counts: Counts,
    response: Histogram,
    service: Histogram,
    lateness: Histogram,
    tally: Tally,
    failures: FailureCounts,
    /// Whether a request is only partly sent.
    writing: bool,
    /// Whether the last attempt to send would have blocked.
    stuck: bool,
    /// When sending last would have blocked.
    blocked: MonoInstant,
    /// When the last request was sent.
    sent_by: MonoInstant,
    /// One above the highest number answered.
    expected: u64,
    gone: bool,
    numbers: Vec<u64>,
}

#[derive(Default)]
struct Counts {
    sent: u64,
    answered: u64,
    unanswered: u64,
    late: u64,
    duplicated: u64,
    reordered: u64,
    foreign: u64,
    refused: u64,
    burst_max: u64,
}

/// Result of an attempt to send.
enum Attempt {
    Blocked,
    Ended(Step),
    Sent,
}

impl Requester {
    pub(super) fn new(setup: StreamSetup) -> Result<Self> {
        let start = MonoInstant::default();
        let plan = setup.plan;
        let open = super::open_loop(&plan.work)?;
        let (rate, arrival, timeout) = (open.rate, open.arrival, open.answer_timeout);
        Ok(Self {
            exchange: Exchange::new(setup.path, &plan)?,
            arrivals: None,
            arrival,
            pending: Pending::new(rate.pps(), timeout),
            timeout,
            limit: Limit::new(plan.stop, plan.payload, start),
            counted_from: start,
            first: None,
            counts: Counts::default(),
            response: Histogram::new(),
            service: Histogram::new(),
            lateness: Histogram::new(),
            tally: Tally::new(start, plan.interval, Arc::clone(&setup.progress)),
            failures: FailureCounts::default(),
            writing: false,
            stuck: false,
            blocked: start,
            sent_by: start,
            expected: 0,
            gone: false,
            numbers: Vec::with_capacity(4096),
            plan,
            progress: setup.progress,
            clock: setup.clock,
        })
    }

    /// When the next request is due; `None` after the last.
    fn due(&self) -> Option<MonoInstant> {
        let next = self.arrivals.as_ref()?.next();
        (!self.limit.is_over(next)).then_some(next)
    }

    /// Whether requests still due are given up: the peer, or this end, has not kept up.
    fn is_too_late(&self, now: MonoInstant) -> bool {
        let end = self.limit.end();
        end.is_some_and(|end| now > end.after(self.timeout))
    }

    fn counts(&self, number: u64) -> bool {
        self.first.is_some_and(|first| number >= first)
    }

    /// Sends what is due. Returns how the turn ends, if it does.
    fn ask(&mut self) -> Option<Step> {
        self.stuck = false;
        for burst in 1..=MAX_REQUESTS_PER_TURN {
            let now = self.clock.now();
            let attempt = if self.writing {
                self.go_on(now)
            } else {
                let due = self.due().filter(|due| *due <= now)?;
                if self.is_too_late(now) {
                    return None;
                }
                self.counts.burst_max = self.counts.burst_max.max(burst);
                self.request(due, now)
            };
            match attempt {
                Attempt::Blocked => return None,
                Attempt::Ended(step) => return Some(step),
                Attempt::Sent => {}
            }
        }
        None
    }

    /// Sends the next request, due at `due`.
    fn request(&mut self, due: MonoInstant, now: MonoInstant) -> Attempt {
        self.give_up(now);
        let number = self.pending.next();
        self.exchange.write(number, due);
        match self.exchange.send() {
            Ok(whole) => {
                self.sent(number, Request { due, sent: now });
                self.writing = !whole;
                if whole {
                    Attempt::Sent
                } else {
                    self.block(now)
                }
            }
            Err(failure) => self.unsent(failure, due, now),
        }
    }

    /// Sends the rest of a partly sent request.
    fn go_on(&mut self, now: MonoInstant) -> Attempt {
        match self.exchange.send() {
            Ok(true) => {
                self.writing = false;
                self.blocked = now;
                Attempt::Sent
            }
            Ok(false) => self.block(now),
            Err(failure) if is_passing(failure) => self.block(now),
            Err(failure) => Attempt::Ended(self.failed(failure, now)),
        }
    }

    fn block(&mut self, now: MonoInstant) -> Attempt {
        (self.stuck, self.blocked) = (true, now);
        Attempt::Blocked
    }

    fn sent(&mut self, number: u64, request: Request) {
        self.pending.push(request);
        self.pass();
        self.failures.success();
        if request.due < self.counted_from {
            return;
        }
        self.first.get_or_insert(number);
        self.counts.sent += 1;
        self.limit.spend(1);
        self.sent_by = request.sent;
        // Time during which the system accepted nothing is not the sender's lateness.
        let could = request.due.max(self.blocked);
        self.lateness
            .record_duration(request.sent.saturating_since(could));
    }

    /// Advances to the next request.
    fn pass(&mut self) {
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.advance();
        }
    }

    fn unsent(&mut self, failure: Failure, due: MonoInstant, now: MonoInstant) -> Attempt {
        if is_passing(failure) {
            return self.block(now);
        }
        if failure.class() == FailureClass::NoBuffers {
            self.pass();
            if due >= self.counted_from {
                self.counts.refused += 1;
                self.limit.spend(1);
            }
        }
        Attempt::Ended(self.failed(failure, now))
    }

    fn failed(&mut self, failure: Failure, now: MonoInstant) -> Step {
        let lasting =
            failure.class() == FailureClass::PeerGone && !self.exchange.carrier.is_lossy();
        let remedy = self.failures.count(failure, now);
        self.gone |= lasting || remedy == AfterFailure::GiveUp;
        match remedy {
            _ if self.gone => Step::Done,
            AfterFailure::RetryAt(at) => Step::Until(at),
            AfterFailure::Retry | AfterFailure::GiveUp => Step::Again,
        }
    }

    /// Receives answers. Returns how the turn ends, if it does.
    fn listen(&mut self) -> Option<Step> {
        let mut numbers = std::mem::take(&mut self.numbers);
        let mut end = None;
        for _ in 0..MAX_READS_PER_TURN {
            numbers.clear();
            let taken = self.exchange.receive(&mut numbers);
            let now = self.clock.now();
            match taken {
                Ok(Incoming::Messages { foreign }) => {
                    self.counts.foreign += foreign;
                    for number in &numbers {
                        self.answered(*number, now);
                    }
                }
                Ok(Incoming::End) => {
                    end = Some(self.failed(Failure::peer_gone("recv"), now));
                    break;
                }
                Err(failure) if is_passing(failure) => break,
                Err(failure) => {
                    end = Some(self.failed(failure, now));
                    break;
                }
            }
        }
        self.numbers = numbers;
        end
    }

    fn answered(&mut self, number: u64, now: MonoInstant) {
        let answer = self.pending.answer(number, now);
        let is_first = matches!(answer, Answer::InTime(_) | Answer::Late);
        let is_reordered = is_first && number < self.expected;
        if is_first {
            self.expected = self.expected.max(number + 1);
        }
        if answer == Answer::Unknown {
            self.counts.foreign += 1;
        }
        if !self.counts(number) {
            return;
        }
        self.counts.reordered += u64::from(is_reordered);
        match answer {
            Answer::InTime(request) => {
                self.failures.success();
                self.counts.answered += 1;
                self.response
                    .record_duration(now.saturating_since(request.due));
                self.service
                    .record_duration(now.saturating_since(request.sent));
                self.tally.count(now, self.plan.payload as u64, 1);
            }
            Answer::Late => self.counts.late += 1,
            Answer::Duplicate => self.counts.duplicated += 1,
            Answer::Unknown => {}
        }
    }

    fn give_up(&mut self, now: MonoInstant) {
        while let Some(number) = self.pending.give_up(now) {
            if self.counts(number) {
                self.counts.unanswered += 1;
            }
        }
    }

    /// Whether everything was requested, and answered or given up.
    fn is_done(&self, now: MonoInstant) -> bool {
        let asked = self.due().is_none() && !self.writing || self.is_too_late(now);
        let over = self.limit.end().is_none_or(|end| now >= end);
        asked && over && self.pending.is_empty()
    }

    /// Waits for the next event, unless this end spins.
    fn rest(&mut self, now: MonoInstant) {
        if self.plan.wait == WaitMode::Spin {
            return;
        }
        let next = self
            .due()
            .or_else(|| self.limit.end())
            .filter(|next| *next > now);
        let left = match next {
            _ if self.stuck => BLOCKED_SLEEP,
            Some(next) => next.saturating_since(now).saturating_sub(POLL_BEFORE_DUE),
            None if self.due().is_some() => return,
            None => MAX_SLEEP,
        };
        if !left.is_zero() {
            self.exchange.carrier.await_arrival(left.min(MAX_SLEEP));
        }
    }

    /// Counted time: that of the schedule, or until the last request was sent if later.
    fn duration(&self, now: MonoInstant) -> Duration {
        let planned = match self.limit.end() {
            Some(end) if now >= end => end,
            None if self.limit.left() == 0 => self.arrivals.as_ref().map_or(now, Arrivals::next),
            Some(_) | None => now,
        };
        let end = planned.max(self.sent_by);
        end.saturating_since(self.counted_from)
    }

    /// Final counts of the requests.
    fn settle(&mut self, now: MonoInstant) -> RequestCount {
        self.give_up(now);
        let under_way = self.pending.under_way();
        let open = under_way.filter(|number| self.counts(*number)).count() as u64;
        // If the peer went away, no more answers come; if a user ended the test, their fate is unknown.
        let (unanswered, sent) = if self.gone {
            (self.counts.unanswered + open, self.counts.sent)
        } else {
            (self.counts.unanswered, self.counts.sent - open)
        };
        let until = self.limit.end().map_or(now, |end| end.min(now));
        let left = self.limit.left();
        let passed = match &mut self.arrivals {
            Some(arrivals) => arrivals.pass(until, left),
            None => 0,
        };
        let unsent = passed + self.counts.refused;
        RequestCount {
            intended: PacketCount::new(sent + unsent),
            unsent: PacketCount::new(unsent),
            sent: PacketCount::new(sent),
            answered: PacketCount::new(self.counts.answered),
            unanswered: PacketCount::new(unanswered),
            late_answers: PacketCount::new(self.counts.late),
            duplicated: PacketCount::new(self.counts.duplicated),
            reordered: PacketCount::new(self.counts.reordered),
            foreign: PacketCount::new(self.counts.foreign),
            answering: self.tally.active(),
        }
    }
}

/// Whether the same call may succeed a moment later.
fn is_passing(failure: Failure) -> bool {
    matches!(
        failure.class(),
        FailureClass::WouldBlock | FailureClass::Interrupted
    )
}

impl Work for Requester {
    fn begin(&mut self, start: MonoInstant) {
        let counted = start.after(self.plan.warm_up);
        self.counted_from = counted;
        self.arrivals = Arrivals::new(start, self.arrival, &self.plan);
        self.limit = Limit::new(self.plan.stop, self.plan.payload, counted);
        self.tally = Tally::new(counted, self.plan.interval, Arc::clone(&self.progress));
        (self.blocked, self.sent_by) = (start, counted);
    }

    fn turn(&mut self, _now: MonoInstant, _control: &StreamControl) -> Step {
        let asked = self.ask();
        let heard = self.listen();
        let now = self.clock.now();
        self.give_up(now);
        match (asked, heard) {
            (Some(Step::Done), _) | (_, Some(Step::Done)) => return Step::Done,
            (Some(step @ Step::Until(_)), _) | (_, Some(step @ Step::Until(_))) => return step,
            _ => {}
        }
        if self.is_done(now) {
            return Step::Done;
        }
        self.rest(now);
        Step::Again
    }

    fn finish(mut self: Box<Self>, now: MonoInstant) -> StreamReport {
        if !self.plan.format.stays_open()
            && let Err(failure) = self.exchange.carrier.shutdown()
        {
            self.failures.count(failure, now);
        }
        let duration = self.duration(now);
        let requests = self.settle(now);
        let at = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let active = self.tally.active().max(duration);
        let work = OpenLoopRequester {
            rtt: self.service,
            response: self.response,
            lateness: self.lateness,
            refused: PacketCount::new(self.counts.refused),
            burst_max: PacketCount::new(self.counts.burst_max),
            requests,
            tcp: TcpSocketReport {
                samples: self.exchange.carrier.info(at).into_iter().collect(),
                congestion_control: None,
            },
        };
        StreamReport {
            packets: requests.answered,
            duration,
            errors: self.failures.into_counts(),
            path: self.exchange.carrier.report(),
            ..self.tally.report(self.plan.index, active, work)
        }
    }
}

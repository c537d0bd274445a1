//! The answering side of a ping-pong.

use super::allowance::Allowance;
use super::messenger::{Incoming, Messenger};
use crate::orders::Orders;
use crate::plan::StreamPlan;
use crate::tally::{Remedy, StreamProgress, Tally, Troubles};
use crate::workloads::datagrams::ABANDONED;
use crate::workloads::{Kit, Step, Work};
use linerate_model::sample::StreamReport;
use linerate_model::{ByteCount, Clock, MonoInstant, PacketCount};
use linerate_sys::failure::{Failure, FailureClass};
use std::sync::Arc;

pub(super) struct Responder {
    messenger: Messenger,
    plan: StreamPlan,
    progress: Arc<StreamProgress>,
    clock: &'static dyn Clock,
    tally: Option<Tally>,
    troubles: Troubles,
    /// When the last message came, or traffic started.
    last: MonoInstant,
    /// An answer that the system has not taken whole.
    answering: bool,
    /// Where messages are agreed on beforehand.
    allowance: Option<Allowance>,
    /// Payload of the messages now.
    length: usize,
    /// Answers that the warm-up still takes.
    warming: u64,
}

impl Responder {
    pub(super) fn new(kit: Kit) -> Self {
        Self {
            messenger: Messenger::new(kit.path, &kit.plan),
            allowance: kit.plan.framing.is_granted().then(Allowance::default),
            length: kit.plan.payload,
            warming: kit.plan.transactions.warm_up.unwrap_or(0),
            plan: kit.plan,
            progress: kit.progress,
            clock: kit.clock,
            tally: None,
            troubles: Troubles::default(),
            last: MonoInstant::default(),
            answering: false,
        }
    }

    fn answer(&mut self, orders: &Orders) -> Step {
        match self.messenger.send() {
            Ok(whole) => {
                self.answering = !whole;
                if whole {
                    self.answered();
                    if let Some(allowance) = &mut self.allowance {
                        allowance.spend(orders);
                    }
                }
                Step::Again
            }
            Err(failure) => self.failed(failure),
        }
    }

    /// An answer is out. Answers of the warm-up, by this side's time and by number, do not count.
    fn answered(&mut self) {
        let now = self.clock.now();
        self.last = now;
        self.troubles.success();
        let plan = &self.plan;
        let progress = &self.progress;
        let fresh = || Tally::new(now.after(plan.warm_up), plan.interval, Arc::clone(progress));
        let tally = self.tally.get_or_insert_with(fresh);
        if self.warming > 0 {
            self.warming -= 1;
            if self.warming == 0 && now > tally.start() {
                *tally = Tally::new(now, plan.interval, Arc::clone(progress));
            }
        } else if now >= tally.start() {
            tally.count(now, self.length as u64, 1);
        }
    }

    fn failed(&mut self, failure: Failure) -> Step {
        let now = self.clock.now();
        match failure.class() {
            FailureClass::WouldBlock | FailureClass::Interrupted => {
                if now.saturating_since(self.last) <= ABANDONED {
                    return Step::Again;
                }
                self.troubles.count(Failure::timed_out("recv"), now);
                Step::Done
            }
            class => match self.troubles.count(failure, now) {
                _ if class == FailureClass::PeerGone && !self.messenger.is_lossy() => Step::Done,
                Remedy::Retry => Step::Again,
                Remedy::RetryAt(at) => Step::Until(at),
                Remedy::GiveUp => Step::Done,
            },
        }
    }

    fn listen(&mut self, now: MonoInstant, orders: &Orders) -> Step {
        match self.messenger.receive() {
            Ok(Incoming::Message(number)) => {
                self.messenger.echo(number, now);
                self.answering = true;
                let pause = self.plan.receiver_pause;
                pause.map_or_else(
                    || self.answer(orders),
                    |pause| Step::Until(now.after(pause)),
                )
            }
            Ok(Incoming::Nothing) => Step::Again,
            Ok(Incoming::End) => Step::Done,
            Err(failure) => self.failed(failure),
        }
    }

    /// Whether another message is agreed on, of which the length is then known.
    fn may_listen(&mut self, orders: &Orders) -> bool {
        let Some(allowance) = &mut self.allowance else {
            return true;
        };
        let (messenger, length) = (&mut self.messenger, &mut self.length);
        allowance.is_open(orders, |grant| {
            *length = grant.size.as_usize();
            messenger.resize(*length)
        })
    }

    /// Nothing is agreed on: the far end is between two announcements, or done.
    fn idle(&mut self, now: MonoInstant, orders: &Orders) -> Step {
        if orders.is_ending() {
            return Step::Done;
        }
        // The silence of a far end that was granted nothing is its right; the session watches it.
        self.last = now;
        Step::Again
    }

    fn answers(&self) -> u64 {
        self.tally.as_ref().map_or(0, Tally::packets)
    }
}

impl Work for Responder {
    fn begin(&mut self, start: MonoInstant) {
        self.last = start;
    }

    fn turn(&mut self, now: MonoInstant, orders: &Orders) -> Step {
        // Transactions that timed out were sent too, so only silence shows the end of datagrams.
        let over = self.messenger.is_lossy()
            && self.allowance.is_none()
            && orders.is_over(
                usize::from(self.plan.index),
                Some(self.answers()),
                self.last,
                now,
            );
        if over {
            return Step::Done;
        }
        if self.answering {
            self.answer(orders)
        } else if self.may_listen(orders) {
            self.listen(now, orders)
        } else {
            self.idle(now, orders)
        }
    }

    fn finish(self: Box<Self>, _now: MonoInstant) -> StreamReport {
        let buffers = self.messenger.buffers();
        let mut report = StreamReport {
            index: u16::from(self.plan.index),
            errors: self.troubles.into_counts(),
            send_buffer_bytes: buffers.send.map(ByteCount::new),
            receive_buffer_bytes: buffers.receive.map(ByteCount::new),
            ..StreamReport::default()
        };
        if let Some(tally) = self.tally {
            report.bytes = ByteCount::new(tally.bytes());
            report.packets = PacketCount::new(tally.packets());
            report.duration = tally.active();
            report.intervals = tally.into_intervals(report.duration);
        }
        report
    }
}

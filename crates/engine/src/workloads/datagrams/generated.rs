//! The sending side where the kernel has the loop: what to send, and what was sent, a short call at a time.

use super::sender::{Phase, Sender};
use crate::datapaths::in_kernel::{Generator, Order};
use crate::workloads::Step;
use linerate_model::MonoInstant;
use linerate_sys::failure::FailureClass;
use linerate_wire::schedule::Due;

impl Sender {
    /// Lets the kernel send for a short time what is due.
    pub(super) fn generate(&mut self, now: MonoInstant) -> Step {
        let end = match self.phase {
            Phase::WarmUp { until } => Some(until),
            Phase::Counted => self.limit.end(),
        };
        if let Some(step) = self.wait(now, end) {
            return step;
        }
        let Some(generator) = self.path.generator() else {
            return Step::Done;
        };
        let catch_up = self.plan.catch_up.longest();
        let pace = self
            .schedule
            .as_ref()
            .map(|schedule| (schedule.slots(), catch_up));
        let carried = generator.run(&Order {
            part: self.part,
            sequence: self.sequence,
            most: self.limit.left(),
            end,
            pace,
        });
        self.sequence = carried.next;
        if let Some(schedule) = &mut self.schedule {
            schedule.served(carried.at, carried.slots);
        }
        if carried.sent > 0 {
            self.failures.success();
            self.burst_max = self
                .burst_max
                .max(carried.sent.min(self.path.batch() as u64));
        }
        if self.phase == Phase::Counted {
            self.limit.spend(carried.slots);
            self.refused += carried.slots - carried.sent;
        }
        if self.phase != Phase::Counted {
            self.warm_up += carried.sent;
        } else if carried.sent > 0 {
            let bytes = carried.sent * self.plan.payload as u64;
            self.tally.count(carried.at, bytes, carried.sent);
        }
        match carried.failure {
            Some(failure) if failure.class() != FailureClass::NoBuffers => {
                self.failures.step(failure, now)
            }
            _ => Step::Again,
        }
    }
    /// Until when this process waits before the kernel has something to send; `None` if it has.
    fn wait(&mut self, now: MonoInstant, end: Option<MonoInstant>) -> Option<Step> {
        let (schedule, generator) = (self.schedule.as_mut()?, self.path.generator()?);
        let slots = schedule.slots();
        if let Some(end) = end.filter(|end| slots.next_due >= *end) {
            return Some(Step::Until(end));
        }
        if let Some(at) = generator.gathered_at(&slots).filter(|at| *at > now) {
            return Some(Step::Until(end.map_or(at, |end| at.min(end))));
        }
        let lead = generator.lead();
        if Generator::waits_between(&slots)
            && let Due::Wait(due) = schedule.due(now.after(lead))
        {
            let until = due.saturating_since(now).saturating_sub(lead);
            return Some(Step::Until(now.after(until)));
        }
        // Slots that are too late are given up here.
        schedule.due(now);
        None
    }
}

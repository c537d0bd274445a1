//! What one side of byte streams counts, whether one stream or many share its thread.

use crate::plan::StreamPlan;
use crate::tally::{FailureCounts, StreamProgress, Tally};
use crate::tcp_samples::TcpSamples;
use linerate_model::sample::{StreamReport, StreamWork, TcpSample, TcpSocketReport};
use linerate_model::spec::Observe;
use linerate_model::{Clock, MonoInstant};
use std::sync::Arc;
use std::time::Duration;

/// Bytes by interval, failed calls and readings of `TCP_INFO`, which the caller's `read` makes for a time in nanoseconds
/// after the start.
pub(super) struct ByteCounts {
    pub(super) plan: StreamPlan,
    pub(super) progress: Arc<StreamProgress>,
    pub(super) clock: &'static dyn Clock,
    /// Absent until bytes count.
    pub(super) tally: Option<Tally>,
    pub(super) failures: FailureCounts,
    samples: TcpSamples,
    pub(super) start: MonoInstant,
    /// When bytes last moved.
    pub(super) last: MonoInstant,
}

impl ByteCounts {
    pub(super) fn new(
        plan: StreamPlan,
        progress: Arc<StreamProgress>,
        clock: &'static dyn Clock,
    ) -> Self {
        Self {
            samples: TcpSamples::new(plan.max_samples),
            plan,
            progress,
            clock,
            tally: None,
            failures: FailureCounts::default(),
            start: MonoInstant::default(),
            last: MonoInstant::default(),
        }
    }

    pub(super) fn begin(
        &mut self,
        start: MonoInstant,
        read: impl FnOnce(u64) -> Option<TcpSample>,
    ) {
        (self.start, self.last) = (start, start);
        self.sample(start, read);
    }

    /// Keeps a reading, if the test asks for them.
    pub(super) fn sample(&mut self, now: MonoInstant, read: impl FnOnce(u64) -> Option<TcpSample>) {
        if self.plan.observe == Observe::None {
            return;
        }
        let at = self.since_start(now);
        let progress = &self.progress;
        self.samples.take(|| {
            let sample = read(at)?;
            progress.read(&sample);
            Some(sample)
        });
    }

    fn since_start(&self, now: MonoInstant) -> u64 {
        let at = now.saturating_since(self.start).as_nanos();
        u64::try_from(at).unwrap_or(u64::MAX)
    }

    /// When a sender's bytes begin to count.
    pub(super) fn counted_from(&self) -> MonoInstant {
        self.start.after(self.plan.warm_up)
    }

    /// Starts the counting at `instant`.
    pub(super) fn count_from(&mut self, instant: MonoInstant) {
        let progress = Arc::clone(&self.progress);
        self.tally = Some(Tally::new(instant, self.plan.interval, progress));
    }

    /// The readings, with a last one.
    pub(super) fn tcp(
        &mut self,
        now: MonoInstant,
        congestion_control: Option<String>,
        read: impl FnOnce(u64) -> Option<TcpSample>,
    ) -> TcpSocketReport {
        let at = self.since_start(now);
        let is_observed = self.plan.observe != Observe::None;
        TcpSocketReport {
            samples: self
                .samples
                .finish(|| is_observed.then(|| read(at)).flatten()),
            congestion_control,
        }
    }

    /// Report without the path's part.
    pub(super) fn report(self, duration: Duration, work: impl Into<StreamWork>) -> StreamReport {
        let counted = match self.tally {
            Some(tally) => tally.report(self.plan.index, duration, work),
            None => StreamReport::new(u16::from(self.plan.index), work),
        };
        StreamReport {
            errors: self.failures.into_counts(),
            ..counted
        }
    }
}

//! What a trial tells the search, and how a queue that is still filling shows in it.

use super::config::SearchGoal;
use linerate_model::run::BoundedBy;
use linerate_model::{BitRate, LossRatio, PacketCount, Quantile, Ratio};
use std::time::Duration;

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Make one trial and [`record`](super::Search::record) it.
    Measure {
        /// Load to offer, L4 payload, sender side.
        intended_load: BitRate,
        /// How long to offer it.
        duration: Duration,
    },
    /// The search is over.
    Done,
}

/// Quantiles of a delay distribution, ascending.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DelayQuantiles(Vec<(Quantile, Duration)>);

impl DelayQuantiles {
    /// From any quantiles; orders them.
    pub fn new(mut quantiles: Vec<(Quantile, Duration)>) -> Self {
        quantiles.sort_by(|a, b| a.0.0.get().total_cmp(&b.0.0.get()));
        Self(quantiles)
    }

    /// The delay at `quantile`, or at the next higher one that is known.
    pub fn at(&self, quantile: Quantile) -> Option<Duration> {
        let wanted = quantile.0.get() - 1e-9;
        self.0
            .iter()
            .find(|(known, _)| known.0.get() >= wanted)
            .map(|(_, delay)| *delay)
    }

    /// The median; a higher quantile is not taken for it.
    pub fn median(&self) -> Option<Duration> {
        self.0
            .iter()
            .find(|(known, _)| (known.0.get() - 0.5).abs() < 1e-9)
            .map(|(_, delay)| *delay)
    }
}

/// What one trial found. Rates are L4 payload.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialOutcome {
    /// The load that was asked for, as in the [`Step`].
    pub intended_load: BitRate,
    /// What the sender really offered over `duration`.
    pub offered_load: BitRate,
    /// What the receiver got; shown in the curve, decides nothing.
    pub received_rate: BitRate,
    /// Lost / sent, tail loss included, duplicates excluded.
    pub loss_ratio: LossRatio,
    /// Datagrams sent.
    pub sent: PacketCount,
    /// From the first to the last datagram on the sender's clock.
    pub duration: Duration,
    /// From the first to the last datagram on the receiver's clock. With a queue on the path that
    /// fills during the trial this is longer than `duration` by exactly the delay gained.
    pub receiver_duration: Option<Duration>,
    /// Quantiles of the one-way delay above the trial's smallest (RFC 5481 PDV), receiver side.
    /// The median should be among them.
    pub delay: Option<DelayQuantiles>,
    /// By how much the smallest one-way delay rose over the trial, by its trend; zero if it fell.
    /// The best sign of a queue that fills, where the engine can tell it.
    pub delay_growth: Option<Duration>,
    /// Whether the trial can be trusted. An invalid one is repeated.
    pub valid: bool,
}

/// A sender that offers less than this share of the intended load was the limit. Pacing by an
/// absolute schedule is exact to about 0.1 % over a second; five times that is not pacing noise.
pub const SENDER_TOLERANCE: f64 = 0.005;

/// A rise of delay below this is not taken for a queue: scheduling of an ordinary host moves
/// single packets by as much.
pub const GROWTH_FLOOR: Duration = Duration::from_micros(500);

/// A rise of delay, as a share of the trial's length, below this share of the goal width is not
/// taken for overload: half of it would be the overload at the upper load of a centred interval.
const GROWTH_SHARE_OF_WIDTH: f64 = 0.2;

impl TrialOutcome {
    /// A trial at `intended_load` that gave nothing to judge by: invalid, so the load is repeated.
    pub fn unmeasured(intended_load: BitRate) -> Self {
        Self {
            intended_load,
            offered_load: BitRate::default(),
            received_rate: BitRate::default(),
            loss_ratio: LossRatio::default(),
            sent: PacketCount::default(),
            duration: Duration::ZERO,
            receiver_duration: None,
            delay: None,
            delay_growth: None,
            valid: false,
        }
    }

    /// Whether the sender could not offer the intended load: it offered less by more than
    /// [`SENDER_TOLERANCE`] and by more than the two packets that the ends of a trial can hide.
    pub fn is_sender_limited(&self) -> bool {
        let missing = 1.0 - self.offered_load.as_f64() / self.intended_load.as_f64();
        missing > SENDER_TOLERANCE && missing * (self.sent.as_f64() + 2.0) >= 2.0
    }

    /// Datagrams lost.
    pub fn lost(&self) -> f64 {
        self.loss_ratio.get() * self.sent.as_f64()
    }

    /// By how much the delay rose during the trial, as far as the trial can tell; zero if it cannot.
    ///
    /// Without [`delay_growth`](Self::delay_growth) two signs must agree: the receiver took longer
    /// than the sender (one stalled packet at the end can fake that), and the median PDV is half of
    /// the rise (steady jitter can fake that). The smaller of both counts.
    fn growth(&self) -> Duration {
        if let Some(growth) = self.delay_growth {
            return growth;
        }
        let Some(receiver) = self.receiver_duration else {
            return Duration::ZERO;
        };
        let longer = receiver.saturating_sub(self.duration);
        match self.delay.as_ref().and_then(DelayQuantiles::median) {
            Some(median) => longer.min(median * 2),
            None => longer,
        }
    }

    /// The share of the offered load that the path would lose if the trial went on for ever.
    ///
    /// Equal to the loss ratio unless a queue was still filling when the sender stopped; then the
    /// bytes in it count as lost, because they arrived only after the load had ended:
    /// `1 − (1 − loss) × duration / (duration + growth)`.
    pub fn sustained_loss(&self, resolution: Resolution) -> LossRatio {
        let time = self.duration.as_secs_f64();
        let growth = self.growth().as_secs_f64();
        // Smallest delays do not see the path's jitter, so it does not limit them.
        let resolution = match self.delay_growth {
            Some(_) => resolution.without_jitter(),
            None => resolution,
        };
        if time <= 0.0 || growth <= resolution.growth(self.duration).as_secs_f64() {
            return self.loss_ratio;
        }
        Ratio::clamped(1.0 - (1.0 - self.loss_ratio.get()) * time / (time + growth))
    }

    /// The rate at which the path forwarded while the load was on, L4 payload bits per second.
    pub fn forwarding_rate(&self, resolution: Resolution) -> f64 {
        self.offered_load.as_f64() * (1.0 - self.sustained_loss(resolution).get())
    }

    /// Judges the trial by one goal; `None` if it cannot be judged (no delay where one is needed).
    pub fn judge(&self, goal: &SearchGoal, resolution: Resolution) -> Option<Judgement> {
        let resolution = resolution.for_width(goal.width);
        let loss = self.sustained_loss(resolution);
        let delay = match goal.delay_goal {
            None => Duration::ZERO,
            Some(delay_goal) => self.delay.as_ref()?.at(delay_goal.quantile)?,
        };
        let too_slow = goal.delay_goal.is_some_and(|limit| delay > limit.limit);
        let miss = if loss > goal.loss_goal {
            Some(BoundedBy::Loss)
        } else if too_slow {
            Some(BoundedBy::Delay)
        } else if self.is_sender_limited() {
            Some(BoundedBy::Sender)
        } else {
            None
        };
        Some(Judgement { loss, miss })
    }
}

/// A trial seen by one goal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// Sustained loss ratio.
    pub loss: LossRatio,
    /// Why the goal was missed; `None` if it was met.
    pub miss: Option<BoundedBy>,
}

/// How small a rise of delay can be told from jitter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resolution {
    jitter: Duration,
    share: f64,
}

impl Resolution {
    /// On a path whose delay varies by `jitter` without any overload.
    pub fn new(jitter: Duration) -> Self {
        Self {
            jitter: jitter.max(GROWTH_FLOOR),
            share: 0.0,
        }
    }

    /// For a goal of this width.
    #[must_use]
    pub fn for_width(self, width: Ratio) -> Self {
        Self {
            share: width.get() * GROWTH_SHARE_OF_WIDTH,
            ..self
        }
    }

    fn without_jitter(self) -> Self {
        Self {
            jitter: GROWTH_FLOOR,
            ..self
        }
    }

    fn growth(self, duration: Duration) -> Duration {
        self.jitter.max(duration.mul_f64(self.share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One second at 100 Mbit/s whose delay rose by `growth_us` as each sign tells it.
    fn trial(receiver_us: u64, median_us: Option<u64>, growth_us: Option<u64>) -> TrialOutcome {
        let median = |micros| {
            let half = Quantile(Ratio::clamped(0.5));
            DelayQuantiles::new(vec![(half, Duration::from_micros(micros))])
        };
        TrialOutcome {
            intended_load: BitRate::from_bps(100_000_000),
            offered_load: BitRate::from_bps(100_000_000),
            received_rate: BitRate::from_bps(100_000_000),
            loss_ratio: Ratio::ZERO,
            sent: PacketCount::new(8632),
            duration: Duration::from_secs(1),
            receiver_duration: Some(Duration::from_secs(1) + Duration::from_micros(receiver_us)),
            delay: median_us.map(median),
            delay_growth: growth_us.map(Duration::from_micros),
            valid: true,
        }
    }

    fn sustained(outcome: &TrialOutcome) -> f64 {
        let resolution = Resolution::new(Duration::ZERO).for_width(Ratio::clamped(0.005));
        outcome.sustained_loss(resolution).get()
    }

    #[test]
    fn a_queue_that_fills_counts_as_the_loss_it_would_become() {
        // 0.25 % above capacity.
        let outcome = trial(2500, Some(1250), None);
        assert!((sustained(&outcome) - 0.0025 / 1.0025).abs() < 1e-9);
    }

    #[test]
    fn loss_and_queue_add_up_to_what_was_not_forwarded_in_time() {
        let outcome = TrialOutcome {
            loss_ratio: Ratio::clamped(0.1),
            ..trial(5000, Some(5000), None)
        };
        assert!((sustained(&outcome) - (1.0 - 0.9 / 1.005)).abs() < 1e-9);
    }

    #[test]
    fn one_straggler_at_the_end_is_no_queue() {
        assert!(sustained(&trial(9000, Some(40), None)).abs() < 1e-12);
    }

    #[test]
    fn steady_jitter_is_no_queue() {
        assert!(sustained(&trial(300, Some(5000), None)).abs() < 1e-12);
    }

    #[test]
    fn growth_told_by_the_engine_is_believed_over_the_other_signs() {
        assert!(sustained(&trial(9000, Some(9000), Some(0))).abs() < 1e-12);
        assert!(sustained(&trial(0, Some(0), Some(2500))) > 0.002);
    }

    #[test]
    fn a_rise_below_the_resolution_is_ignored() {
        assert!(sustained(&trial(900, Some(900), None)).abs() < 1e-12);
    }

    #[test]
    fn a_sender_is_limited_beyond_tolerance_and_two_packets() {
        let with = |offered, sent| TrialOutcome {
            offered_load: BitRate::from_bps(offered),
            sent: PacketCount::new(sent),
            ..trial(0, None, None)
        };
        assert!(!with(99_600_000, 8600).is_sender_limited());
        assert!(with(99_400_000, 8580).is_sender_limited());
        // One packet of twenty is missing: the ends of the trial.
        assert!(!with(95_000_000, 19).is_sender_limited());
        assert!(with(0, 0).is_sender_limited());
    }

    #[test]
    fn a_missing_quantile_is_judged_by_the_next_higher_one() {
        let q = |ratio| Quantile(Ratio::clamped(ratio));
        let delays = DelayQuantiles::new(vec![
            (q(0.999), Duration::from_millis(9)),
            (q(0.5), Duration::from_millis(1)),
        ]);
        assert_eq!(delays.at(q(0.99)), Some(Duration::from_millis(9)));
        assert_eq!(delays.at(q(1.0)), None);
        assert_eq!(delays.median(), Some(Duration::from_millis(1)));
    }
}

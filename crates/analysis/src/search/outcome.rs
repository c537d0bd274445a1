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
    /// By how much the smallest one-way delay rose from the first tenth of the trial to the last;
    /// zero if it fell. The best sign of a queue that fills, where the engine can tell it.
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

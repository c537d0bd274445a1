//! One load of a curve: three rates, and the tail with its interval.

use super::{IN_FULL, KEEPS_UP};
use linerate_model::PacketCount;
use linerate_model::run::{Delay, Trial};

/// Normal quantile of a 95 % interval.
const Z: f64 = 1.96;

/// What an open loop measured at one load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadPoint {
    /// Intended requests per second.
    pub intended: f64,
    /// Those that were sent, per second.
    pub offered: f64,
    /// Those that were answered in time, per second until the last answer.
    pub answered: f64,
    /// Those that were answered in time, of those intended.
    pub share: f64,
    /// The p99 response time; `None` where it falls among requests without an answer.
    pub p99: Option<TailInterval>,
}

/// A quantile in nanoseconds with its 95 % interval from order statistics, as if the values were
/// independent: those of a queue are not, so the true one is wider.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TailInterval {
    /// Lower end.
    pub low: f64,
    /// The quantile.
    pub value: f64,
    /// Upper end; `None` where it falls among requests without an answer.
    pub high: Option<f64>,
}

impl LoadPoint {
    /// What `trial` says; `None` if it is no valid trial of an open loop.
    pub fn from_trial(trial: &Trial) -> Option<Self> {
        let requests = trial.requests().filter(|_| trial.valid)?;
        Some(Self {
            intended: requests.intended_rate?.pps(),
            offered: trial.offered_packet_rate()?.pps(),
            answered: trial.received_packet_rate()?.pps(),
            share: requests.answered.as_f64() / requests.intended.as_f64().max(1.0),
            p99: trial
                .delay()
                .and_then(|delay| TailInterval::from_delay(delay, 0.99)),
        })
    }

    /// Whether as much was sent as intended.
    pub fn is_offered(&self) -> bool {
        self.offered >= IN_FULL * self.intended
    }

    /// Whether as much was answered as intended.
    pub fn is_in_full(&self) -> bool {
        self.share >= IN_FULL && self.answered >= KEEPS_UP * self.intended
    }

    /// Whether p99 is clearly above `limit`.
    pub(super) fn is_above(&self, limit: f64) -> bool {
        self.p99.is_none_or(|p99| p99.low > limit)
    }
}

impl TailInterval {
    /// Quantile `q` of `delay`, which must be whole; `None` where it is not given.
    pub fn from_delay(delay: &Delay, q: f64) -> Option<Self> {
        let count = delay.count?.saturating_add(delay.unanswered.unwrap_or(0));
        let n = PacketCount::new(count).as_f64();
        let reach = Z * (n * q * (1.0 - q)).sqrt();
        let at = |rank: f64| {
            // Half a rank below: the quantile of a rank is rounded up to it.
            let share = (rank.clamp(1.0, n) - 0.5) / n;
            delay
                .quantile_ns(share)
                .map(|ns| PacketCount::new(ns).as_f64())
        };
        Some(Self {
            low: at((n * q - reach).floor())?,
            value: at((n * q).ceil())?,
            high: at((n * q + reach).ceil() + 1.0),
        })
    }
}

//! Delays as a log prints them, as the delay of a trial.

use super::rounded::note;
use super::{LatencyTest, Rounded, exact, whole};
use linerate_model::quantity::DelayPart;
use linerate_model::run::{ClosedLoopResult, Delay, DelayOf, Statistic, Trial, UnitCounts};
use linerate_model::{PacketRate, Quantile, Quantity};

/// Printed figures of a delay, each in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct DelayFigures {
    /// Smallest.
    pub(super) min: Option<Rounded>,
    /// Mean.
    pub(super) mean: Option<Rounded>,
    /// Median.
    pub(super) p50: Option<Rounded>,
    /// 90 % quantile.
    pub(super) p90: Option<Rounded>,
    /// 99 % quantile.
    pub(super) p99: Option<Rounded>,
    /// 99.9 % quantile.
    pub(super) p999: Option<Rounded>,
    /// Largest.
    pub(super) max: Option<Rounded>,
    /// Standard deviation.
    pub(super) stdev: Option<Rounded>,
    /// Number of values.
    pub(super) count: Option<u64>,
}

impl DelayFigures {
    /// The delay, with what it timed.
    pub(super) fn delay(&self, of: DelayOf) -> Delay {
        let nanos = |figure: Option<Rounded>| whole((figure?.value * 1e9).round());
        // To a femtosecond: 11.530 us is no 11529.999… ns.
        let mean =
            |figure: Option<Rounded>| figure.map(|figure| (figure.value * 1e15).round() / 1e6);
        Delay {
            of,
            min_ns: nanos(self.min),
            mean_ns: mean(self.mean),
            p50_ns: nanos(self.p50),
            p90_ns: nanos(self.p90),
            p99_ns: nanos(self.p99),
            p999_ns: nanos(self.p999),
            max_ns: nanos(self.max),
            stdev_ns: mean(self.stdev),
            count: self.count,
            unanswered: None,
            histogram: None,
            quantiles: Vec::new(),
        }
    }

    /// A closed loop of this round trip and so many transactions per second.
    pub(super) fn closed_loop(&self, per_second: Option<PacketRate>) -> ClosedLoopResult {
        ClosedLoopResult {
            counts: UnitCounts {
                received_packet_rate: per_second,
                ..UnitCounts::default()
            },
            delay: (*self != Self::default()).then(|| self.delay(DelayOf::RoundTrip)),
            ..ClosedLoopResult::default()
        }
    }

    /// Notes the rounding of each figure.
    pub(super) fn note_rounding(&self, trial: &mut Trial) {
        let quantile = |q| Statistic::Quantile(Quantile::clamped(q));
        for (statistic, figure) in [
            (Statistic::Min, self.min),
            (Statistic::Mean, self.mean),
            (Statistic::MEDIAN, self.p50),
            (quantile(0.9), self.p90),
            (Statistic::P99, self.p99),
            (quantile(0.999), self.p999),
            (Statistic::Max, self.max),
            (Statistic::Deviation, self.stdev),
        ] {
            if let Some(figure) = figure {
                let quantity = Quantity::Delay(DelayPart::Whole, statistic);
                note(trial, quantity, figure.scaled(1e9));
            }
        }
    }
}

/// Compares the figures of each trial of delay: smallest, mean, quantiles and largest are in this order.
pub(super) fn examine(test: &mut LatencyTest) {
    for trial in &mut test.trials {
        let Some(delay) = trial.delay() else { continue };
        let (Some(min), Some(max)) = (delay.min_ns, delay.max_ns) else {
            continue;
        };
        let quantiles = [delay.p50_ns, delay.p90_ns, delay.p99_ns, delay.p999_ns];
        let is_sorted = quantiles.iter().flatten().is_sorted();
        let is_inside = quantiles.iter().flatten().all(|q| (min..=max).contains(q));
        // The tools print whole numbers.
        let mean = delay
            .mean_ns
            .is_none_or(|mean| (exact(min) - 1.0..=exact(max) + 1.0).contains(&mean));
        if !(is_sorted && is_inside && mean) {
            let label = trial.label.as_deref().unwrap_or("delay");
            test.doubts.push(format!(
                "{label}: minimum, mean, quantiles and maximum are not in order"
            ));
        }
    }
}

//! What a flow carries while nothing that it shares is full.

use std::collections::BTreeMap;

/// Rates of the flows that were active and measured in a crowd, bit/s.
pub(super) type Rates = BTreeMap<usize, f64>;

/// A flow is held back below this share of its reference. TCP's rate scatters by some 5 % between tests on an idle path;
/// what costs less than a tenth is no bottleneck.
const HELD_BACK: f64 = 0.85;
/// From this share on it is certainly not.
const FREE: f64 = 0.93;
/// What flows that nothing holds back may lose together, in flows: half a flow, and a twentieth of each.
const LOST: f64 = 0.5;
const LOST_OF_EACH: f64 = 0.05;
/// Readings from this share of the highest on are those of a flow that nothing held back.
const NEAR_HIGHEST: f64 = 0.9;

/// The readings of each flow.
#[derive(Debug, Default)]
pub(super) struct References {
    readings: BTreeMap<usize, Vec<f64>>,
}

impl References {
    /// Takes the rates of a crowd. Few flows at once, and random parts of those that were held back, show what each can
    /// carry.
    pub(super) fn record(&mut self, rates: &Rates) {
        for (flow, rate) in rates {
            self.readings.entry(*flow).or_default().push(*rate);
        }
    }

    /// Mean of the flow's highest readings, bit/s.
    pub(super) fn rate(&self, flow: usize) -> Option<f64> {
        let readings = self.readings.get(&flow)?;
        let highest = readings.iter().copied().fold(0.0, f64::max);
        let near = readings
            .iter()
            .filter(|rate| **rate >= highest * NEAR_HIGHEST);
        let (mut sum, mut count) = (0.0, 0.0);
        for rate in near {
            sum += rate;
            count += 1.0;
        }
        (sum > 0.0).then(|| sum / count)
    }

    /// Share of its reference that a flow got.
    pub(super) fn level(&self, flow: usize, rate: f64) -> Option<f64> {
        Some(rate / self.rate(flow)?)
    }

    /// The flows that were held back.
    pub(super) fn held_back(&self, rates: &Rates) -> Vec<usize> {
        self.below(rates, HELD_BACK)
    }

    /// Whether the flows together lost more than readings scatter: TCP may starve one flow, and spare the others.
    pub(super) fn is_filled(&self, rates: &Rates) -> bool {
        let (mut lost, mut usual) = (0.0, LOST);
        for (flow, rate) in rates {
            if let Some(level) = self.level(*flow, *rate) {
                lost += (1.0 - level).max(0.0);
                usual += LOST_OF_EACH;
            }
        }
        lost > usual
    }

    /// The flows that something may have held back.
    pub(super) fn not_free(&self, rates: &Rates) -> Vec<usize> {
        self.below(rates, FREE)
    }

    fn below(&self, rates: &Rates, share: f64) -> Vec<usize> {
        let is_below = |(flow, rate): (&usize, &f64)| {
            let level = self.level(*flow, *rate)?;
            (level < share).then_some(*flow)
        };
        rates.iter().filter_map(is_below).collect()
    }

    /// Mean share of their references that these flows got.
    pub(super) fn mean_level(&self, flows: &[usize], rates: &Rates) -> Option<f64> {
        let levels = flows
            .iter()
            .filter_map(|flow| self.level(*flow, *rates.get(flow)?));
        let (mut sum, mut count) = (0.0, 0.0);
        for level in levels {
            sum += level;
            count += 1.0;
        }
        (count > 0.0).then(|| sum / count)
    }
}

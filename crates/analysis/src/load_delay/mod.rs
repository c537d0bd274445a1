//! Delay against load: which loads an open loop is measured at, and where the knee is.
//!
//! Pure. Loads rise by factors of two from the lowest until one is not answered in full, then the gaps at
//! that load and at the knee are halved geometrically until their ends are a quarter of an octave apart.
//!
//! The knee is the lowest load from which on the p99 response time stays above twice its value at the
//! lowest load: the lower end of its interval above twice the upper end of the other. It lies between that
//! load and the one below, and both are given. A p99 that falls among unanswered requests is above any limit.
//!
//! # References
//! - Interval of a quantile from order statistics: David, Nagaraja, "Order Statistics", §7.1
//! - Delay of a queue against its load: Kleinrock, "Queueing Systems" I, §3.2

mod point;

pub use point::{LoadPoint, TailInterval};

use crate::rise::lasting;
use linerate_model::PacketRate;
use linerate_model::run::Knee;

/// Step of the first way up.
const STEP: f64 = 2.0;

/// Two loads closer than this are not parted any more: a quarter of an octave, 19 %.
const MIN_LOAD_RATIO: f64 = 1.1893;

/// Most loads of one curve.
const MAX_LOADS: usize = 32;

/// Below this share of the intended requests a load is not offered, or not answered, in full.
pub const IN_FULL: f64 = 0.98;

/// Below this share of the intended rate answers fall behind. Less cannot be told from a single stall at the
/// end of a short trial; a queue without bounds that grows by a tenth of the load is seen.
pub const KEEPS_UP: f64 = 0.9;

/// The knee is where delay is above this many times its value at the lowest load: the mean delay of a
/// queue with random arrivals and one server doubles at half of its capacity.
pub const KNEE_FACTOR: f64 = 2.0;

/// The loads of a curve, chosen as they are measured.
#[derive(Debug, Clone)]
pub struct Ladder {
    lowest: f64,
    highest: f64,
    /// In rising order of intended load.
    points: Vec<LoadPoint>,
    /// The next load was not measured: no further one is asked for.
    broken: bool,
}

impl Ladder {
    /// Loads from `lowest` to at most `highest` requests per second.
    pub const fn between(lowest: PacketRate, highest: PacketRate) -> Self {
        Self {
            lowest: lowest.pps(),
            highest: highest.pps(),
            points: Vec::new(),
            broken: false,
        }
    }

    /// The next load to measure; `None` when the curve is complete.
    pub fn next_load(&self) -> Option<PacketRate> {
        if self.broken || self.points.len() >= MAX_LOADS {
            return None;
        }
        let next = match self.points.last() {
            None => Some(self.lowest),
            Some(last) if last.is_in_full() && last.intended < self.highest => {
                Some((last.intended * STEP).min(self.highest))
            }
            Some(_) => self
                .gap(self.saturated())
                .or_else(|| self.gap(self.knee_at())),
        };
        next.map(PacketRate::from_pps)
    }

    /// A load was measured; `None`: it could not be.
    pub fn record(&mut self, point: Option<LoadPoint>) {
        let Some(point) = point else {
            self.broken = true;
            return;
        };
        let place = self.points.partition_point(|p| p.intended < point.intended);
        // A load that was asked for once more would be asked for for ever.
        self.broken |= self
            .points
            .get(place)
            .is_some_and(|known| known.intended <= point.intended);
        self.points.insert(place, point);
    }

    /// The middle of the gap below point `index`, if it is wide.
    fn gap(&self, index: Option<usize>) -> Option<f64> {
        let index = index?;
        let low = self.points.get(index.checked_sub(1)?)?.intended;
        let high = self.points.get(index)?.intended;
        (high / low > MIN_LOAD_RATIO).then(|| (low * high).sqrt())
    }

    /// The lowest load from which on none is answered in full.
    fn saturated(&self) -> Option<usize> {
        lasting(&self.points, |point| !point.is_in_full())
    }

    /// The first load above the knee.
    fn knee_at(&self) -> Option<usize> {
        let limit = self.limit()?;
        lasting(&self.points, |point| point.is_above(limit)).filter(|index| *index > 0)
    }

    /// What p99 is held against.
    fn limit(&self) -> Option<f64> {
        Some(self.points.first()?.p99?.high? * KNEE_FACTOR)
    }

    /// What the loads measured so far show; `None` where the lowest has no p99 to compare with.
    pub fn knee(&self) -> Option<Knee> {
        let idle = self.points.first()?.p99?;
        let limit = self.limit()?;
        let rate = |index: usize| Some(PacketRate::from_pps(self.points.get(index)?.intended));
        let above = self.knee_at();
        let below = above
            .map_or(self.points.len(), |index| index)
            .checked_sub(1);
        let saturated = self.saturated();
        let carried = saturated
            .map_or(self.points.len(), |index| index)
            .checked_sub(1);
        Some(Knee {
            below: below.and_then(rate),
            above: above.and_then(rate),
            idle_p99_ns: idle.value.round(),
            idle_p99_high_ns: idle.high?.round(),
            limit_p99_ns: limit.round(),
            answered_in_full: carried.and_then(rate),
            saturated: saturated.and_then(rate),
            sender_limited: saturated
                .and_then(|index| self.points.get(index))
                .is_some_and(|point| !point.is_offered()),
        })
    }
}

#[cfg(test)]
mod tests;

//! Packet delay variation of one stream: each datagram's one-way delay minus the smallest one, which
//! may be of the warm-up.
//!
//! The clocks of the two ends may differ by any offset; it cancels, because only differences of
//! transit times are used. (Their skew does not: at 20 ppm it adds 20 µs per second.)
//!
//! The smallest delay is known only at the end, and not all delays can be kept, so:
//! the first [`RESERVOIR_TRANSITS`] transits are kept as they are; then their minimum becomes the reference
//! and later transits go to one histogram above it or one below it; at the end both are shifted
//! once by the true minimum. The error is that of the histogram, 0.1 % of the distance to the
//! reference, which is itself the minimum of some thousand datagrams.
//!
//! # References
//! - PDV: RFC 5481 §4.2; its use without synchronised clocks: §6.

use linerate_model::Histogram;
use linerate_model::one_way::SignedHistogram;
use linerate_peers::distance_48;

/// Number of transits kept before a reference is chosen; 32 KiB.
const RESERVOIR_TRANSITS: usize = 4096;

/// Collects transit times relative to the first one.
pub(crate) struct DelayVariation {
    first: Option<u64>,
    reservoir: Vec<i64>,
    reference: i64,
    lowest: i64,
    /// Transits after the reservoir.
    beyond: Option<SignedHistogram>,
}

impl Default for DelayVariation {
    fn default() -> Self {
        Self {
            first: None,
            reservoir: Vec::new(),
            reference: 0,
            lowest: i64::MAX,
            beyond: None,
        }
    }
}

impl DelayVariation {
    /// Records a transit time in nanoseconds modulo 2^48 (see [`linerate_peers::Stamp::transit_to`]).
    pub(crate) fn record(&mut self, transit: u64) {
        let relative = distance_48(transit, *self.first.get_or_insert(transit));
        self.lowest = self.lowest.min(relative);
        if self.reservoir.len() < RESERVOIR_TRANSITS {
            self.reservoir.push(relative);
            self.reference = self.lowest;
        } else {
            let beyond = self.beyond.get_or_insert_default();
            beyond.record(relative.saturating_sub(self.reference));
        }
    }

    /// Considers an uncounted transit time (of the warm-up) for the minimum.
    pub(crate) fn refer_to(&mut self, transit: u64) {
        let relative = distance_48(transit, *self.first.get_or_insert(transit));
        self.lowest = self.lowest.min(relative);
    }

    /// The delay variation in nanoseconds against the fastest datagram; `None` if none was counted.
    pub(crate) fn finish(self) -> Option<Histogram> {
        if self.reservoir.is_empty() {
            return None;
        }
        let mut all = Histogram::new();
        for relative in &self.reservoir {
            all.record(relative.abs_diff(self.lowest));
        }
        let shift = self.reference.abs_diff(self.lowest);
        let beyond = self.beyond.unwrap_or_default();
        for (nanos, count) in beyond.above.buckets() {
            all.record_n(nanos + shift, count);
        }
        for (nanos, count) in beyond.below.buckets() {
            all.record_n(shift.saturating_sub(nanos), count);
        }
        Some(all)
    }
}

/// The delay variation of transit times that were counted relative to one of them, the smallest of all being `least`;
/// `None` if none was.
pub(crate) fn above_least(transits: &SignedHistogram, least: i64) -> Option<Histogram> {
    let mut all = Histogram::new();
    let mut record = |relative: i64, count| {
        let above = relative.saturating_sub(least).max(0);
        all.record_n(above.unsigned_abs(), count);
    };
    for (nanos, count) in transits.above.buckets() {
        record(i64::try_from(nanos).unwrap_or(i64::MAX), count);
    }
    for (nanos, count) in transits.below.buckets() {
        record(i64::try_from(nanos).map_or(i64::MIN, |nanos| -nanos), count);
    }
    (!all.is_empty()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn collect(transits: impl IntoIterator<Item = u64>) -> Histogram {
        let mut pdv = DelayVariation::default();
        transits.into_iter().for_each(|transit| pdv.record(transit));
        pdv.finish().unwrap()
    }

    #[test]
    fn nothing_received_has_no_variation() {
        assert!(DelayVariation::default().finish().is_none());
    }

    #[test]
    fn the_smallest_delay_may_come_last() {
        let many = std::iter::repeat_n(500_000, 10_000).chain([100_000]);
        let histogram = collect(many);
        assert_eq!(histogram.len(), 10_001);
        assert_eq!(histogram.min_nanos(), 0);
        assert!(histogram.quantile_nanos(0.5).abs_diff(400_000) <= 400);
    }

    #[test]
    fn a_queue_that_filled_during_the_warm_up_is_seen() {
        let mut pdv = DelayVariation::default();
        pdv.refer_to(100_000);
        assert!(pdv.finish().is_none());
        let mut pdv = DelayVariation::default();
        pdv.refer_to(100_000);
        (0..10_000).for_each(|_| pdv.record(500_000));
        let histogram = pdv.finish().unwrap();
        assert_eq!(histogram.len(), 10_000);
        assert!(histogram.min_nanos().abs_diff(400_000) <= 400);
    }

    proptest! {
        #[test]
        fn any_clock_offset_gives_the_same_variation(
            offset in any::<u64>(),
            delays in prop::collection::vec(1_u64..1_000_000_000, 1..9000),
        ) {
            let mask = (1 << 48) - 1;
            let shifted = delays.iter().map(|delay| delay.wrapping_add(offset) & mask);
            let histogram = collect(shifted);
            let low = *delays.iter().min().unwrap();
            let mut truth: Vec<_> = delays.iter().map(|delay| delay - low).collect();
            truth.sort_unstable();
            prop_assert_eq!(histogram.len(), truth.len() as u64);
            let median = truth[(truth.len() - 1) / 2];
            let got = histogram.quantile_nanos(0.5);
            // 0.1 % of the distance to the reference, twice (shifting), plus one.
            let bound = 2 + (truth.last().unwrap() - truth[0]) / 400;
            prop_assert!(got.abs_diff(median) <= bound, "{got} is not {median}");
        }
    }
}

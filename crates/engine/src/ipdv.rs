//! Inter-packet delay variation: how much longer one datagram took than the one sent just before it.
//!
//! The selection function is "neighbouring sequence numbers, come one after the other": a lost, reordered or
//! repeated datagram makes no pair. The clocks' offset cancels; their skew adds less than 0.1 ns per µs between
//! two datagrams.
//!
//! Datagrams of one batch have one arrival time (when the application could have used them) and, at a fast
//! sender, one send time. Their difference is then zero, which is what the application saw; such pairs are
//! only counted, so a busy receiver pays for a comparison.
//!
//! # References
//! - IPDV: RFC 3393 §3, singleton and selection function; RFC 5481 §4.1

use linerate_model::one_way::SignedHistogram;
use linerate_peers::distance_48;

/// Sequence number and transit time of the previous datagram of a stream.
pub(crate) type Neighbour = Option<(u64, u64)>;

/// IPDV of the streams of one thread.
pub(crate) struct Ipdv {
    /// Histogram, created with the first difference.
    histogram: Option<SignedHistogram>,
    equal: u64,
}

impl Ipdv {
    /// IPDV of streams without datagrams yet.
    pub(crate) fn new() -> Self {
        Self {
            histogram: None,
            equal: 0,
        }
    }

    /// Records datagram `sequence` with its transit time in nanoseconds modulo 2^48; `neighbour` is of its stream.
    #[inline]
    pub(crate) fn record(&mut self, neighbour: &mut Neighbour, sequence: u64, transit: u64) {
        if let Some((before, last)) = *neighbour
            && sequence == before.wrapping_add(1)
        {
            match distance_48(transit, last) {
                0 => self.equal += 1,
                difference => self.histogram.get_or_insert_default().record(difference),
            }
        }
        *neighbour = Some((sequence, transit));
    }

    /// The distribution; `None` if there was no pair.
    pub(crate) fn finish(self) -> Option<SignedHistogram> {
        let mut all = self.histogram.unwrap_or_default();
        all.above.record_n(0, self.equal);
        (!all.is_empty()).then_some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_neighbours_that_came_in_order_are_compared() {
        let (mut ipdv, mut last) = (Ipdv::new(), None);
        for (sequence, transit) in [
            (0, 100),
            (1, 130),
            (2, 130),
            (4, 900),
            (3, 500),
            (5, 40),
            (6, 30),
        ] {
            ipdv.record(&mut last, sequence, transit);
        }
        let histogram = ipdv.finish().unwrap();
        assert_eq!(histogram.len(), 3);
        assert_eq!(histogram.quantile_nanos(1.0), 30);
        assert_eq!(histogram.quantile_nanos(0.0), -10);
        assert_eq!(histogram.quantile_nanos(0.5), 0);
    }

    #[test]
    fn the_offset_of_the_clocks_cancels_across_its_wrap() {
        let (mut ipdv, mut last) = (Ipdv::new(), None);
        ipdv.record(&mut last, 7, (1 << 48) - 5);
        ipdv.record(&mut last, 8, 10);
        assert_eq!(ipdv.finish().unwrap().quantile_nanos(1.0), 15);
    }

    #[test]
    fn a_single_datagram_has_none() {
        let (mut ipdv, mut last) = (Ipdv::new(), None);
        ipdv.record(&mut last, 0, 5);
        assert!(ipdv.finish().is_none());
    }
}

//! Interarrival jitter: a smoothed mean of how much transit times differ from one datagram to the next.
//!
//! # References
//! - RFC 3550 §6.4.1 and appendix A.8; like iperf3 since 3.8, the first datagram only seeds it.

use crate::distance_48;

/// Divisor of the gain with which a new difference enters the mean.
const GAIN_DIVISOR: u64 = 16;

/// The jitter of one stream.
#[derive(Debug, Clone, Copy, Default)]
pub struct Jitter {
    last: Option<u64>,
    /// Sixteen times the jitter, nanoseconds.
    scaled: u64,
}

impl Jitter {
    /// For a stream without datagrams yet.
    pub const fn new() -> Self {
        Self {
            last: None,
            scaled: 0,
        }
    }

    /// Records a transit time in nanoseconds modulo 2^48.
    #[inline]
    pub const fn record(&mut self, transit: u64) {
        if let Some(last) = self.last {
            let difference = distance_48(transit, last).unsigned_abs();
            self.scaled = self.scaled - self.scaled / GAIN_DIVISOR + difference;
        }
        self.last = Some(transit);
    }

    /// The jitter in nanoseconds; `None` if nothing arrived.
    pub const fn finish(self) -> Option<u64> {
        match self.last {
            Some(_) => Some(self.scaled / GAIN_DIVISOR),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_transits_have_none_and_alternating_ones_approach_their_difference() {
        assert_eq!(Jitter::default().finish(), None);
        let mut jitter = Jitter::default();
        for _ in 0..10 {
            jitter.record(77);
        }
        assert_eq!(jitter.finish(), Some(0));
        for round in 0..1000 {
            jitter.record(round % 2 * 16_000);
        }
        let nanos = jitter.finish().unwrap();
        assert!((15_900..=16_000).contains(&nanos), "{nanos}");
    }
}
